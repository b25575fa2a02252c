"""Logs of audit events, crises and feedback: always on, and read by no prompt."""

from __future__ import annotations

from engrams.logs.audit import AuditLog as AuditLog
from engrams.logs.audit import Entry as Entry
from engrams.logs.crisis import Crisis as Crisis
from engrams.logs.crisis import CrisisLog as CrisisLog
from engrams.logs.feedback import Feedback as Feedback
from engrams.logs.feedback import FeedbackLog as FeedbackLog
from engrams.logs.store import home_of
from engrams.ports import Clock
from engrams.settings import Settings


def open_log(settings: Settings, clock: Clock) -> AuditLog:
    """Open the audit log of a home; in memory where memory is."""
    home = home_of(settings)
    return AuditLog(None if home is None else home / "audit", clock, settings.audit.days)


def open_crises(settings: Settings, clock: Clock) -> CrisisLog:
    """Open the safety log of a home; in memory where memory is."""
    return CrisisLog(home_of(settings), clock, settings.safety.days)


def open_feedback(settings: Settings, clock: Clock) -> FeedbackLog:
    """Open the feedback log of a home; in memory where memory is."""
    return FeedbackLog(home_of(settings), clock, settings.feedback.days)
