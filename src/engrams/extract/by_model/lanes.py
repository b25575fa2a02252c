"""Extraction by two calls of a model side by side, one for facts and one for rules.

A small model finds more of both if it is asked for one of them at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace

from engrams.core import LAYER_OF, Layer, ModelCost, Record, StageDecision
from engrams.errors import BudgetError, ModelError
from engrams.extract.by_model.extraction import ExtractionContext, extract_by_model
from engrams.extract.candidate import CandidateStatement
from engrams.frozen_data import dataclass
from engrams.ports import ChatModel

LANES = ("facts", "rules")
"""Names of the lanes, and of their prompts."""


@dataclass(frozen=True, slots=True)
class _LaneResult:
    by_record: dict[str, list[CandidateStatement]]
    cost: ModelCost
    decisions: list[StageDecision]
    problem: ModelError | BudgetError | None = None


def extract_in_lanes(
    records: Sequence[Record],
    context: ExtractionContext,
    chat: ChatModel,
    batch_size: int,
    decisions: list[StageDecision],
    only_lane: str = "",
) -> tuple[dict[str, list[CandidateStatement]], ModelCost, str]:
    """Extract facts and rules by two parallel model calls (lanes).

    Returns candidates by record, the cost, and the lane that failed (empty: none). Decisions begin
    with the lane's name. A lane that fails extracts nothing; ModelError or BudgetError: both
    failed. A statement of both lanes about the same quote counts as a rule. ``only_lane``: the one
    to repeat.
    """
    names = (only_lane,) if only_lane else LANES
    with ThreadPoolExecutor(len(names), "engrams-lane") as pool:
        futures = [
            pool.submit(copy_context().run, _run_lane, name, records, context, chat, batch_size)
            for name in names
        ]
    lanes = dict(zip(names, (future.result() for future in futures), strict=True))
    problems = {name: lane.problem for name, lane in lanes.items() if lane.problem is not None}
    if len(problems) == len(names):
        raise next(iter(problems.values()))
    by_record: dict[str, list[CandidateStatement]] = {}
    cost = ModelCost()
    for name, lane in lanes.items():
        decisions.extend(
            replace(decision, reason=f"{name}: {decision.reason}") for decision in lane.decisions
        )
        cost += lane.cost
        for record_id, candidates in lane.by_record.items():
            by_record.setdefault(record_id, []).extend(candidates)
    return (
        {
            record_id: _drop_repeated_facts(candidates)
            for record_id, candidates in by_record.items()
        },
        cost,
        next(iter(problems), ""),
    )


def _run_lane(
    name: str,
    records: Sequence[Record],
    context: ExtractionContext,
    chat: ChatModel,
    batch_size: int,
) -> _LaneResult:
    decisions: list[StageDecision] = []
    try:
        by_record, cost = extract_by_model(
            records, replace(context, prompt=name), chat, batch_size, decisions
        )
    except (ModelError, BudgetError) as problem:
        decisions.append(StageDecision("extract", "failed", problem.message[:200]))
        return _LaneResult({}, ModelCost(calls=1), decisions, problem)
    return _LaneResult(by_record, cost, decisions)


def _drop_repeated_facts(candidates: list[CandidateStatement]) -> list[CandidateStatement]:
    """Drop the facts whose quotes are those of rules."""
    rule_quotes = {
        item.quote
        for candidate in candidates
        if _is_procedural(candidate)
        for item in candidate.evidence
    }
    unrepeated = [
        candidate
        for candidate in candidates
        if _is_procedural(candidate)
        or rule_quotes.isdisjoint(item.quote for item in candidate.evidence)
    ]
    return list(dict.fromkeys(unrepeated))


def _is_procedural(candidate: CandidateStatement) -> bool:
    return LAYER_OF[candidate.kind] is Layer.PROCEDURAL
