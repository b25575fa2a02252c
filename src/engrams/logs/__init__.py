"""Logs of audit events, crises and feedback, in files of a home or tables of a fleet.

They are apart from memory: no prompt reads them. ``engrams.admin`` opens them.
"""

from __future__ import annotations

from pathlib import Path

from engrams.logs.audit_files import AuditEventFiles, AuditEventMemory
from engrams.logs.audit_log import AuditLog
from engrams.logs.crisis_log import CrisisLog, CrisisLogRecord
from engrams.logs.feedback_log import FeedbackLog, FeedbackLogRecord
from engrams.logs.session_log_database import SessionLogDatabase, home_folder
from engrams.ports import SessionLogName, SessionLogTable
from engrams.settings import Settings

__all__ = [
    "AuditEventFiles",
    "AuditLog",
    "CrisisLog",
    "CrisisLogRecord",
    "FeedbackLog",
    "FeedbackLogRecord",
]


def open_event_files(settings: Settings) -> AuditEventFiles | AuditEventMemory:
    """Open the audit events of a home; in memory where memory is."""
    home = home_folder(settings)
    if home is None:
        return AuditEventMemory()
    seal_key = settings.store.seal_key
    return AuditEventFiles(home / "audit", Path(seal_key).expanduser() if seal_key else None)


def open_log_file(name: SessionLogName, settings: Settings) -> SessionLogTable | None:
    """Open ``ledgers/NAME.db`` of a home; None where memory is in memory."""
    home = home_folder(settings)
    return None if home is None else SessionLogDatabase(home / "ledgers" / f"{name}.db")
