"""Read flow: query, candidates, fuse, expand, join, rerank, diversify, trace."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import (
    CORRECTED,
    RUNNING,
    UNSEARCHED,
    Hit,
    Record,
    SearchResult,
    SearchTraceRow,
    Trace,
)
from engrams.frozen_data import dataclass
from engrams.ports import NOTE_PIECE, CandidatePool, is_skill
from engrams.read.corrected_words import mask_corrected, matches_only_masked
from engrams.read.diversify import find_repeats, select_mmr, spread_over_time
from engrams.read.excerpt import cut_excerpt
from engrams.read.link_expansion import (
    GroupedHits,
    NodeEdgeCache,
    find_derived,
    follow_refinements,
    group_hits,
    link_bonuses,
    mark_outdated,
    put_current_first,
)
from engrams.read.note_lines import find_note_echoes
from engrams.read.query_preparation import PreparedQuery, prepare_query
from engrams.read.request import ReadDeps, ReadRequest
from engrams.read.rerank import rerank
from engrams.read.retrieve import find_candidates, skill_notes, with_skills
from engrams.read.score_fusion import (
    ScoredCandidatePool,
    apply_decay,
    base_weight,
    cut_at_gap,
    fill_column,
    passes_floors,
    query_spans,
    raise_spoken_dates,
    score_pool,
    shares_enough_words,
    top_indices,
)
from engrams.read.similarity_floor import is_near, measure_nearness
from engrams.read.trigger_rules import (
    drop_surplus,
    find_stale,
    find_triggered,
    out_of_season,
    put_rules_first,
)
from engrams.text.system_texts import remove_system_texts

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Flags, Floats, Integers


SHOWN_BEFORE = "shown to this conversation before"
"""Reason for which a memory is left out of a trace that found it."""
KNOWN_HERE = "known to this conversation"
"""Reason for which a memory of the conversation itself is left out."""


@dataclass(slots=True)
class SearchStageTimer:
    """Times and counts of stages; ``budget``: seconds (0: any); ``skipped``: by it."""

    budget: float = 0.0
    rows: list[tuple[str, float, int]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    _begun: float = field(default_factory=time.perf_counter)
    _since: float = field(default_factory=time.perf_counter)

    def record(self, name: str, count: int) -> None:
        moment = time.perf_counter()
        self.rows.append((name, round((moment - self._since) * 1000, 3), count))
        self._since = moment

    def has_time(self, name: str) -> bool:
        """True while there is time for this stage."""
        if not self.budget or time.perf_counter() - self._begun < self.budget:
            return True
        self.skipped.append(name)
        return False

    def notes(self) -> tuple[str, ...]:
        missing = ", ".join(self.skipped)
        return (
            (f"cut after {self.budget:g} s (read.budget_seconds): without {missing}",)
            if missing
            else ()
        )


@dataclass(frozen=True, slots=True)
class CandidateThresholds:
    """Mask of candidates over the score floors, and numbers to read.

    Cosine floor, mask of candidates that pass, stale episodes, number to read.
    """

    cosine: float
    passes: Flags
    stale: frozenset[str]
    count: int

    def best_places(self, scores: Floats) -> Integers:
        """Rank candidates, those over the floors first."""
        return top_indices(
            scores if self.passes.all() else scores + 2 * self.passes.astype(np.float32), self.count
        )


def search(request: ReadRequest, deps: ReadDeps) -> SearchResult:
    """Find records that answer the request, best first; no side effects.

    Of a very long query its head and tail count. Nothing is found where memory is off.
    """
    request, cut = cut_query(
        replace(request, text="", limit=0) if request.is_silent else request, deps.query_chars
    )
    stages = SearchStageTimer(deps.settings.budget_seconds)
    if request.limit <= 0 or not request.text.strip():
        return SearchResult(
            (),
            Trace(
                query=request.text,
                understood={},
                stages=(),
                rows=(),
                notes=("nothing was asked for", *cut),
                path="skipped",
            ),
            abstain=True,
        )
    prepared = prepare_query(request, deps)
    stages.record("query", len(prepared.seek.terms))
    hot = {} if request.hot is None else request.hot.find_near(prepared.seek.vector)
    if request.hot is not None:
        stages.record("hot", len(hot))
    pool, routed = find_candidates(prepared.seek, request, deps, tuple(hot))
    if deps.skills is not None:
        pool = with_skills(pool, prepared.seek, deps.skills)
    stages.record("candidates", len(pool.ids))
    scored = score_pool(
        pool, prepared.cues, prepared.answering, deps.settings, request.now.timestamp()
    )
    stages.record("fuse", len(pool.ids))
    floors = _find_floors(pool, prepared, request, deps)
    edges = NodeEdgeCache(request.scope.owner, deps.graph, prepared.commit)
    likely = floors.best_places(scored.scores)
    vouchers = dict[str, str]()
    if stages.has_time("links"):
        scored, floors, likely, vouchers = _follow_links(pool, scored, floors, likely, edges, deps)
    stages.record(
        "expand",
        len(scored.parts.get("linked", ())) and int(np.count_nonzero(scored.parts["linked"])),
    )
    hits, known = _fetch_hits(request, deps, pool, scored, likely, edges)
    dropped = _find_unfit(hits, pool, floors, prepared, deps)
    asked = [term for term, _ in prepared.seek.terms]
    numbers = [
        term for some in prepared.seek.identifiers for term in some if any(map(str.isdigit, term))
    ]
    corrected = [record for record in known.values() if CORRECTED in record.meta]
    masked = [
        one.id
        for one in corrected
        if matches_only_masked(one, asked) or matches_only_masked(one, numbers)
    ]
    dropped.update(
        {name: "found by words since corrected" for name in masked if name in pool.ids.positions}
    )
    if hot:
        hits = [
            replace(hit, parts={**hit.parts, "sub_sim": hot[hit.record.id]})
            if hit.record.id in hot
            else hit
            for hit in hits
        ]
    weights = deps.settings.weights
    if deps.settings.fusion == "weighted":
        hits = raise_spoken_dates(
            hits,
            query_spans(prepared.cues),
            weights,
            base_weight(weights),
            lambda name: not pool.dated[pool.ids.positions[name]],
        )
    joined = _join_facts(
        [hit for hit in hits if hit.record.id not in dropped], known, edges, asked, request, deps
    )
    dropped.update({name: f"part of {into}" for name, into in joined.merged.items()})
    stages.record("join", len(joined.hits))
    marked = mark_outdated(
        joined.hits, edges.find_later([hit.record.id for hit in joined.hits]), known, request.as_of
    )
    judged = list(marked)
    note = ""
    if (
        deps.reranker is not None
        and (request.session or not deps.rerank_settings.turns_only)
        and stages.has_time("reranking")
    ):
        judged, refused, note = rerank(request, marked, deps.reranker, deps.rerank_settings)
        dropped.update(refused)
    judged = apply_decay(judged, deps.settings, request.now)
    dropped.update(_find_too_low(judged, deps))
    stages.record("rerank", len(judged))
    ranked = tuple(judged) if prepared.cues.wants_past else put_current_first(judged)
    twins = find_repeats(
        ranked,
        deps.settings.dedup_overlap,
        request.limit if deps.settings.mmr_lambda >= 1 else len(ranked),
    )
    dropped.update({name: f"says what {other} says" for name, other in twins.items()})
    chosen = _choose_hits(
        ranked,
        pool,
        dropped,
        _join_vouchers(vouchers, joined.merged, deps),
        prepared,
        request,
        deps,
        stages,
    )
    stages.record("diversify", len(chosen))
    nearness = measure_nearness(pool, floors.passes, prepared)
    near = is_near(
        nearness, deps.settings.abstain, deps.embedder.card, deps.states, request.scope.owner
    )
    sure = (
        "trigger",
        "identifier",
        *(("rerank",) if deps.rerank_settings.threshold is not None else ()),
    )
    near = bool(chosen) and (near or any(part in hit.parts for hit in chosen for part in sure))
    notes = (
        *routed,
        *_trace_notes(pool, prepared, note),
        *skill_notes(chosen),
        *cut,
        *stages.notes(),
    )
    rows = _trace_rows(
        chosen,
        {hit.record.id: hit for hit in (*hits, *judged)},
        dropped,
        f"not among the best {request.limit}",
    )
    understood = prepared.cues.to_json()
    path = _source_path(pool, prepared, deps)
    return SearchResult(
        chosen,
        Trace(
            query=request.text,
            understood=understood,
            stages=tuple(stages.rows),
            rows=rows,
            notes=notes,
            path=path,
        ),
        not near,
        nearness,
    )


def _join_facts(
    hits: Sequence[Hit],
    known: Mapping[str, Record],
    edges: NodeEdgeCache,
    asked: Sequence[str],
    request: ReadRequest,
    deps: ReadDeps,
) -> GroupedHits:
    derived = find_derived(edges.find_sources([hit.record.id for hit in hits]), known)
    counting = asked if deps.graph_settings.vouch else ()
    refined = follow_refinements(
        chain.from_iterable(derived.values()),
        lambda ids: deps.records.get(request.scope.owner, ids),
    )
    whole = deps.settings.routing.mode == "tiers"
    return group_hits(
        hits, derived, request.now, request.as_of, counting, refined=refined, whole=whole
    )


def _choose_hits(
    ranked: Sequence[Hit],
    pool: CandidatePool,
    dropped: dict[str, str],
    linked: Mapping[str, str],
    prepared: PreparedQuery,
    request: ReadRequest,
    deps: ReadDeps,
    stages: SearchStageTimer,
) -> tuple[Hit, ...]:
    asked = [term for term, _ in prepared.seek.terms]
    if [hit for hit in ranked if NOTE_PIECE in hit.record.meta]:
        echoes = find_note_echoes([hit for hit in ranked if hit.record.id not in dropped], asked)
        dropped.update({name: f"says what {other} says" for name, other in echoes.items()})
    if request.already_shown or request.session:
        told = {True: SHOWN_BEFORE, False: KNOWN_HERE}
        shown = [
            hit.record.id
            for hit in ranked
            if hit.record.id not in dropped and _is_shown(hit.record, request)
        ]
        dropped.update({name: told[name in request.already_shown] for name in shown})
    if deps.settings.episodes:
        dropped.update(
            drop_surplus(
                [hit for hit in ranked if hit.record.id not in dropped], deps.settings.episodes
            )
        )
    near = _cut_gap(
        tuple([hit for hit in ranked if hit.record.id not in dropped]),
        dropped,
        linked,
        request,
        deps,
    )
    if prepared.cues.wants_course:
        near = (
            tuple(spread_over_time(near))
            if prepared.cues.wants_past
            else put_current_first(spread_over_time(near))
        )
    varied = _diversify(near, request, deps) if stages.has_time("variety") else near
    rules = find_triggered(request, deps.records, deps.settings) if pool.has_triggers else ()
    best = put_rules_first([rule for rule in rules if not _is_shown(rule, request)], varied)[
        : request.limit
    ]
    return tuple([_with_snippet(hit, asked) for hit in best])


def _with_snippet(hit: Hit, asked: Sequence[str]) -> Hit:
    snippet = cut_excerpt(hit.record.search_text, asked)
    return Hit(
        record=hit.record,
        score=hit.score,
        status=hit.status,
        parts=hit.parts,
        facts=hit.facts,
        snippet=snippet,
        outdated=hit.outdated,
    )


def cut_query(request: ReadRequest, most: int) -> tuple[ReadRequest, tuple[str, ...]]:
    """Cut a query to the user's own words, head and tail."""
    if "<" in request.text or "[" in request.text:
        request = replace(request, text=remove_system_texts(request.text))
    if len(request.text) <= most:
        return request, ()
    half = most // 2
    note = f"a query of {len(request.text)} characters: its first and last {half} were used"
    return replace(request, text=f"{request.text[:half]}\n{request.text[-half:]}"), (note,)


