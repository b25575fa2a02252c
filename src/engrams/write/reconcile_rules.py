"""Rules that compare one new statement with stored ones: pure, no store.

``reconcile_by_rules`` says what becomes of both; ``find_exact``, ``find_near_duplicate`` and
``says_the_same`` find repetitions; what is a repetition, ``comparison`` decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from engrams.core import TIMES, Kind, Record, Status, content_hash
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import (
    SINGLE,
    canonical_predicate,
    classify_value,
    closed_slots,
    is_single,
    relate_predicate,
)
from engrams.frozen_data import dataclass, replace
from engrams.text.comparison.statement_comparison import (
    are_opposite,
    compare_statements,
    differ_in_deciding_words,
    differ_in_detail,
    is_additional,
    is_of_its_day,
    is_turned_round,
    tells_end_of,
)
from engrams.text.line_voice import names_kin
from engrams.text.normalize import fold
from engrams.text.terms import terms, tokens
from engrams.text.text_caches import text_cache
from engrams.write.answer_values import (
    are_rival_rules,
    decides_against_use,
    list_topic_words,
    rejects_rule,
)
from engrams.write.rule_corrections import RULE_KINDS, corrects_rule, find_corrected_rules
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

TRUST_MARGIN = 0.2
"""A channel ranks below another if its trust is lower by more than this: user over assistant, not
user over import.
"""


_DECISION = "decision"
"""Category of a rule that was chosen."""
_DENIED = re.compile(
    r"\b(?:not|nicht|instead of|rather than|statt) (?!only\b|just\b|nur\b)([^,.;!?]{1,80})",
    re.IGNORECASE,
)


_ADDRESS = re.compile(
    r"\b(?:call me|(?:is|am) called|goes? by|nickname\w*|nenn\w* mich|spitzname|ll[aá]mame|appelle[- ]moi)\b"
    r"|叫我|呼んで",
    re.IGNORECASE,
)
"""Words of a form of address."""
_SMALL = frozenset(("a", "an", "the", "my", "their", "his", "her", "some", "our", "to"))


@dataclass(frozen=True, slots=True)
class ReconciliationResult:
    """Verdict on one candidate, and the stored records that it changes."""

    verdict: Verdict
    candidate: CandidateStatement
    targets: tuple[Record, ...] = ()
    """Records kept, refined, replaced, removed or contradicted."""
    retract: bool = False
    """The targets were never true (a correction), rather than true until now."""
    until: datetime | None = None
    """The new statement is itself past, and ended then."""
    after: Record | None = None
    """The value that followed it, if it is past."""
    reason: str = ""
    restores: tuple[Record, ...] = ()
    """Records that hold again, since what had ended them did not happen."""


def reconcile_by_rules(
    candidate: CandidateStatement,
    statements: Sequence[Record],
    threshold: float = 0.85,
    synonyms: Sequence[Record] = (),
) -> ReconciliationResult:
    """Reconcile one candidate with the active or held statements near it.

    ``threshold``: word overlap (Jaccard, 0..1) of near duplicates. ``synonyms``: those of the
    statements whose slot has another name. Only an asserted, first-hand statement of a trusted
    channel replaces anything. A slot that holds one value gives way to a newer one; an older one
    becomes history; an opinion gives way to its contrary; a correction retracts.
    """
    open_statements = [
        record for record in statements if record.status in (Status.ACTIVE, Status.CANDIDATE)
    ]
    if candidate.modality == "asserted" and is_over(candidate):
        return ReconciliationResult(
            "add", candidate, until=candidate.valid_to, reason="was so, and is over"
        )
    if (twin := find_exact(candidate, open_statements)) is not None:
        return ReconciliationResult("keep", candidate, (twin,), reason="said before")
    if candidate.modality != "asserted":
        return ReconciliationResult("add", candidate, reason=f"only {candidate.modality}")
    slot = [record for record in open_statements if is_same_slot(candidate, record)] or [
        record for record in synonyms if record in open_statements
    ]
    match candidate.effect:
        case "corrects":
            return _reconcile_correction(candidate, slot, open_statements)
        case "ends":
            return _reconcile_ending(candidate, slot, open_statements)
        case "states" | "changes":
            if correction := _find_later_correction(candidate, open_statements):
                until = correction.recorded_at
                return ReconciliationResult("add", candidate, until=until, reason="corrected since")
            return _reconcile_statement(candidate, slot, open_statements, threshold)


def reconcile_wish(
    candidate: CandidateStatement, statements: Iterable[Record]
) -> ReconciliationResult | None:
    """Reconcile how an assistant is to answer; None: it sets no value of which there is one at a time.

    ``statements``: open ones of its scope. A rule stands in the place of one with another value, and
    a permission ends the ban that it lifts.
    """
    wishes = [record for record in statements if record.subject == candidate.subject]
    if candidate.lifts_ban:
        topics = list_topic_words(candidate.object)
        bans = tuple(
            record
            for record in wishes
            if record.kind is Kind.NEGATIVE and list_topic_words(record.object) == topics
        )
        if not bans:
            return ReconciliationResult("keep", candidate, reason="lifts nothing known")
        return ReconciliationResult("remove", candidate, bans, reason="allowed again")
    if candidate.kind is not Kind.RULE or candidate.modality != "asserted":
        return None
    is_decision = candidate.category == _DECISION
    rivals = [
        record
        for record in wishes
        if record.kind is Kind.RULE
        and (
            are_rival_rules(candidate.text, record.text)
            or rejects_rule(candidate.text, record.text)
            or (is_decision and decides_against_use(candidate.text, record.text))
        )
    ]
    return _replace_targets(candidate, rivals, "another value for the same") if rivals else None


def _reconcile_statement(
    candidate: CandidateStatement,
    slot: list[Record],
    statements: list[Record],
    threshold: float,
) -> ReconciliationResult:
    """Reconcile a statement of how things are, or of an event that made them so."""
    contrary = [
        record
        for record in slot
        if is_affirmative(record) != candidate.polarity
        and _is_same_thing(candidate.object, record.object)
    ]
    contrary += [record for record in slot if _turns_opinion_round(candidate, record)]
    closed = _find_closed(candidate, statements)
    contrary += [*closed, *_find_beside(closed, statements)]
    contrary += [
        record
        for record in slot
        if is_ending(record)
        and is_affirmative(record) == candidate.polarity
        and _is_same_thing(candidate.object, record.object)
    ]
    if gives_up_plan(candidate):
        return _give_up_plan(candidate, contrary)
    if ended := [record for record in statements if _tells_end_of(candidate, record)]:
        return _replace_targets(candidate, ended, "no longer so")
    values = [record for record in slot if not is_ending(record) and is_affirmative(record)]
    if values and candidate.polarity and _is_said_to_be_additional(candidate):
        return ReconciliationResult("add", candidate, reason="beside what is known")
    if contrary and not (values and candidate.single and candidate.polarity):
        return _replace_targets(candidate, contrary, "the contrary was known")
    if not (candidate.single and values and candidate.polarity) and (
        opposites := _find_opposites(candidate, statements)
    ):
        return ReconciliationResult(
            "conflict", candidate, tuple(opposites), reason="says the opposite"
        )
    if not candidate.polarity:
        return ReconciliationResult("add", candidate, reason="denies nothing known")
    if candidate.single and values:
        return _reconcile_single(
            candidate, values, [record for record in contrary if record not in values]
        )
    if (twin := find_near_duplicate(candidate, slot, threshold)) is not None:
        return ReconciliationResult("keep", candidate, (twin,), reason="said before in other words")
    if poorer := [record for record in values if _adds_name(candidate, record)]:
        return ReconciliationResult(
            "refine", candidate, tuple(poorer), reason="says more of the same"
        )
    if fuller := [record for record in values if _says_more(candidate, record)]:
        return ReconciliationResult(
            "refine", candidate, tuple(fuller), reason="says more of the same"
        )
    return ReconciliationResult("add", candidate, reason="coexists" if values else "new")


def _is_said_to_be_additional(candidate: CandidateStatement) -> bool:
    """True if a candidate or the words that it was read from say "also"."""
    texts = (candidate.text, *(item.quote for item in candidate.evidence))
    return any(map(is_additional, texts))


def _turns_opinion_round(candidate: CandidateStatement, record: Record) -> bool:
    """True if of two things a candidate prefers the one, and a record the other."""
    return (
        candidate.kind is record.kind is Kind.PREFERENCE
        and is_affirmative(record) == candidate.polarity
        and not is_ending(record)
        and is_turned_round(candidate.text, record.text)
    )


def _tells_end_of(candidate: CandidateStatement, record: Record) -> bool:
    """True if a candidate says in the words of a record that this is no longer so.

    The words tell whom both are about, whatever subject rules read in them.
    """
    return (
        _is_of_same_speaker(candidate, record)
        and not is_ending(record)
        and tells_end_of(candidate.text, record.text)
    )


def _find_opposites(candidate: CandidateStatement, statements: Iterable[Record]) -> list[Record]:
    """Find the statements about the candidate's subject that contradict its words."""
    return [
        record
        for record in statements
        if _is_of_same_person(candidate, record)
        and not is_ending(record)
        and are_opposite(candidate.text, record.text)
    ]


