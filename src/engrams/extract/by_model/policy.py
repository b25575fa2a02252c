"""Decisions of a chat model whether candidates are stored: enter at ``decide_by_model``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from engrams.core import ModelCost, Record
from engrams.errors import BudgetError, ModelError
from engrams.extract import policy
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.rule_extraction import is_explicit
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.prompts import load, quote

_UNDECIDED = policy.StoragePolicyDecision(
    "commit_at_session_end", "awaits review", awaits_review=True
)
_MAX_REASON = 240


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rulings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "action": {"type": "string"},
                    "reason": {"type": "string"},
                },
            },
        }
    },
    "required": ["rulings"],
}


class ModelPolicyDecision(BaseModel):
    """Storage decision on one candidate, as a model returns it."""

    id: int = Field(ge=1)
    action: Literal["commit_now", "commit_at_session_end", "require_repetition", "drop"]
    reason: str = ""


def decide_by_model(
    record: Record,
    candidates: Sequence[CandidateStatement],
    chat: ChatModel,
    floor: float = 0.0,
    hold_below: float = 0.0,
) -> tuple[list[policy.StoragePolicyDecision], ModelCost]:
    """Let a model decide on each candidate of a record, within the guards.

    A candidate less sure than ``floor`` is not stored at once, nor is a rule or preference less sure
    than ``hold_below`` that nobody asked to remember. One that the model leaves out, or
    answers wrongly, is held, as are all if it fails.
    """
    if not candidates:
        return [], ModelCost()
    listing = "\n".join(
        f"{number}. {quote(candidate.text)}" for number, candidate in enumerate(candidates, 1)
    )
    text = load("policy").render(turn=quote(record.text[:4000]), candidates=listing)
    cost = ModelCost(calls=1)
    try:
        answer = chat.ask(ChatRequest((ChatMessage("user", text),), "policy", SCHEMA))
        cost = ModelCost(answer.calls, answer.tokens)
        decisions = _parse_decisions(answer.data)
    except (ModelError, BudgetError) as problem:
        undecided = policy.StoragePolicyDecision(
            "commit_at_session_end",
            f"awaits review: {problem.message}"[:_MAX_REASON],
            awaits_review=True,
        )
        return [policy.clamp_decision(candidate, undecided) for candidate in candidates], cost
    wish_floor = floor if is_explicit(record.text) else max(floor, hold_below)
    return [
        policy.clamp_decision(
            candidate,
            decisions.get(number, _UNDECIDED),
            wish_floor if candidate.kind in policy.WISHES else floor,
        )
        for number, candidate in enumerate(candidates, 1)
    ], cost


def _parse_decisions(data: Any) -> dict[int, policy.StoragePolicyDecision]:
    """Parse an answer to decisions by candidate number; malformed ones are left out."""
    rows = data.get("rulings") if isinstance(data, dict) else data
    decisions: dict[int, policy.StoragePolicyDecision] = {}
    for row in rows if isinstance(rows, list) else ():
        try:
            parsed = ModelPolicyDecision.model_validate(row)
        except ValidationError:
            continue
        decisions[parsed.id] = policy.StoragePolicyDecision(
            parsed.action, f"llm_policy: {parsed.reason}"[:_MAX_REASON]
        )
    return decisions
