"""Messages whose senders announced them as somebody else's text: "I'll send you an article next"."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import FOREIGN, Scope, Turn
from engrams.core.process_peers import ProcessPeers
from engrams.frozen_data import replace
from engrams.text.foreign_parts import (
    ANNOUNCED,
    announces_foreign,
    asks_for_foreign,
    count_announced,
    ends_announced,
    find_next_part,
)

_MAX_CONVERSATIONS = 10_000
"""Conversations whose last message announced a text; the oldest is dropped."""


class AnnouncedTextLog:
    """Conversations in which the next message of the user is a pasted text. Thread safe.

    The user announced it or numbered its parts ("1/3", "2/3"), or the assistant asked for it. Several
    next ones are where the user asked for work on all that they send, or named several parts.
    """

    def __init__(self, peers: ProcessPeers) -> None:
        self._waiting = peers.table("announced", _MAX_CONVERSATIONS)

    def mark(self, turns: Sequence[Turn], scope: Scope) -> list[Turn]:
        """Mark the turns that the user announced as a text of somebody else.

        The announcement may have come with an earlier call of the same conversation.
        """
        marked: list[Turn] = []
        for turn in turns:
            key = (scope.key, turn.session)
            if turn.role == "assistant" and asks_for_foreign(turn.text):
                awaited = self._waiting.pop(key, 1)
                self._waiting.put(key, awaited if isinstance(awaited, int) else 1)
            if turn.role != "user":
                marked.append(turn)
                continue
            awaited = self._waiting.pop(key, 0)
            is_next_part = isinstance(awaited, str) and turn.text.lstrip().startswith(awaited)
            awaited_count = awaited if isinstance(awaited, int) else int(is_next_part)
            if awaited_count and ends_announced(turn.text):
                awaited_count = 0
            if next_part := find_next_part(turn.text):
                self._waiting.put(key, next_part)
            elif announced := max(count_announced(turn.text), awaited_count - 1):
                self._waiting.put(key, announced)
            elif announces_foreign(turn.text):
                self._waiting.put(key, 1)
            meta = {**turn.meta, FOREIGN: ANNOUNCED} if awaited_count else turn.meta
            marked.append(replace(turn, meta=meta))
        return marked