def _says_more(candidate: CandidateStatement, record: Record) -> bool:
    """True if a candidate says all that a record of the same triple says, and more."""
    predicate = canonical_predicate(candidate.predicate)
    return (
        is_same_value(candidate.object, record.object)
        and compare_statements(candidate.text, record.text, predicate) == "more"
    )


def _give_up_plan(
    candidate: CandidateStatement, contrary: Sequence[Record]
) -> ReconciliationResult:
    plans = find_plans(candidate, contrary)
    if not plans:
        return ReconciliationResult("keep", candidate, reason="gives up nothing known")
    return find_conflict(candidate, plans) or ReconciliationResult(
        "replace", candidate, tuple(plans), retract=True, reason="given up"
    )


def _find_closed(candidate: CandidateStatement, statements: Iterable[Record]) -> list[Record]:
    """Find the statements of other slots that the candidate ends."""
    closed = closed_slots(candidate.predicate, candidate.object)
    if not candidate.polarity or not closed:
        return []
    return [
        record
        for record in statements
        if not is_ending(record)
        and is_affirmative(record)
        and _is_of_subject(record, candidate.subject)
        and _is_closed(candidate, record, closed)
    ]


def _is_closed(
    candidate: CandidateStatement,
    record: Record,
    closed: Sequence[tuple[str, frozenset[str]]],
) -> bool:
    """True if a statement of the candidate's subject is in a slot that the candidate closes."""
    for predicate, closed_values in closed:
        if canonical_predicate(record.predicate) != predicate:
            continue
        if canonical_predicate(candidate.predicate) in ("sold", "terms_a"):
            return _is_same_thing(candidate.object, record.object)
        return not closed_values or fold(record.object) in closed_values
    return False


