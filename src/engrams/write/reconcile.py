"""Duplicates of a new statement, and reconciliation with known ones, by rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, TypeAlias

from engrams.core import Record, Status, content_hash
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import (
    SINGLE,
    canonical_predicate,
    classify_value,
    closed_slots,
    is_single,
)
from engrams.frozen_data import dataclass
from engrams.text.name_order import NUMBER_WORDS, is_reordered
from engrams.text.normalize import fold
from engrams.text.terms import terms, tokens
from engrams.text.text_caches import text_cache
from engrams.text.word_list import word_set
from engrams.write.statement_times import (
    find_moment,
    find_plans,
    gives_up_plan,
    holds_until,
    is_announced,
    is_over,
    is_to_come,
)

Verdict: TypeAlias = Literal["add", "keep", "refine", "replace", "remove", "conflict"]

# A channel ranks below another if its trust is lower by more than this: user over assistant, not
# user over import.
MARGIN = 0.2


_DENIED = re.compile(
    r"\b(?:not|nicht|instead of|rather than|statt) (?!only\b|just\b|nur\b)([^,.;!?]{1,80})",
    re.IGNORECASE,
)


_NEGATION = word_set(
    "not no never nothing none cannot without neither nor nobody nowhere hardly barely longer"
    " stopped quit anymore nicht kein keine nie sin nunca jamas pas jamais ne"
)
_NUMBER = re.compile(r"\d+(?:[.,:/-]+\d+)*")
_MONTHS = word_set(
    "january february march april may june july august september october november december monday"
    " tuesday wednesday thursday friday saturday sunday"
)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'-]+")
_SMALL = frozenset(("a", "an", "the", "my", "their", "his", "her", "some", "our", "to"))


@dataclass(frozen=True, slots=True)
class ReconciliationResult:
    """Verdict on one candidate, and the known records it changes.

    ``targets``: the records kept, refined, replaced, removed or contradicted. ``retract``: they
    were never true (a correction), rather than true until now. ``until``: the new statement is
    itself past and ended then; ``after``: the value that followed it. ``restores``: records that
    hold again, since what ended them did not happen.
    """

    verdict: Verdict
    candidate: CandidateStatement
    targets: tuple[Record, ...] = ()
    retract: bool = False
    until: datetime | None = None
    after: Record | None = None
    reason: str = ""
    restores: tuple[Record, ...] = ()


def reconcile(
    candidate: CandidateStatement,
    known: Sequence[Record],
    threshold: float = 0.85,
    synonyms: Sequence[Record] = (),
) -> ReconciliationResult:
    """Reconcile one candidate with the active or held records near it.

    ``threshold``: Jaccard for near duplicates. ``synonyms``: records of a synonymous slot. Only
    what is asserted, first-hand and trusted enough replaces anything. A slot that holds one value
    gives way to a newer one; an older one becomes history; an opinion gives way to its contrary; a
    correction retracts.
    """
    open_ = [record for record in known if record.status in (Status.ACTIVE, Status.CANDIDATE)]
    if candidate.modality == "asserted" and is_over(candidate):
        return ReconciliationResult(
            "add", candidate, until=candidate.valid_to, reason="was so, and is over"
        )
    if (twin := find_exact(candidate, open_)) is not None:
        return ReconciliationResult("keep", candidate, (twin,), reason="said before")
    if candidate.modality != "asserted":
        return ReconciliationResult("add", candidate, reason=f"only {candidate.modality}")
    slot = [record for record in open_ if is_same_slot(candidate, record)] or [
        record for record in synonyms if record in open_
    ]
    match candidate.effect:
        case "corrects":
            return _reconcile_correction(candidate, slot, open_)
        case "ends":
            return _reconcile_ending(candidate, slot)
        case "states" | "changes":
            return _reconcile_statement(candidate, slot, open_, threshold)


def _reconcile_statement(
    candidate: CandidateStatement, slot: list[Record], known: list[Record], threshold: float
) -> ReconciliationResult:
    contrary = [
        record
        for record in slot
        if is_affirmative(record) != candidate.polarity
        and _is_same_thing(candidate.object, record.object)
    ]
    contrary += [record for record in known if _closes_other_slot(candidate, record)]
    contrary += [
        record
        for record in slot
        if is_ending(record)
        and is_affirmative(record) == candidate.polarity
        and _is_same_thing(candidate.object, record.object)
    ]
    if gives_up_plan(candidate):
        return _give_up_plan(candidate, contrary)
    values = [record for record in slot if not is_ending(record) and is_affirmative(record)]
    if contrary and not (values and candidate.single and candidate.polarity):
        return _replace_targets(candidate, contrary, "the contrary was known")
    if not candidate.polarity:
        return ReconciliationResult("add", candidate, reason="denies nothing known")
    if candidate.single and values:
        return _reconcile_single(
            candidate, values, [record for record in contrary if record not in values]
        )
    if (twin := find_near_duplicate(candidate, slot, threshold)) is not None:
        return ReconciliationResult("keep", candidate, (twin,), reason="said before in other words")
    if richer := [record for record in values if _adds_name(candidate, record)]:
        return ReconciliationResult(
            "refine", candidate, tuple(richer), reason="says more of the same"
        )
    return ReconciliationResult("add", candidate, reason="coexists" if values else "new")


def _give_up_plan(
    candidate: CandidateStatement, contrary: Sequence[Record]
) -> ReconciliationResult:
    plans = find_plans(candidate, contrary)
    if not plans:
        return ReconciliationResult("keep", candidate, reason="gives up nothing known")
    return find_conflict(candidate, plans) or ReconciliationResult(
        "replace", candidate, tuple(plans), retract=True, reason="given up"
    )


def _closes_other_slot(candidate: CandidateStatement, record: Record) -> bool:
    """True if the candidate ends a statement of another slot."""
    if (
        not candidate.polarity
        or is_ending(record)
        or not is_affirmative(record)
        or fold(candidate.subject) != fold(record.subject)
    ):
        return False
    for predicate, things in closed_slots(candidate.predicate, candidate.object):
        if canonical_predicate(record.predicate) != predicate:
            continue
        if canonical_predicate(candidate.predicate) in ("sold", "left"):
            return _is_same_thing(candidate.object, record.object)
        return not things or fold(record.object) in things
    return False


def _reconcile_single(
    candidate: CandidateStatement, values: list[Record], others: list[Record]
) -> ReconciliationResult:
    values = [
        record
        for record in values
        if _is_comparable(candidate, record) and not is_announced(record, candidate)
    ]
    if not values:
        return (
            _replace_targets(candidate, others, "the contrary was known")
            if others
            else ReconciliationResult("add", candidate, reason="a value of another sort")
        )
    new = object_terms(candidate.object)
    latest = max(values, key=holds_until)
    old = object_terms(latest.object)
    # "At 9" is another time than "at 9:30", not a less exact one.
    timed = new != old and classify_value(candidate.object) == "clock"
    if new and old and new == old[: len(new)] and not timed:
        return ReconciliationResult("keep", candidate, (latest,), reason="less exact than known")
    if not new:
        return ReconciliationResult("add", candidate, reason="names no value")
    if (held := find_conflict(candidate, values)) is not None:
        return held
    moment = find_moment(candidate, latest)
    if moment is not None and moment < holds_until(latest) and not is_to_come(candidate):
        until = latest.valid_from or latest.recorded_at
        begun = candidate.valid_from
        return ReconciliationResult(
            "add",
            candidate,
            until=max(until, begun) if begun else until,
            after=latest,
            reason="was so before what is known",
        )
    if old and old == new[: len(old)] and not timed and not is_to_come(candidate):
        return ReconciliationResult("refine", candidate, tuple(values), reason="more exact")
    return ReconciliationResult(
        "replace", candidate, (*values, *others), reason="one value at a time"
    )


def _reconcile_ending(candidate: CandidateStatement, slot: list[Record]) -> ReconciliationResult:
    """End the named value, or every value if none is named."""
    values = [record for record in slot if not is_ending(record) and is_affirmative(record)]
    named = (
        [record for record in values if _is_same_thing(candidate.object, record.object)]
        if object_terms(candidate.object)
        else values
    )
    if not named:
        return ReconciliationResult("add", candidate, reason="ends nothing known")
    return _replace_targets(candidate, named, "no longer so")


def _reconcile_correction(
    candidate: CandidateStatement, slot: list[Record], known: list[Record]
) -> ReconciliationResult:
    """Retract the value named wrong, or the slot's one value."""
    if not candidate.predicate:
        return _reconcile_elliptic(candidate, known)
    near_by = slot or [
        record for record in known if fold(record.subject) == fold(candidate.subject)
    ]
    if candidate.wrong_value:
        wrong = [
            record for record in near_by if _is_same_thing(candidate.wrong_value, record.object)
        ]
    elif candidate.single:
        wrong = _find_corrected(candidate, slot, near_by)
    else:
        wrong = [record for record in near_by if _denies_object(candidate, record)]
    assumed = candidate.single and not is_single(
        candidate.predicate, candidate.subject, candidate.object
    )
    if not wrong and assumed and candidate.extractor == "rules" and not candidate.wrong_value:
        return ReconciliationResult("keep", candidate, reason="corrects nothing known")
    if not wrong:
        return _reconcile_statement(candidate, slot, known, 1.0)
    if (held := find_conflict(candidate, wrong)) is not None:
        return held
    return ReconciliationResult(
        "replace", candidate, tuple(wrong), retract=True, reason="corrected"
    )


