"""Garden agent: a chat model reviews memory and proposes steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from engrams import prompts
from engrams.core import Edge, EdgeType, Record
from engrams.frozen_data import dataclass
from engrams.ports import ChatAnswer, ChatMessage, ChatModel, ChatRequest
from engrams.upkeep.garden.merge_and_link import absorb, is_mergeable
from engrams.upkeep.garden.rule_jobs import (
    GardenJobInput,
    PlannedGardenStep,
    archive_record,
    is_guarded,
    order_pair,
    preview_texts,
)

_SHOWN = 60
_MORE = 20
_MISSES = 2
"""Answers without a due report until a cycle is incomplete."""
_ANSWER = 1024
_WAKES = 5
_REASON = 240

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


@dataclass(slots=True)
class GardenVisitResult:
    """Steps, decisions and cost of one review by the chat model.

    ``reported``: it ended with a report. ``wakes``: (minutes, reason) of visits it asks for.
    """

    reported: bool = False
    summary: str = ""
    next_minutes: float | None = None
    tokens: int = 0
    calls: int = 0
    wakes: list[tuple[float, str]] = field(default_factory=list)
    steps: list[PlannedGardenStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class GardenAgent:
    """Chat model with tools that reviews memory and proposes steps."""

    def __init__(
        self,
        chat: ChatModel,
        garden: GardenJobInput,
        search: Callable[[str], Sequence[str]],
        queue: Sequence[str],
    ) -> None:
        """Set up a visit.

        ``search``: ids of memories about a query. ``queue``: reasons of waiting entries, shown to
        the model.
        """
        self._chat = chat
        self._garden = garden
        self._search = search
        self._queue = queue
        self._known = {record.id: record for record in garden.records}
        self._shown: list[Record] = []

    def visit(
        self,
        made: GardenVisitResult,
        tokens: int,
        spent: Callable[[ChatAnswer], None],
        alive: Callable[[], None],
    ) -> None:
        """Ask the model until it reports, or tokens or answers run out.

        Results go into ``made`` as they come. ``spent`` is called with every answer, ``alive``
        before each request. ModelError: the model failed.
        """
        section = self._garden.settings
        latest = sorted(self._known.values(), key=lambda record: record.story_key, reverse=True)
        prompt = prompts.load("garden").render(
            steps=str(section.model_steps),
            today=f"{self._garden.now:%Y-%m-%d %H:%M} UTC",
            tokens=str(tokens),
            queue="; ".join(prompts.quote(why) for why in self._queue) or "nothing",
            memories=self._format_list(latest[:_SHOWN]),
        )
        messages = [ChatMessage("user", prompt)]
        misses = 0
        while made.calls < section.model_steps + _MISSES:
            if made.tokens + _ANSWER > tokens:
                made.notes.append("the cycle's tokens are used up")
                break
            alive()
            answer = self._chat.ask(
                ChatRequest(tuple(messages), "garden", _SCHEMA, max_tokens=_ANSWER)
            )
            made.tokens = made.tokens + answer.tokens
            made.calls = made.calls + answer.calls
            spent(answer)
            replies = [
                self._run_action(action, made) for action in answer.data.get("actions") or ()
            ]
            if report := answer.data.get("report"):
                made.reported = True
                made.summary = " ".join(str(report["summary"]).split())[:1000]
                made.next_minutes = report.get("next_minutes")
                break
            late = made.calls >= section.model_steps or not replies
            misses += late
            if misses >= _MISSES:
                made.notes.append("the model gave no report")
                break
            replies.append("Give the report now." if late else "Go on, or give the report.")
            messages += [
                ChatMessage("assistant", answer.text),
                ChatMessage("user", "\n".join(replies)),
            ]

    def _format_list(self, records: Sequence[Record]) -> str:
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

    def _run_action(self, action: dict[str, Any], made: GardenVisitResult) -> str:
        reason = " ".join(str(action.get("reason") or "").split())[:_REASON]
        match action["do"]:
            case "look":
                ids = [
                    name
                    for name in self._search(str(action.get("query", ""))[:500])
                    if name in self._known
                ]
                return self._format_list([self._known[name] for name in ids[:_MORE]])
            case "wake":
                if len(made.wakes) < _WAKES and action.get("minutes"):
                    made.wakes.append((float(action["minutes"]), reason or "to look again"))
                return "Noted."
            case "merge" | "put_away" | "link" | "conflict":
                records = self._pick_records(action.get("ids") or ())
                why_not = self._find_refusal(action["do"], records)
                if why_not:
                    made.notes.append(f"{action['do']}: {why_not}")
                    return f"Not done: {why_not}."
                made.steps += self._make_steps(action["do"], records, reason or "tidied up")
                return "Done."
            case other:
                return f"There is no action {prompts.quote(str(other)[:40])}."

    def _pick_records(self, numbers: Sequence[int]) -> list[Record]:
        return [
            self._shown[number - 1]
            for number in dict.fromkeys(numbers)
            if 1 <= number <= len(self._shown)
        ]

    def _find_refusal(self, do: str, records: Sequence[Record]) -> str:
        """Return why an action is refused; empty: allowed, as rules would."""
        if not records or (do != "put_away" and len(records) < 2):
            return "no such memories"
        if any(record.id in self._garden.taken for record in records):
            return "it was changed already in this visit"
        if do == "put_away" and any(
            is_guarded(record) or record.strength > 1 for record in records
        ):
            return "what a person said, corrected or repeated stays"
        if do == "merge" and not all(is_mergeable(records[0], record) for record in records[1:]):
            return "they do not say the same"
        return ""

    def _make_steps(
        self, do: str, records: Sequence[Record], reason: str
    ) -> list[PlannedGardenStep]:
        owner = self._garden.owner
        section = self._garden.settings
        match do:
            case "merge":
                return [absorb(self._garden, records[0], records[1:], "agent", reason)]
            case "put_away":
                return [archive_record(self._garden, record, reason, "agent") for record in records]
            case _:
                type = EdgeType.RELATES_TO if do == "link" else EdgeType.CONTRADICTS
                ends = [order_pair(records[0].id, record.id) for record in records[1:]]
                edges = tuple(Edge(owner, *both, type, section.link_weight) for both in ends)
                return [
                    PlannedGardenStep(
                        job="agent",
                        verb="link",
                        ids=tuple(record.id for record in records),
                        texts=preview_texts(records),
                        reason=reason,
                        edges=edges,
                    )
                ]
