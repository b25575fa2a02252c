"""Open questions of requests about memory, kept between two turns for callers that keep nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from engrams.core import Scope
from engrams.errors import ConflictError
from engrams.ports import OPEN_QUESTIONS, Clock, OwnerStateRow, OwnerStateStore

_MAX_QUESTIONS = 50
"""Open questions of an owner, one a conversation; the oldest are dropped."""
_OPEN_FOR = timedelta(hours=1)
"""Time after which a "yes" is no answer to a question any more."""
_MAX_FORGOTTEN = 5
"""Earlier forgettings of a conversation that an undo may mean, where its history was edited."""
_MAX_ATTEMPTS = 10


class OpenQuestionLog:
    """The open question of each of an owner's conversations, for every process.

    A question holds ids of memories, and no words of them.
    """

    def __init__(self, states: OwnerStateStore, clock: Clock) -> None:
        self._states = states
        self._clock = clock

    def find(self, session: str, owner: Scope) -> Mapping[str, Any] | None:
        """Return the open question of a conversation; None: there is none, or it is too old."""
        return next(iter(self._load(session, owner)), None)

    def find_forgotten(self, session: str, owner: Scope) -> list[Mapping[str, Any]]:
        """Return the last forgettings of a conversation, the latest first."""
        return [
            question for question in self._load(session, owner) if question["step"] == "forgotten"
        ]

    def _load(self, session: str, owner: Scope) -> list[Mapping[str, Any]]:
        """Load the open question of a conversation, and before it what was forgotten earlier."""
        entry = self._states.load_state(owner, OPEN_QUESTIONS).data.get(session)
        if not isinstance(entry, dict):
            return []
        age = self._clock() - datetime.fromisoformat(entry["asked_at"])
        is_open = timedelta() <= age <= _OPEN_FOR
        return _list_questions(entry) if is_open else []

    def put(self, session: str, owner: Scope, question: Mapping[str, Any] | None) -> None:
        """Keep a conversation's open question, or drop it with None.

        ConflictError: others changed the log all the time.
        """
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            row = self._states.load_state(owner, OPEN_QUESTIONS)
            entries = {name: entry for name, entry in row.data.items() if name != session}
            if question is not None:
                asked_at = self._clock().isoformat()
                earlier_questions = [
                    previous
                    for previous in _list_questions(row.data.get(session))
                    if previous["step"] == "forgotten" and previous["ids"] != question["ids"]
                ]
                entries[session] = {
                    "asked_at": asked_at,
                    "question": dict(question),
                    "forgotten": earlier_questions[:_MAX_FORGOTTEN],
                }
            elif len(entries) == len(row.data):
                return
            latest = dict([*entries.items()][-_MAX_QUESTIONS:])
            try:
                self._states.save_state(
                    OwnerStateRow(owner, OPEN_QUESTIONS, data=latest), row.token
                )
            except ConflictError:
                if not attempts_left:
                    raise
            else:
                return


def _list_questions(entry: Any) -> list[Mapping[str, Any]]:
    """List the questions of a stored entry, the latest first; none where there is no entry."""
    if not isinstance(entry, dict):
        return []
    return [entry["question"], *entry.get("forgotten", ())]
