"""Reconciliation by a model; rules limit it and replace failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from engrams.core import ModelCost, Record, StageDecision
from engrams.errors import BudgetError, ModelError
from engrams.extract.candidate import CandidateStatement
from engrams.frozen_data import dataclass
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.prompts import load, quote
from engrams.write.reconcile import MARGIN, ReconciliationResult, find_conflict

_RETRIES = 3
_ANSWER = 512
_ROW = 128
"""Tokens of an answer, and for each decision in it."""
NO_COST = ModelCost()


# A small model decides better after it has given its reason.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "decisions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "new": {"type": "integer"},
                    "reason": {"type": "string"},
                    "known": {"type": "array", "items": {"type": "integer"}},
                    "earlier": {"type": "array", "items": {"type": "integer"}},
                    "verdict": {"type": "string"},
                    "confidence": {"type": "string"},
                },
            },
        }
    },
    "required": ["decisions"],
}


class ModelReconcileDecision(BaseModel):
    """Decision on one new statement, as a model returns it."""

    new: int = Field(ge=0)
    verdict: Literal["add", "keep", "refine", "replace", "remove", "conflict"]
    known: tuple[int, ...] = ()
    earlier: tuple[int, ...] = ()
    confidence: Literal["low", "medium", "high"] = "medium"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NumberedReconcileDecisions:
    """Decisions of a model about new statements, by their number from 1.

    ``removed``: known ones that are to go. ``failed``: the model gave none.
    """

    rows: Mapping[int, ModelReconcileDecision]
    removed: tuple[Record, ...] = ()
    cost: ModelCost = NO_COST
    failed: bool = False


def ask_verdicts(
    candidates: Sequence[CandidateStatement],
    known: Sequence[Record],
    chat: ChatModel,
    decisions: list[StageDecision],
    *,
    patient: bool = False,
) -> NumberedReconcileDecisions:
    """Ask a model how new statements change known ones, in one question.

    The model sees short numbers. A number that is not in the list is pointed out and asked again,
    three times. ``patient``: a failure that may pass raises its ModelError.
    """
    try:
        rows, cost = _ask_rows(candidates, known, chat, decisions)
    except (ModelError, BudgetError) as problem:
        if patient and isinstance(problem, ModelError) and problem.retryable:
            raise
        decisions.append(
            StageDecision("reconcile", "failed", f"the model failed: {problem.message}"[:200])
        )
        return NumberedReconcileDecisions({}, (), ModelCost(calls=1), failed=True)
    kept = {row.new: row for row in rows if row.new and row.verdict != "remove"}
    named = {number for row in kept.values() for number in row.known}
    gone = {number for row in rows if row.verdict == "remove" for number in row.known} - named
    trusted = min(candidate.trust for candidate in candidates)
    removed = tuple(
        known[number - 1] for number in sorted(gone) if known[number - 1].trust <= trusted + MARGIN
    )
    return NumberedReconcileDecisions(kept, removed, cost)


def judge_candidate(
    candidate: CandidateStatement,
    row: ModelReconcileDecision | None,
    targets: Sequence[Record],
    by_rules: ReconciliationResult,
) -> ReconciliationResult:
    """Turn a model's decision into a reconciliation; rules limit it.

    ``targets``: the statements that the row names, as they are now. An answer that only removes, or
    none, leaves the decision to the rules. A decision of low confidence coexists.
    """
    if row is None or candidate.modality != "asserted":
        return by_rules
    reason = f"model: {row.reason}"[:200]
    if row.verdict == "add" or not targets:
        # A model that adds does not overrule what the rules are certain of.
        return (
            by_rules
            if by_rules.verdict in ("replace", "keep", "conflict")
            else ReconciliationResult("add", candidate, reason=reason)
        )
    if row.verdict == "keep":
        return ReconciliationResult("keep", candidate, tuple(targets[:1]), reason=reason)
    if row.verdict == "conflict" or row.confidence == "low":
        return ReconciliationResult("conflict", candidate, tuple(targets), reason=reason)
    if by_rules.until is not None:
        return by_rules
    retract = candidate.effect == "corrects"
    return find_conflict(candidate, list(targets)) or ReconciliationResult(
        row.verdict, candidate, tuple(targets), retract=retract, reason=reason
    )


def _ask_rows(
    candidates: Sequence[CandidateStatement],
    known: Sequence[Record],
    chat: ChatModel,
    decisions: list[StageDecision],
) -> tuple[list[ModelReconcileDecision], ModelCost]:
    text = load("reconcile").render(
        new="\n".join(
            _format_new(number, candidate) for number, candidate in enumerate(candidates, 1)
        ),
        known="\n".join(
            f"{number}. {quote(record.text)} (said {record.recorded_at:%Y-%m-%d})"
            for number, record in enumerate(known, 1)
        ),
    )
    messages = [ChatMessage("user", text)]
    about = tuple(
        dict.fromkeys(
            [
                *(record.id for record in known),
                *(name for candidate in candidates for name in candidate.sources),
            ]
        )
    )
    cost = ModelCost()
    for _ in range(1 + _RETRIES):
        answer = chat.ask(
            ChatRequest(
                tuple(messages),
                "reconcile",
                SCHEMA,
                max_tokens=_ANSWER + _ROW * len(candidates),
                about=about,
            )
        )
        cost += ModelCost(answer.calls, answer.tokens)
        decisions.extend(StageDecision("reconcile", "repair", note) for note in answer.notes)
        rows, problem = _parse_rows(answer.data, len(candidates), len(known))
        if not problem:
            return rows, cost
        decisions.append(StageDecision("reconcile", "repair", f"asked again: {problem}"[:200]))
        complaint = (
            f"That answer cannot be used: {problem}. The new statements are 1 to {len(candidates)},"
            f" the known ones 1 to {len(known)}. Answer again."
        )
        messages = [
            messages[0],
            ChatMessage("assistant", answer.text[:4000]),
            ChatMessage("user", complaint),
        ]
    raise ModelError("Its decisions named statements that do not exist.", retryable=False)


def _format_new(number: int, candidate: CandidateStatement) -> str:
    said = f" (said {candidate.said_at:%Y-%m-%d}" if candidate.said_at else " (said"
    begun = f", so from {candidate.valid_from:%Y-%m-%d}" if candidate.valid_from else ""
    words = f": {quote(candidate.evidence[0].quote)}" if candidate.evidence else ""
    return f"{number}. {quote(candidate.text)}{said}{begun}{words})"


def _parse_rows(data: Any, new: int, known: int) -> tuple[list[ModelReconcileDecision], str]:
    rows = data.get("decisions") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        return [], "there is no list named decisions"
    good: list[ModelReconcileDecision] = []
    for row in rows:
        try:
            one = ModelReconcileDecision.model_validate(row)
        except ValidationError as problem:
            return [], f"{problem.errors()[0]['loc']}: {problem.errors()[0]['msg']}"
        wrong = [number for number in one.known if not 1 <= number <= known]
        wrong += [number for number in one.earlier if not 1 <= number < one.new]
        if wrong or one.new > new or (one.new == 0 and one.verdict != "remove"):
            return [], f"there is no statement {wrong[0] if wrong else one.new}"
        good.append(one)
    return good, ""
