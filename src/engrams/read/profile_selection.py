"""The profile that stands at the head of every context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from engrams.core import Hit, Kind, Record, Scope, Status
from engrams.ports import RecordQuery, TokenCounter
from engrams.read.confidence_decay import ambient_score
from engrams.read.link_expansion import NodeEdgeCache, mark_outdated
from engrams.read.note_lines import add_core_lines
from engrams.read.render import (
    DOUBTED,
    DOUBTED_BY,
    cut_snippet,
    frame_statements,
    is_doubtful,
    profile_frame,
    profile_statement,
    profile_version,
)
from engrams.read.request import ReadDeps, ReadRequest
from engrams.read.token_budget import MISSES, take_fitting
from engrams.read.trigger_rules import out_of_season
from engrams.settings import ReadSettings

_USER = "user"
_DESCRIBING = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION})
_OWN_LABELS = frozenset({"conversation", "session", "thread", "chat"})
_PASSING_CATEGORIES = frozenset({"context", "event", ""})
_STATES = frozenset({"home", "work", "education", "family", "identity"})
"""Categories in which what changed is what is so now: "moved to Berlin"."""
_UNLASTING = ("hearsay", "modality", "temporal")
_PROFILE = (Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE, Kind.FACT, Kind.PREFERENCE)
_RULES = (Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE)
IN_PART = "in_part"
"""Metadata of a profile's note of which only a part is quoted."""

_READ = 500
_LEAST = 5
_USUAL = 12
_SPARE = 20
"""Approximate tokens of the shortest and of a usual statement; extra items to make up for long
ones.
"""

_Statement: TypeAlias = tuple[Record, tuple[str, str]]


def fits_profile(record: Record, reader: Scope) -> bool:
    """Test for a rule, or a lasting description of user or project.

    Of the user: about ``user``, the owner's name or ``user's …``, in the owner's scope, a
    conversation of theirs or a project that ``reader`` is in; or stated as a fact, as it is. Of
    that project: what has no subject, or is knowledge about a thing. Lasting: a lasting category,
    no end, no hearsay or supposition, no event but a change of state.
    """
    if record.kind is Kind.NOTE:
        return _is_own(record, reader)
    if record.kind not in _DESCRIBING or not (record.subject or record.category):
        return True
    names = (_USER, record.scope.labels[1].casefold())
    subject = record.subject.casefold()
    theirs = subject in names or subject.startswith(f"{_USER}'s ")
    theirs = theirs or (
        (not subject or record.category == "knowledge") and not _is_own(record, record.scope.owner)
    )
    passing = record.category in _PASSING_CATEGORIES or (
        record.meta.get("event") and record.category not in _STATES
    )
    ends = record.valid_to is not None and not record.superseded_by
    return (
        theirs
        and _is_own(record, reader)
        and not ends
        and not passing
        and not _is_unlasting(record)
    )


def _is_unlasting(record: Record) -> bool:
    """Return True for hearsay, a supposition, or the end of something."""
    return record.meta.get("effect") == "ends" or any(record.meta.get(name) for name in _UNLASTING)


def _is_own(record: Record, reader: Scope) -> bool:
    """Return True outside projects that the reader is not in."""
    labels = record.scope.labels
    read = reader.labels
    inside = set(zip(read[2::2], read[3::2], strict=True))
    return all(
        pair[0] in _OWN_LABELS or pair in inside
        for pair in zip(labels[2::2], labels[3::2], strict=True)
    )


def fits_core(record: Record, reader: Scope) -> bool:
    """Test for a statement of no other project, and no hearsay."""
    return _is_own(record, reader) and not _is_unlasting(record)


def has_ended(record: Record, now: datetime) -> bool:
    """Test for a statement whose time is over."""
    return record.valid_to is not None and record.valid_to <= now


def filter_profile(records: Iterable[Record], profile: str, reader: Scope) -> list[Record]:
    """Filter by the setting: ``core``, ``user``, or anything."""
    fits = {"core": fits_core, "user": fits_profile}.get(profile)
    return [record for record in records if fits is None or fits(record, reader)]