def _reconcile_single(
    candidate: CandidateStatement, values: list[Record], contrary: list[Record]
) -> ReconciliationResult:
    """Reconcile a value of a slot that holds one value at a time.

    ``values``: those that the slot holds. ``contrary``: other statements that the new value ends.
    """
    values = [
        record
        for record in values
        if _is_comparable(candidate, record)
        and not is_announced(record, candidate)
        and _names_alike(candidate, record)
    ]
    if not values:
        return (
            _replace_targets(candidate, contrary, "the contrary was known")
            if contrary
            else ReconciliationResult("add", candidate, reason="a value of another sort")
        )
    new_terms = object_terms(candidate.object)
    latest = max(values, key=holds_until)
    old_terms = object_terms(latest.object)
    # "At 9" is another time than "at 9:30", not a less exact one.
    is_other_value = new_terms != old_terms and classify_value(candidate.object) == "clock"
    # "Before noon" is another value than "after noon".
    is_other_value |= differ_in_deciding_words(candidate.object, latest.object)
    is_less_exact = bool(new_terms) and new_terms == old_terms[: len(new_terms)]
    if is_less_exact and not is_other_value:
        return ReconciliationResult("keep", candidate, (latest,), reason="less exact than known")
    if not new_terms:
        return ReconciliationResult("add", candidate, reason="names no value")
    if (conflict := find_conflict(candidate, values)) is not None:
        return conflict
    moment = find_moment(candidate, latest)
    if moment is not None and moment < holds_until(latest) and not is_to_come(candidate):
        until = latest.valid_from or latest.recorded_at
        begins = candidate.valid_from
        return ReconciliationResult(
            "add",
            candidate,
            until=max(until, begins) if begins else until,
            after=latest,
            reason="was so before what is known",
        )
    is_more_exact = bool(old_terms) and old_terms == new_terms[: len(old_terms)]
    if is_more_exact and not is_other_value and not is_to_come(candidate):
        return ReconciliationResult("refine", candidate, tuple(values), reason="more exact")
    return ReconciliationResult(
        "replace", candidate, (*values, *contrary), reason="one value at a time"
    )


