"""The safety log: that a crisis was noticed, when, by what and how grave; never a word of what was said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engrams.logs.store import Ledger, Note, Row, word
from engrams.ports import Clock
from engrams.types.logs import Classifier, Kept, Severity

_REASON = 500


@dataclass(frozen=True, slots=True)
class Crisis:
    """One record. ``id`` and ``session`` are hashes. ``owner``: a scope's key; None where nobody was named, and in incognito.
    ``reason``: the classifier's own words, 500 characters at most."""

    id: str
    at: datetime
    session: str
    owner: str | None
    classifier: Classifier
    severity: Severity
    reason: str


class CrisisLog(Ledger[Crisis]):
    """Records kept ``days`` days, whatever memory is told to keep or forget."""

    def __init__(self, home: Path | None, clock: Clock, days: int) -> None:
        super().__init__("safety", home, clock, days, _crisis)

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
        """Keep that a crisis was noticed. ``id``: the same one is kept once for an owner, whoever sends it how often; without one,
        what says the same of the same time is. ``reason`` is cut at 500 characters, and must hold nothing that the person said.

        Never fails because it cannot be written: ``lost``. InputError: an unknown classifier or severity, or no session.
        """
        said = {"classifier": word(Classifier, classifier), "severity": word(Severity, severity), "reason": reason[:_REASON]}
        return self.put(Note(session, said, owner, id, at, incognito))


def _crisis(row: Row) -> Crisis:
    data = row.data
    return Crisis(row.id, row.at, row.session, row.owner, Classifier(data["classifier"]), Severity(data["severity"]), data["reason"])
