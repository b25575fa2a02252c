"""How a new statement meets the known ones: add, keep, refine, replace, remove or conflict. Rules; no model, no clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from engrams.text.normalize import fold
from engrams.types import Record, Status
from engrams.write.candidate import Candidate
from engrams.write.dedup import alike, bare, ends, exact, near, polarity
from engrams.write.slots import SINGLE, also_ends, is_single, same

Verdict: TypeAlias = Literal["add", "keep", "refine", "replace", "remove", "conflict"]

# A channel's word counts as less where its trust is lower by more than this: user over assistant, not user over import.
MARGIN = 0.2


@dataclass(frozen=True, slots=True)
class Meeting:
    """What one candidate does to what is known.

    ``targets``: the records kept, refined, replaced, removed or contradicted. ``retract``: they were never true (a
    correction), rather than true until now. ``until``: the new statement itself is history and ended then; ``after``: what
    it gave way to.
    """

    verdict: Verdict
    candidate: Candidate
    targets: tuple[Record, ...] = ()
    retract: bool = False
    until: datetime | None = None
    after: Record | None = None
    reason: str = ""


def reconcile(candidate: Candidate, known: Sequence[Record], threshold: float = 0.85, kin: Sequence[Record] = ()) -> Meeting:
    """The meeting of one candidate with the active (or held) records near it; ``threshold``: Jaccard for near duplicates.
    ``kin``: records of a slot that means the same as the candidate's in other words.

    Only what is asserted, first-hand and trusted enough replaces anything. A slot that holds one value gives way to a newer
    one; an older one becomes history; an opinion gives way to its contrary; a correction retracts.
    """
    open_ = [record for record in known if record.status in (Status.ACTIVE, Status.CANDIDATE)]
    if (twin := exact(candidate, open_)) is not None:
        return Meeting("keep", candidate, (twin,), reason="said before")
    if candidate.modality != "asserted":
        return Meeting("add", candidate, reason=f"only {candidate.modality}")
    slot = [record for record in open_ if alike(candidate, record)] or [record for record in kin if record in open_]
    match candidate.effect:
        case "corrects":
            return _correct(candidate, slot, open_)
        case "ends":
            return _end(candidate, slot)
        case "states" | "changes":
            return _meet(candidate, slot, open_, threshold)


def _meet(candidate: Candidate, slot: list[Record], known: list[Record], threshold: float) -> Meeting:
    contrary = [record for record in slot if polarity(record) != candidate.polarity and _same_thing(candidate.object, record.object)]
    contrary += [record for record in known if _closes(candidate, record)]
    contrary += [
        record
        for record in slot
        if ends(record) and polarity(record) == candidate.polarity and _same_thing(candidate.object, record.object)
    ]
    values = [record for record in slot if not ends(record) and polarity(record)]
    if contrary and not (values and candidate.single):
        return _settle(candidate, contrary, "the contrary was known")
    if not candidate.polarity:
        return Meeting("add", candidate, reason="denies nothing known")
    if candidate.single and values:
        return _one_value(candidate, values, [record for record in contrary if record not in values])
    if (twin := near(candidate, slot, threshold)) is not None:
        return Meeting("keep", candidate, (twin,), reason="said before in other words")
    if richer := [record for record in values if _names_it(candidate, record)]:
        return Meeting("refine", candidate, tuple(richer), reason="says more of the same")
    return Meeting("add", candidate, reason="coexists" if values else "new")


def _closes(candidate: Candidate, record: Record) -> bool:
    """Whether the candidate ends a statement of another slot: being divorced ends being married to somebody."""
    if not candidate.polarity or ends(record) or not polarity(record) or fold(candidate.subject) != fold(record.subject):
        return False
    for predicate, things in also_ends(candidate.predicate, candidate.object):
        if same(record.predicate) != predicate:
            continue
        if same(candidate.predicate) in ("sold", "left"):
            return _same_thing(candidate.object, record.object)
        return not things or fold(record.object) in things
    return False


def _one_value(candidate: Candidate, values: list[Record], others: list[Record]) -> Meeting:
    """A slot of one value: the same in more or fewer words, an older value, or a new one."""
    values = [record for record in values if _comparable(candidate, record)]
    if not values:
        return (
            _settle(candidate, others, "the contrary was known") if others else Meeting("add", candidate, reason="a value of another sort")
        )
    new = bare(candidate.object)
    latest = max(values, key=_order)
    old = bare(latest.object)
    if new and old and new == old[: len(new)]:
        return Meeting("keep", candidate, (latest,), reason="less exact than known")
    if not new:
        return Meeting("add", candidate, reason="names no value")
    if (held := outranked(candidate, values)) is not None:
        return held
    moment = candidate.settled or candidate.said_at
    if moment is not None and moment < _order(latest):
        until = latest.valid_from or latest.recorded_at
        begun = candidate.valid_from
        return Meeting("add", candidate, until=max(until, begun) if begun else until, after=latest, reason="was so before what is known")
    if old and old == new[: len(old)]:
        return Meeting("refine", candidate, tuple(values), reason="more exact")
    return Meeting("replace", candidate, (*values, *others), reason="one value at a time")


def _end(candidate: Candidate, slot: list[Record]) -> Meeting:
    """No longer, used to, stopped: closes the value it names, or every value where it names none."""
    values = [record for record in slot if not ends(record) and polarity(record)]
    named = [record for record in values if _same_thing(candidate.object, record.object)] if bare(candidate.object) else values
    if not named:
        return Meeting("add", candidate, reason="ends nothing known")
    return _settle(candidate, named, "no longer so")


def _correct(candidate: Candidate, slot: list[Record], known: list[Record]) -> Meeting:
    """It was never so: the value named as wrong, or the one value of the slot."""
    if not candidate.predicate:
        return _lean(candidate, known)
    near_by = slot or [record for record in known if fold(record.subject) == fold(candidate.subject)]
    if candidate.instead:
        wrong = [record for record in near_by if _same_thing(candidate.instead, record.object)]
    elif candidate.single:
        wrong = [record for record in slot if not ends(record) and polarity(record)]
    else:
        wrong = []
    if not wrong:
        return _meet(candidate, slot, known, 1.0)
    if (held := outranked(candidate, wrong)) is not None:
        return held
    return Meeting("replace", candidate, tuple(wrong), retract=True, reason="corrected")


def _lean(candidate: Candidate, known: list[Record]) -> Meeting:
    """ "No, it's Berlin": the statement that names the wrong value, or the speaker's last one that a value like this fits."""
    latest = sorted((record for record in known if not ends(record)), key=lambda record: (record.recorded_at, record.id), reverse=True)
    if candidate.instead:
        fitting = [record for record in latest if _same_thing(candidate.instead, record.object)]
    else:
        fitting = [
            record
            for record in latest[:1]
            if is_single(record.predicate, record.subject) and _shape(record.object) == _shape(candidate.object)
        ]
    if not fitting:
        return Meeting("keep", candidate, reason="corrects nothing known")
    wrong = fitting[0]
    told = wrong.text.replace(wrong.object, candidate.object) if wrong.object and wrong.object in wrong.text else ""
    whole = replace(
        candidate,
        origin=candidate.text,
        text=told or f"{wrong.subject} {wrong.predicate.replace('_', ' ')} {candidate.object}",
        subject=wrong.subject,
        predicate=wrong.predicate,
        category=wrong.category,
        single=True,
    )
    return outranked(whole, [wrong]) or Meeting("replace", whole, (wrong,), retract=True, reason="corrected")