def _reconcile_ending(
    candidate: CandidateStatement, slot: list[Record], statements: list[Record]
) -> ReconciliationResult:
    """End the named value, or every value if none is named, with what its sentence says of it besides."""
    values = [record for record in slot if not is_ending(record) and is_affirmative(record)]
    ended = (
        [record for record in values if _ends_thing(candidate.object, record)]
        if object_terms(candidate.object)
        else values
    ) or [record for record in statements if _tells_end_of(candidate, record)]
    if not ended:
        return ReconciliationResult("add", candidate, reason="ends nothing known")
    return _replace_targets(candidate, [*ended, *_find_beside(ended, statements)], "no longer so")


def _ends_thing(ended_object: str, record: Record) -> bool:
    """True for the object of a statement, whenever that thing is done: "coffee" of "coffee at nine"."""
    timeless_object = record.object
    for time in record.meta.get(TIMES, ()):
        timeless_object = timeless_object.replace(time["text"], " ")
    return _is_same_thing(ended_object, record.object) or (
        is_same_value(ended_object, timeless_object)
    )


def _find_beside(ended: Sequence[Record], statements: Iterable[Record]) -> list[Record]:
    """Find what the sentences of ended statements say of the same thing besides."""
    return [
        record
        for record in statements
        if record not in ended and any(_tells_of_same(record, value) for value in ended)
    ]


def _tells_of_same(record: Record, value: Record) -> bool:
    """True for "welder" beside "Acme", where one sentence said both of one job."""
    return (
        record.text == value.text
        and record.subject == value.subject
        and relate_predicate(record.predicate) == relate_predicate(value.predicate)
    )


def _reconcile_correction(
    candidate: CandidateStatement, slot: list[Record], statements: list[Record]
) -> ReconciliationResult:
    """Retract the value named wrong, or the slot's one value; a rule gives way to the corrected one."""
    if candidate.kind in RULE_KINDS:
        rules = find_corrected_rules(candidate.text, statements)
        if rules:
            return _replace_targets(candidate, rules, "corrected")
        return _reconcile_statement(candidate, slot, statements, 1.0)
    if not candidate.predicate:
        return _reconcile_elliptic(candidate, statements)
    of_subject = slot or [
        record for record in statements if fold(record.subject) == fold(candidate.subject)
    ]
    if candidate.wrong_value:
        wrong = [
            record
            for record in of_subject
            if _is_same_thing(candidate.wrong_value, record.object)
            and not _fills_another_slot(record, candidate)
        ]
    elif candidate.single:
        wrong = _find_corrected(candidate, slot, of_subject)
    else:
        wrong = [record for record in of_subject if _denies_object(candidate, record)]
    is_assumed = candidate.single and not is_single(
        candidate.predicate, candidate.subject, candidate.object
    )
    if not wrong and is_assumed and candidate.extractor == "rules" and not candidate.wrong_value:
        return ReconciliationResult("keep", candidate, reason="corrects nothing known")
    if not wrong:
        return _reconcile_statement(candidate, slot, statements, 1.0)
    if (conflict := find_conflict(candidate, wrong)) is not None:
        return conflict
    return ReconciliationResult(
        "replace", candidate, tuple(wrong), retract=True, reason="corrected"
    )


