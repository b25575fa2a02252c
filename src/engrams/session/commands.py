"""Memory commands in conversation: list, switch recall, forget after confirmation.

Commands and answers to them are never stored: a conversation about what is to be forgotten would
keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from engrams.core import Kind, Record, Scope, ScopeInput, Status
from engrams.errors import InputError, NotFoundError, RefusedError
from engrams.extract.command_parser import (
    ParsedMemoryCommand,
    parse_command,
    parse_decision,
    parse_number,
)
from engrams.ports import MemoryApi, is_skill

MAX_LISTED = 10
"""Memories that a list shows."""
MAX_CHOICES = 5
"""Memories that a question which of them to forget names."""

_MATCH_SHARE = 0.6
"""Share of the best score from which other memories match as well."""
_LINE_CHARACTERS = 200

_LISTED_FIRST = (
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.RULE,
    Kind.PROCEDURE,
    Kind.NEGATIVE,
    Kind.CORRECTION,
    Kind.NOTE,
)


class RecallSettingStore(Protocol):
    """Recall setting of an owner, stored with their memory."""

    def recall(self, scope: Scope, on: bool | None = None) -> bool: ...


@dataclass(frozen=True, slots=True)
class PendingForgetQuestion:
    """Open question that the next turn may answer."""

    owner: str
    """Key of the owner's scope."""
    step: Literal["shown", "choose", "confirm"]
    """``shown``: a numbered list was; ``choose``: one of several to forget; ``confirm``: forget them
    or not.
    """
    ids: tuple[str, ...]
    """Memories in question, in the order that they were shown in."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values, to be kept between two turns."""
        return {"owner": self.owner, "step": self.step, "ids": list(self.ids)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], scope: Scope) -> PendingForgetQuestion:
        """Parse the result of ``to_dict``.

        InputError: it is malformed. RefusedError: it belongs to another owner.
        """
        owner = data.get("owner")
        step = data.get("step")
        ids = data.get("ids")
        has_ids = isinstance(ids, list) and ids and all(isinstance(id, str) and id for id in ids)
        if (
            set(data) != {"owner", "step", "ids"}
            or step not in ("shown", "choose", "confirm")
            or not isinstance(owner, str)
            or not has_ids
        ):
            raise InputError(
                "The pending question is malformed.", hint="Ask again what you want forgotten."
            )
        if owner != scope.owner.key:
            raise RefusedError("The pending question belongs to another owner.")
        return cls(owner, step, tuple(ids or ()))


@dataclass(frozen=True, slots=True)
class MemoryCommandResult:
    """Reply to a command."""

    reply: str
    pending: dict[str, Any] | None = None
    """Open question, to be given back with the next turn."""
    forgotten: tuple[str, ...] = ()
    """Ids of the memories that were forgotten."""


