"""Conversations of model responses, by the ids that later requests name."""

from __future__ import annotations

from engrams.core import Scope
from engrams.errors import ConflictError
from engrams.ports import RESPONSES, OwnerStateRow, OwnerStateStore

_MOST = 1000
"""Responses of an owner that are known; the oldest are dropped."""
_ROUNDS = 10


class ResponseThreadLog:
    """Sessions of an owner's last thousand responses, for every process."""

    def __init__(self, states: OwnerStateStore) -> None:
        self._states = states

    def find(self, response: str, owner: Scope) -> str:
        """Return the session that a response belongs to; empty: unknown."""
        return str(self._states.load_state(owner, RESPONSES).data.get(response, ""))

    def note(self, response: str, session: str, owner: Scope) -> None:
        """Keep a response's session.

        ConflictError: others changed the log all the time.
        """
        for left in reversed(range(_ROUNDS)):
            row = self._states.load_state(owner, RESPONSES)
            known = {name: value for name, value in row.data.items() if name != response}
            kept = dict([*known.items(), (response, session)][-_MOST:])
            try:
                self._states.save_state(OwnerStateRow(owner, RESPONSES, data=kept), row.token)
            except ConflictError:
                if not left:
                    raise
            else:
                return
