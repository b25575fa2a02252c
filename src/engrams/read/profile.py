"""The profile that stands at the head of every context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from engrams.ports import Query, TokenCounter
from engrams.read.budget import MISSES, take_fitting
from engrams.read.render import frame_statements, profile_frame, profile_statement, profile_version
from engrams.read.request import ReadDeps, ReadRequest
from engrams.read.seasons import out_of_season
from engrams.settings import ReadSettings
from engrams.types import Kind, Record, Status

_USER = "user"
_DESCRIBING = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION})
_OWN_LABELS = frozenset({"conversation", "session", "thread", "chat"})
_PASSING_CATEGORIES = frozenset({"context", "event", ""})
_UNLASTING = ("event", "hearsay", "modality", "temporal", "effect")
_PROFILE = (Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE, Kind.FACT, Kind.PREFERENCE)
_READ = 500
_LEAST, _USUAL, _SPARE = 5, 12, 20
"""Tokens of the shortest statement and of a usual one, about; items more than that, for those that are too long."""

_Statement: TypeAlias = tuple[Record, tuple[str, str]]


def fits_profile(record: Record) -> bool:
    """A rule of the user's always; a statement where it is theirs, lasts and describes.

    Theirs: about ``user`` or what is theirs, told to the owner or in a conversation of theirs, not to a project. Lasting: no event, no
    hearsay, nothing supposed, nothing that ends or has ended, of a category that lasts. Describing: a fact, a preference or a
    correction.
    """
    if record.kind not in _DESCRIBING:
        return True
    theirs = record.subject == _USER or record.subject.startswith(f"{_USER}'s ")
    inside = all(label in _OWN_LABELS for label in record.scope.labels[2::2])
    lasts = record.valid_to is None and record.category not in _PASSING_CATEGORIES and not any(record.meta.get(name) for name in _UNLASTING)
    return theirs and inside and lasts


def filter_profile(records: Iterable[Record], profile: str) -> list[Record]:
    """Those that a profile of this sort takes: ``all`` of them, or those about the ``user``."""
    return [record for record in records if profile == "all" or fits_profile(record)]


def select_profile(request: ReadRequest, deps: ReadDeps, tokens: int, counter: TokenCounter) -> list[Record]:
    """Corrections and rules first, then what is believed most, as far as ``tokens`` go."""
    section = deps.settings
    if not section.correction_tokens:
        asked = _profile_query(request, min(_READ, _SPARE + tokens // _USUAL))
        key = (request.reach, request.kinds, tokens)
        seen = tuple((slot.id, slot.version) for slot in deps.records.slots(asked)) if request.as_of is None else ()
        known = deps.profiles.find(key, seen) if seen else None
        if known is not None:
            return known
        found = deps.records.find(asked).records
        some = _filter_standing(found, section)
        kept = _fit_statements(some, tokens, section, counter)
        # That was all there is; or it ended before its items did, with more misses than are borne, and would end there again.
        if len(found) < asked.limit or len(some) - len(kept) > _allowed_misses(section):
            if seen:
                deps.profiles.keep(key, seen, kept)
            return kept
    every = deps.records.find(_profile_query(request, min(_READ, _SPARE + tokens // _LEAST))).records
    return _fit_statements(_filter_standing(every, section), tokens, section, counter)


def _profile_query(request: ReadRequest, most: int) -> Query:
    """At most so many of what may stand there."""
    kinds = tuple(kind for kind in _PROFILE if kind in (request.kinds or _PROFILE))
    return Query(request.reach, kinds, (Status.ACTIVE,), request.as_of, order="believed", limit=most)


def _filter_standing(records: Sequence[Record], section: ReadSettings) -> list[Record]:
    """Those that may stand there."""
    return [record for record in filter_profile(records, section.profile) if not out_of_season(record, section.seasons)]


def _fit_statements(records: Sequence[Record], tokens: int, section: ReadSettings, counter: TokenCounter) -> list[Record]:
    """The profile that fits: corrections within tokens of their own, where they have some, and the rest after them."""
    misses = _allowed_misses(section)
    said = [(record, profile_statement(record)) for record in records]
    number = profile_version(records)

    def render(some: Sequence[_Statement]) -> str:
        return frame_statements((each for _, each in some), number)

    own = [each for each in said if section.correction_tokens and each[0].kind is Kind.CORRECTION]
    rest = [each for each in said if each not in own] if own else said
    first = take_fitting(own, render, min(section.correction_tokens, tokens), counter, misses)
    kept = [record for record, _ in (*first, *take_fitting(rest, lambda some: render([*first, *some]), tokens, counter, misses))]
    # The number that these have may count for more tokens than the one that stood for it.
    while kept and counter.count(profile_frame(kept)) > tokens:
        kept.pop()
    return kept


def _allowed_misses(section: ReadSettings) -> int:
    return MISSES if section.overflow == "skip" else 0
