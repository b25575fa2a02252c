"""The port of the audit log's events, in files of a home or a table of a fleet."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Protocol

from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class AuditLogEntry:
    """One audited event; it never holds a text of memory."""

    at: str
    """ISO 8601, UTC."""
    action: str
    """Such as ``add`` or ``key.revoke``."""
    actor: str = "local"
    """Id of the API key that was used; ``local``: a command or a program on this machine."""
    owner: str = ""
    """Key of the owner's scope."""
    target: str = ""
    """Id of the memory, session or key that was touched."""
    outcome: str = "done"
    """done, refused or failed."""
    number: int = 0
    """How many memories it touched."""
    request: str = ""
    """Id of the request, as in the answer's ``X-Request-Id``."""


@dataclass(frozen=True, slots=True)
class AuditEventBatch:
    """Events to be written together, once."""

    entries: tuple[AuditLogEntry, ...]
    number: int
    """Number of the first event, unlike that of any other batch at the same time.

    So a batch that is written again adds nothing.
    """


@dataclass(frozen=True, slots=True)
class AuditEventQuery:
    """Filter of events; empty texts and None let all pass."""

    owner: str = ""
    """Key of a scope."""
    action: str = ""
    """Beginning of the action."""
    day: date | None = None
    """Day, UTC."""
    limit: int = 100


class AuditEventTable(Protocol):
    """Events by day. StoreError: they cannot be read or written."""

    @property
    def is_remote(self) -> bool:
        """True where a write waits for a server."""
        ...

    def append_events(self, batch: AuditEventBatch) -> None:
        """Write all events of a batch, or none."""
        ...

    def list_events(self, query: AuditEventQuery) -> tuple[AuditLogEntry, ...]:
        """List events, newest first."""
        ...

    def list_days(self) -> tuple[date, ...]:
        """List the days with events, oldest first."""
        ...

    def iter_day(self, day: date) -> Iterator[AuditLogEntry]:
        """Read all events of a day, oldest first."""
        ...

    def drop_events(self, before: date) -> int:
        """Erase the events of earlier days; return the number of events, or of files of a home."""
        ...

    def close(self) -> None: ...
