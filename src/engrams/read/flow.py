"""query -> candidates -> fuse -> expand -> join -> rerank -> diversify -> trace."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engrams.ports import Pool
from engrams.read.diversify import mmr, repeated
from engrams.read.evidence import current_first, join
from engrams.read.expand import bonuses
from engrams.read.query import Prepared, prepare
from engrams.read.request import Deps, Request
from engrams.read.rerank import rerank
from engrams.read.score import Scored, score
from engrams.types import Found, Hit, Record, Trace, TraceRow

_SPARE = 1.5
"""Candidates fetched for each hit wanted, so that merged and repeated ones can be replaced."""


@dataclass(slots=True)
class Stages:
    """Times and counts of the stages, as they pass."""

    rows: list[tuple[str, float, int]] = field(default_factory=list)
    _since: float = field(default_factory=time.perf_counter)

    def done(self, name: str, count: int) -> None:
        moment = time.perf_counter()
        self.rows.append((name, round((moment - self._since) * 1000, 3), count))
        self._since = moment


def search(request: Request, deps: Deps) -> Found:
    """The records that answer the request, best first, and why. Changes nothing."""
    stages = Stages()
    if request.limit <= 0 or not request.text.strip():
        return Found((), Trace(request.text, {}, (), (), ("nothing was asked for",)), abstain=True)
    prepared = prepare(request, deps)
    stages.done("query", len(prepared.seek.terms))
    pool = deps.search.seek(prepared.seek)
    stages.done("candidates", len(pool.ids))
    scored = score(pool, prepared.understood, prepared.answering, deps.settings, request.now.timestamp())
    stages.done("fuse", len(pool.ids))
    scored = _expand(pool, scored, request, deps)
    stages.done("expand", len(scored.parts.get("linked", ())) and int(np.count_nonzero(scored.parts["linked"])))
    order = np.argsort(-scored.scores, kind="stable")[: int(request.limit * _SPARE) + 10]
    hits, dropped = _floor(_fetch(request, deps, pool, scored, order), deps.settings.floor)
    joined = join(hits, request.scope.owner, deps.records, deps.graph)
    dropped.update({name: f"part of {into}" for name, into in joined.merged.items()})
    stages.done("join", len(joined.hits))
    judged, refused, note = rerank(request.text, joined.hits, deps.reranker, deps.judging)
    dropped.update(refused)
    stages.done("rerank", len(judged))
    ranked = tuple(judged) if prepared.understood.past or request.as_of else current_first(judged)
    twins = repeated(ranked, deps.settings.duplicate, request.limit if deps.settings.mmr_lambda >= 1 else len(ranked))
    dropped.update({name: f"says what {other} says" for name, other in twins.items()})
    chosen = _vary(tuple(hit for hit in ranked if hit.record.id not in twins), request, deps)
    stages.done("diversify", len(chosen))
    best = max((hit.score for hit in chosen), default=0.0)
    trace = _trace(request, _notes(pool, prepared, note), prepared, [*hits, *judged], chosen, dropped, stages)
    return Found(chosen, trace, abstain=best < deps.settings.abstain)


def _expand(pool: Pool, scored: Scored, request: Request, deps: Deps) -> Scored:
    """Add what links from the best lend to others."""
    best = np.argsort(-scored.scores, kind="stable")[: deps.links.seeds]
    seeds = {pool.ids[place]: float(scored.scores[place]) for place in best if scored.scores[place] > 0}
    extra = bonuses(seeds, request.scope.owner, deps.graph, deps.links)
    if not extra:
        return scored
    linked = np.zeros(len(pool.ids), np.float32)
    for place, name in enumerate(pool.ids):
        if name in extra:
            linked[place] = extra[name]
    return Scored(np.clip(scored.scores + linked, 0, 1), {**scored.parts, "linked": linked})


def _notes(pool: Pool, prepared: Prepared, judging: str) -> tuple[str, ...]:
    notes = [judging] if judging else []
    if not pool.exact:
        notes.append(f"{pool.total} records in reach: the best of each source were scored")
    if prepared.seek.vector is None:
        notes.append("no vector for this query: found by words only")
    return tuple(notes)


def _fetch(request: Request, deps: Deps, pool: Pool, scored: Scored, order: Any) -> list[Hit]:
    ids = [pool.ids[place] for place in order]
    known: Mapping[str, Record] = {record.id: record for record in deps.records.get(request.scope.owner, ids)}
    hits = []
    for place in order:
        record = known.get(pool.ids[place])
        if record is not None:
            parts = {name: round(float(values[place]), 4) for name, values in scored.parts.items() if values[place]}
            hits.append(Hit(record, float(scored.scores[place]), record.status, parts))
    return hits


def _floor(hits: list[Hit], floor: float) -> tuple[list[Hit], dict[str, str]]:
    kept = [hit for hit in hits if hit.score >= floor]
    return kept, {hit.record.id: f"below the floor of {floor:g}" for hit in hits if hit.score < floor}


def _vary(hits: tuple[Hit, ...], request: Request, deps: Deps) -> tuple[Hit, ...]:
    if deps.settings.mmr_lambda >= 1 or not deps.embedder.card.dimension:
        return hits[: request.limit]
    vectors = deps.search.vectors(request.scope.owner, [hit.record.id for hit in hits], deps.embedder.card.id)
    places = mmr([hit.score for hit in hits], vectors, deps.settings.mmr_lambda, request.limit)
    return tuple(hits[place] for place in places)


def _trace(
    request: Request,
    notes: tuple[str, ...],
    prepared: Prepared,
    hits: list[Hit],
    chosen: tuple[Hit, ...],
    dropped: Mapping[str, str],
    stages: Stages,
) -> Trace:
    selected = {hit.record.id: hit for hit in chosen}
    rows = [TraceRow(hit.record.id, hit.record.text, round(hit.score, 4), hit.parts) for hit in chosen]
    for hit in {hit.record.id: hit for hit in hits}.values():
        if hit.record.id not in selected:
            why = dropped.get(hit.record.id, f"not among the best {request.limit}")
            rows.append(TraceRow(hit.record.id, hit.record.text, round(hit.score, 4), hit.parts, why))
    return Trace(request.text, prepared.understood.as_json(), tuple(stages.rows), tuple(rows), notes)
