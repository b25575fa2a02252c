"""Log of detected crises; it never holds what a person said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from engrams.core.log_enums import CrisisDetectionSource, CrisisSeverity, LogWriteOutcome
from engrams.logs.session_log import NewSessionLogRecord, SessionLogRecord, SessionLogStore
from engrams.ports import Clock, SessionLogTable

_REASON_CHARS = 500


@dataclass(frozen=True, slots=True)
class CrisisLogRecord(SessionLogRecord):
    """Record of a crisis."""

    classifier: CrisisDetectionSource
    severity: CrisisSeverity
    reason: str
    """The classifier's words, cut at 500 characters."""


class CrisisLog(SessionLogStore[CrisisLogRecord]):
    """Log of crises; memory does not change them, and they do not change memory."""

    def __init__(self, table: SessionLogTable | None, clock: Clock, days: int) -> None:
        super().__init__(
            "safety",
            table,
            clock,
            days,
            CrisisLogRecord,
            classifier=CrisisDetectionSource,
            severity=CrisisSeverity,
        )

    def append_once(  # noqa: PLR0913 - keyword options of a public log
        self,
        session: str,
        *,
        classifier: str,
        severity: str,
        reason: str = "",
        owner: str = "",
        id: str = "",
        at: datetime | None = None,
        incognito: bool = False,
    ) -> LogWriteOutcome:
        """Record a detected crisis; the options are fields of ``NewSessionLogRecord``.

        ``reason`` is cut at 500 characters and must hold nothing that the person said. Where it
        cannot be written, the outcome is ``lost``. InputError: an unknown classifier or severity,
        or no session.
        """
        data = {"classifier": classifier, "severity": severity, "reason": reason[:_REASON_CHARS]}
        return self.put(
            NewSessionLogRecord(session, data, owner=owner, id=id, at=at, incognito=incognito)
        )
