"""Memories about somebody or something, for a person to choose what to purge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engrams.core import Record, Scope, Status
from engrams.errors import InputError
from engrams.forget.purge_words import NOT_PURGED, PAGE, list_current_texts
from engrams.forget.source_effects import SourceChangeReport, preview_each
from engrams.ports import RecordQuery, RecordStore, ScopeReach
from engrams.text.normalize import fold


@dataclass(frozen=True, slots=True)
class PurgeCandidate:
    """Memory that a purge of everything about something may erase."""

    record: Record
    certain: bool
    """True: the memory names it. False: only a search found the memory."""
    report: SourceChangeReport
    """What a purge of this memory alone would reach."""


def find_candidates(
    about: str, scope: Scope, store: RecordStore, hits: Sequence[Record], min_words: int
) -> tuple[PurgeCandidate, ...]:
    """Find the memories that mention something, then those that a search found.

    ``hits``: records that a search for it found. InputError: ``about`` is empty.
    """
    if not about.strip():
        raise InputError("The name of a person, place or thing is missing.", hint="Give a name.")
    reach = ScopeReach(scope.owner, (scope,), tree=True)
    mentioning = store.find(RecordQuery(reach, statuses=NOT_PURGED, text=about, limit=PAGE)).records
    stated = store.find(
        RecordQuery(reach, statuses=NOT_PURGED, about=(fold(about),), limit=PAGE)
    ).records
    name = re.compile(r"(?<!\w)" + re.escape(fold(about)) + r"(?!\w)")
    certain = {
        record.id: record
        for record in (*mentioning, *stated)
        if name.search(fold(" ".join((record.subject, record.object, *list_current_texts(record)))))
    }
    candidates = certain | {
        record.id: record
        for record in hits
        if record.status is not Status.PURGED and record.scope.owner == scope.owner
    }
    reports = preview_each([*candidates.values()], "purge", store, min_words)
    return tuple(
        PurgeCandidate(record, record.id in certain, report)
        for record, report in zip(candidates.values(), reports, strict=True)
    )
