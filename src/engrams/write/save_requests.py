"""Requests not to save what was said, by conversation and session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from engrams.core import Scope, Turn
from engrams.core.process_peers import ProcessPeers
from engrams.errors import ConflictError
from engrams.extract.memory_requests import is_bare_request, mark_unsaved
from engrams.ports import UNSAVED, OwnerStateStore

_CONVERSATIONS = 10_000
"""Conversations whose last message was not saved; the oldest is dropped."""
_NOTED = 100
_TRIES = 5


class NoSaveRequestLog:
    """Conversations in which somebody asked not to be saved. Thread safe."""

    def __init__(self, states: OwnerStateStore, peers: ProcessPeers) -> None:
        self._states = states
        self._open = peers.table("unsaved", _CONVERSATIONS)

    def mark(self, turns: Sequence[Turn], scope: Scope) -> list[bool]:
        """Mark turns that ask not to be saved, and their answers.

        The answer may come with a later call of the same conversation.
        """
        marks = [False] * len(turns)
        for session in dict.fromkeys(turn.session for turn in turns):
            places = [place for place, turn in enumerate(turns) if turn.session == session]
            key = (scope.key, session)
            waiting = self._open.get(key, False)
            said = [
                (turns[place].role, f"{turns[place].text}\n{turns[place].caption}")
                for place in places
            ]
            found = mark_unsaved(said, after=waiting)
            for place, mark in zip(places, found, strict=True):
                marks[place] = mark
            if found[-1]:
                self._open.put(key, True)
            else:
                self._open.pop(key)
        return marks

    def note_bare(self, turns: Sequence[Turn], scope: Scope) -> None:
        """Note sessions with a bare "don't save that", for their end.

        Such a request means what was said before: what still waits for the session's end is dropped
        then.
        """
        if names := [
            turn.session
            for turn in turns
            if turn.session and turn.role == "user" and is_bare_request(turn.text)
        ]:
            change_noted(self._states, scope.owner, lambda known: [*known, *names][-_NOTED:])


def find_noted(states: OwnerStateStore, owner: Scope) -> tuple[str, ...]:
    """List the sessions in which somebody asked not to be saved."""
    return tuple(states.load_state(owner, UNSAVED).data.get("sessions", ()))


def change_noted(
    states: OwnerStateStore, owner: Scope, change: Callable[[Sequence[str]], Sequence[str]]
) -> None:
    """Update the sessions not to be saved, by compare and swap."""
    for left in reversed(range(_TRIES)):
        row = states.load_state(owner, UNSAVED)
        names = list(dict.fromkeys(change(row.data.get("sessions", ()))))
        try:
            states.save_state(replace(row, data={"sessions": names}), row.token)
        except ConflictError:
            if not left:
                raise
        else:
            return