class MemoryCommandHandler:
    """Memory commands of a conversation, reached as ``engine.control``.

    Stateless: open questions travel in ``MemoryCommandResult.pending``.
    """

    def __init__(self, memory: MemoryApi, recall_setting: RecallSettingStore | None = None) -> None:
        self._memory = memory
        self._recall_setting = recall_setting

    def turn(
        self,
        text: str,
        *,
        scope: ScopeInput,
        session: str = "",
        pending: Mapping[str, Any] | None = None,
        answered: Sequence[str] = (),
    ) -> MemoryCommandResult | None:
        """Answer a request about memory; None where the text is none.

        ``answered``: ids of the memories in the last answer, which "forget that" means then. With
        None the open question is closed too. InputError: ``pending`` is malformed. RefusedError: it
        belongs to another owner.
        """
        asked_scope = Scope.of(scope)
        question = None
        if pending is not None:
            question = PendingForgetQuestion.from_dict(pending, asked_scope)
        if question is not None and question.step != "shown":
            result = self._answer_question(text, question, asked_scope)
            if result is not None:
                return result
        command = parse_command(text)
        if command is None:
            return None
        if command.verb == "forget_last":
            answered_with = self._load_active(answered[:MAX_CHOICES], asked_scope)
            if answered_with:
                return self._ask_which(answered_with, asked_scope)
        return self._run_command(command, asked_scope, session, question)

    def recall(self, scope: ScopeInput, on: bool | None = None) -> bool:
        """Return whether facts are recalled for this owner; ``on`` sets it."""
        if self._recall_setting is None:
            return True
        return self._recall_setting.recall(Scope.of(scope), on)

    def _run_command(
        self,
        command: ParsedMemoryCommand,
        scope: Scope,
        session: str,
        question: PendingForgetQuestion | None,
    ) -> MemoryCommandResult:
        match command.verb:
            case "list":
                return self._list_memories(command.about, scope)
            case "status":
                return self._report_status(scope)
            case "recall_on" | "recall_off":
                return self._set_recall(command.verb == "recall_on", scope)
            case "save":
                return self._save_preference(command.about, scope)
            case "forget_all":
                return MemoryCommandResult(
                    "I cannot erase everything in a chat. Use engrams purge --all. Or tell me what to"
                    " forget."
                )
            case "forget_last":
                return self._ask_which(self._find_latest(scope, session), scope)
            case "forget" if command.number:
                return self._pick_number(command.number, question, scope)
            case "forget":
                return self._ask_which(self._find_matching(command.about, scope), scope)

    def _answer_question(
        self, text: str, question: PendingForgetQuestion, scope: Scope
    ) -> MemoryCommandResult | None:
        """Take the text as the answer to a question; None: it is about something else."""
        decision = parse_decision(text)
        if decision == "no":
            return MemoryCommandResult("Nothing was forgotten.")
        if question.step == "confirm":
            return self._forget_confirmed(question, scope) if decision == "yes" else None
        if decision == "all":
            return self._ask_confirmation(self._load_active(question.ids, scope), scope)
        number = parse_number(text)
        if not number:
            return None
        if number > len(question.ids):
            return MemoryCommandResult(
                f"There is no number {number}: 1 to {len(question.ids)}, or no.",
                question.to_dict(),
            )
        return self._ask_confirmation(
            self._load_active(question.ids[number - 1 : number], scope), scope
        )

    def _save_preference(self, text: str, scope: Scope) -> MemoryCommandResult:
        receipt = self._memory.add(text, scope=scope, kind=Kind.PREFERENCE)
        if receipt.outcome == "refused":
            return MemoryCommandResult("I could not keep that.")
        return MemoryCommandResult(f"Saved as a preference: {text}")

    def _list_memories(self, about: str, scope: Scope) -> MemoryCommandResult:
        """List memories about something, or the newest: statements before turns."""
        records: Sequence[Record]
        if about:
            records = self._find_matching(about, scope, MAX_LISTED)
        else:
            records = self._memory.list(scope=scope, kinds=_LISTED_FIRST, limit=MAX_LISTED).records
            if not records:
                records = self._memory.list(scope=scope, limit=MAX_LISTED).records
        if not records:
            return MemoryCommandResult(
                f"I remember nothing about {about}." if about else "I remember nothing yet."
            )
        head = (
            f"This is what I remember about {about}:"
            if about
            else "This is what I remember, the newest first:"
        )
        return MemoryCommandResult(
            f"{head}\n{_format_list(records)}",
            PendingForgetQuestion(scope.owner.key, "shown", _list_ids(records)).to_dict(),
        )

    def _report_status(self, scope: Scope) -> MemoryCommandResult:
        counts = self._memory.stats(scope).get("status", {})
        active = int(counts.get("active", 0))
        recall = ""
        if self._recall_setting is not None:
            is_on = self._recall_setting.recall(scope)
            recall = " Recall is on." if is_on else " Recall is off."
        return MemoryCommandResult(
            f"I remember {active} {'thing' if active == 1 else 'things'} here.{recall}"
        )

    def _set_recall(self, on: bool, scope: Scope) -> MemoryCommandResult:
        if self._recall_setting is None:
            return MemoryCommandResult("Recall cannot be switched here.")
        self._recall_setting.recall(scope, on)
        if on:
            return MemoryCommandResult("Recall is on: I use what I remember.")
        return MemoryCommandResult("Recall is off: I use only rules, and still store messages.")

    def _pick_number(
        self, number: int, question: PendingForgetQuestion | None, scope: Scope
    ) -> MemoryCommandResult:
        """Ask to confirm one memory of the last list."""
        if question is None:
            return MemoryCommandResult("I do not know that list. First ask me what I remember.")
        if number > len(question.ids):
            return MemoryCommandResult(
                f"There is no number {number}: 1 to {len(question.ids)}.", question.to_dict()
            )
        return self._ask_confirmation(
            self._load_active(question.ids[number - 1 : number], scope), scope
        )

    def _ask_which(self, records: Sequence[Record], scope: Scope) -> MemoryCommandResult:
        """Ask which memory to forget, or to confirm the only one."""
        if len(records) < 2:
            return self._ask_confirmation(records, scope)
        text = (
            f"Several memories match:\n{_format_list(records)}\nWhich one shall I forget? A number,"
            " all, or no."
        )
        return MemoryCommandResult(
            text, PendingForgetQuestion(scope.owner.key, "choose", _list_ids(records)).to_dict()
        )

    def _ask_confirmation(self, records: Sequence[Record], scope: Scope) -> MemoryCommandResult:
        if not records:
            return MemoryCommandResult("I remember nothing like that.")
        if len(records) == 1:
            memories = f"“{_format_line(records[0])}”"
        else:
            memories = f"these {len(records)}:\n{_format_list(records)}\n"
        return MemoryCommandResult(
            f"Shall I forget {memories}? Say yes or no.",
            PendingForgetQuestion(scope.owner.key, "confirm", _list_ids(records)).to_dict(),
        )

    def _forget_confirmed(
        self, question: PendingForgetQuestion, scope: Scope
    ) -> MemoryCommandResult:
        forgotten_ids = []
        for record in self._load_active(question.ids, scope):
            self._memory.forget(record.id, scope=scope, reason="asked for in a conversation")
            forgotten_ids.append(record.id)
        if not forgotten_ids:
            return MemoryCommandResult("It is forgotten already.")
        return MemoryCommandResult(
            f"Forgotten. `engrams restore {' '.join(forgotten_ids)}` brings it back.",
            forgotten=tuple(forgotten_ids),
        )

    def _load_active(self, ids: Sequence[str], scope: Scope) -> list[Record]:
        """Load those of the memories that are active and that this scope reads."""
        active = []
        for id in ids:
            try:
                record = self._memory.get(id, scope=scope)
            except NotFoundError:
                continue
            is_in_reach = scope.is_owner or record.scope in scope.chain()
            if record.status is Status.ACTIVE and is_in_reach:
                active.append(record)
        return active

    def _find_matching(self, about: str, scope: Scope, limit: int = MAX_CHOICES) -> list[Record]:
        """Find memories about something: the best hit, and those that come near its score."""
        result = self._memory.search(about, scope=scope, limit=limit)
        if result.abstain or not result.hits:
            return []
        min_score = _MATCH_SHARE * result.hits[0].score
        return [
            hit.record
            for hit in result.hits
            if hit.score >= min_score and not is_skill(hit.record.id)
        ]

    def _find_latest(self, scope: Scope, session: str) -> list[Record]:
        """Find the last thing that the person said here, questions left out."""
        from engrams.text.questions import is_asking

        page = self._memory.list(scope=scope, session=session, limit=4 * MAX_CHOICES)
        return [
            record
            for record in page.records
            if record.role in ("user", "") and not is_asking(record.text)
        ][:1]


def _list_ids(records: Sequence[Record]) -> tuple[str, ...]:
    return tuple(record.id for record in records)


def _format_list(records: Sequence[Record]) -> str:
    return "\n".join(
        f"{number}. {_format_line(record)}" for number, record in enumerate(records, 1)
    )


def _format_line(record: Record) -> str:
    text = " ".join(record.text.split())
    if len(text) <= _LINE_CHARACTERS:
        return text
    return text[: _LINE_CHARACTERS - 1].rstrip() + "…"
