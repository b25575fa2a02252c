"""Log noticed crises, without a word of what was said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engrams.logs.store import LogRecord, LogStore
from engrams.ports import Clock
from engrams.types.logs import Classifier, Kept, Severity

_REASON = 500


@dataclass(frozen=True, slots=True)
class CrisisRecord(LogRecord):
    """Record of a crisis; ``reason``: the classifier's words, cut at 500 characters."""

    classifier: Classifier
    severity: Severity
    reason: str


class CrisisLog(LogStore[CrisisRecord]):
    """Keeps crises for ``days`` days, whatever memory keeps or forgets."""

    def __init__(self, home: Path | None, clock: Clock, days: int) -> None:
        super().__init__("safety", home, clock, days, CrisisRecord, classifier=Classifier, severity=Severity)

    def append_once(
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
    ) -> Kept:
        """Record a noticed crisis; parameters as for ``LogStore.put``.

        ``reason`` is cut at 500 characters and must hold nothing that the person said. Never fails because it cannot be
        written: ``lost``. InputError: an unknown classifier or severity, or no session.
        """
        data = {"classifier": classifier, "severity": severity, "reason": reason[:_REASON]}
        return self.put(session, data, owner=owner, id=id, at=at, incognito=incognito)
