"""Job ``agent``: a chat model looks through memory and proposes steps.

The model sees numbered memories and answers with actions (``look``, ``merge``, ``put_away``,
``link``, ``conflict``, ``wake``) and, in the end, a report. Its actions are held to the rules of the
other jobs; what it proposes is committed by ``cycle``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engrams import prompts
from engrams.core import Edge, EdgeType, Record
from engrams.ports import ChatAnswer, ChatMessage, ChatModel, ChatRequest
from engrams.upkeep.garden.merge import absorb, is_mergeable
from engrams.upkeep.garden.prune_unbelieved import archive_record, is_protected
from engrams.upkeep.garden.schedule import ANSWER_TOKENS
from engrams.upkeep.garden.steps import (
    GardenJobInput,
    PlannedGardenStep,
    order_pair,
    preview_texts,
)

_FIRST_SHOWN = 60
"""Memories in the prompt: the latest."""
_LOOK_SHOWN = 20
"""Memories that one ``look`` shows."""
_MAX_MISSES = 2
"""Answers without a due report until a cycle is incomplete."""
_MAX_WAKES = 5
_MAX_REASON = 240
_MAX_SUMMARY = 1000
_MAX_QUERY = 500

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "actions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "do": {"type": "string"},
                    "ids": {"type": "array", "items": {"type": "integer"}},
                    "query": {"type": "string"},
                    "minutes": {"type": "number"},
                    "reason": {"type": "string"},
                },
                "required": ["do"],
            },
        },
        "report": {
            "type": "object",
            "properties": {"summary": {"type": "string"}, "next_minutes": {"type": "number"}},
            "required": ["summary"],
        },
    },
}


def _estimate_tokens(messages: Sequence[ChatMessage]) -> int:
    """Estimate the tokens of a prompt before it is sent: one per 4 bytes of UTF-8."""
    return sum(len(message.content.encode()) for message in messages) // 4


@dataclass(slots=True)
class GardenVisitResult:
    """Steps, report and cost of one visit, filled in as the model answers."""

    reported: bool = False
    """It ended with a report."""
    summary: str = ""
    next_minutes: float | None = None
    """Pause until the next cycle that the report asks for."""
    tokens: int = 0
    calls: int = 0
    wakes: list[tuple[float, str]] = field(default_factory=list)
    """(minutes from now, reason) of visits that the model asks for."""
    steps: list[PlannedGardenStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Refused actions, and why the visit ended early."""


