"""Times of a candidate, compared with those of stored statements. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from engrams.core import Record
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import canonical_predicate

_RECENT = timedelta(days=366)
_JUST_NOW = timedelta(days=8)


def is_to_come(candidate: CandidateStatement) -> bool:
    """True if a statement holds only from a later time than it was said."""
    begins = candidate.valid_from
    said_at = candidate.said_at
    return begins is not None and said_at is not None and begins > said_at


def is_announced(record: Record, candidate: CandidateStatement) -> bool:
    """True if a record holds only from a later time than the candidate was said."""
    begins = record.valid_from
    said_at = candidate.said_at
    return (
        begins is not None
        and said_at is not None
        and begins > max(said_at, record.recorded_at)
        and not is_to_come(candidate)
    )


def gives_up_plan(candidate: CandidateStatement) -> bool:
    """True for a plan's denial: ``I won't live there after all``."""
    return candidate.category == "plan" and candidate.single and not candidate.polarity


def find_plans(candidate: CandidateStatement, statements: Sequence[Record]) -> list[Record]:
    """Select the statements that are still to come when the candidate is said."""
    return [record for record in statements if is_announced(record, candidate)]


def is_over(candidate: CandidateStatement) -> bool:
    """True for a value that ended before it was mentioned."""
    ends = candidate.valid_to
    said_at = candidate.said_at
    return (
        ends is not None
        and said_at is not None
        and ends <= said_at
        and candidate.single
        and candidate.polarity
    )


def find_moment(candidate: CandidateStatement, latest: Record) -> datetime | None:
    """Return when a candidate holds, to compare it with the latest stored statement.

    A recent change that is reported after a statement without a time of its own ends that one,
    even if the change itself was earlier: the statement was dated by nothing but its telling. A
    change that names no value ("I got laid off") has to be of the last days.
    """
    moment = candidate.effective_at or candidate.said_at
    said_at = candidate.said_at
    if moment is None or said_at is None:
        return moment
    has_own_time = latest.valid_from not in (None, latest.recorded_at)
    if latest.recorded_at > said_at or has_own_time:
        return moment
    is_change = candidate.effect in ("changes", "ends") or canonical_predicate(
        candidate.predicate
    ) in ("left", "sold")
    longest = _RECENT if candidate.object else _JUST_NOW
    return said_at if is_change and said_at - moment < longest else moment


def holds_until(record: Record) -> datetime:
    """Return the latest time at which a stored statement is known to hold."""
    if record.meta.get("event") and record.valid_from is not None:
        return record.valid_from
    return max(record.recorded_at, record.valid_from) if record.valid_from else record.recorded_at