def _find_floors(
    pool: CandidatePool, prepared: PreparedQuery, request: ReadRequest, deps: ReadDeps
) -> CandidateThresholds:
    section = deps.settings
    cosine = section.min_scores.dense
    passes = passes_floors(pool, section, cosine, prepared.seek.vector is not None)
    if section.min_scores.recall and prepared.answering:
        # A fact that is what was asked for need not share a word with the question: "moved to
        # Ghent" says where somebody lives.
        passes |= fill_column(pool, prepared.answering) >= 1
    stale = find_stale(request, deps.records, section.episode_days)
    if stale:
        passes &= np.array([name not in stale for name in pool.ids], np.bool_)
    scopes = len(request.reach.scopes) if section.per_scope else 1
    return CandidateThresholds(
        cosine,
        passes,
        stale,
        int(request.limit * section.oversample) * scopes + section.extra_candidates,
    )


def _join_vouchers(
    vouchers: Mapping[str, str], merged: Mapping[str, str], deps: ReadDeps
) -> dict[str, str]:
    """Map hits to their seeds, after both were merged."""
    return (
        {merged.get(name, name): merged.get(seed, seed) for name, seed in vouchers.items()}
        if deps.graph_settings.vouch
        else {}
    )


def _lower_floors(
    floors: CandidateThresholds, vouchers: Mapping[str, str], pool: CandidatePool
) -> CandidateThresholds:
    """Let candidates below the floors pass where a linked seed passes."""
    if not vouchers:
        return floors
    return replace(
        floors, passes=floors.passes | np.array([name in vouchers for name in pool.ids], np.bool_)
    )


