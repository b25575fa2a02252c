"""The port of the crisis and feedback logs, in files of a home or tables of a fleet."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from engrams.frozen_data import dataclass

SessionLogName: TypeAlias = Literal["safety", "feedback"]


@dataclass(frozen=True, slots=True)
class SessionLogRow:
    """Row of a log."""

    id: str
    """Hash of the id that the sender gave, or random."""
    at: int
    """Microseconds since 1970."""
    owner: str | None
    """Key of a scope. None: of nobody, because the session was private."""
    session: str
    """Hash of the session's name."""
    data: str
    """JSON object with the other fields."""


@dataclass(frozen=True, slots=True)
class SessionLogSearch:
    """Search for rows with ``since <= at < until``, newest first."""

    since: int
    """Microseconds since 1970."""
    until: int
    """Microseconds since 1970."""
    session: str = ""
    """Hash of a session's name. Empty: of any."""
    owner: str = ""
    """Key of a scope; rows of scopes below it, too. Empty: everybody's."""
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
        """Replace the key of a log without rows; only a move of memory does so."""
        ...

    def add(self, row: SessionLogRow) -> bool:
        """Store a row once; False: its id is known."""
        ...

    def find(self, query: SessionLogSearch) -> list[SessionLogRow]:
        """Find rows, newest first."""
        ...

    def purge(self, before: int) -> int:
        """Erase rows before a time; return their number."""
        ...

    def close(self) -> None: ...