def _find_corrected(
    candidate: CandidateStatement, slot: list[Record], known: list[Record]
) -> list[Record]:
    """Find the slot's values; of a slot of many, the latest.

    Else the one number known of the subject: "it's on 5544" corrects a port.
    """
    values = [record for record in slot if not is_ending(record) and is_affirmative(record)]
    if values and not is_single(candidate.predicate, candidate.subject, candidate.object):
        return [max(values, key=lambda record: record.story_key)]
    numbers = [
        record
        for record in known
        if record.predicate
        and classify_value(record.object) == classify_value(candidate.object) == "number"
    ]
    return values or (numbers if len(numbers) == 1 else [])


def _denies_object(candidate: CandidateStatement, record: Record) -> bool:
    """True if a correction rejects an object: "not to X"."""
    thing = object_terms(record.object)
    said = (
        match[1]
        for text in (candidate.text, *(one.quote for one in candidate.evidence))
        for match in _DENIED.finditer(text)
    )
    denied = [object_terms(piece)[: len(thing) + 1] for piece in said]
    return (
        bool(thing)
        and not _is_same_thing(candidate.object, record.object)
        and any(thing in (one[:-1], one[1:], one) for one in denied)
    )


def _reconcile_elliptic(candidate: CandidateStatement, known: list[Record]) -> ReconciliationResult:
    """Apply "No, it's Berlin" to the statement it corrects."""
    latest = sorted(
        (record for record in known if not is_ending(record)),
        key=lambda record: record.story_key,
        reverse=True,
    )
    if candidate.wrong_value:
        fitting = [
            record for record in latest if _is_same_thing(candidate.wrong_value, record.object)
        ]
    else:
        fitting = [
            record
            for record in latest[:1]
            if is_single(record.predicate, record.subject)
            and classify_value(record.object) == classify_value(candidate.object)
        ]
    if not fitting:
        return ReconciliationResult("keep", candidate, reason="corrects nothing known")
    wrong = fitting[0]
    corrected = (
        wrong.text.replace(wrong.object, candidate.object)
        if wrong.object and wrong.object in wrong.text
        else ""
    )
    whole = replace(
        candidate,
        origin=candidate.text,
        text=corrected or f"{wrong.subject} {wrong.predicate.replace('_', ' ')} {candidate.object}",
        subject=wrong.subject,
        predicate=wrong.predicate,
        category=wrong.category,
        single=True,
    )
    return find_conflict(whole, [wrong]) or ReconciliationResult(
        "replace", whole, (wrong,), retract=True, reason="corrected"
    )