def _follow_links(
    pool: CandidatePool,
    scored: ScoredCandidatePool,
    floors: CandidateThresholds,
    likely: Integers,
    edges: NodeEdgeCache,
    deps: ReadDeps,
) -> tuple[ScoredCandidatePool, CandidateThresholds, Integers, dict[str, str]]:
    """Rank anew where links lend scores; as before where they do not."""
    raised, vouchers = _add_link_bonuses(pool, scored, floors, likely, edges, deps)
    if raised is scored:
        return scored, floors, likely, vouchers
    lowered = _lower_floors(floors, vouchers, pool) if deps.graph_settings.vouch else floors
    return raised, lowered, lowered.best_places(raised.scores), vouchers


def _add_link_bonuses(
    pool: CandidatePool,
    scored: ScoredCandidatePool,
    floors: CandidateThresholds,
    likely: Integers,
    edges: NodeEdgeCache,
    deps: ReadDeps,
) -> tuple[ScoredCandidatePool, dict[str, str]]:
    """Add link bonuses; also the seeds of candidates below the floors."""
    number = deps.graph_settings.seeds
    best = (
        likely[:number]
        if number <= floors.count and floors.passes.all()
        else top_indices(scored.scores, number)
    )
    if deps.graph_settings.vouch:
        best = best[floors.passes[best]]
    named = zip(pool.ids.at(best.tolist()), scored.scores[best].tolist(), strict=True)
    seeds = {name: score for name, score in named if score > 0}
    # Together with those of the likely hits, and what they show: one call of the store.
    edges.fetch_with_records([*dict.fromkeys((*seeds, *pool.ids.at(likely.tolist())))])
    extra = link_bonuses(seeds, edges, deps.graph_settings)
    if not extra:
        return scored, {}
    linked = fill_column(pool, {name: bonus for name, (bonus, _) in extra.items()})
    places = pool.ids.positions
    vouchers = {
        name: seed
        for name, (_, seed) in extra.items()
        if name in places and not floors.passes[places[name]]
    }
    return ScoredCandidatePool(
        np.clip(scored.scores + linked, 0, 1), {**scored.parts, "linked": linked}
    ), vouchers


