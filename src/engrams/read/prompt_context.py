"""Context of a prompt: a stable profile and recalled items within a token budget.

``build_context`` is the way in. The last turns come first, then the summary and the profile; what
is left of the budget is filled with the hits of a search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engrams.core import Context, Hit, Record, SearchResult, Status
from engrams.frozen_data import dataclass
from engrams.ports import TokenCounter, is_skill
from engrams.read.code_truth import drop_untrue, drop_untrue_statements
from engrams.read.context_hits import (
    add_last_episode,
    add_neighbours,
    choose_helpful,
    cut_quoted_sentences,
    drop_given,
    drop_shown,
    keep_matching,
)
from engrams.read.corrected_words import mask_corrected
from engrams.read.dependencies import ReadDeps
from engrams.read.follow_up import complete_follow_up
from engrams.read.memory_md_lines import drop_repeated_lines
from engrams.read.personal_labels import label_personal_hits, label_personal_records
from engrams.read.profile_selection import IN_PART, mark_doubtful, select_profile
from engrams.read.query_preparation import cut_query
from engrams.read.render import (
    RecallStyle,
    conversation_frame,
    profile_frame,
    profile_statement,
    profile_version,
    recalled_text,
    summary_frame,
)
from engrams.read.request import ReadRequest
from engrams.read.search import search
from engrams.read.token_budget import TokenBudget, take_fitting
from engrams.text.acknowledgements import is_acknowledgement

_QUOTED_CHARACTERS = 40
"""Characters by which a statement is recognised in a profile that may have cut it."""
_CLOSEST = 3
"""Nearest memories that a context without any names beside its text."""

_QUOTING_FORMATS = ("text", "triple")
"""Line formats in which turns that only repeat the profile are left out."""


@dataclass(frozen=True, slots=True)
class ContextTokenBudget:
    """Tokens of a context, as ``counter`` counts them."""

    total: int
    prefix: int
    """Most tokens of the profile."""
    counter: TokenCounter


@dataclass(slots=True)
class _ContextParts:
    """Parts of a context, which give way from the last hit on until they fit."""

    prefix: str
    """Profile as text."""
    profile: Sequence[Record]
    hits: list[Hit]
    last_turns: Sequence[Record]
    summary: str

    def shrink(self) -> None:
        """Leave out what is missed least: the last hit, the profile, the oldest turn, the summary."""
        if self.hits:
            self.hits = self.hits[:-1]
        elif self.prefix:
            self.prefix = ""
        elif self.last_turns:
            self.last_turns = self.last_turns[1:]
        else:
            self.summary = ""


def build_context(request: ReadRequest, deps: ReadDeps, budget: ContextTokenBudget) -> Context:
    """Search and render, never over ``budget.total`` tokens by its counter."""
    if budget.total <= 0:
        return Context("", "", 0, "")
    request = complete_follow_up(request, deps.settings)
    room = TokenBudget(budget.total, budget.counter)
    # The last turns have priority over everything else.
    last_turns = take_fitting(
        request.last_turns[::-1], lambda turns: conversation_frame(turns[::-1]), room
    )[::-1]
    room = room.without(conversation_frame(last_turns))
    beside_summary = room.without(summary_frame(request.summary))
    if beside_summary.tokens >= 0:
        room = beside_summary
    else:
        request = replace(request, summary="")
    profile_room = room.limit_to(budget.prefix)
    profile: list[Record] = []
    if not request.omits_profile:
        profile = select_profile(request, deps, profile_room)
        profile = mark_doubtful(profile, request, deps, profile_room)
        profile = drop_untrue_statements(profile, request, deps)
    # Thanks and assent ask for nothing.
    search_request = replace(request, text="") if is_acknowledgement(request.text) else request
    result = search(search_request, deps)
    request, _ = cut_query(request, deps.query_chars)
    hits = _choose_hits(result, profile, last_turns, request, deps)
    # The profile is labelled by itself, so that it does not change with the hits beside it.
    profile = label_personal_records(profile, request)
    hits = label_personal_hits(hits, request)
    # Labels and notes came behind the selection, which filled the room.
    while profile and not profile_room.fits(profile_frame(profile)):
        profile.pop()
    prefix = profile_frame(profile)
    room = room.without(prefix)
    asks_past = bool(result.trace.understood.get("past"))
    style = RecallStyle(deps.settings.line_format, request.text, asks_past)
    hits = take_fitting(hits, lambda fitting: recalled_text(fitting, style, room.tokens), room)
    parts = _ContextParts(
        prefix=prefix,
        profile=profile,
        hits=hits,
        last_turns=last_turns,
        summary=summary_frame(request.summary),
    )
    context = _assemble(parts, result, style, TokenBudget(budget.total, budget.counter))
    return replace(context, closest=result.hits[:_CLOSEST]) if result.abstain else context


def drop_changed(
    context: Context, records: Mapping[str, Record], style: RecallStyle, counter: TokenCounter
) -> Context:
    """Leave out memories that were edited or forgotten after the context was rendered.

    ``records``: what is stored now, by id. A profile of which a memory changed goes as a whole: the
    next context renders it anew.
    """
    hits = tuple(hit for hit in context.hits if _is_unchanged(hit, records))
    keeps_prefix = all(
        record_id in records and _is_quoted(records[record_id], context.prefix)
        for record_id in context.standing
    )
    if len(hits) == len(context.hits) and keeps_prefix:
        return context
    recalled = recalled_text(hits, style, context.tokens)
    changed = replace(
        context,
        prefix=context.prefix if keeps_prefix else "",
        version=context.version if keeps_prefix else "",
        standing=context.standing if keeps_prefix else (),
        tail="\n\n".join(part for part in (context.summary, recalled) if part),
        hits=hits,
    )
    return replace(changed, tokens=counter.count(changed.text))


def _is_unchanged(hit: Hit, records: Mapping[str, Record]) -> bool:
    """Return True if a hit's text and status are as they were; skills are not stored."""
    if is_skill(hit.record.id):
        return True
    record = records.get(hit.record.id)
    if record is None or record.status is not hit.record.status:
        return False
    return hit.record.text in (record.text, mask_corrected(record).text)


