"""Statements that were given as such, compared with what is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from engrams.core import PREREQUISITES, WARNINGS, EdgeType, Kind, Record, Status
from engrams.extract.candidate import CandidateStatement, canonical_subject
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.settings import WriteSettings
from engrams.write.change_set import DigestChangeSet

_GIVEN = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)
_CHANGED = re.compile(
    # Begins where white space begins: in linear time.
    r"(?<!\s)(?:\s*,)?\s*\b"
    r"(?:now|from now on|since (?:today|yesterday|(?:this|last) \w+|\w+ \d{4}|\d[\d-]*)|as of"
    r" (?:now|today|\w+ \d{4}|\d[\d-]*)|"
    r"these days|nowadays|instead)\b",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"(?:the |our |my |this )?(?P<subject>[\w][\w .'-]{1,60}?) "
    r"(?P<verb>runs(?: on)?|uses|listens on|points to|lies in|stands in|costs|is|are)"
    r" (?P<object>(?:[^.!?\n]|\.(?=\w)){1,80})[.!]?",
    re.IGNORECASE,
)


_OWNER = re.compile(r"\bthe user(?P<own>['’]s\b)?(?: (?P<verb>\w+))?", re.IGNORECASE)
_I = {"is": "am", "has": "have", "does": "do"}


def select_given(records: Sequence[Record], settings: WriteSettings) -> list[Record]:
    """Select given statements, where contradictions are looked for."""
    compared = bool(settings.contradiction_cosine) and settings.reconcile != "off"
    # Among messages they are what those are compared with.
    return list(records) if compared and all(map(_is_given, records)) else []


def _is_given(record: Record) -> bool:
    return record.kind in _GIVEN and not record.evidence and record.status is Status.ACTIVE


def fill_procedure(record: Record) -> Record:
    """Fill triggers, steps and sections of a given procedure from its text."""
    if record.kind is not Kind.PROCEDURE:
        return record
    found = next((one for one in _extract(record, record.text) if one.kind is Kind.PROCEDURE), None)
    if found is None:
        return record
    told = {
        name: list(parts)
        for name, parts in ((PREREQUISITES, found.prerequisites), (WARNINGS, found.warnings))
        if parts
    }
    return replace(record, triggers=found.triggers, steps=found.steps, meta={**told, **record.meta})


def read_given(record: Record) -> CandidateStatement:
    """Build the candidate of a statement that is stored already."""
    parsed = _parse(record)
    return replace(
        parsed,
        text=record.text,
        kind=record.kind,
        category=record.category,
        evidence=(),
        confidence=record.confidence,
        importance=record.importance,
        trust=record.trust,
        said_at=record.recorded_at,
        id=record.id,
    )


def read_edited(record: Record, text: str) -> list[CandidateStatement]:
    """Read a new text of a statement by rules, subjects canonical."""
    found = _extract(record, _OWNER.sub(_say_by_owner, text), record.subject.lower())
    return [replace(one, subject=canonical_subject(one.subject, record.scope)) for one in found]


def keeps_slot(read: CandidateStatement, record: Record) -> bool:
    """True if a new text says another value of a statement's slot.

    It is so now and without doubt.
    """
    same = (read.subject, canonical_predicate(read.predicate)) == (
        record.subject,
        canonical_predicate(record.predicate),
    )
    sure = (
        read.modality == "asserted"
        and read.effect in ("states", "changes")
        and read.polarity == record.meta.get("polarity", True)
    )
    current = read.valid_to is None and (
        read.valid_from is None or read.valid_from <= record.recorded_at
    )
    return same and sure and current and bool(read.object)


def _extract(record: Record, text: str, *known: str) -> tuple[CandidateStatement, ...]:
    """Read a text by rules, loaded only now: storing needs none."""
    from engrams.extract.rules import UtteranceContext, extract_statements

    speech = UtteranceContext(
        speaker="the user",
        subject="user",
        said_at=record.recorded_at,
        source=record.id,
        trust=record.trust,
        names=frozenset(known),
    )
    return extract_statements(text, speech)


def _say_by_owner(found: re.Match[str]) -> str:
    """Let the user say it: "the user lives" is "I live"."""
    from engrams.extract.rules.english_lexicon import find_lemma

    verb = found["verb"] or ""
    if found["own"]:
        return f"my {verb}"
    lemma = find_lemma(verb)
    said = _I.get(verb) or (lemma[0] if lemma and "s" in lemma[1] else verb)
    return f"I {said}"


def with_slots(known: Sequence[Record]) -> list[Record]:
    """Fill the slots of given statements, to compare them by."""
    return [
        _fill_slot(one) if _is_given(one) and not one.predicate else one
        for one in {one.id: one for one in known}.values()
    ]


def hide_given(given: Sequence[Record], changes: DigestChangeSet) -> None:
    """Hide statements from the comparison, lest each meet itself."""
    for record in given:
        changes.current[record.id] = replace(record, status=Status.ARCHIVED)


def settle_given(given: Sequence[Record], changes: DigestChangeSet) -> None:
    """Keep the stored records, with what later statements did to them."""
    for record in given:
        new = changes.created.pop(record.id, record)
        changes.originals[record.id] = record
        ended = {
            name: getattr(new, name)
            for name in ("status", "valid_to", "ended_at", "retired_at", "superseded_by")
        }
        changes.current[record.id] = replace(record, **ended)
        changes.actions.setdefault(record.id, ("supersede", "a newer statement took its place"))
        changes.edges.pop((record.id, record.id, EdgeType.DERIVED_FROM), None)
    names = {record.id for record in given}
    changes.derived = [made for made in changes.derived if made.id not in names or made.replaces]


def _parse(record: Record) -> CandidateStatement:
    """Read subject, predicate and object."""
    found = _extract(record, record.text)
    if len(found) == 1 and found[0].predicate:
        return replace(found[0], subject=canonical_subject(found[0].subject, record.scope))
    plain = _PLAIN.fullmatch(_CHANGED.sub("", record.text).strip())
    if plain is None:
        return CandidateStatement(record.text)
    subject = " ".join(plain["subject"].split())
    predicate = plain["verb"].lower().replace(" ", "_").removesuffix("_on")
    single = is_single(predicate, subject) or bool(_CHANGED.search(record.text))
    return CandidateStatement(
        record.text,
        subject=subject,
        predicate=predicate,
        object=plain["object"].strip(),
        single=single,
    )


def _fill_slot(record: Record) -> Record:
    parsed = _parse(record)
    return replace(record, subject=parsed.subject, predicate=parsed.predicate, object=parsed.object)
