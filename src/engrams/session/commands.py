"""Memory under control in words: see it, switch it, forget from it, with a second look before anything goes (004).

Nothing that is said here is remembered: a conversation about what is to be forgotten would keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from engrams.errors import InputError, NotFoundError, RefusedError
from engrams.ports import is_skill
from engrams.session.intents import Wish, chosen, decided, wish
from engrams.types import Found, Kind, Receipt, Record, Scope, Status

SHOWN = 10
CHOICES = 5

_NEAR = 0.6
"""Share of the best score from which another memory may be meant as well."""

_FIRST_SEEN = (Kind.FACT, Kind.PREFERENCE, Kind.RULE, Kind.PROCEDURE, Kind.NEGATIVE, Kind.CORRECTION, Kind.NOTE)


class Door(Protocol):
    """What is needed of the engine."""

    def add(self, what: str, *, scope: Scope, kind: Kind | None = None) -> Receipt: ...

    def forget(self, id: str, *, scope: Scope, reason: str = "") -> Record: ...

    def get(self, id: str, *, scope: Scope) -> Record: ...

    def list(self, *, scope: Scope, **fields: Any) -> Any: ...

    def search(self, query: str, *, scope: Scope, limit: int | None = None) -> Found: ...

    def stats(self, scope: Scope | None = None) -> dict[str, Any]: ...


class Switch(Protocol):
    """Whether facts are recalled for an owner, kept with their memory."""

    def recall(self, scope: Scope, on: bool | None = None) -> bool: ...


@dataclass(frozen=True, slots=True)
class Pending:
    """What the next turn may refer to. shown: a list by number. choose: which of several is to be forgotten. confirm: whether to."""

    owner: str
    step: Literal["shown", "choose", "confirm"]
    ids: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """As JSON values, for whoever keeps it between two turns."""
        return {"owner": self.owner, "step": self.step, "ids": list(self.ids)}

    @classmethod
    def of(cls, data: Mapping[str, Any], scope: Scope) -> Pending:
        """InputError: it is not what ``data`` gave. RefusedError: it is another owner's."""
        owner, step, ids = (data.get(name) for name in ("owner", "step", "ids"))
        sound = isinstance(owner, str) and isinstance(ids, list) and bool(ids) and all(isinstance(one, str) and one for one in ids)
        if set(data) != {"owner", "step", "ids"} or step not in ("shown", "choose", "confirm") or not sound:
            raise InputError("What was to be answered is malformed.", hint="Ask again what you want forgotten.")
        if owner != scope.owner.key:
            raise RefusedError("That question was put to somebody else.")
        return cls(str(owner), step, tuple(ids or ()))


@dataclass(frozen=True, slots=True)
class Outcome:
    """``reply``: what to say. ``pending``: to be given back with the next turn; None: nothing is open. ``forgotten``: ids."""

    reply: str
    pending: dict[str, Any] | None = None
    forgotten: tuple[str, ...] = ()


