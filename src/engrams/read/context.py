"""Prompt context: stable profile and recalled items within a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engrams.ports import TokenCounter
from engrams.read.budget import take_fitting
from engrams.read.flow import search
from engrams.read.profile import select_profile
from engrams.read.render import (
    conversation_frame,
    profile_frame,
    profile_version,
    recalled_frame,
    recalled_line,
    role_line,
    summary_frame,
    triple_lines,
)
from engrams.read.request import ReadDeps, ReadRequest
from engrams.read.rules import find_latest
from engrams.text.terms import terms
from engrams.types import Context, Found, Hit, Record


@dataclass(frozen=True, slots=True)
class ContextBudget:
    """Tokens for the whole and for the profile, counted by ``counter``."""

    total: int
    prefix: int
    counter: TokenCounter


def build_context(request: ReadRequest, deps: ReadDeps, budget: ContextBudget) -> Context:
    """Search and render, never over ``budget.total`` tokens by its counter."""
    if budget.total <= 0:
        return Context("", "", 0, "")
    # The last turns have priority over everything else.
    latest = take_fitting(request.last_turns[::-1], lambda some: conversation_frame(some[::-1]), budget.total, budget.counter)[::-1]
    said = conversation_frame(latest)
    most = budget.total - budget.counter.count(said + "\n\n") if said else budget.total
    short = budget.counter.count(summary_frame(request.summary) + "\n\n") if request.summary else 0
    request, most = (request, most - short) if short <= most else (replace(request, summary=""), most)
    room = max(min(budget.prefix, most), 0)
    profile = select_profile(request, deps, room, budget.counter)
    prefix = profile_frame(profile)
    found = search(request, deps)
    shown = {record.id for record in (*profile, *latest)}
    hits = [hit for hit in _with_last_episode(request, found, deps) if hit.record.id not in shown]
    left = most - budget.counter.count(prefix + "\n\n") if prefix else most
    style = deps.settings.line_format
    kept = take_fitting(hits, lambda some: _recalled_part(request.text, some, found, left, style), left, budget.counter)
    return _assemble(prefix, profile, kept, found, request, budget, latest, style)


def _assemble(
    prefix: str,
    profile: Sequence[Record],
    kept: Sequence[Hit],
    found: Found,
    request: ReadRequest,
    budget: ContextBudget,
    latest: Sequence[Record],
    style: str,
) -> Context:
    """Join the parts; counters are not additive, so recount and cut."""
    while True:
        short = summary_frame(request.summary)
        parts = (short, _recalled_part(request.text, kept, found, budget.total, style), conversation_frame(latest))
        tail = "\n\n".join(part for part in parts if part)
        result = Context(prefix, tail, 0, profile_version(profile) if prefix else "", tuple(kept), found.abstain, found.trace, short)
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


def _recalled_part(query: str, hits: Sequence[Hit], found: Found, tokens: int, style: str) -> str:
    """Render recalled items, oldest first except in role style.

    A long item may use a third of the budget, at about four characters a token."""
    words = frozenset(terms(query))
    if style == "role":
        return recalled_frame([role_line(hit, words, max(200, tokens * 4 // 3)) for hit in hits], found.abstain)
    ordered = sorted(hits, key=lambda hit: (hit.record.valid_from or hit.record.recorded_at, hit.record.id))
    known = {hit.record.id: triple_lines(hit) for hit in ordered} if style == "triple" else {}
    lines = [one for hit in ordered for one in known.get(hit.record.id) or [recalled_line(hit, words, max(200, tokens * 4 // 3))]]
    return recalled_frame(lines, found.abstain)


def _with_last_episode(request: ReadRequest, found: Found, deps: ReadDeps) -> Sequence[Hit]:
    episode = find_latest(request, deps.records) if request.catch_up else None
    if episode is None or any(hit.record.id == episode.id for hit in found.hits):
        return found.hits
    return (Hit(episode, 1.0, episode.status), *found.hits)
