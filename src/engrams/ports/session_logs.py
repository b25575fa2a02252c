"""Rows of the crisis and feedback logs, wherever they are kept."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from engrams.frozen_data import dataclass

SessionLogName: TypeAlias = Literal["safety", "feedback"]


@dataclass(frozen=True, slots=True)
class SessionLogRow:
    """Row of a log.

    ``id``, ``session``: hashes. ``at``: microseconds since 1970. ``owner``: a scope's key; None:
    nobody's. ``data``: a JSON object.
    """

    id: str
    at: int
    owner: str | None
    session: str
    data: str


@dataclass(frozen=True, slots=True)
class SessionLogSearch:
    """Request for rows of ``since <= at < until``, newest first.

    ``session``: a hash, or empty. ``owner``: a scope's key, with those below it, or empty:
    everybody's.
    """

    since: int
    until: int
    session: str = ""
    owner: str = ""
    limit: int = 100


class SessionLogTable(Protocol):
    """Port that stores one log, and the key of all hashes."""

    @property
    def exists(self) -> bool:
        """False while nothing was ever written."""
        ...

    def load_key(self) -> bytes:
        """Load the key of the hashes, or make one."""
        ...

    def find_key(self) -> bytes:
        """Return the key, empty where there is none."""
        ...

    def save_key(self, key: bytes) -> None:
        """Replace the key: of a log that holds nothing, by a move."""
        ...

    def add(self, row: SessionLogRow) -> bool:
        """Store a row once; False: its id is known."""
        ...

    def find(self, query: SessionLogSearch) -> list[SessionLogRow]: ...

    def purge(self, before: int) -> int:
        """Erase rows before a time; return their number."""
        ...

    def close(self) -> None: ...
