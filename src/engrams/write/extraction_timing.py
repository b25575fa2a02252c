"""Timing of extraction for a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from engrams.settings import SessionSettings

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

NEVER = timedelta(days=36500)
"""Due time of a job that waits for the end of its session."""
GATHERS = ("batch", "end", "manual")


def due_reason(
    texts: Sequence[str],
    cosine: float | None,
    settings: SessionSettings,
    topic: float,
    *,
    end: bool = False,
) -> str:
    """Return why gathered turns are due for extraction; empty: not yet.

    They need ``min_chars`` characters; then ``batch_turns`` turns are enough, or a change of topic
    after ``topic_change_turns`` turns, or the session's end. ``cosine``: of the last turn to the
    one before it (None: unknown).
    """
    if sum(len(text) for text in texts) < settings.min_chars:
        return ""
    if end:
        return "session end"
    if len(texts) >= settings.batch_turns:
        return f"{len(texts)} turns"
    changed = cosine is not None and cosine < topic
    return "topic change" if changed and len(texts) >= settings.topic_change_turns else ""


def last_cosine(rows: Floats) -> float | None:
    """Cosine of the last two turns that have a vector."""
    known = [row for row in rows if row.any()]
    return float(known[-1] @ known[-2]) if len(known) >= 2 else None