def _is_quoted(record: Record, prefix: str) -> bool:
    """Return True if an active record still says what the profile quotes, which may be a part."""
    if record.status is not Status.ACTIVE:
        return False
    return profile_statement(record).words[:_QUOTED_CHARACTERS] in prefix


def _choose_hits(
    result: SearchResult,
    profile: Sequence[Record],
    last_turns: Sequence[Record],
    request: ReadRequest,
    deps: ReadDeps,
) -> list[Hit]:
    """Choose the hits to show beside profile and last turns, with what gives them meaning."""
    helpful = add_last_episode(choose_helpful(result, request), request, deps)
    hits = drop_given(helpful, request)
    given_ids = {hit.record.id for hit in helpful} - {hit.record.id for hit in hits}
    hits = add_neighbours(hits, request, deps)
    hits = drop_given([hit for hit in hits if hit.record.id not in given_ids], request)
    whole = [record for record in profile if IN_PART not in record.meta]
    quoting = profile if deps.settings.line_format in _QUOTING_FORMATS else []
    hits = drop_shown(hits, [*whole, *last_turns], quoting)
    hits = drop_repeated_lines(cut_quoted_sentences(hits, quoting, request), profile)
    return keep_matching(drop_untrue(hits, request, deps), request, deps)


def _assemble(
    parts: _ContextParts, result: SearchResult, style: RecallStyle, budget: TokenBudget
) -> Context:
    """Join the parts; counters are not additive, so recount and cut."""
    while True:
        pieces = (
            parts.summary,
            recalled_text(parts.hits, style, budget.tokens),
            conversation_frame(parts.last_turns),
        )
        context = Context(
            prefix=parts.prefix,
            tail="\n\n".join(piece for piece in pieces if piece),
            tokens=0,
            version=profile_version(parts.profile) if parts.prefix else "",
            hits=tuple(parts.hits),
            abstain=result.abstain,
            trace=result.trace,
            summary=parts.summary,
            standing=tuple(record.id for record in parts.profile) if parts.prefix else (),
        )
        tokens = budget.counter.count(context.text)
        if tokens <= budget.tokens:
            return replace(context, tokens=tokens)
        parts.shrink()
