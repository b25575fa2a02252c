"""Sessions and states of owners, kept in the store."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from engrams.core import Scope
from engrams.ports.record_store import OwnerStateRow, ScopeReach, SessionRow

LEARNED = "learned"  # fmt: skip
PREFERENCES = "profile"
GARDEN_STATE = "garden"
IMPORTS = "imports"
UNSAVED = "unsaved"
CALIBRATION = "calibration"
RESPONSES = "responses"
"""Names of owner states: how far an owner's memory was learned, standing preferences, the garden,
imports, sessions with a wish not to be saved, the floor of what counts as near, sessions by
response.
"""


class SessionStore(Protocol):
    """Port that stores conversations with their state."""

    def load(self, owner: Scope, id: str) -> SessionRow | None: ...

    def save(self, row: SessionRow, expect: int | None = None) -> SessionRow:
        """Save a session with the next token. ConflictError: it changed.

        ConflictError where the stored token is not ``expect`` (None: any).
        """
        ...

    def idle(self, before: datetime, limit: int = 100) -> tuple[SessionRow, ...]:
        """Open sessions last active at or before a time."""
        ...

    def sessions(self, reach: ScopeReach, limit: int = 100) -> tuple[SessionRow, ...]:
        """Sessions in reach, latest first."""
        ...


class OwnerStateStore(Protocol):
    """Port that stores small JSON states of owners, by compare and swap."""

    def load_state(self, owner: Scope, name: str) -> OwnerStateRow:
        """The stored state, or an empty one with token 0."""
        ...

    def save_state(self, row: OwnerStateRow, expect: int | None = None) -> OwnerStateRow:
        """Save a state with the next token. ConflictError: it changed.

        ConflictError where the stored token (0: none) is not ``expect`` (None: any).
        """
        ...
