"""Times of statements, compared with those of others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from engrams.core import Record
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import canonical_predicate

_RECENT = timedelta(days=366)
_JUST = timedelta(days=8)


def is_to_come(candidate: CandidateStatement) -> bool:
    """True if a statement holds only from a later day."""
    begins = candidate.valid_from
    said = candidate.said_at
    return begins is not None and said is not None and begins > said


def is_announced(record: Record, candidate: CandidateStatement) -> bool:
    """True if a record holds only after the candidate was said."""
    begins = record.valid_from
    said = candidate.said_at
    return (
        begins is not None
        and said is not None
        and begins > max(said, record.recorded_at)
        and not is_to_come(candidate)
    )


def gives_up_plan(candidate: CandidateStatement) -> bool:
    """True for a plan's denial: ``I won't live there after all``."""
    return candidate.category == "plan" and candidate.single and not candidate.polarity


def find_plans(candidate: CandidateStatement, known: Sequence[Record]) -> list[Record]:
    """Select what is only to come when the candidate is said."""
    return [record for record in known if is_announced(record, candidate)]


def is_over(candidate: CandidateStatement) -> bool:
    """True for a value that ended before it was told."""
    ends = candidate.valid_to
    said = candidate.said_at
    return (
        ends is not None
        and said is not None
        and ends <= said
        and candidate.single
        and candidate.polarity
    )


def find_moment(candidate: CandidateStatement, latest: Record) -> datetime | None:
    """Return when a statement holds, for comparison with the latest known one.

    A recent change told after a statement without a time of its own ends it: that one was dated by
    nothing but its telling. One that names no value ("I got laid off") has to be of the last days.
    """
    moment = candidate.effective_at or candidate.said_at
    said = candidate.said_at
    if (
        moment is None
        or said is None
        or latest.recorded_at > said
        or latest.valid_from not in (None, latest.recorded_at)
    ):
        return moment
    changes = candidate.effect in ("changes", "ends") or canonical_predicate(
        candidate.predicate
    ) in ("left", "sold")
    return said if changes and said - moment < (_RECENT if candidate.object else _JUST) else moment


def holds_until(record: Record) -> datetime:
    """Latest time at which a stored statement is known to hold."""
    if record.meta.get("event") and record.valid_from is not None:
        return record.valid_from
    return max(record.recorded_at, record.valid_from) if record.valid_from else record.recorded_at
