"""Due time of gathered turns of a conversation for extraction: pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from engrams.settings import SessionSettings

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

NEVER = timedelta(days=36500)
"""Due time of a job that waits for the end of its session."""
GATHERING_TRIGGERS = ("batch", "end", "manual")
"""Values of ``sessions.trigger`` with which turns are gathered in one job."""


def due_reason(
    texts: Sequence[str],
    cosine: float | None,
    settings: SessionSettings,
    topic_change_cosine: float,
    *,
    end: bool = False,
) -> str:
    """Return why gathered turns are due for extraction; empty: not yet.

    They need ``min_chars`` characters; then ``batch_turns`` turns are enough, or a change of topic
    after ``topic_change_turns`` turns, or the session's end. ``cosine``: of the last turn to the
    one before it (None: unknown); below ``topic_change_cosine`` the topic has changed.
    """
    if sum(len(text) for text in texts) < settings.min_chars:
        return ""
    if end:
        return "session end"
    if len(texts) >= settings.batch_turns:
        return f"{len(texts)} turns"
    has_changed = cosine is not None and cosine < topic_change_cosine
    return "topic change" if has_changed and len(texts) >= settings.topic_change_turns else ""


def last_cosine(rows: Floats) -> float | None:
    """Return the cosine of the last two turns that have a vector; None: fewer have one."""
    vectors = [row for row in rows if row.any()]
    return float(vectors[-1] @ vectors[-2]) if len(vectors) >= 2 else None