class GardenAgent:
    """Chat model with tools that looks through memory and proposes steps."""

    def __init__(
        self,
        chat: ChatModel,
        garden: GardenJobInput,
        search: Callable[[str], Sequence[str]],
        queue: Sequence[str],
    ) -> None:
        """Set up a visit.

        ``search``: returns the ids of memories about a query. ``queue``: reasons of scheduled
        cycles, shown to the model.
        """
        self._chat = chat
        self._garden = garden
        self._search = search
        self._queue = queue
        self._records = {record.id: record for record in garden.records}
        # In the order in which the model saw them: a memory's number is its place here, from 1.
        self._shown: list[Record] = []

    def visit(
        self,
        result: GardenVisitResult,
        tokens: int,
        record_usage: Callable[[ChatAnswer], None],
        renew_lease: Callable[[], None],
    ) -> None:
        """Ask the model until it reports, or tokens or answers run out.

        ``record_usage`` is called with every answer, ``renew_lease`` before each request.
        ModelError: the model failed; ``result`` holds what it did before.
        """
        section = self._garden.settings
        messages = [ChatMessage("user", self._build_prompt(tokens))]
        misses = 0
        while result.calls < section.model_steps + _MAX_MISSES:
            if result.tokens + _estimate_tokens(messages) + ANSWER_TOKENS > tokens:
                result.notes.append("the cycle's tokens are used up")
                break
            renew_lease()
            answer = self._chat.ask(
                ChatRequest(tuple(messages), "garden", _SCHEMA, max_tokens=ANSWER_TOKENS)
            )
            result.tokens += answer.tokens
            result.calls += answer.calls
            record_usage(answer)
            replies = [
                self._run_action(action, result) for action in answer.data.get("actions") or ()
            ]
            report = answer.data.get("report")
            if report:
                result.reported = True
                result.summary = " ".join(str(report["summary"]).split())[:_MAX_SUMMARY]
                result.next_minutes = report.get("next_minutes")
                break
            is_report_due = result.calls >= section.model_steps or not replies
            misses += is_report_due
            if misses >= _MAX_MISSES:
                result.notes.append("the model gave no report")
                break
            replies.append(
                "Give the report now." if is_report_due else "Go on, or give the report."
            )
            messages += [
                ChatMessage("assistant", answer.text),
                ChatMessage("user", "\n".join(replies)),
            ]

    def _build_prompt(self, tokens: int) -> str:
        latest = sorted(self._records.values(), key=lambda record: record.story_key, reverse=True)
        return prompts.load("garden").render(
            steps=str(self._garden.settings.model_steps),
            today=f"{self._garden.now:%Y-%m-%d %H:%M} UTC",
            tokens=str(tokens),
            queue="; ".join(prompts.quote(reason) for reason in self._queue) or "nothing",
            memories=self._format_list(latest[:_FIRST_SHOWN]),
        )

    def _format_list(self, records: Sequence[Record]) -> str:
        """Format memories with their numbers; unseen ones get the next numbers."""
        lines = []
        for record in records:
            if record not in self._shown:
                self._shown.append(record)
            number = self._shown.index(record) + 1
            lines.append(
                f"{number}. {record.kind} {prompts.quote(preview_texts((record,))[0])}"
                f" ({record.recorded_at:%Y-%m-%d})"
            )
        return "\n".join(lines) or "none"

    def _run_action(self, action: dict[str, Any], result: GardenVisitResult) -> str:
        """Do one action of the model; returns the reply to it."""
        reason = " ".join(str(action.get("reason") or "").split())[:_MAX_REASON]
        match action["do"]:
            case "look":
                hits = self._search(str(action.get("query", ""))[:_MAX_QUERY])
                records = [self._records[id] for id in hits if id in self._records]
                return self._format_list(records[:_LOOK_SHOWN])
            case "wake":
                if len(result.wakes) < _MAX_WAKES and action.get("minutes"):
                    result.wakes.append((float(action["minutes"]), reason or "to look again"))
                return "Noted."
            case "merge" | "put_away" | "link" | "conflict" as verb:
                records = self._pick_records(action.get("ids") or ())
                refusal = self._find_refusal(verb, records)
                if refusal:
                    result.notes.append(f"{verb}: {refusal}")
                    return f"Not done: {refusal}."
                result.steps += self._make_steps(verb, records, reason or "tidied up")
                return "Done."
            case unknown:
                return f"There is no action {prompts.quote(str(unknown)[:40])}."

    def _pick_records(self, numbers: Sequence[int]) -> list[Record]:
        return [
            self._shown[number - 1]
            for number in dict.fromkeys(numbers)
            if 1 <= number <= len(self._shown)
        ]

    def _find_refusal(self, verb: str, records: Sequence[Record]) -> str:
        """Return why an action is refused, by the rules of the other jobs; empty: allowed."""
        if not records or (verb != "put_away" and len(records) < 2):
            return "no such memories"
        if any(record.id in self._garden.planned_ids for record in records):
            return "it was changed already in this visit"
        if verb == "put_away" and any(
            is_protected(record) or record.strength > 1 for record in records
        ):
            return "what a person said, corrected or repeated stays"
        if verb == "merge" and not all(is_mergeable(records[0], record) for record in records[1:]):
            return "they do not say the same"
        return ""

    def _make_steps(
        self, verb: str, records: Sequence[Record], reason: str
    ) -> list[PlannedGardenStep]:
        if verb == "merge":
            return [absorb(self._garden, records[0], records[1:], "agent", reason)]
        if verb == "put_away":
            return [archive_record(self._garden, record, reason, "agent") for record in records]
        return [self._make_link_step(verb, records, reason)]

    def _make_link_step(
        self, verb: str, records: Sequence[Record], reason: str
    ) -> PlannedGardenStep:
        """Link the first memory with each of the others."""
        edge_type = EdgeType.RELATES_TO if verb == "link" else EdgeType.CONTRADICTS
        weight = self._garden.settings.link_weight
        pairs = [order_pair(records[0].id, record.id) for record in records[1:]]
        return PlannedGardenStep(
            job="agent",
            verb="link",
            ids=tuple(record.id for record in records),
            texts=preview_texts(records),
            reason=reason,
            edges=tuple(Edge(self._garden.owner, *pair, edge_type, weight) for pair in pairs),
        )
