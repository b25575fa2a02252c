"""Parallel extraction of facts and rules in two lanes (004)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from engrams.errors import BudgetError, ModelError
from engrams.ports import Chat
from engrams.types import LAYER_OF, Cost, Decision, Layer, Record
from engrams.write.candidate import Candidate
from engrams.write.llm.extract import ExtractionBriefing, extract_by_model

LANES = ("facts", "rules")
"""Names of the lanes and of their prompts."""


@dataclass(frozen=True, slots=True)
class _LaneResult:
    found: dict[str, list[Candidate]]
    cost: Cost
    decisions: list[Decision]
    problem: ModelError | BudgetError | None = None


def extract_in_lanes(
    records: Sequence[Record], briefing: ExtractionBriefing, chat: Chat, batch: int, decisions: list[Decision], only: str = ""
) -> tuple[dict[str, list[Candidate]], Cost, str]:
    """Extract in both lanes, or the one named ``only``.

    Returns candidates by record, the cost, and the lane that failed (empty: none). Decisions carry the lane's name. A lane that fails
    finds nothing; ModelError or BudgetError where no lane is left. What both found of one message counts as a rule.
    """
    names = (only,) if only else LANES
    with ThreadPoolExecutor(len(names), "engrams-lane") as pool:
        done = list(pool.map(lambda name: _run_lane(name, records, briefing, chat, batch), names))
    failed = [(name, lane.problem) for name, lane in zip(names, done, strict=True) if lane.problem is not None]
    if len(failed) == len(names):
        _, problem = failed[0]
        if problem is not None:
            raise problem
    found: dict[str, list[Candidate]] = {}
    cost = Cost()
    for name, lane in zip(names, done, strict=True):
        decisions.extend(replace(one, reason=f"{name}: {one.reason}") for one in lane.decisions)
        cost += lane.cost
        for source, candidates in lane.found.items():
            found.setdefault(source, []).extend(candidates)
    return {source: _drop_repeated_facts(candidates) for source, candidates in found.items()}, cost, failed[0][0] if failed else ""


def _run_lane(name: str, records: Sequence[Record], briefing: ExtractionBriefing, chat: Chat, batch: int) -> _LaneResult:
    own_decisions: list[Decision] = []
    try:
        found, cost = extract_by_model(records, replace(briefing, prompt=name), chat, batch, own_decisions)
    except (ModelError, BudgetError) as problem:
        return _LaneResult({}, Cost(calls=1), [*own_decisions, Decision("extract", "failed", problem.message[:200])], problem)
    return _LaneResult(found, cost, own_decisions)


def _drop_repeated_facts(candidates: list[Candidate]) -> list[Candidate]:
    """Drop facts that share their quote with a rule."""
    ruled = {item.quote for one in candidates if LAYER_OF[one.kind] is Layer.PROCEDURAL for item in one.evidence}
    kept = [one for one in candidates if LAYER_OF[one.kind] is Layer.PROCEDURAL or not ruled & {item.quote for item in one.evidence}]
    return list(dict.fromkeys(kept))
