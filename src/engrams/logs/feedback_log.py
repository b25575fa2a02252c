"""Log of people's opinions on their sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from engrams.core.log_enums import FeedbackLabel, FeedbackSource, LogWriteOutcome, SessionMedium
from engrams.logs.session_log import NewSessionLogRecord, SessionLogRecord, SessionLogStore
from engrams.ports import Clock, SessionLogTable


@dataclass(frozen=True, slots=True)
class FeedbackLogRecord(SessionLogRecord):
    """Record of one opinion on a session."""

    label: FeedbackLabel
    source: FeedbackSource
    modality: SessionMedium


class FeedbackLog(SessionLogStore[FeedbackLogRecord]):
    """Log of feedback; memory does not change it, and it does not change memory."""

    def __init__(self, table: SessionLogTable | None, clock: Clock, days: int) -> None:
        super().__init__(
            "feedback",
            table,
            clock,
            days,
            FeedbackLogRecord,
            label=FeedbackLabel,
            source=FeedbackSource,
            modality=SessionMedium,
        )

    def add(  # noqa: PLR0913 - keyword options of a public log
        self,
        session: str,
        label: str | None,
        *,
        source: str = FeedbackSource.API,
        modality: str = SessionMedium.TEXT,
        owner: str = "",
        id: str = "",
        at: datetime | None = None,
        incognito: bool = False,
    ) -> LogWriteOutcome | None:
        """Record an opinion on a session; the options are fields of ``NewSessionLogRecord``.

        ``label`` None: the question was dismissed; nothing is stored, and the result is None. Where
        it cannot be written, the outcome is ``lost``. InputError: an unknown label, source or
        modality, or no session.
        """
        data = {"source": source, "modality": modality}
        if label is None:
            self.check_words(data)
            return None
        return self.put(
            NewSessionLogRecord(
                session,
                {"label": label, **data},
                owner=owner,
                id=id,
                at=at,
                incognito=incognito,
            )
        )