def _source_path(pool: CandidatePool, prepared: PreparedQuery, deps: ReadDeps) -> str:
    if not pool.total:
        return "skipped_empty_store"
    if prepared.seek.vector is None:
        return "token_recall_after_embed_error" if prepared.embed_error else "token_recall"
    return f"hybrid_{deps.settings.fusion}"


def _trace_notes(pool: CandidatePool, prepared: PreparedQuery, judging: str) -> tuple[str, ...]:
    notes = [judging] if judging else []
    if not pool.exact:
        notes.append(f"{pool.total} records in reach: the best of each source were scored")
    if prepared.embed_error:
        notes.append(f"the embedder failed: {prepared.embed_error}")
    if prepared.seek.vector is None:
        notes.append("no vector for this query: found by words only")
    return tuple(notes)


def _fetch_hits(
    request: ReadRequest,
    deps: ReadDeps,
    pool: CandidatePool,
    scored: ScoredCandidatePool,
    order: Integers,
    edges: NodeEdgeCache,
) -> tuple[list[Hit], Mapping[str, Record]]:
    """Hits at these places, with records and derived facts."""
    ids = pool.ids.at(order.tolist())
    known = _fetch_known(request, deps, ids, edges)
    names = tuple(scored.parts)
    hits = list[Hit]()
    columns = np.array([values[order] for values in scored.parts.values()], np.float64).round(4)
    for name, value, row in zip(
        ids, scored.scores[order].tolist(), columns.T.tolist(), strict=True
    ):
        record = known.get(name)
        if record is not None:
            parts = {part: share for part, share in zip(names, row) if share}  # noqa: B905
            hits.append(
                Hit(
                    mask_corrected(record) if CORRECTED in record.meta else record,
                    value,
                    record.status,
                    parts,
                )
            )
    return hits, known


def _fetch_known(
    request: ReadRequest, deps: ReadDeps, ids: Sequence[str], edges: NodeEdgeCache
) -> Mapping[str, Record]:
    """Records of hits, with their facts and what ends them."""
    later = [edge.source for ends in edges.find_later(ids).values() for edge in ends]
    wanted = dict.fromkeys((*ids, *(source for source, _ in edges.find_sources(ids)), *later))
    missing = [name for name in wanted if name not in edges.records and not is_skill(name)]
    if not missing and deps.skills is None:
        return edges.records
    records = deps.records.get(request.scope.owner, missing) if missing else ()
    if deps.skills is not None:
        records += deps.skills.get(ids)
    fetched = {**edges.records, **{record.id: record for record in records}}
    return {name: fetched[name] for name in wanted if name in fetched}


