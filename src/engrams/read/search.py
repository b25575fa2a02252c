"""Search: one question goes through a tuple of stages, and comes out as hits with a trace.

``search`` is the way in. What goes through is a ``Search``; the stages are functions of
``engrams.read.stages``, in the order in which they are named here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from engrams.core import Hit, SearchResult, SearchTraceRow, Trace
from engrams.ports import is_skill
from engrams.read import stages
from engrams.read.dependencies import ReadDeps
from engrams.read.floors import is_near, measure_nearness
from engrams.read.query_preparation import cut_query
from engrams.read.relevance.features import bears_on
from engrams.read.request import ReadRequest
from engrams.read.search_state import Search

Stage: TypeAlias = Callable[[Search], None]

STAGES: Mapping[str, tuple[Stage, ...]] = {
    "query": (stages.prepare,),
    "hot": (stages.find_hot,),
    "candidates": (stages.collect,),
    "fuse": (stages.fuse,),
    "expand": (stages.set_floors, stages.follow_links),
    "join": (
        stages.fetch,
        stages.drop_unfit,
        stages.raise_spoken_dates,
        stages.join_facts,
        stages.propose_to_judge,
    ),
    "rerank": (stages.mark_outdated, stages.rerank, stages.decay),
    "diversify": (
        stages.lower_others,
        stages.let_people_answer,
        stages.put_current_first,
        stages.drop_repeats,
        stages.drop_shown,
        stages.limit_episodes,
        stages.judge,
        stages.cut_at_gap,
        stages.spread_over_time,
        stages.diversify,
        stages.decay_confidence,
        stages.tell_verdicts,
        stages.bring_news,
        stages.put_rules_first,
        stages.choose,
        stages.check_code,
    ),
}
"""Stages in their order, under the names by which a trace counts and times them."""

_SURE_PARTS = ("trigger", "identifier")
"""Parts of a score that say that a hit was meant, however far its text is from the query."""


def search(request: ReadRequest, deps: ReadDeps) -> SearchResult:
    """Find records that answer the request, best first; no side effects.

    Of a very long query its head and tail count. Nothing is found where memory is off.
    """
    if request.is_silent:
        request = replace(request, text="", limit=0)
    request, query_notes = cut_query(request, deps.query_chars)
    if request.limit <= 0 or not request.has_question:
        notes = ("nothing was asked for", *query_notes)
        trace = Trace(
            query=request.text, understood={}, stages=(), rows=(), notes=notes, path="skipped"
        )
        return SearchResult((), trace, abstain=True)
    state = Search(request, deps, query_notes)
    for name, functions in STAGES.items():
        for run_stage in functions:
            run_stage(state)
        state.end_stage(name)
    nearness = measure_nearness(state.pool, state.passes, state.prepared)
    return SearchResult(
        hits=tuple(state.hits),
        trace=_build_trace(state),
        abstain=not _has_answer(state, nearness),
        nearness=nearness,
    )


def _has_answer(search: Search, nearness: float) -> bool:
    """True if a hit helps, or memory is near enough to the query, or a hit is surely meant."""
    if not search.hits:
        return False
    if search.judgement is not None and search.deps.settings.abstain is None:
        if any(hit.helps for hit in search.hits):
            return True
    elif is_near(nearness, search.deps, search.request.scope.owner):
        return True
    if search.judgement is None and search.deps.settings.least_need:
        # Too few memories to judge by what stands out.
        text = search.request.text
        if any(bears_on(text, hit.record.search_text) for hit in search.hits):
            return True
    # A reranker with a threshold has judged what is near.
    has_verdicts = search.deps.rerank_settings.threshold is not None
    sure_parts: tuple[str, ...] = (*_SURE_PARTS, "rerank") if has_verdicts else _SURE_PARTS
    if search.judgement is not None and not search.judgement.need:
        # The prompt asks for nothing: what looks like an identifier stands in the code it brings.
        sure_parts = ("trigger",)
    return any(part in hit.parts for hit in search.hits for part in sure_parts)


def _build_trace(search: Search) -> Trace:
    return Trace(
        query=search.request.text,
        understood=search.prepared.cues.to_json(),
        stages=tuple(search.stages),
        rows=_build_rows(search),
        notes=_build_notes(search),
        path=_name_path(search),
        missing=_list_missing(search),
    )


def _list_missing(search: Search) -> tuple[str, ...]:
    """Name the models that could not take part."""
    missing = (search.prepared.embedding.gap, search.rerank_gap)
    return tuple(gap for gap in missing if gap)


def _build_rows(search: Search) -> tuple[SearchTraceRow, ...]:
    """Rows of the chosen hits, then of all others whose records were looked at."""
    beyond_limit = f"not among the best {search.request.limit}"
    rows = {hit.record.id: _build_row(hit, search) for hit in search.hits}
    for record_id, hit in search.traced.items():
        if record_id not in rows:
            rows[record_id] = _build_row(hit, search, search.dropped.get(record_id, beyond_limit))
    return tuple(rows.values())


def _build_row(hit: Hit, search: Search, dropped: str = "") -> SearchTraceRow:
    verdict = search.verdicts.get(hit.record.id)
    return SearchTraceRow(
        hit.record.id,
        hit.record.text,
        round(hit.score, 4),
        hit.parts,
        dropped,
        verdict.probability if verdict and dropped else hit.probability,
        verdict.reasons if verdict else (),
    )


def _build_notes(search: Search) -> tuple[str, ...]:
    notes = [*search.routing_notes]
    if search.rerank_note:
        notes.append(search.rerank_note)
    if not search.pool.exact:
        notes.append(f"{search.pool.total} records in reach: the best of each source were scored")
    embedding = search.prepared.embedding
    if embedding.gap == "embedder_late":
        notes.append(f"the embedder was late: {embedding.problem}")
    elif embedding.gap:
        notes.append(f"the embedder failed: {embedding.problem}")
    if search.prepared.query.vector is None:
        notes.append("no vector for this query: found by words only")
    if search.deps.skills is not None:
        notes += [
            f"{hit.record.id} is not a memory: it is in the file {hit.record.provenance.files[0]}"
            for hit in search.hits
            if is_skill(hit.record.id)
        ]
    notes += search.query_notes
    silence = _explain_silence(search)
    if silence:
        notes.append(silence)
    if search.skipped:
        budget = search.deps.settings.budget_seconds
        skipped = ", ".join(search.skipped)
        notes.append(f"cut after {budget:g} s (read.budget_seconds): without {skipped}")
    return tuple(notes)


def _explain_silence(search: Search) -> str:
    """Tell why no hit helps; empty where one does, or none was judged."""
    judgement = search.judgement
    if judgement is None or any(hit.helps for hit in search.hits):
        return ""
    best = max((hit.probability or 0.0 for hit in search.hits), default=0.0)
    return f"nothing helps: {judgement.silence} (at best {best:.0%} probable)"


def _name_path(search: Search) -> str:
    """Name the sources that answered, as a trace does."""
    if not search.pool.total:
        return "skipped_empty_store"
    if search.prepared.query.vector is None:
        if search.prepared.embedding.gap:
            return "token_recall_after_embed_error"
        return "token_recall"
    return f"hybrid_{search.deps.settings.fusion}"
