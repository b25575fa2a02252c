"""Speakers in spaces: who says a turn that a member tells."""

from __future__ import annotations

from dataclasses import replace

from engrams.core import Turn


def sign_turn(turn: Turn, member: str) -> Turn:
    """Name the member who says a turn in a space; a turn that names its speaker stays as it is.

    So "I" in a shared memory is whoever said it, and what a member says of another is the member's.
    """
    if turn.speaker or turn.role != "user":
        return turn
    return replace(turn, speaker=member)
