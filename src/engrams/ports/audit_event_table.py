"""Events of the audit log, and where they are kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Protocol

from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class AuditLogEntry:
    """One audited event.

    ``at``: ISO 8601, UTC. ``actor``: a key's id, or ``local``. ``owner``: whose memory, a scope's
    key. ``target``: an id, never a text. ``outcome``: done, refused or failed. ``number``: how many
    things it touched. ``request``: the id in the answer's ``X-Request-Id``.
    """

    at: str
    action: str
    actor: str = "local"
    owner: str = ""
    target: str = ""
    outcome: str = "done"
    number: int = 0
    request: str = ""


@dataclass(frozen=True, slots=True)
class AuditEventBatch:
    """Events to be written together, once.

    ``number``: of the first event, unlike that of any other batch at the same time; the same batch
    written again adds nothing.
    """

    entries: tuple[AuditLogEntry, ...]
    number: int


@dataclass(frozen=True, slots=True)
class AuditEventQuery:
    """Filter of events; empty texts and None leave nothing out.

    ``owner``: a scope's key. ``action``: how it begins. ``day``: UTC. ``limit``: most events.
    """

    owner: str = ""
    action: str = ""
    day: date | None = None
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
        """Erase events of earlier days.

        Returns a number of what went: events or files.
        """
        ...

    def close(self) -> None: ...
