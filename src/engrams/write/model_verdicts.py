"""Questions to a chat model about new and stored statements, and its verdicts, limited by rules.

``ask_verdicts`` asks; ``judge_candidate`` turns the answer about one candidate into a
reconciliation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from engrams.core import ModelCost, Record, StageDecision
from engrams.core.tellers_clock import told_at
from engrams.errors import BudgetError, ModelError
from engrams.extract.candidate import CandidateStatement
from engrams.frozen_data import dataclass
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.prompts import load, quote
from engrams.text.comparison.statement_comparison import are_opposite
from engrams.write.protected_statements import may_end
from engrams.write.reconcile_rules import (
    TRUST_MARGIN,
    ReconciliationResult,
    find_conflict,
    find_exact,
)

_ENDING = ("replace", "refine", "remove")
"""Verdicts that end the statements they name."""
_RETRIES = 3
"""Times that a model is asked again after an answer that cannot be used."""
_ANSWER_TOKENS = 512
_ROW_TOKENS = 128
"""Tokens of an answer, and of each decision in it."""

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
    """Decision on one new statement, as a model returns it. Numbers begin with 1."""

    new: int = Field(ge=0)
    """Number of the new statement; 0: only known ones are to go."""
    verdict: Literal["add", "keep", "refine", "replace", "remove", "conflict"]
    known: tuple[int, ...] = ()
    """Numbers of the known statements that it is about."""
    earlier: tuple[int, ...] = ()
    """Numbers of new statements before this one that it is about."""
    confidence: Literal["low", "medium", "high"] = "medium"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NumberedReconcileDecisions:
    """Decisions of a model about new statements."""

    rows: Mapping[int, ModelReconcileDecision]
    """By the number of the new statement, from 1."""
    removed: tuple[Record, ...] = ()
    """Known statements that are to go."""
    cost: ModelCost = ModelCost()
    failed: bool = False
    """The model gave no decision."""


def ask_verdicts(
    candidates: Sequence[CandidateStatement],
    known_statements: Sequence[Record],
    chat: ChatModel,
    decisions: list[StageDecision],
    *,
    is_patient: bool = False,
) -> NumberedReconcileDecisions:
    """Ask a model how new statements change known ones, in one question.

    The model sees short numbers. A number that is not in the list is pointed out and asked again,
    three times. ``is_patient``: a failure that may pass raises its ModelError.
    """
    try:
        rows, cost = _ask_rows(candidates, known_statements, chat, decisions)
    except (ModelError, BudgetError) as problem:
        if is_patient and isinstance(problem, ModelError) and problem.retryable:
            raise
        decisions.append(
            StageDecision("reconcile", "failed", f"the model failed: {problem.message}"[:200])
        )
        return NumberedReconcileDecisions({}, (), ModelCost(calls=1), failed=True)
    about_new = {row.new: row for row in rows if row.new and row.verdict != "remove"}
    used_numbers = {number for row in about_new.values() for number in row.known}
    removed_numbers = {
        number for row in rows if row.verdict == "remove" for number in row.known
    } - used_numbers
    least_trust = min(candidate.trust for candidate in candidates)
    removed = [known_statements[number - 1] for number in sorted(removed_numbers)]
    return NumberedReconcileDecisions(
        about_new,
        tuple(
            record
            for record in removed
            if record.trust <= least_trust + TRUST_MARGIN
            and any(may_end(candidate, record) for candidate in candidates)
        ),
        cost,
    )


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
    if row.verdict == "add":
        # Only a repetition and a correction are certain enough to overrule it.
        is_repetition = find_exact(candidate, by_rules.targets) is not None
        is_certain = by_rules.retract or (by_rules.verdict == "keep" and is_repetition)
        return by_rules if is_certain else ReconciliationResult("add", candidate, reason=reason)
    if not targets:
        if by_rules.verdict in ("replace", "keep", "conflict"):
            return by_rules
        return ReconciliationResult("add", candidate, reason=reason)
    if row.verdict in _ENDING:
        targets = [record for record in targets if may_end(candidate, record)]
        if not targets:
            reason = f"says nothing of what would end; {reason}"
            return ReconciliationResult("add", candidate, reason=reason)
    if row.verdict == "keep":
        if opposites := [record for record in targets if are_opposite(candidate.text, record.text)]:
            return ReconciliationResult("conflict", candidate, tuple(opposites), reason=reason)
        return ReconciliationResult("keep", candidate, tuple(targets[:1]), reason=reason)
    if row.verdict == "conflict" or row.confidence == "low":
        return ReconciliationResult("conflict", candidate, tuple(targets), reason=reason)
    if by_rules.until is not None:
        return by_rules
    if row.verdict != "refine" and (later := _find_said_later(candidate, targets)):
        until = later.valid_from or later.recorded_at
        return ReconciliationResult("add", candidate, until=until, after=later, reason=reason)
    return find_conflict(candidate, list(targets)) or ReconciliationResult(
        row.verdict,
        candidate,
        tuple(targets),
        retract=candidate.effect == "corrects",
        reason=reason,
    )


def _find_said_later(candidate: CandidateStatement, targets: Sequence[Record]) -> Record | None:
    """Find the first of the targets that were said after a candidate, which ends none of them."""
    said_at = candidate.said_at
    later = [record for record in targets if said_at is not None and record.recorded_at > said_at]
    return min(later, key=lambda record: record.recorded_at, default=None)


def _ask_rows(
    candidates: Sequence[CandidateStatement],
    known_statements: Sequence[Record],
    chat: ChatModel,
    decisions: list[StageDecision],
) -> tuple[list[ModelReconcileDecision], ModelCost]:
    """Ask until an answer can be used. ModelError: none could."""
    text = load("reconcile").render(
        new="\n".join(
            _format_candidate(number, candidate) for number, candidate in enumerate(candidates, 1)
        ),
        known="\n".join(
            f"{number}. {quote(record.text)} (said {told_at(record):%Y-%m-%d})"
            for number, record in enumerate(known_statements, 1)
        ),
    )
    messages = [ChatMessage("user", text)]
    shown_ids = dict.fromkeys(record.id for record in known_statements)
    shown_ids.update(
        dict.fromkeys(source_id for candidate in candidates for source_id in candidate.sources)
    )
    cost = ModelCost()
    for attempt in range(1, 2 + _RETRIES):
        answer = chat.ask(
            ChatRequest(
                tuple(messages),
                "reconcile",
                SCHEMA,
                max_tokens=_ANSWER_TOKENS + _ROW_TOKENS * len(candidates),
                about=tuple(shown_ids),
            )
        )
        cost += ModelCost(answer.calls, answer.tokens)
        decisions.extend(StageDecision("reconcile", "repair", note) for note in answer.notes)
        rows, problem = _parse_rows(answer.data, len(candidates), len(known_statements))
        if not problem:
            return rows, cost
        decisions.append(StageDecision("reconcile", "repair", f"asked again: {problem}"[:200]))
        # The number keeps a repeated mistake from being answered by the stored answer to the last try.
        complaint = (
            f"Answer {attempt} cannot be used: {problem}. The new statements are 1 to {len(candidates)},"
            f" the known ones 1 to {len(known_statements)}. Answer again."
        )
        messages = [
            messages[0],
            ChatMessage("assistant", answer.text[:4000]),
            ChatMessage("user", complaint),
        ]
    raise ModelError("Its decisions named statements that do not exist.", retryable=False)


def _format_candidate(number: int, candidate: CandidateStatement) -> str:
    said_on = f" (said {candidate.said_at:%Y-%m-%d}" if candidate.said_at else " (said"
    begins = f", so from {candidate.valid_from:%Y-%m-%d}" if candidate.valid_from else ""
    words = f": {quote(candidate.evidence[0].quote)}" if candidate.evidence else ""
    return f"{number}. {quote(candidate.text)}{said_on}{begins}{words})"


def _parse_rows(
    data: Any, new_count: int, known_count: int
) -> tuple[list[ModelReconcileDecision], str]:
    """Parse an answer; also what is wrong with it (empty: nothing)."""
    rows = data.get("decisions") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        return [], "there is no list named decisions"
    parsed_rows: list[ModelReconcileDecision] = []
    for row in rows:
        try:
            parsed = ModelReconcileDecision.model_validate(row)
        except ValidationError as problem:
            return [], f"{problem.errors()[0]['loc']}: {problem.errors()[0]['msg']}"
        wrong = [number for number in parsed.known if not 1 <= number <= known_count]
        wrong += [number for number in parsed.earlier if not 1 <= number < parsed.new]
        is_about_nothing = parsed.new == 0 and parsed.verdict != "remove"
        if wrong or parsed.new > new_count or is_about_nothing:
            return [], f"there is no statement {wrong[0] if wrong else parsed.new}"
        parsed_rows.append(parsed)
    return parsed_rows, ""
