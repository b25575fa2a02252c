"""A clause that was read: what the judge sees of it, and its statements."""

from __future__ import annotations

from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.clause_judge import ClauseView
from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class ReadClause:
    """A clause, as the judge sees it, with the statements that it makes if it is kept."""

    view: ClauseView
    candidates: tuple[CandidateStatement, ...]
    start: int
    end: int
    is_sure: bool = False
    """It needs no judge: a set form of a language, or the denial of an event."""
