"""Feedback on sessions: a label, and where and how it was given. It changes nothing in memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engrams.logs.store import Ledger, Note, Row, word
from engrams.ports import Clock
from engrams.types.logs import Kept, Label, Modality, Source


@dataclass(frozen=True, slots=True)
class Feedback:
    """One record. ``id`` and ``session`` are hashes. ``owner``: a scope's key; None where nobody was named, and in incognito."""

    id: str
    at: datetime
    session: str
    owner: str | None
    label: Label
    source: Source
    modality: Modality


class FeedbackLog(Ledger[Feedback]):
    """Records kept ``days`` days, whatever memory is told to keep or forget."""

    def __init__(self, home: Path | None, clock: Clock, days: int) -> None:
        super().__init__("feedback", home, clock, days, _feedback)

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
        """Keep what somebody thought of a session. ``label`` None: they dismissed the question, and nothing is kept: None.

        ``id``: the same one is kept once for an owner; without one, what says the same of the same time is. Never fails because it
        cannot be written: ``lost``. InputError: an unknown label, source or modality, or no session.
        """
        said = {"source": word(Source, source), "modality": word(Modality, modality)}
        if label is None:
            return None
        return self.put(Note(session, {"label": word(Label, label), **said}, owner, id, at, incognito))


def _feedback(row: Row) -> Feedback:
    data = row.data
    return Feedback(row.id, row.at, row.session, row.owner, Label(data["label"]), Source(data["source"]), Modality(data["modality"]))