def _comparable(candidate: Candidate, record: Record) -> bool:
    """Whether two values of a thing's slot are of one sort: a date does not replace a room, nor an adjective a name."""
    name = same(candidate.predicate)
    known = name != "is" and (name in SINGLE or name.startswith("favorite_"))
    return known or _shape(candidate.object) == _shape(record.object)


_CLOCK = re.compile(r"\b\d{1,2}(?::\d\d)?\s*(?:[ap]\.?m\b)|\b\d{1,2}:\d\d\b", re.IGNORECASE)
_DATE = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b|\b\d{4}-\d\d|day\b", re.IGNORECASE
)


def _shape(thing: str) -> str:
    """What sort of value it is: a date, a week, a time of day, a number, a name, or words."""
    if "week of" in thing:
        return "week"
    if _DATE.search(thing):
        return "date"
    if _CLOCK.search(thing):
        return "clock"
    if any(char.isdigit() for char in thing):
        return "place" if thing.startswith(("in ", "at ", "on ")) else "number"
    return "name" if thing[:1].isupper() else "words"


def _settle(candidate: Candidate, targets: list[Record], reason: str) -> Meeting:
    if (held := outranked(candidate, targets)) is not None:
        return held
    moment = candidate.settled or candidate.said_at
    latest = max(targets, key=_order)
    if moment is not None and moment < _order(latest):
        return Meeting("add", candidate, until=_order(latest), after=latest, reason="was so before what is known")
    return Meeting("replace", candidate, tuple(targets), reason=reason)


def outranked(candidate: Candidate, targets: list[Record]) -> Meeting | None:
    """A conflict where the candidate is hearsay or from a less trusted channel: those contradict, they do not replace. Else None."""
    first_hand = [record for record in targets if not record.meta.get("hearsay")]
    if candidate.hearsay and first_hand:
        return Meeting("conflict", candidate, tuple(targets), reason="hearsay against their own word")
    if any(candidate.trust < record.trust - MARGIN for record in targets):
        return Meeting("conflict", candidate, tuple(targets), reason="a less trusted source")
    return None


def _order(record: Record) -> datetime:
    """The time up to which a stored statement is known to hold: an event's own date, else when it was said."""
    if record.meta.get("event") and record.valid_from is not None:
        return record.valid_from
    return max(record.recorded_at, record.valid_from) if record.valid_from else record.recorded_at


def _same_thing(one: str, other: str) -> bool:
    """Whether two objects name the same thing: equal words, or one the other with more at its end."""
    left, right = bare(one), bare(other)
    return bool(left and right) and (
        left == right or (left[: len(right)] == right and len(right) > 1) or (right[: len(left)] == left and len(left) > 1)
    )


def _names_it(candidate: Candidate, record: Record) -> bool:
    """``a dog named Max`` after ``a dog``: the same thing with its name."""
    new, old = bare(candidate.object), bare(record.object)
    if not old or new[: len(old)] != old or len(new) <= len(old):
        return False
    return same(candidate.predicate) in ("has", "adopted", "got", "bought") and any(
        word in ("named", "called") for word in candidate.object.lower().split()
    )
