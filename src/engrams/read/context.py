"""A context for a prompt: a stable profile, and what this query recalled, within an exact token budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engrams.ports import Query, TokenCounter
from engrams.read.flow import search
from engrams.read.render import line, profile_frame, recalled_frame, version
from engrams.read.request import Deps, Request
from engrams.text.terms import terms
from engrams.types import Context, Found, Hit, Kind, Record, Status

_PROFILE = (Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE, Kind.FACT, Kind.PREFERENCE)
_READ = 500
_LEAST, _SPARE = 5, 20
"""Tokens of the shortest statement, about; items more than that, for those that are too long."""
_MISSES = 5
"""Items too long to fit, in a row of the best, after which the rest is not tried."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens for the whole and for the profile, by ``counter``."""

    total: int
    prefix: int
    counter: TokenCounter


def context(request: Request, deps: Deps, budget: Budget) -> Context:
    """Search, and render what was found. Never more than ``budget.total`` tokens by its counter, whatever is stored."""
    if budget.total <= 0:
        return Context("", "", 0, "")
    room = min(budget.prefix, budget.total)
    profile = _fitting(_profile(request, deps, room), profile_frame, room, budget.counter)
    prefix = profile_frame(profile)
    found = search(request, deps)
    shown = {record.id for record in profile}
    hits = [hit for hit in found.hits if hit.record.id not in shown]
    left = budget.total - budget.counter.count(prefix + "\n\n") if prefix else budget.total
    kept = _fitting(hits, lambda some: _tail(request.text, some, found, left), left, budget.counter)
    return _whole(prefix, profile, kept, found, request, budget)


def _whole(prefix: str, profile: Sequence[Record], kept: Sequence[Hit], found: Found, request: Request, budget: Budget) -> Context:
    """Put both parts together; counters are not additive, so the whole is counted once more and cut where it is over."""
    while True:
        tail = _tail(request.text, kept, found, budget.total)
        result = Context(prefix, tail, 0, version(profile) if prefix else "", tuple(kept), found.abstain, found.trace)
        tokens = budget.counter.count(result.text)
        if tokens <= budget.total:
            return Context(prefix, tail, tokens, result.version, tuple(kept), found.abstain, found.trace)
        if kept:
            kept = kept[:-1]
        else:
            prefix = ""


def _tail(query: str, hits: Sequence[Hit], found: Found, tokens: int) -> str:
    """Recalled items, oldest first. A long one may use a third of the budget (about four characters a token)."""
    words = frozenset(terms(query))
    ordered = sorted(hits, key=lambda hit: (hit.record.valid_from or hit.record.recorded_at, hit.record.id))
    return recalled_frame([line(hit, words, max(200, tokens * 4 // 3)) for hit in ordered], found.abstain)


def _fitting(items: Sequence[Item], render: Callable[[Sequence[Item]], str], tokens: int, counter: TokenCounter) -> list[Item]:
    """The items, in their order, that fit; one that does not is passed over for the next."""

    def fits(number: int) -> bool:
        return counter.count(render(items[:number])) <= tokens

    # How many of the first fit together, in few counts: twice as many each time, then between the last two.
    least, most = 0, 8
    while most <= len(items) and fits(most):
        least, most = most, 2 * most
    start = least + bisect_left(range(least + 1, min(most, len(items) + 1)), True, key=lambda number: not fits(number))
    kept, misses = list(items[:start]), 0
    for item in items[start:]:
        if counter.count(render([*kept, item])) <= tokens:
            kept.append(item)
        elif (misses := misses + 1) > _MISSES:
            break
    return kept


def _profile(request: Request, deps: Deps, tokens: int) -> Sequence[Record]:
    """Corrections and rules first, then what is believed most; more than ``tokens`` can hold."""
    most = min(_READ, _SPARE + tokens // _LEAST)
    return deps.records.find(Query(request.reach, _PROFILE, (Status.ACTIVE,), request.as_of, order="believed", limit=most)).records
