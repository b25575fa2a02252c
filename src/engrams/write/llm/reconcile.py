"""Reconciliation by a model; rules limit it and replace failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from engrams.errors import BudgetError, ModelError
from engrams.ports import Ask, Chat, Message
from engrams.prompts import load, quote
from engrams.settings import WriteSettings
from engrams.types import Cost, Decision, Record
from engrams.write.candidate import Candidate
from engrams.write.reconcile import MARGIN, Reconciliation, find_conflict, find_exact, reconcile

_RETRIES = 3
NO_COST = Cost()


class ReconcileRow(BaseModel):
    """One decision as a model returns it."""

    new: int = Field(ge=0)
    verdict: Literal["add", "keep", "refine", "replace", "remove", "conflict"]
    known: tuple[int, ...] = ()
    confidence: Literal["low", "medium", "high"] = "medium"
    reason: str = ""


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "decisions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "new": {"type": "integer"},
                    "verdict": {"type": "string"},
                    "known": {"type": "array", "items": {"type": "integer"}},
                    "confidence": {"type": "string"},
                    "reason": {"type": "string"},
                },
            },
        }
    },
    "required": ["decisions"],
}


@dataclass(frozen=True, slots=True)
class ModelReconciliation:
    """Reconciliations in candidate order, further removals, and the cost.
    ``unsure``: those that the model failed at, where the rules do not take over."""

    outcomes: tuple[Reconciliation, ...]
    removed: tuple[Record, ...] = ()
    cost: Cost = NO_COST
    unsure: tuple[Reconciliation, ...] = ()


def reconcile_by_model(
    candidates: Sequence[Candidate], known: Sequence[Record], chat: Chat, settings: WriteSettings, decisions: list[Decision]
) -> ModelReconciliation:
    """Reconcile candidates by a model; no call for exact repeats.

    The model sees short numbers. A number that is not in the list is pointed out and asked again, three times. After a failure the rules
    decide, so that no new statement is lost; with ``write.reconcile_fallback`` the statement instead stands beside what is known, or is
    held. An answer that only removes also leaves the decision to the rules. A decision of low confidence coexists."""
    sure = [_reconcile_trivial(candidate, known) for candidate in candidates]
    open_ = [candidate for candidate, outcome in zip(candidates, sure, strict=True) if outcome is None]
    if not open_:
        return ModelReconciliation(tuple(outcome for outcome in sure if outcome is not None))
    try:
        rows, cost = _ask_rows(open_, known, chat)
    except (ModelError, BudgetError) as problem:
        decisions.append(Decision("reconcile", settings.reconcile_fallback, f"the model failed: {problem.message}"[:200]))
        rows, cost = [], Cost(calls=1)
        if settings.reconcile_fallback != "rules":
            beside = iter([Reconciliation("add", candidate, reason="the model failed") for candidate in open_])
            both = [(outcome or next(beside), outcome is None) for outcome in sure]
            return ModelReconciliation(
                tuple(outcome for outcome, _ in both), (), cost, tuple(outcome for outcome, failed in both if failed)
            )
    by_model = {row.new: row for row in rows if row.new and row.verdict != "remove"}
    made = iter(
        [_to_reconciliation(candidate, by_model.get(number), known, settings.dedup_jaccard) for number, candidate in enumerate(open_, 1)]
    )
    outcomes = tuple(outcome or next(made) for outcome in sure)
    taken = {target.id for outcome in outcomes for target in outcome.targets}
    gone = [known[number - 1] for row in rows if row.verdict == "remove" for number in row.known]
    trusted = min(candidate.trust for candidate in open_)
    removed = {record.id: record for record in gone if record.id not in taken and record.trust <= trusted + MARGIN}
    return ModelReconciliation(outcomes, tuple(removed.values()), cost)


def _reconcile_trivial(candidate: Candidate, known: Sequence[Record]) -> Reconciliation | None:
    """Reconcile without a model: nothing known, or an exact repeat."""
    if not known:
        return Reconciliation("add", candidate, reason="nothing known")
    twin = find_exact(candidate, known)
    return Reconciliation("keep", candidate, (twin,), reason="said before") if twin is not None else None


def _to_reconciliation(candidate: Candidate, row: ReconcileRow | None, known: Sequence[Record], threshold: float) -> Reconciliation:
    by_rules = reconcile(candidate, known, threshold)
    if row is None or candidate.modality != "asserted":
        return by_rules
    targets = tuple(known[number - 1] for number in row.known)
    reason = f"model: {row.reason}"[:200]
    if row.verdict == "add" or not targets:
        # A model that adds does not overrule what the rules are certain of.
        return by_rules if by_rules.verdict in ("replace", "keep", "conflict") else Reconciliation("add", candidate, reason=reason)
    if row.verdict == "keep":
        return Reconciliation("keep", candidate, targets[:1], reason=reason)
    if row.verdict == "conflict" or row.confidence == "low":
        return Reconciliation("conflict", candidate, targets, reason=reason)
    if by_rules.until is not None:
        return by_rules
    retract = candidate.effect == "corrects"
    return find_conflict(candidate, list(targets)) or Reconciliation(row.verdict, candidate, targets, retract=retract, reason=reason)


def _ask_rows(candidates: Sequence[Candidate], known: Sequence[Record], chat: Chat) -> tuple[list[ReconcileRow], Cost]:
    text = load("reconcile").render(
        new="\n".join(f"{number}. {quote(candidate.text)}" for number, candidate in enumerate(candidates, 1)),
        known="\n".join(f"{number}. {quote(record.text)} (said {record.recorded_at:%Y-%m-%d})" for number, record in enumerate(known, 1)),
    )
    messages = [Message("user", text)]
    cost = Cost()
    for _ in range(1 + _RETRIES):
        answer = chat.ask(Ask(tuple(messages), "reconcile", SCHEMA))
        cost += Cost(answer.calls, answer.tokens)
        rows, problem = _parse_rows(answer.data, len(candidates), len(known))
        if not problem:
            return rows, cost
        complaint = (
            f"That answer cannot be used: {problem}. The new statements are 1 to {len(candidates)}, the known ones 1 to"
            f" {len(known)}. Answer again."
        )
        messages = [messages[0], Message("assistant", answer.text[:4000]), Message("user", complaint)]
    raise ModelError("Its decisions named statements that do not exist.", retryable=False)


def _parse_rows(data: Any, new: int, known: int) -> tuple[list[ReconcileRow], str]:
    rows = data.get("decisions") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        return [], "there is no list named decisions"
    good: list[ReconcileRow] = []
    for row in rows:
        try:
            one = ReconcileRow.model_validate(row)
        except ValidationError as problem:
            return [], f"{problem.errors()[0]['loc']}: {problem.errors()[0]['msg']}"
        wrong = [number for number in one.known if not 1 <= number <= known]
        if wrong or one.new > new or (one.new == 0 and one.verdict != "remove"):
            return [], f"there is no statement {wrong[0] if wrong else one.new}"
        good.append(one)
    return good, ""
