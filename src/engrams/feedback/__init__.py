"""What people thought of their sessions: a log that is always on and that no prompt ever reads. Memory never changes for it."""

from __future__ import annotations

from engrams.feedback.log import Feedback as Feedback
from engrams.feedback.log import FeedbackLog as FeedbackLog
from engrams.ledger import home_of
from engrams.ports import Clock
from engrams.settings import Settings


def open_feedback(settings: Settings, clock: Clock) -> FeedbackLog:
    """The feedback of a home; in this process's memory only where memory is."""
    return FeedbackLog(home_of(settings), clock, settings.feedback.days)
