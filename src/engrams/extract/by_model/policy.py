"""Policy decisions by a model, within the guards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from engrams.core import ModelCost, Record
from engrams.errors import BudgetError, ModelError
from engrams.extract import policy
from engrams.extract.candidate import CandidateStatement
from engrams.ports import ChatMessage, ChatModel, ChatRequest
from engrams.prompts import load, quote

_HELD = policy.StoragePolicyDecision("commit_at_session_end", "awaits review", awaits_review=True)
_REASON = 240


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
    record: Record, candidates: Sequence[CandidateStatement], chat: ChatModel, floor: float = 0.0
) -> tuple[list[policy.StoragePolicyDecision], ModelCost]:
    """Decide on each candidate by a model.

    What is less sure than ``floor`` is not stored at once. Whatever the model leaves out, gets
    wrong or fails at is held.
    """
    if not candidates:
        return [], ModelCost()
    listed = "\n".join(
        f"{number}. {quote(candidate.text)}" for number, candidate in enumerate(candidates, 1)
    )
    text = load("policy").render(turn=quote(record.text[:4000]), candidates=listed)
    rows: dict[int, policy.StoragePolicyDecision] = {}
    cost = ModelCost(calls=1)
    try:
        answer = chat.ask(ChatRequest((ChatMessage("user", text),), "policy", SCHEMA))
        cost = ModelCost(answer.calls, answer.tokens)
        rows = _parse_rows(answer.data)
    except (ModelError, BudgetError) as problem:
        held = policy.StoragePolicyDecision(
            "commit_at_session_end",
            f"awaits review: {problem.message}"[:_REASON],
            awaits_review=True,
        )
        return [policy.clamp_decision(candidate, held) for candidate in candidates], cost
    return [
        policy.clamp_decision(candidate, rows.get(number, _HELD), floor)
        for number, candidate in enumerate(candidates, 1)
    ], cost


def _parse_rows(data: Any) -> dict[int, policy.StoragePolicyDecision]:
    rows = data.get("rulings") if isinstance(data, dict) else data
    found: dict[int, policy.StoragePolicyDecision] = {}
    for row in rows if isinstance(rows, list) else ():
        try:
            one = ModelPolicyDecision.model_validate(row)
        except ValidationError:
            continue
        found[one.id] = policy.StoragePolicyDecision(
            one.action, f"llm_policy: {one.reason}"[:_REASON]
        )
    return found
