"""Traces of reads as the agent API shows them: each candidate with its measures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from engrams.compat.agent_api import bodies
from engrams.core import Context, Record, Scope, SearchResult, SearchTraceRow, Tier, Trace
from engrams.engine import MemoryEngine

_ROUNDING_ERROR = 1e-3
"""Difference between a score and the sum of its rounded parts that is no part of its own."""
_BELOW_FLOOR = "below_sim_threshold"


def to_agent_trace(
    result: SearchResult | Context, trace: Trace, owner: Scope, engine: MemoryEngine
) -> bodies.AgentTraceResponse:
    """Build the trace of a read, with each candidate's tier, age, importance and state."""
    hits = {hit.record.id: hit for hit in result.hits}
    records = {
        record.id: record
        for record in engine.inspect.records(owner, [row.id for row in trace.rows])
    }
    measures = _measure_scored(trace, engine) or _measure_records(trace, records, owner, engine)
    rows = []
    for row in trace.rows:
        record = records.get(row.id)
        if record is None:
            continue
        similarity, recency, importance = map(_round, measures[row.id])
        hit = hits.get(row.id)
        is_below_floor = row.dropped.startswith("below the floor")
        rows.append(
            bodies.AgentTraceCandidateResponse(
                id=row.id,
                text=row.text,
                tier="hot" if "sub_sim" in row.parts else record.tier.value,
                sim=similarity,
                recency=recency,
                importance=importance,
                score=_round(row.score),
                selected=not row.dropped,
                dropped=_BELOW_FLOOR if is_below_floor else row.dropped,
                parts=_complete_parts(row),
                status=hit.status if hit else record.status,
                ended=hit.tell_end() if hit else "",
            )
        )
    return bodies.AgentTraceResponse(
        query=trace.query,
        min_sim=_round(engine.settings.read.min_scores.dense),
        rows=rows,
        abstain=result.abstain,
        notes=list(trace.notes),
    )


def _measure_scored(trace: Trace, engine: MemoryEngine) -> dict[str, tuple[float, ...]]:
    """Compute similarity, recency and importance from the parts of each score.

    Empty where a score is no sum of them.
    """
    read = engine.settings.read
    weights = {
        "cos": read.weights.dense,
        "recency": read.weights.recency,
        "importance": read.weights.importance,
    }
    if read.fusion != "sum" or not all(weights.values()):
        return {}
    return {
        row.id: tuple(row.parts.get(name, 0.0) / weight for name, weight in weights.items())
        for row in trace.rows
    }


def _measure_records(
    trace: Trace, records: Mapping[str, Record], owner: Scope, engine: MemoryEngine
) -> dict[str, tuple[float, ...]]:
    """Compute similarity to the understood query, recency and importance of memories."""
    now = engine.now()
    read = engine.settings.read
    cosines = _query_cosines(trace, owner, engine)
    measures: dict[str, tuple[float, ...]] = {}
    for record_id, record in records.items():
        decay_days = read.longterm_days if record.tier is Tier.LONGTERM else read.recency_days
        recency = _compute_recency(record, now, decay_days)
        measures[record_id] = (cosines[record_id], recency, record.importance)
    return measures


def _complete_parts(row: SearchTraceRow) -> dict[str, float]:
    """List a score's parts with a remainder, so that they add up.

    The remainder is ``lent``: a share of another memory's score.
    """
    parts = {
        name: _round(value)
        for name, value in row.parts.items()
        if name not in ("sub_sim", "hot", "rerank", "trigger")
    }
    remainder = _round(row.score - sum(parts.values()))
    return parts if abs(remainder) < _ROUNDING_ERROR else {**parts, "lent": remainder}


def _query_cosines(trace: Trace, owner: Scope, engine: MemoryEngine) -> dict[str, float]:
    """Compute cosines to the query by id; 0 without a vector."""
    card = engine.embedder.card
    ids = [row.id for row in trace.rows]
    if not ids or not card.dimension:
        return dict.fromkeys(ids, 0.0)
    query = str(trace.understood.get("dense") or trace.query)
    query_vector = engine.embedder.embed([query], "query")[0]
    cosines = engine.inspect.vectors(owner, ids, card.id) @ query_vector
    return {
        record_id: max(0.0, float(cosine)) for record_id, cosine in zip(ids, cosines, strict=True)
    }


def _compute_recency(record: Record, now: datetime, decay_days: float) -> float:
    """Compute ``exp(-age / decay_days)``, the age in days."""
    age_days = (now - record.recorded_at).total_seconds() / 86_400
    return math.exp(-max(0.0, age_days) / decay_days)


def _round(value: float) -> float:
    return round(float(value), 6)
