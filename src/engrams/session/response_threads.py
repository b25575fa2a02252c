"""Conversations of model responses, by the ids that later requests name."""

from __future__ import annotations

from engrams.core import Scope
from engrams.errors import ConflictError
from engrams.ports import RESPONSES, OwnerStateRow, OwnerStateStore

_MAX_RESPONSES = 1000
"""Responses of an owner that are known; the oldest are dropped."""
_MAX_ATTEMPTS = 10


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
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            row = self._states.load_state(owner, RESPONSES)
            # Put last, as the newest, also where it is there already.
            sessions = {id: value for id, value in row.data.items() if id != response}
            latest = dict([*sessions.items(), (response, session)][-_MAX_RESPONSES:])
            try:
                self._states.save_state(OwnerStateRow(owner, RESPONSES, data=latest), row.token)
            except ConflictError:
                if not attempts_left:
                    raise
            else:
                return