def _is_comparable(candidate: CandidateStatement, record: Record) -> bool:
    name = canonical_predicate(candidate.predicate)
    known = name != "is" and (name in SINGLE or name.startswith("favorite_"))
    return known or classify_value(candidate.object) == classify_value(record.object)


def _replace_targets(
    candidate: CandidateStatement, targets: list[Record], reason: str
) -> ReconciliationResult:
    if (held := find_conflict(candidate, targets)) is not None:
        return held
    latest = max(targets, key=holds_until)
    moment = find_moment(candidate, latest)
    if moment is not None and moment < holds_until(latest):
        return ReconciliationResult(
            "add",
            candidate,
            until=holds_until(latest),
            after=latest,
            reason="was so before what is known",
        )
    return ReconciliationResult("replace", candidate, tuple(targets), reason=reason)


def find_conflict(
    candidate: CandidateStatement, targets: list[Record]
) -> ReconciliationResult | None:
    """Return a conflict for hearsay or a less trusted channel, else None."""
    first_hand = [record for record in targets if not record.meta.get("hearsay")]
    if candidate.hearsay and first_hand:
        return ReconciliationResult(
            "conflict", candidate, tuple(targets), reason="hearsay against their own word"
        )
    if any(candidate.trust < record.trust - MARGIN for record in targets):
        return ReconciliationResult(
            "conflict", candidate, tuple(targets), reason="a less trusted source"
        )
    return None