def _find_unfit(
    hits: Sequence[Hit],
    pool: CandidatePool,
    floors: CandidateThresholds,
    prepared: PreparedQuery,
    deps: ReadDeps,
) -> dict[str, str]:
    section = deps.settings
    dropped = _find_too_low(hits, deps)
    low = dict[str, str]()
    if not floors.passes.all():
        place = pool.ids.positions
        why_low = f"below the floor of its sources (cosine {floors.cosine:g})"
        low = {hit.record.id: why_low for hit in hits if not floors.passes[place[hit.record.id]]}
    if section.min_scores.recall:
        place = pool.ids.positions
        words = [term for term, _ in prepared.seek.terms]
        for hit in hits:
            near = (
                prepared.seek.vector is not None and pool.cos[place[hit.record.id]] >= floors.cosine
            )
            near = near or prepared.answering.get(hit.record.id, 0.0) >= 1
            if not near and not shares_enough_words(
                words, hit.record.search_text, section.min_scores.recall
            ):
                low.setdefault(hit.record.id, "too few of the words asked for")
    low.update(
        {
            hit.record.id: why
            for hit in hits
            if hit.record.tags and (why := out_of_season(hit.record, section.seasons))
        }
    )
    low.update(
        dict.fromkeys(
            floors.stale & low.keys(), f"an episode of more than {section.episode_days:g} days ago"
        )
    )
    marked = [hit.record for hit in hits if hit.record.meta]
    running = {record.id: "a running summary" for record in marked if RUNNING in record.meta}
    running |= {
        record.id: "kept outside of searches" for record in marked if UNSEARCHED in record.meta
    }
    return {**dropped, **low, **running}


def _find_too_low(hits: Sequence[Hit], deps: ReadDeps) -> dict[str, str]:
    least = deps.settings.min_score
    return (
        {hit.record.id: f"below the floor of {least:g}" for hit in hits if hit.score < least}
        if least
        else {}
    )


def _is_shown(record: Record, request: ReadRequest) -> bool:
    return record.id in request.already_shown or bool(
        request.session and record.session == request.session
    )


def _cut_gap(
    hits: tuple[Hit, ...],
    dropped: dict[str, str],
    linked: Mapping[str, str],
    request: ReadRequest,
    deps: ReadDeps,
) -> tuple[Hit, ...]:
    """Cut at the first gap, where no model gave verdicts.

    What is only linked stays with the hit that leads to it.
    """
    share = deps.settings.cut_ratio if request.cut_ratio is None else request.cut_ratio
    if not (share or deps.settings.cut_gap or linked) or any("rerank" in hit.parts for hit in hits):
        return hits
    direct = [hit for hit in hits if hit.record.id not in linked]
    kept = {
        hit.record.id
        for hit in direct[: cut_at_gap([hit.score for hit in direct], share, deps.settings.cut_gap)]
    }
    kept |= {name for name, seed in linked.items() if seed in kept}
    dropped.update(
        {hit.record.id: "behind a gap in the scores" for hit in hits if hit.record.id not in kept}
    )
    return tuple(hit for hit in hits if hit.record.id in kept)


def _diversify(hits: tuple[Hit, ...], request: ReadRequest, deps: ReadDeps) -> tuple[Hit, ...]:
    if deps.settings.mmr_lambda >= 1 or not deps.embedder.card.dimension:
        return hits[: request.limit]
    vectors = deps.search.vectors(
        request.scope.owner, [hit.record.id for hit in hits], deps.embedder.card.id
    )
    places = select_mmr(
        [hit.score for hit in hits], vectors, deps.settings.mmr_lambda, request.limit
    )
    return tuple(sorted((hits[place] for place in places), key=lambda hit: -hit.score))


def _trace_rows(
    chosen: Sequence[Hit], found: Mapping[str, Hit], dropped: Mapping[str, str], beyond: str
) -> tuple[SearchTraceRow, ...]:
    """Rows of the chosen hits, then of all others that were found.

    ``beyond``: the reason where nothing dropped one.
    """
    selected = {
        hit.record.id: SearchTraceRow(
            hit.record.id, hit.record.text, round(hit.score, 4), hit.parts
        )
        for hit in chosen
    }
    others = [
        SearchTraceRow(
            id=name,
            text=hit.record.text,
            score=round(hit.score, 4),
            parts=hit.parts,
            dropped=dropped.get(name, beyond),
        )
        for name, hit in found.items()
        if name not in selected
    ]
    return (*selected.values(), *others)