def _find_later_correction(
    candidate: CandidateStatement, statements: Sequence[Record]
) -> Record | None:
    """Find the correction of a rule that was read before the rule, though it was said after it."""
    said_at = candidate.said_at
    if candidate.kind not in RULE_KINDS or said_at is None:
        return None
    corrections = (
        record
        for record in statements
        if record.meta.get("effect") == "corrects" and record.recorded_at > said_at
    )
    return next((record for record in corrections if corrects_rule(record, candidate.text)), None)


def _fills_another_slot(record: Record, candidate: CandidateStatement) -> bool:
    """True if both have a slot of one value, and not the same: a dentist is no manager."""
    return record.predicate != candidate.predicate and all(
        is_single(predicate, record.subject)
        for predicate in (record.predicate, candidate.predicate)
    )


def _find_corrected(
    candidate: CandidateStatement, slot: list[Record], statements: list[Record]
) -> list[Record]:
    """Find the slot's values; of a slot of many, the latest.

    Without any, the one number that the statements name: "it's on 5544" corrects a port.
    """
    values = [record for record in slot if not is_ending(record) and is_affirmative(record)]
    if values and not is_single(candidate.predicate, candidate.subject, candidate.object):
        return [max(values, key=lambda record: record.story_key)]
    numbers = [
        record
        for record in statements
        if record.predicate
        and classify_value(record.object) == classify_value(candidate.object) == "number"
    ]
    return values or (numbers if len(numbers) == 1 else [])


def _denies_object(candidate: CandidateStatement, record: Record) -> bool:
    """True if a correction rejects an object: "not to X"."""
    value = object_terms(record.object)
    if not value or _is_same_thing(candidate.object, record.object):
        return False
    texts = (candidate.text, *(item.quote for item in candidate.evidence))
    denied = [
        object_terms(match[1])[: len(value) + 1]
        for text in texts
        for match in _DENIED.finditer(text)
    ]
    # One word before or after the value does not matter: "not to Naples".
    return any(value in (words[:-1], words[1:], words) for words in denied)


