"""Log feedback on sessions; memory does not change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engrams.logs.store import LogRecord, LogStore
from engrams.ports import Clock
from engrams.types.logs import Kept, Label, Modality, Source


@dataclass(frozen=True, slots=True)
class FeedbackRecord(LogRecord):
    """Record of one opinion on a session."""

    label: Label
    source: Source
    modality: Modality


class FeedbackLog(LogStore[FeedbackRecord]):
    """Keeps feedback for ``days`` days, whatever memory keeps or forgets."""

    def __init__(self, home: Path | None, clock: Clock, days: int) -> None:
        super().__init__("feedback", home, clock, days, FeedbackRecord, label=Label, source=Source, modality=Modality)

    def add(
        self,
        session: str,
        label: str | None,
        *,
        source: str = Source.API,
        modality: str = Modality.TEXT,
        owner: str = "",
        id: str = "",
        at: datetime | None = None,
        incognito: bool = False,
    ) -> Kept | None:
        """Record an opinion on a session; parameters as for ``LogStore.put``.

        ``label`` None: the question was dismissed, nothing is kept, and the result is None. Never fails because it cannot be
        written: ``lost``. InputError: an unknown label, source or modality, or no session.
        """
        data = {"source": source, "modality": modality}
        if label is None:
            self.check_words(data)
            return None
        return self.put(session, {"label": label, **data}, owner=owner, id=id, at=at, incognito=incognito)
