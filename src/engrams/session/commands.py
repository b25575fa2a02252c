"""Memory commands in conversation: list, switch recall, forget after confirmation.

Commands and answers to them are never stored: a conversation about what is to be forgotten would
keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from engrams.core import Kind, Record, Scope, ScopeInput, Status
from engrams.errors import InputError, NotFoundError, RefusedError
from engrams.extract.command_parser import (
    ParsedMemoryCommand,
    parse_command,
    parse_decision,
    parse_number,
)
from engrams.frozen_data import dataclass
from engrams.ports import MemoryApi, is_skill

SHOWN = 10
CHOICES = 5

_NEAR = 0.6
"""Share of the best score from which other memories match as well."""

_FIRST_SEEN = (
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
    """Open question that the next turn may answer.

    ``step``: ``shown`` (a numbered list), ``choose`` (one of several to forget), ``confirm``
    (forget them or not).
    """

    owner: str
    step: Literal["shown", "choose", "confirm"]
    ids: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values, to be kept between two turns."""
        return {"owner": self.owner, "step": self.step, "ids": list(self.ids)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], scope: Scope) -> PendingForgetQuestion:
        """Parse the result of ``to_dict``.

        InputError: it is malformed. RefusedError: it belongs to another owner.
        """
        owner, step, ids = (data.get(name) for name in ("owner", "step", "ids"))
        sound = (
            isinstance(owner, str)
            and isinstance(ids, list)
            and bool(ids)
            and all(isinstance(one, str) and one for one in ids)
        )
        if (
            set(data) != {"owner", "step", "ids"}
            or step not in ("shown", "choose", "confirm")
            or not sound
        ):
            raise InputError(
                "The pending question is malformed.", hint="Ask again what you want forgotten."
            )
        if owner != scope.owner.key:
            raise RefusedError("The pending question belongs to another owner.")
        return cls(str(owner), step, tuple(ids or ()))


@dataclass(frozen=True, slots=True)
class MemoryCommandResult:
    """Reply; ``pending`` is for the next turn, ``forgotten`` holds ids."""

    reply: str
    pending: dict[str, Any] | None = None
    forgotten: tuple[str, ...] = ()


