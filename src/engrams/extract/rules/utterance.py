"""Speaker, time and source of an utterance: all that its statements have in common."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from engrams.core import Evidence
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.clause_quote import collapse_space, trim_quote
from engrams.frozen_data import dataclass

FAINT = 0.6
"""Confidence of a liking that is only implied: "I kind of like tea"."""


@dataclass(frozen=True, slots=True)
class UtteranceContext:
    """Speaker, time and source of a text."""

    speaker: str
    """Name of the speaker; "the user" where there is none."""
    subject: str
    """Canonical subject of what the speaker says of themselves."""
    said_at: datetime
    source: str
    """Id of the record that holds the text."""
    trust: float = 1.0
    names: frozenset[str] = frozenset()
    """People known by name, lower case."""
    is_lowercase: bool = False
    """The text has no capitals, so they cannot mark names."""
    told_at: datetime | None = None
    """``said_at`` on the clock of whoever said it; None: that clock is not known."""
    project: str = ""
    """Name of the project in whose conversation it was said; empty for none."""

    @property
    def group(self) -> str:
        """Canonical subject of what is said of "us": the project, else the speaker."""
        return self.project or self.subject

    @property
    def local_time(self) -> datetime:
        """Time of telling, by whose day "tomorrow" is counted."""
        return self.told_at or self.said_at

    def evidence(self, quote: str) -> Evidence:
        """Return the literal quote with source and speaker."""
        speaker = "" if self.speaker == "the user" else self.speaker
        return Evidence(quote.strip(" \t\n,，"), self.source, speaker)

    def make_statement(self, quote: str, **fields: Any) -> CandidateStatement:
        """Make a statement of words of the text; ``fields`` as in ``CandidateStatement``."""
        common: dict[str, Any] = {
            "text": trim_quote(collapse_space(quote)),
            "subject": self.subject,
            "evidence": (self.evidence(quote),),
            "confidence": 0.85,
            "importance": 0.7,
            "trust": self.trust,
            "said_at": self.said_at,
            "effective_at": self.said_at,
        }
        return CandidateStatement(**{**common, **fields})