def select_profile(
    request: ReadRequest, deps: ReadDeps, tokens: int, counter: TokenCounter
) -> list[Record]:
    """Select corrections and rules, then the most believed statements, within ``tokens``."""
    section = deps.settings
    if section.profile == "rules" and request.text.strip():
        kinds = tuple(kind for kind in _RULES if kind in (request.kinds or _RULES))
        if not kinds:
            return []
        request = replace(request, kinds=kinds)
    if request.already_shown or section.profile_order == "ambient":
        every = deps.records.find(
            _profile_query(request, min(_READ, _SPARE + tokens // _LEAST), section.profile_notes)
        ).records
        fresh = [
            record
            for record in _filter_standing(every, request, section)
            if record.id not in request.already_shown
        ]
        if section.profile_order == "ambient":
            fresh.sort(key=lambda record: (-ambient_score(record, request.now), record.id))
        return _fit_statements(fresh, tokens, section, counter)
    if not section.correction_tokens and section.profile != "core":
        asked = _profile_query(
            request, min(_READ, _SPARE + tokens // _USUAL), section.profile_notes
        )
        key = (request.reach, request.kinds, tokens)
        seen = (
            tuple((slot.id, slot.version) for slot in deps.records.slots(asked))
            if request.as_of is None
            else ()
        )
        known = deps.profiles.find(key, seen) if seen else None
        if known is not None:
            return known
        found = deps.records.find(asked).records
        some = _filter_standing(found, request, section)
        kept = _fit_statements(some, tokens, section, counter)
        # Final if that was everything, or if it stopped at the limit of misses: more items would
        # not change it.
        if len(found) < asked.limit or len(some) - len(kept) > _allowed_misses(section):
            if seen:
                deps.profiles.keep(key, seen, kept)
            return kept
    every = deps.records.find(
        _profile_query(request, min(_READ, _SPARE + tokens // _LEAST), section.profile_notes)
    ).records
    standing = _filter_standing(every, request, section)
    if section.profile == "core":
        standing = add_core_lines(
            [one for one in standing if not has_ended(one, request.now)],
            request,
            deps,
            tokens,
            counter,
        )
    return _fit_statements(standing, tokens, section, counter)


def mark_doubtful(
    records: Sequence[Record],
    request: ReadRequest,
    deps: ReadDeps,
    tokens: int,
    counter: TokenCounter,
) -> list[Record]:
    """Add to profile statements what may have ended them, within ``tokens``."""
    owner = request.scope.owner
    later = NodeEdgeCache(owner, deps.graph).find_later([record.id for record in records])
    if not later:
        return list(records)
    known = {
        one.id: one
        for one in deps.records.get(
            owner, [edge.source for ends in later.values() for edge in ends]
        )
    }
    hits = mark_outdated(
        [Hit(record, 0.0, record.status) for record in records], later, known, request.as_of
    )
    noted = [
        replace(
            hit.record,
            meta={
                **hit.record.meta,
                DOUBTED: f"{hit.outdated.said_at:%Y-%m-%d}",
                DOUBTED_BY: hit.outdated.by,
            },
        )
        if hit.outdated and is_doubtful(hit.outdated)
        else hit.record
        for hit in hits
    ]
    while noted and counter.count(profile_frame(noted)) > tokens:
        noted.pop()
    return noted


def _profile_query(request: ReadRequest, most: int, notes: bool) -> RecordQuery:
    kinds = tuple(
        kind
        for kind in (*_PROFILE, *((Kind.NOTE,) if notes else ()))
        if kind in (request.kinds or (*_PROFILE, Kind.NOTE))
    )
    return RecordQuery(
        request.reach, kinds, (Status.ACTIVE,), request.as_of, order="believed", limit=most
    )


def _filter_standing(
    records: Sequence[Record], request: ReadRequest, section: ReadSettings
) -> list[Record]:
    quoted = {item.source for record in records for item in record.evidence}
    records = [record for record in records if record.id not in quoted]
    return [
        record
        for record in filter_profile(records, section.profile, request.scope)
        if not out_of_season(record, section.seasons)
    ]


def _shorten_notes(records: Sequence[Record], tokens: int) -> list[Record]:
    """Cut long notes to a third of the tokens, placed last."""
    most = max(200, tokens * 4 // 3)
    cut = [
        replace(
            one, text=cut_snippet(one.text, frozenset(), most), meta={**one.meta, IN_PART: True}
        )
        if one.kind is Kind.NOTE and len(one.text) > most
        else one
        for one in records
    ]
    return sorted(cut, key=lambda one: IN_PART in one.meta)


def _fit_statements(
    records: Sequence[Record], tokens: int, section: ReadSettings, counter: TokenCounter
) -> list[Record]:
    """Take corrections within their own tokens, then the rest."""
    records = _shorten_notes(records, tokens)
    misses = _allowed_misses(section)
    said = [(record, profile_statement(record)) for record in records]
    number = profile_version(records)

    def render(some: Sequence[_Statement]) -> str:
        return frame_statements((each for _, each in some), number)

    own = [each for each in said if section.correction_tokens and each[0].kind is Kind.CORRECTION]
    rest = [each for each in said if each not in own] if own else said
    first = take_fitting(own, render, min(section.correction_tokens, tokens), counter, misses)
    kept = [
        record
        for record, _ in (
            *first,
            *take_fitting(rest, lambda some: render([*first, *some]), tokens, counter, misses),
        )
    ]
    # The final version number may take more tokens than the one used while fitting.
    while kept and counter.count(profile_frame(kept)) > tokens:
        kept.pop()
    return kept


def _allowed_misses(section: ReadSettings) -> int:
    return MISSES if section.overflow == "skip" else 0