def _is_same_thing(one: str, other: str) -> bool:
    """True if the objects are equal, or one extends the other."""
    left = object_terms(one)
    right = object_terms(other)
    return bool(left and right) and (
        left == right
        or (left[: len(right)] == right and len(right) > 1)
        or (right[: len(left)] == left and len(left) > 1)
    )


def _adds_name(candidate: CandidateStatement, record: Record) -> bool:
    """True where the new value adds a name: ``a dog named Max``."""
    new = object_terms(candidate.object)
    old = object_terms(record.object)
    if not old or new[: len(old)] != old or len(new) <= len(old):
        return False
    return canonical_predicate(candidate.predicate) in ("has", "adopted", "got", "bought") and any(
        word in ("named", "called") for word in candidate.object.lower().split()
    )


def find_exact(candidate: CandidateStatement, known: Iterable[Record]) -> Record | None:
    """Find the record with equal text, or equal statement and polarity."""
    wanted = _hash_text(candidate.text)
    thing = object_terms(candidate.object)
    for record in known:
        if _hash_text(record.text) == wanted:
            return record
        if (
            thing
            and is_same_slot(candidate, record)
            and object_terms(record.object) == thing
            and is_affirmative(record) == candidate.polarity
            and is_ending(record) == (candidate.effect == "ends")
        ):
            return record
    return None


def find_near_duplicate(
    candidate: CandidateStatement, known: Iterable[Record], threshold: float = 0.85
) -> Record | None:
    """Find the closest record of the slot by word overlap.

    The Jaccard overlap is at least ``threshold`` (0..1), and no number, name, date or negation
    differs.
    """
    best: Record | None = None
    most = threshold
    for record in known:
        if (
            not is_same_slot(candidate, record)
            or is_affirmative(record) != candidate.polarity
            or is_ending(record) != (candidate.effect == "ends")
        ):
            continue
        overlap = jaccard(candidate.text, record.text)
        if (
            overlap >= most
            and not has_distinct_detail(candidate.text, record.text)
            and not _are_days_apart(candidate.valid_from, record.valid_from)
        ):
            best = record
            most = overlap
    return best


def says_the_same(candidate: CandidateStatement, record: Record) -> bool:
    """True if neither kind, sense nor any detail differs."""
    alike = record.kind is candidate.kind and is_affirmative(record) == candidate.polarity
    return (
        alike
        and is_ending(record) == (candidate.effect == "ends")
        and not has_distinct_detail(candidate.text, record.text)
    )


def jaccard(one: str, other: str) -> float:
    """Return shared words over all words of two texts, 0..1.

    Two empty texts share nothing.
    """
    left = _tokens(one)
    right = _tokens(other)
    return len(left & right) / len(left | right) if left | right else 0.0


def has_distinct_detail(one: str, other: str) -> bool:
    """True if a negation, number, name or date differs, or their order."""
    left = _tokens(one)
    right = _tokens(other)
    changed = left ^ right
    if changed & (_NEGATION | NUMBER_WORDS | _MONTHS) or any("n't" in word for word in changed):
        return True
    if sorted(_NUMBER.findall(one)) != sorted(_NUMBER.findall(other)):
        return True
    names = {fold(name) for name in _NAME.findall(one)} ^ {
        fold(name) for name in _NAME.findall(other)
    }
    return bool(names & changed) or is_reordered(one, other)


def is_same_slot(candidate: CandidateStatement, record: Record) -> bool:
    """True for equal subject and canonical predicate."""
    return fold(candidate.subject) == fold(record.subject) and canonical_predicate(
        candidate.predicate
    ) == canonical_predicate(record.predicate)


@text_cache(16_384)
def _hash_text(text: str) -> str:
    return content_hash(text)


@text_cache(16_384)
def _tokens(text: str) -> frozenset[str]:
    return frozenset(tokens(text))


@text_cache(16_384)
def object_terms(thing: str) -> tuple[str, ...]:
    """Return an object's stemmed words without articles and possessives."""
    words = [word for word in tokens(thing) if word not in _SMALL]
    return tuple(terms(" ".join(words))) if words else ()


def is_affirmative(record: Record) -> bool:
    """True if a stored statement affirms."""
    return bool(record.meta.get("polarity", True))


def is_ending(record: Record) -> bool:
    """True if a stored statement says something is no longer so."""
    return record.meta.get("effect") == "ends"


def _are_days_apart(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and abs((one - other).days) >= 1
