"""Logs of audit events, crises and feedback, which no prompt reads."""

from __future__ import annotations

from engrams.logs.auditfiles import AuditEventFiles, AuditEventMemory
from engrams.logs.auditlog import AuditLog as AuditLog
from engrams.logs.crisisfeedback import CrisisLog as CrisisLog
from engrams.logs.crisisfeedback import CrisisLogRecord as CrisisLogRecord
from engrams.logs.crisisfeedback import FeedbackLog as FeedbackLog
from engrams.logs.crisisfeedback import FeedbackLogRecord as FeedbackLogRecord
from engrams.logs.crisisfeedback import home_folder
from engrams.ports import Clock
from engrams.settings import Settings


def open_event_files(settings: Settings) -> AuditEventFiles | AuditEventMemory:
    """Open the audit events of a home; in memory where memory is."""
    home = home_folder(settings)
    return AuditEventMemory() if home is None else AuditEventFiles(home / "audit")


def open_crisis_log(settings: Settings, clock: Clock) -> CrisisLog:
    """Open the safety log of a home; in memory where memory is."""
    return CrisisLog(home_folder(settings), clock, settings.safety.days)


def open_feedback_log(settings: Settings, clock: Clock) -> FeedbackLog:
    """Open the feedback log of a home; in memory where memory is."""
    return FeedbackLog(home_folder(settings), clock, settings.feedback.days)
