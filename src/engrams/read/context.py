"""A context for a prompt: a stable profile, and what this query recalled, within an exact token budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from engrams.ports import Query, TokenCounter
from engrams.read import episodes
from engrams.read.flow import search
from engrams.read.profile import gated
from engrams.read.render import framed, line, profile_frame, recalled_frame, said_frame, spoken, stated, summary_frame, triples, version
from engrams.read.request import Deps, Request
from engrams.read.seasons import closed
from engrams.settings import ReadSettings
from engrams.text.terms import terms
from engrams.types import Context, Found, Hit, Kind, Record, Status

_PROFILE = (Kind.CORRECTION, Kind.NEGATIVE, Kind.RULE, Kind.PROCEDURE, Kind.FACT, Kind.PREFERENCE)
_READ = 500
_LEAST, _USUAL, _SPARE = 5, 12, 20
"""Tokens of the shortest statement and of a usual one, about; items more than that, for those that are too long."""
_MISSES = 5
"""Items too long to fit, in a row of the best, after which the rest is not tried."""

Item = TypeVar("Item")
_Said: TypeAlias = tuple[Record, tuple[str, str]]


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
    # The last of what was said comes first: it is there whatever else is.
    latest = _fitting(request.latest[::-1], lambda some: said_frame(some[::-1]), budget.total, budget.counter)[::-1]
    said = said_frame(latest)
    most = budget.total - budget.counter.count(said + "\n\n") if said else budget.total
    short = budget.counter.count(summary_frame(request.summary) + "\n\n") if request.summary else 0
    request, most = (request, most - short) if short <= most else (replace(request, summary=""), most)
    room = max(min(budget.prefix, most), 0)
    profile = _profile(request, deps, room, budget.counter)
    prefix = profile_frame(profile)
    found = search(request, deps)
    shown = {record.id for record in (*profile, *latest)}
    hits = [hit for hit in _caught_up(request, found, deps) if hit.record.id not in shown]
    left = most - budget.counter.count(prefix + "\n\n") if prefix else most
    style = deps.settings.lines
    kept = _fitting(hits, lambda some: _tail(request.text, some, found, left, style), left, budget.counter)
    return _whole(prefix, profile, kept, found, request, budget, latest, style)


def _whole(
    prefix: str,
    profile: Sequence[Record],
    kept: Sequence[Hit],
    found: Found,
    request: Request,
    budget: Budget,
    latest: Sequence[Record],
    style: str,
) -> Context:
    """Put the parts together; counters are not additive, so the whole is counted once more and cut where it is over."""
    while True:
        short = summary_frame(request.summary)
        parts = (short, _tail(request.text, kept, found, budget.total, style), said_frame(latest))
        tail = "\n\n".join(part for part in parts if part)
        result = Context(prefix, tail, 0, version(profile) if prefix else "", tuple(kept), found.abstain, found.trace, short)
        tokens = budget.counter.count(result.text)
        if tokens <= budget.total:
            return replace(result, tokens=tokens)
        if kept:
            kept = kept[:-1]
        elif prefix:
            prefix = ""
        elif latest:
            latest = latest[1:]
        else:
            request = replace(request, summary="")


def _tail(query: str, hits: Sequence[Hit], found: Found, tokens: int, style: str) -> str:
    """Recalled items, oldest first but for the role's style. A long one may use a third of the budget (about four characters a token)."""
    words = frozenset(terms(query))
    if style == "role":
        return recalled_frame([spoken(hit, words, max(200, tokens * 4 // 3)) for hit in hits], found.abstain)
    ordered = sorted(hits, key=lambda hit: (hit.record.valid_from or hit.record.recorded_at, hit.record.id))
    known = {hit.record.id: triples(hit) for hit in ordered} if style == "triple" else {}
    lines = [one for hit in ordered for one in known.get(hit.record.id) or [line(hit, words, max(200, tokens * 4 // 3))]]
    return recalled_frame(lines, found.abstain)


def _caught_up(request: Request, found: Found, deps: Deps) -> Sequence[Hit]:
    """What was found, with the latest episode before it where the conversation has just begun."""
    episode = episodes.latest(request, deps.records) if request.catch_up else None
    if episode is None or any(hit.record.id == episode.id for hit in found.hits):
        return found.hits
    return (Hit(episode, 1.0, episode.status), *found.hits)


def _believed(records: Sequence[Record], tokens: int, section: ReadSettings, counter: TokenCounter) -> list[Record]:
    """The profile that fits: corrections within tokens of their own, where they have some, and the rest after them."""
    misses = _misses(section)
    said = [(record, stated(record)) for record in records]
    number = version(records)

    def render(some: Sequence[_Said]) -> str:
        return framed((each for _, each in some), number)

    own = [each for each in said if section.own_tokens and each[0].kind is Kind.CORRECTION]
    rest = [each for each in said if each not in own] if own else said
    first = _fitting(own, render, min(section.own_tokens, tokens), counter, misses)
    kept = [record for record, _ in (*first, *_fitting(rest, lambda some: render([*first, *some]), tokens, counter, misses))]
    # The number that these have may count for more tokens than the one that stood for it.
    while kept and counter.count(profile_frame(kept)) > tokens:
        kept.pop()
    return kept


def _misses(section: ReadSettings) -> int:
    return _MISSES if section.overflow == "skip" else 0


def _fitting(
    items: Sequence[Item], render: Callable[[Sequence[Item]], str], tokens: int, counter: TokenCounter, most_misses: int = _MISSES
) -> list[Item]:
    """The items, in their order, that fit; one that does not is passed over for the next, ``most_misses`` times."""

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
        elif (misses := misses + 1) > most_misses:
            break
    return kept


def _profile(request: Request, deps: Deps, tokens: int, counter: TokenCounter) -> list[Record]:
    """Corrections and rules first, then what is believed most, as far as ``tokens`` go."""
    section = deps.settings
    if not section.own_tokens:
        some = _candidates(request, deps, min(_READ, _SPARE + tokens // _USUAL))
        kept = _believed(some, tokens, section, counter)
        # More misses than are borne: it ended before its items did, and would end there with more of them too.
        if len(some) - len(kept) > _misses(section):
            return kept
    return _believed(_candidates(request, deps, min(_READ, _SPARE + tokens // _LEAST)), tokens, section, counter)


def _candidates(request: Request, deps: Deps, most: int) -> Sequence[Record]:
    """At most so many of what may stand in the profile."""
    kinds = tuple(kind for kind in _PROFILE if kind in (request.kinds or _PROFILE))
    page = deps.records.find(Query(request.reach, kinds, (Status.ACTIVE,), request.as_of, order="believed", limit=most))
    return [record for record in gated(page.records, deps.settings.profile) if not closed(record, deps.settings.seasons)]
