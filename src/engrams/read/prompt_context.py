"""Prompt context: stable profile and recalled items within a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.core import UNSEARCHED, Context, Hit, Record, SearchResult, Status
from engrams.frozen_data import dataclass
from engrams.ports import Condition, RecordQuery, TokenCounter, Where
from engrams.read.adjacent_turns import drop_shown, with_neighbours
from engrams.read.corrected_words import mask_corrected
from engrams.read.note_lines import drop_said_lines
from engrams.read.profile_selection import IN_PART, mark_doubtful, select_profile
from engrams.read.render import (
    DOUBTED_BY,
    conversation_frame,
    dated_line,
    frame_statements,
    is_doubtful,
    profile_frame,
    profile_statement,
    profile_version,
    recalled_days,
    recalled_frame,
    role_line,
    summary_frame,
    triple_lines,
)
from engrams.read.request import ReadDeps, ReadRequest
from engrams.read.search_pipeline import cut_query, search
from engrams.read.token_budget import take_fitting
from engrams.read.trigger_rules import find_latest
from engrams.text.acknowledgements import is_acknowledgement
from engrams.text.terms import terms

ANSWER_CHARACTERS = 500
"""Characters of an assistant's answer in a context: its sentences that bear on the question."""
_MOST_LATER = 3
"""Messages that a context adds because a doubt points to them."""


@dataclass(frozen=True, slots=True)
class ContextTokenBudget:
    """Tokens for the whole and for the profile, counted by ``counter``."""

    total: int
    prefix: int
    counter: TokenCounter


def build_context(request: ReadRequest, deps: ReadDeps, budget: ContextTokenBudget) -> Context:
    """Search and render, never over ``budget.total`` tokens by its counter."""
    if budget.total <= 0:
        return Context("", "", 0, "")
    # The last turns have priority over everything else.
    latest = take_fitting(
        request.last_turns[::-1],
        lambda some: conversation_frame(some[::-1]),
        budget.total,
        budget.counter,
    )[::-1]
    said = conversation_frame(latest)
    most = budget.total - budget.counter.count(said + "\n\n") if said else budget.total
    short = budget.counter.count(summary_frame(request.summary) + "\n\n") if request.summary else 0
    request, most = (
        (request, most - short) if short <= most else (replace(request, summary=""), most)
    )
    room = max(min(budget.prefix, most), 0)
    profile = mark_doubtful(
        select_profile(request, deps, room, budget.counter), request, deps, room, budget.counter
    )
    prefix = profile_frame(profile)
    # Thanks and assent ask for nothing.
    found = search(replace(request, text="") if is_acknowledgement(request.text) else request, deps)
    request, _ = cut_query(request, deps.query_chars)
    near = [hit for hit in found.hits if not found.abstain or "trigger" in hit.parts]
    style = deps.settings.line_format
    told = profile if style in ("text", "triple") else []
    whole = [record for record in profile if IN_PART not in record.meta]
    hits = drop_shown(
        with_neighbours(_with_last_episode(request, near, deps), request, deps),
        [*whole, *latest],
        told,
    )
    hits = _with_later(
        drop_said_lines(hits, profile),
        [] if found.abstain else profile,
        [*profile, *latest],
        request,
        deps,
    )
    left = most - budget.counter.count(prefix + "\n\n") if prefix else most
    kept = take_fitting(
        hits, lambda some: _recalled_part(request.text, some, left, style), left, budget.counter
    )
    return _assemble(prefix, profile, kept, found, request, budget, latest, style)


def _assemble(
    prefix: str,
    profile: Sequence[Record],
    kept: Sequence[Hit],
    found: SearchResult,
    request: ReadRequest,
    budget: ContextTokenBudget,
    latest: Sequence[Record],
    style: str,
) -> Context:
    """Join the parts; counters are not additive, so recount and cut."""
    while True:
        short = summary_frame(request.summary)
        standing = tuple(record.id for record in profile) if prefix else ()
        parts = (
            short,
            _recalled_part(request.text, kept, budget.total, style),
            conversation_frame(latest),
        )
        tail = "\n\n".join(part for part in parts if part)
        result = Context(
            prefix=prefix,
            tail=tail,
            tokens=0,
            version=profile_version(profile) if prefix else "",
            hits=tuple(kept),
            abstain=found.abstain,
            trace=found.trace,
            summary=short,
            standing=standing,
        )
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


def _recalled_part(query: str, hits: Sequence[Hit], tokens: int, style: str) -> str:
    """Render recalled items, first said first except in role style.

    A long item may use a third of the budget, at about four characters a token; an assistant's
    answer ``ANSWER_CHARACTERS``.
    """
    words = frozenset(terms(query))
    most = max(200, tokens * 4 // 3)
    longest = {
        hit.record.id: min(most, ANSWER_CHARACTERS) if hit.record.role == "assistant" else most
        for hit in hits
    }
    if style == "sections":
        said = [
            record
            for hit in hits
            for record in (
                *(fact for fact in hit.facts if fact.status is Status.ACTIVE),
                hit.record,
            )[:1]
        ]
        return frame_statements(map(profile_statement, said), profile_version(said))
    if style == "role":
        return recalled_frame([role_line(hit, words, longest[hit.record.id]) for hit in hits])
    ordered = sorted(hits, key=lambda hit: hit.record.story_key)
    if style == "triple":
        return recalled_frame(
            [
                one
                for hit in ordered
                for one in triple_lines(hit) or [dated_line(hit, words, longest[hit.record.id])]
            ]
        )
    return recalled_frame(recalled_days(ordered, words, longest))


def _with_later(
    hits: Sequence[Hit],
    profile: Sequence[Record],
    known: Sequence[Record],
    request: ReadRequest,
    deps: ReadDeps,
) -> list[Hit]:
    """Add the later messages that doubts point to.

    ``known``: records shown elsewhere; what they quote is not told again.
    """
    doubts = [
        hit.outdated.by
        for hit in hits
        if hit.outdated and not hit.outdated.closed and is_doubtful(hit.outdated)
    ]
    doubts += [record.meta[DOUBTED_BY] for record in profile if DOUBTED_BY in record.meta]
    shown = {hit.record.id for hit in hits} | {
        name for one in known for name in (one.id, *(quote.source for quote in one.evidence))
    }
    missing = [
        name
        for name in dict.fromkeys(doubts)
        if name not in shown and name not in request.already_shown
    ][:_MOST_LATER]
    if not missing:
        return [*hits]
    asked = RecordQuery(
        request.reach, as_of=request.as_of, where=Where("and", (Condition("id", "in", missing),))
    )
    later = [
        mask_corrected(one)
        for one in deps.records.find(asked).records
        if UNSEARCHED not in one.meta
    ]
    return [*hits, *(Hit(one, 0.0, one.status) for one in later)]


def _with_last_episode(request: ReadRequest, hits: Sequence[Hit], deps: ReadDeps) -> Sequence[Hit]:
    episode = find_latest(request, deps.records) if request.catch_up else None
    if episode is None or any(hit.record.id == episode.id for hit in hits):
        return hits
    return (Hit(episode, 1.0, episode.status), *hits)