def _reconcile_elliptic(
    candidate: CandidateStatement, statements: list[Record]
) -> ReconciliationResult:
    """Apply "No, it's Berlin" to the statement it corrects."""
    latest = sorted(
        (record for record in statements if not is_ending(record)),
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
    completed = replace(
        candidate,
        origin=candidate.text,
        text=corrected or candidate.text,
        subject=wrong.subject,
        predicate=wrong.predicate,
        category=wrong.category,
        single=True,
    )
    return find_conflict(completed, [wrong]) or ReconciliationResult(
        "replace", completed, (wrong,), retract=True, reason="corrected"
    )


def _is_comparable(candidate: CandidateStatement, record: Record) -> bool:
    """True if both are values of one sort: a later date replaces a date, not a place."""
    predicate = canonical_predicate(candidate.predicate)
    is_built_in = predicate != "is" and (predicate in SINGLE or predicate.startswith("favorite_"))
    return is_built_in or classify_value(candidate.object) == classify_value(record.object)


def _names_alike(candidate: CandidateStatement, record: Record) -> bool:
    """False for a name and a form of address: "call me Captain" leaves "my name is Thomas" true."""
    if canonical_predicate(candidate.predicate) != "is_named" or candidate.subject != "user":
        return True
    texts = (candidate.text, *(item.quote for item in candidate.evidence))
    known_texts = (record.text, *(item.quote for item in record.evidence[:1]))
    return any(map(_ADDRESS.search, texts)) == any(map(_ADDRESS.search, known_texts))


def _replace_targets(
    candidate: CandidateStatement, targets: list[Record], reason: str
) -> ReconciliationResult:
    """Replace the targets, unless the candidate is of an earlier time than they are."""
    if (conflict := find_conflict(candidate, targets)) is not None:
        return conflict
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
    if any(candidate.trust < record.trust - TRUST_MARGIN for record in targets):
        return ReconciliationResult(
            "conflict", candidate, tuple(targets), reason="a less trusted source"
        )
    return None


def _is_same_thing(object_a: str, object_b: str) -> bool:
    """True if the objects are equal, or one extends the other."""
    terms_a = object_terms(object_a)
    terms_b = object_terms(object_b)
    if differ_in_deciding_words(object_a, object_b):
        return False
    return bool(terms_a and terms_b) and (
        terms_a == terms_b
        or (terms_a[: len(terms_b)] == terms_b and len(terms_b) > 1)
        or (terms_b[: len(terms_a)] == terms_a and len(terms_a) > 1)
    )


def is_same_value(object_a: str, object_b: str) -> bool:
    """True for equal words of content that differ in no function word that decides."""
    return object_terms(object_a) == object_terms(object_b) and not differ_in_detail(
        object_a, object_b
    )


def _adds_name(candidate: CandidateStatement, record: Record) -> bool:
    """True if the new value adds a name: ``a dog named Max``."""
    new_terms = object_terms(candidate.object)
    old_terms = object_terms(record.object)
    extends = len(new_terms) > len(old_terms) and new_terms[: len(old_terms)] == old_terms
    if not old_terms or not extends:
        return False
    return canonical_predicate(candidate.predicate) in ("has", "adopted", "got", "bought") and any(
        word in ("named", "called") for word in candidate.object.lower().split()
    )


def find_exact(candidate: CandidateStatement, statements: Iterable[Record]) -> Record | None:
    """Find the record that says what a candidate says, to a reader.

    Records of equal words come first, then those of the same triple or of the same meaning.
    """
    repeated = [record for record in statements if _repeats(candidate, record)]
    text_hash = _hash_text(candidate.text)
    equal = (record for record in repeated if _hash_text(record.text) == text_hash)
    return next(equal, repeated[0] if repeated else None)


def _repeats(candidate: CandidateStatement, record: Record) -> bool:
    """True if a candidate says nothing that a record does not say.

    Of statements with a triple, the triples must be equal, and the texts must not differ in a word
    that decides: ``has dog`` is said of a first dog and of a second one. Of others the texts must
    be the same; of given ones that is enough, since rules read one triple in the whole text.
    """
    if is_affirmative(record) != candidate.polarity:
        return False
    if is_ending(record) != (candidate.effect == "ends"):
        return False
    is_given = bool(candidate.id) and not record.provenance.extractor
    if not is_given and not _is_of_same_person(candidate, record):
        return False
    if _tell_of_other_days(candidate, record):
        return False
    is_equal = _hash_text(candidate.text) == _hash_text(record.text)
    text_decides = is_given or not (candidate.predicate and record.predicate)
    if text_decides and (is_equal or compare_statements(candidate.text, record.text) == "same"):
        return True
    if not candidate.predicate or not is_same_slot(candidate, record):
        return False
    if not is_same_value(candidate.object, record.object):
        return False
    predicate = canonical_predicate(candidate.predicate)
    return is_equal or compare_statements(candidate.text, record.text, predicate) in (
        "same",
        "less",
    )


def _is_of_same_person(candidate: CandidateStatement, record: Record) -> bool:
    """True if both are about one subject; without one, if one person said them."""
    if candidate.subject and record.subject:
        return _is_of_subject(record, candidate.subject)
    return _is_of_same_speaker(candidate, record)


def _is_of_same_speaker(candidate: CandidateStatement, record: Record) -> bool:
    """True unless two people said them."""
    speaker = candidate.evidence[0].speaker if candidate.evidence else ""
    return not (speaker and record.speaker) or (
        speaker == record.speaker or fold(speaker) == fold(record.speaker)
    )


def _tell_of_other_days(candidate: CandidateStatement, record: Record) -> bool:
    """True if both name the day on which they are made, and were made on different days."""
    if candidate.said_at is None or candidate.said_at.date() == record.recorded_at.date():
        return False
    return is_of_its_day(candidate.text) or is_of_its_day(record.text)


def find_near_duplicate(
    candidate: CandidateStatement, statements: Iterable[Record], threshold: float = 0.85
) -> Record | None:
    """Find the closest record of the slot by word overlap.

    The Jaccard overlap is at least ``threshold`` (0..1), and no number, name, date or negation
    differs.
    """
    closest: Record | None = None
    highest_overlap = threshold
    for record in statements:
        if (
            not is_same_slot(candidate, record)
            or is_affirmative(record) != candidate.polarity
            or is_ending(record) != (candidate.effect == "ends")
        ):
            continue
        if _names_another(candidate, record):
            continue
        overlap = jaccard(candidate.text, record.text)
        if (
            overlap >= highest_overlap
            and not differ_in_detail(candidate.text, record.text)
            and not _are_days_apart(candidate.valid_from, record.valid_from)
        ):
            closest = record
            highest_overlap = overlap
    return closest


def _names_another(candidate: CandidateStatement, record: Record) -> bool:
    """True for two values of the same words: "our kids are Emil and Nora" names two children."""
    is_same_text = _hash_text(candidate.text) == _hash_text(record.text)
    return is_same_text and not is_same_value(candidate.object, record.object)


def says_the_same(candidate: CandidateStatement, record: Record) -> bool:
    """True if a statement near in meaning says nothing that the record does not say."""
    return (
        record.kind is candidate.kind
        and is_affirmative(record) == candidate.polarity
        and is_ending(record) == (candidate.effect == "ends")
        and _is_of_same_person(candidate, record)
        and not _tell_of_other_days(candidate, record)
        and compare_statements(candidate.text, record.text) in ("same", "less")
    )


def jaccard(text_a: str, text_b: str) -> float:
    """Return shared words over all words of two texts, 0..1.

    Two empty texts share nothing.
    """
    terms_a = _tokens(text_a)
    terms_b = _tokens(text_b)
    return len(terms_a & terms_b) / len(terms_a | terms_b) if terms_a | terms_b else 0.0


def is_same_slot(candidate: CandidateStatement, record: Record) -> bool:
    """True for equal subject and canonical predicate. Two people's "mum" are two subjects."""
    is_same_predicate = canonical_predicate(candidate.predicate) == canonical_predicate(
        record.predicate
    )
    is_equal = is_same_predicate and _is_of_subject(record, candidate.subject)
    return is_equal and (
        _is_of_same_speaker(candidate, record) or not names_kin(fold(candidate.subject))
    )


def _is_of_subject(record: Record, subject: str) -> bool:
    return record.subject == subject or fold(record.subject) == fold(subject)


@text_cache(16_384)
def _hash_text(text: str) -> str:
    return content_hash(text)


@text_cache(16_384)
def _tokens(text: str) -> frozenset[str]:
    return frozenset(tokens(text))


@text_cache(16_384)
def object_terms(text: str) -> tuple[str, ...]:
    """Return an object's stemmed words without articles and possessives."""
    words = [word for word in tokens(text) if word not in _SMALL]
    return tuple(terms(" ".join(words))) if words else ()


def is_affirmative(record: Record) -> bool:
    """True if a stored statement affirms."""
    return bool(record.meta.get("polarity", True))


def is_ending(record: Record) -> bool:
    """True if a stored statement says something is no longer so."""
    return record.meta.get("effect") == "ends"


def _are_days_apart(time_a: datetime | None, time_b: datetime | None) -> bool:
    return time_a is not None and time_b is not None and abs((time_a - time_b).days) >= 1
