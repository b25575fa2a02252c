"""Messages whose senders announced them as somebody else's text: "I'll send you an article next"."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.core import FOREIGN, Scope, Turn
from engrams.core.process_peers import ProcessPeers
from engrams.frozen_data import replace
from engrams.text.foreign_parts import announces_foreign, asks_for_foreign, find_next_part

_MAX_CONVERSATIONS = 10_000
"""Conversations whose last message announced a text; the oldest is dropped."""
_REASON = "the message before announced it, or asked for it, as a text to work on"


class AnnouncedTextLog:
    """Conversations in which the next message of the user is a pasted text. Thread safe.

    The user announced it or numbered its parts ("1/3", "2/3"), or the assistant asked for it.
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
                self._waiting.put(key, True)
            if turn.role != "user":
                marked.append(turn)
                continue
            awaited = self._waiting.pop(key, False)
            is_next_part = isinstance(awaited, str) and turn.text.lstrip().startswith(awaited)
            is_announced = awaited is True or is_next_part
            if next_part := find_next_part(turn.text):
                self._waiting.put(key, next_part)
            elif announces_foreign(turn.text):
                self._waiting.put(key, True)
            meta = {**turn.meta, FOREIGN: _REASON} if is_announced else turn.meta
            marked.append(replace(turn, meta=meta))
        return marked
