"""Statements that hold from a later day, compared with others."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.types import Record
from engrams.write.candidatestatement import CandidateStatement


def is_to_come(candidate: CandidateStatement) -> bool:
    """True if a statement holds only from a later day."""
    begins, said = candidate.valid_from, candidate.said_at
    return begins is not None and said is not None and begins > said


def is_announced(record: Record, candidate: CandidateStatement) -> bool:
    """True if a record holds only after the candidate was said."""
    begins, said = record.valid_from, candidate.said_at
    return begins is not None and said is not None and begins > max(said, record.recorded_at) and not is_to_come(candidate)


def gives_up_plan(candidate: CandidateStatement) -> bool:
    """True for a plan's denial: ``I won't live there after all``."""
    return candidate.category == "plan" and candidate.single and not candidate.polarity


def find_plans(candidate: CandidateStatement, known: Sequence[Record]) -> list[Record]:
    """Select what is only to come when the candidate is said."""
    return [record for record in known if is_announced(record, candidate)]
