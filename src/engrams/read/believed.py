"""What stands at the head of every context: corrections and rules first, then what is believed most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from engrams.ports import Query, TokenCounter
from engrams.read.budget import MISSES, fitting
from engrams.read.profile import gated
from engrams.read.render import framed, profile_frame, stated, version
from engrams.read.request import Deps, Request
from engrams.read.seasons import closed
from engrams.settings import ReadSettings
from engrams.types import Kind, Record, Status

_PROFILE = (Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE, Kind.FACT, Kind.PREFERENCE)
_READ = 500
_LEAST, _USUAL, _SPARE = 5, 12, 20
"""Tokens of the shortest statement and of a usual one, about; items more than that, for those that are too long."""

_Said: TypeAlias = tuple[Record, tuple[str, str]]


def profile(request: Request, deps: Deps, tokens: int, counter: TokenCounter) -> list[Record]:
    """Corrections and rules first, then what is believed most, as far as ``tokens`` go."""
    section = deps.settings
    if not section.own_tokens:
        asked = _query(request, min(_READ, _SPARE + tokens // _USUAL))
        key = (request.reach, request.kinds, tokens)
        seen = tuple((slot.id, slot.version) for slot in deps.records.slots(asked)) if request.as_of is None else ()
        known = deps.profiles.find(key, seen) if seen else None
        if known is not None:
            return known
        found = deps.records.find(asked).records
        some = _standing(found, section)
        kept = _believed(some, tokens, section, counter)
        # That was all there is; or it ended before its items did, with more misses than are borne, and would end there again.
        if len(found) < asked.limit or len(some) - len(kept) > _misses(section):
            if seen:
                deps.profiles.keep(key, seen, kept)
            return kept
    every = deps.records.find(_query(request, min(_READ, _SPARE + tokens // _LEAST))).records
    return _believed(_standing(every, section), tokens, section, counter)


def _query(request: Request, most: int) -> Query:
    """At most so many of what may stand there."""
    kinds = tuple(kind for kind in _PROFILE if kind in (request.kinds or _PROFILE))
    return Query(request.reach, kinds, (Status.ACTIVE,), request.as_of, order="believed", limit=most)


def _standing(records: Sequence[Record], section: ReadSettings) -> list[Record]:
    """Those that may stand there."""
    return [record for record in gated(records, section.profile) if not closed(record, section.seasons)]


def _believed(records: Sequence[Record], tokens: int, section: ReadSettings, counter: TokenCounter) -> list[Record]:
    """The profile that fits: corrections within tokens of their own, where they have some, and the rest after them."""
    misses = _misses(section)
    said = [(record, stated(record)) for record in records]
    number = version(records)

    def render(some: Sequence[_Said]) -> str:
        return framed((each for _, each in some), number)

    own = [each for each in said if section.own_tokens and each[0].kind is Kind.CORRECTION]
    rest = [each for each in said if each not in own] if own else said
    first = fitting(own, render, min(section.own_tokens, tokens), counter, misses)
    kept = [record for record, _ in (*first, *fitting(rest, lambda some: render([*first, *some]), tokens, counter, misses))]
    # The number that these have may count for more tokens than the one that stood for it.
    while kept and counter.count(profile_frame(kept)) > tokens:
        kept.pop()
    return kept


def _misses(section: ReadSettings) -> int:
    return MISSES if section.overflow == "skip" else 0