class MemoryCommandHandler:
    """Memory commands of a conversation, reached as ``engine.control``.

    Stateless: open questions travel in ``MemoryCommandResult.pending``.
    """

    def __init__(self, door: MemoryApi, switch: RecallSettingStore | None = None) -> None:
        self._memory = door
        self._switch = switch

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
        place = Scope.of(scope)
        open_ = None if pending is None else PendingForgetQuestion.from_dict(pending, place)
        if (
            open_ is not None
            and open_.step != "shown"
            and (found := self._answer_open(text, open_, place)) is not None
        ):
            return found
        asked = parse_command(text)
        if (
            asked is not None
            and asked.verb == "forget_last"
            and (shown := self._load_active(answered[:CHOICES], place))
        ):
            return self._ask_which(shown, place)
        return None if asked is None else self._run_command(asked, place, session, open_)

    def recall(self, scope: ScopeInput, on: bool | None = None) -> bool:
        """Return whether facts are recalled for this owner; ``on`` sets it."""
        return True if self._switch is None else self._switch.recall(Scope.of(scope), on)

    def _run_command(
        self,
        asked: ParsedMemoryCommand,
        scope: Scope,
        session: str,
        open_: PendingForgetQuestion | None,
    ) -> MemoryCommandResult:
        match asked.verb:
            case "list":
                return self._list_memories(asked.about, scope)
            case "status":
                return self._report_status(scope)
            case "recall_on" | "recall_off":
                return self._set_recall(asked.verb == "recall_on", scope)
            case "save":
                receipt = self._memory.add(asked.about, scope=scope, kind=Kind.PREFERENCE)
                return MemoryCommandResult(
                    "I could not keep that."
                    if receipt.outcome == "refused"
                    else f"Saved as a preference: {asked.about}"
                )
            case "forget_all":
                return MemoryCommandResult(
                    "For good and all at once that is done outside of a chat: engrams purge --all."
                    " Tell me what to forget."
                )
            case "forget_last":
                return self._ask_which(self._find_latest(scope, session), scope)
            case "forget" if asked.number:
                return self._pick_number(asked.number, open_, scope)
            case "forget":
                return self._ask_which(self._find_matching(asked.about, scope), scope)

    def _answer_open(
        self, text: str, open_: PendingForgetQuestion, scope: Scope
    ) -> MemoryCommandResult | None:
        """Answer the open question; None: the text is about something else."""
        said = parse_decision(text)
        if said == "no":
            return MemoryCommandResult("Nothing was forgotten.")
        if open_.step == "confirm":
            return self._forget_confirmed(open_, scope) if said == "yes" else None
        number = parse_number(text)
        if said == "all":
            return self._ask_confirmation(self._load_active(open_.ids, scope), scope)
        if not number:
            return None
        if number > len(open_.ids):
            return MemoryCommandResult(
                f"There is no number {number}: 1 to {len(open_.ids)}, or no.", open_.to_dict()
            )
        return self._ask_confirmation(
            self._load_active(open_.ids[number - 1 : number], scope), scope
        )

    def _list_memories(self, about: str, scope: Scope) -> MemoryCommandResult:
        if about:
            records = self._find_matching(about, scope, SHOWN)
        else:
            records = list(self._memory.list(scope=scope, kinds=_FIRST_SEEN, limit=SHOWN).records)
            records = records or list(self._memory.list(scope=scope, limit=SHOWN).records)
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
            PendingForgetQuestion(scope.owner.key, "shown", _ids(records)).to_dict(),
        )

    def _report_status(self, scope: Scope) -> MemoryCommandResult:
        counts = self._memory.stats(scope).get("status", {})
        active = int(counts.get("active", 0))
        recall = ""
        if self._switch is not None:
            recall = " Recall is on." if self._switch.recall(scope) else " Recall is off."
        return MemoryCommandResult(
            f"I remember {active} {'thing' if active == 1 else 'things'} here.{recall}"
        )

    def _set_recall(self, on: bool, scope: Scope) -> MemoryCommandResult:
        if self._switch is None:
            return MemoryCommandResult("Recall cannot be switched here.")
        self._switch.recall(scope, on)
        return MemoryCommandResult(
            "Recall is on: I use what I remember."
            if on
            else "Recall is off: I use nothing I remember but rules, and go on remembering."
        )

    def _pick_number(
        self, number: int, open_: PendingForgetQuestion | None, scope: Scope
    ) -> MemoryCommandResult:
        if open_ is None:
            return MemoryCommandResult("Which list is that from? Ask me what I remember first.")
        if number > len(open_.ids):
            return MemoryCommandResult(
                f"There is no number {number}: 1 to {len(open_.ids)}.", open_.to_dict()
            )
        return self._ask_confirmation(
            self._load_active(open_.ids[number - 1 : number], scope), scope
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
            text, PendingForgetQuestion(scope.owner.key, "choose", _ids(records)).to_dict()
        )

    def _ask_confirmation(self, records: Sequence[Record], scope: Scope) -> MemoryCommandResult:
        if not records:
            return MemoryCommandResult("I remember nothing like that.")
        what = (
            f"“{_format_line(records[0])}”"
            if len(records) == 1
            else f"these {len(records)}:\n{_format_list(records)}\n"
        )
        return MemoryCommandResult(
            f"Shall I forget {what}? Say yes or no.",
            PendingForgetQuestion(scope.owner.key, "confirm", _ids(records)).to_dict(),
        )

    def _forget_confirmed(self, open_: PendingForgetQuestion, scope: Scope) -> MemoryCommandResult:
        gone = []
        for record in self._load_active(open_.ids, scope):
            self._memory.forget(record.id, scope=scope, reason="asked for in a conversation")
            gone.append(record.id)
        if not gone:
            return MemoryCommandResult("It is forgotten already.")
        return MemoryCommandResult(
            f"Forgotten. `engrams restore {' '.join(gone)}` brings it back.", forgotten=tuple(gone)
        )

    def _load_active(self, ids: Sequence[str], scope: Scope) -> list[Record]:
        found = []
        for one in ids:
            try:
                record = self._memory.get(one, scope=scope)
            except NotFoundError:
                continue
            if record.status is Status.ACTIVE and (scope.is_owner or record.scope in scope.chain()):
                found.append(record)
        return found

    def _find_matching(self, about: str, scope: Scope, most: int = CHOICES) -> list[Record]:
        found = self._memory.search(about, scope=scope, limit=most)
        if found.abstain or not found.hits:
            return []
        least = _NEAR * found.hits[0].score
        return [
            hit.record for hit in found.hits if hit.score >= least and not is_skill(hit.record.id)
        ]

    def _find_latest(self, scope: Scope, session: str) -> list[Record]:
        from engrams.text.questions import is_asking

        page = self._memory.list(scope=scope, session=session, limit=4 * CHOICES)
        return [
            record
            for record in page.records
            if record.role in ("user", "") and not is_asking(record.text)
        ][:1]


def _ids(records: Sequence[Record]) -> tuple[str, ...]:
    return tuple(record.id for record in records)


def _format_list(records: Sequence[Record]) -> str:
    return "\n".join(
        f"{number}. {_format_line(record)}" for number, record in enumerate(records, 1)
    )


def _format_line(record: Record, most: int = 200) -> str:
    text = " ".join(record.text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
