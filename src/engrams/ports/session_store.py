"""The ports of sessions, and of small states of owners."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from engrams.core import Scope
from engrams.ports.record_queries import ScopeReach
from engrams.ports.write_batch import OwnerStateRow, SessionRow

LEARNED = "learned"
"""Name of an owner state: how far the owner's messages were learned from."""
PREFERENCES = "profile"
"""Name of an owner state: the owner's standing preferences."""
GARDEN_STATE = "garden"
"""Name of an owner state: cycles of the garden, with their undo."""
IMPORTS = "imports"
"""Name of an owner state: the imports that were made."""
UNSAVED = "unsaved"
"""Name of an owner state: sessions that asked not to be saved."""
CALIBRATION = "calibration"
"""Name of an owner state: the nearness below which no memory is near."""
OPEN_QUESTIONS = "open_questions"
"""Name of an owner state: questions that requests about memory asked back."""
RESPONSES = "responses"
"""Name of an owner state: sessions by the ids of their responses."""
SPACE_MEMBERS = "space_members"
"""Name of a space's state: its members with their roles."""
JOINED_SPACES = "joined_spaces"
"""Name of an owner state: names of the spaces in which the owner may be a member."""


class SessionStore(Protocol):
    """Port that stores conversations with their state."""

    def load(self, owner: Scope, id: str) -> SessionRow | None:
        """Return a session; None: there is none of this id."""
        ...

    def save(self, row: SessionRow, expect: int | None = None) -> SessionRow:
        """Save a session with the next token, and return it.

        ConflictError: the stored token is not ``expect`` (None: any is right).
        """
        ...

    def idle(self, before: datetime, limit: int = 100) -> tuple[SessionRow, ...]:
        """List open sessions that were last active at or before a time."""
        ...

    def sessions(self, reach: ScopeReach, limit: int = 100) -> tuple[SessionRow, ...]:
        """List the sessions in reach, latest first."""
        ...


class OwnerStateStore(Protocol):
    """Port that stores small JSON states of owners, by compare and swap."""

    def load_state(self, owner: Scope, name: str) -> OwnerStateRow:
        """Return the stored state, or an empty one with token 0."""
        ...

    def load_states(self, owner: Scope, names: Collection[str]) -> dict[str, OwnerStateRow]:
        """Return states by name as ``load_state`` does, in one read."""
        ...

    def save_state(self, row: OwnerStateRow, expect: int | None = None) -> OwnerStateRow:
        """Save a state with the next token, and return it.

        ConflictError: the stored token (0: nothing is stored) is not ``expect`` (None: any is
        right).
        """
        ...
