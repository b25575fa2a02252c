"""Describe a read's choice, a row per candidate."""

from __future__ import annotations

import math
from datetime import datetime

from engrams.engine import MemoryEngine
from engrams.surfaces.http.api import shapes
from engrams.types import Record, Scope, Trace


def to_agent_trace(trace: Trace, owner: Scope, engine: MemoryEngine, abstain: bool) -> shapes.AgentTrace:
    """Build the trace with each candidate's tier, age and importance."""
    records = {record.id: record for record in engine.inspect.records(owner, [row.id for row in trace.rows])}
    now, tau = engine.now(), engine.settings.read.recency_days
    cosines = dict(zip((row.id for row in trace.rows), _query_cosines(trace, owner, engine), strict=True))
    rows = []
    for row in trace.rows:
        record = records.get(row.id)
        if record is not None:
            rows.append(
                shapes.AgentTraceRow(
                    id=row.id,
                    text=row.text,
                    tier="hot" if "hot" in row.parts else record.tier.value,
                    sim=_round(cosines[row.id]),
                    recency=_round(recency(record, now, tau)),
                    importance=_round(record.importance),
                    score=_round(row.score),
                    selected=not row.dropped,
                    dropped=row.dropped,
                )
            )
    return shapes.AgentTrace(query=trace.query, rows=rows, abstain=abstain, notes=list(trace.notes))


def _query_cosines(trace: Trace, owner: Scope, engine: MemoryEngine) -> list[float]:
    """Compute the cosine of query and candidates; 0 without a vector."""
    card = engine.embedder.card
    if not trace.rows or not card.dimension:
        return [0.0] * len(trace.rows)
    vectors = engine.inspect.vectors(owner, [row.id for row in trace.rows], card.id)
    return [max(0.0, float(value)) for value in vectors @ engine.embedder.embed([trace.query], "query")[0]]


def recency(record: Record, now: datetime, tau: float) -> float:
    """Compute ``exp(-age/tau)``, both in days."""
    return math.exp(-max(0.0, (now - record.recorded_at).total_seconds() / 86_400) / tau)


def _round(value: float) -> float:
    return round(float(value), 6)