class Control:
    """Reached as ``engine.control``. Keeps nothing between turns: what is open travels in ``Outcome.pending``."""

    def __init__(self, door: Door, switch: Switch | None = None) -> None:
        self._door, self._switch = door, switch

    def turn(
        self, text: str, *, scope: Scope | str | Sequence[str], session: str = "", pending: Mapping[str, Any] | None = None
    ) -> Outcome | None:
        """Answer a request about memory. None: it is none, and whatever was open is so no longer.

        InputError: ``pending`` is malformed. RefusedError: it is another owner's.
        """
        place = Scope.of(scope)
        open_ = None if pending is None else Pending.of(pending, place)
        if open_ is not None and open_.step != "shown" and (found := self._open(text, open_, place)) is not None:
            return found
        asked = wish(text)
        return None if asked is None else self._wished(asked, place, session, open_)

    def recall(self, scope: Scope | str | Sequence[str], on: bool | None = None) -> bool:
        """Whether facts are recalled for this owner; with ``on``, decide it."""
        return True if self._switch is None else self._switch.recall(Scope.of(scope), on)

    def _wished(self, asked: Wish, scope: Scope, session: str, open_: Pending | None) -> Outcome:
        match asked.verb:
            case "list":
                return self._list(asked.about, scope)
            case "status":
                return self._status(scope)
            case "recall_on" | "recall_off":
                return self._set(asked.verb == "recall_on", scope)
            case "save":
                receipt = self._door.add(asked.about, scope=scope, kind=Kind.PREFERENCE)
                return Outcome("I could not keep that." if receipt.outcome == "refused" else f"Saved as a preference: {asked.about}")
            case "forget_all":
                return Outcome("For good and all at once that is done outside of a chat: engrams purge --all. Tell me what to forget.")
            case "forget_last":
                return self._ask(self._latest(scope, session), scope)
            case "forget" if asked.number:
                return self._numbered(asked.number, open_, scope)
            case "forget":
                return self._ask(self._matching(asked.about, scope), scope)

    def _open(self, text: str, open_: Pending, scope: Scope) -> Outcome | None:
        """The answer to what was asked; None: the text is about something else."""
        said = decided(text)
        if said == "no":
            return Outcome("Nothing was forgotten.")
        if open_.step == "confirm":
            return self._forget(open_, scope) if said == "yes" else None
        number = chosen(text)
        if said == "all":
            return self._confirm(self._known(open_.ids, scope), scope)
        if not number:
            return None
        if number > len(open_.ids):
            return Outcome(f"There is no number {number}: 1 to {len(open_.ids)}, or no.", open_.data())
        return self._confirm(self._known(open_.ids[number - 1 : number], scope), scope)

    def _list(self, about: str, scope: Scope) -> Outcome:
        if about:
            records = self._matching(about, scope, SHOWN)
        else:
            records = list(self._door.list(scope=scope, kinds=_FIRST_SEEN, limit=SHOWN).records)
            records = records or list(self._door.list(scope=scope, limit=SHOWN).records)
        if not records:
            return Outcome(f"I remember nothing about {about}." if about else "I remember nothing yet.")
        head = f"This is what I remember about {about}:" if about else "This is what I remember, the newest first:"
        return Outcome(f"{head}\n{_numbered(records)}", Pending(scope.owner.key, "shown", _ids(records)).data())

    def _status(self, scope: Scope) -> Outcome:
        counts = self._door.stats(scope).get("status", {})
        active = int(counts.get("active", 0))
        recall = "" if self._switch is None else f" Recall is {'on' if self._switch.recall(scope) else 'off'}."
        return Outcome(f"I remember {active} {'thing' if active == 1 else 'things'} here.{recall}")

    def _set(self, on: bool, scope: Scope) -> Outcome:
        if self._switch is None:
            return Outcome("Recall cannot be switched here.")
        self._switch.recall(scope, on)
        return Outcome(
            "Recall is on: I use what I remember." if on else "Recall is off: I use nothing I remember but rules, and go on remembering."
        )

    def _numbered(self, number: int, open_: Pending | None, scope: Scope) -> Outcome:
        if open_ is None:
            return Outcome("Which list is that from? Ask me what I remember first.")
        if number > len(open_.ids):
            return Outcome(f"There is no number {number}: 1 to {len(open_.ids)}.", open_.data())
        return self._confirm(self._known(open_.ids[number - 1 : number], scope), scope)

    def _ask(self, records: Sequence[Record], scope: Scope) -> Outcome:
        """Which of several, or whether the one."""
        if len(records) < 2:
            return self._confirm(records, scope)
        text = f"Several memories match:\n{_numbered(records)}\nWhich one shall I forget? A number, all, or no."
        return Outcome(text, Pending(scope.owner.key, "choose", _ids(records)).data())

    def _confirm(self, records: Sequence[Record], scope: Scope) -> Outcome:
        if not records:
            return Outcome("I remember nothing like that.")
        what = f"“{_line(records[0])}”" if len(records) == 1 else f"these {len(records)}:\n{_numbered(records)}\n"
        return Outcome(f"Shall I forget {what}? Say yes or no.", Pending(scope.owner.key, "confirm", _ids(records)).data())

    def _forget(self, open_: Pending, scope: Scope) -> Outcome:
        gone = []
        for record in self._known(open_.ids, scope):
            self._door.forget(record.id, scope=scope, reason="asked for in a conversation")
            gone.append(record.id)
        if not gone:
            return Outcome("It is forgotten already.")
        return Outcome(f"Forgotten. `engrams restore {' '.join(gone)}` brings it back.", forgotten=tuple(gone))

    def _known(self, ids: Sequence[str], scope: Scope) -> list[Record]:
        """Those that are still there, as a read in this scope would see them."""
        found = []
        for one in ids:
            try:
                record = self._door.get(one, scope=scope)
            except NotFoundError:
                continue
            if record.status is Status.ACTIVE and (scope.is_owner or record.scope in scope.chain()):
                found.append(record)
        return found

    def _matching(self, about: str, scope: Scope, most: int = CHOICES) -> list[Record]:
        found = self._door.search(about, scope=scope, limit=most)
        if found.abstain or not found.hits:
            return []
        least = _NEAR * found.hits[0].score
        return [hit.record for hit in found.hits if hit.score >= least and not is_skill(hit.record.id)]

    def _latest(self, scope: Scope, session: str) -> list[Record]:
        """The last thing that the user said here."""
        page = self._door.list(scope=scope, session=session, limit=CHOICES)
        return [record for record in page.records if record.role in ("user", "")][:1]


def _ids(records: Sequence[Record]) -> tuple[str, ...]:
    return tuple(record.id for record in records)


def _numbered(records: Sequence[Record]) -> str:
    return "\n".join(f"{number}. {_line(record)}" for number, record in enumerate(records, 1))


def _line(record: Record, most: int = 200) -> str:
    text = " ".join(record.text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
