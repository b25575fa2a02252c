"""Statements that were given as such, or edited, read by rules to fill their fields.

``read_statement`` reads subject, predicate and object of a stored statement, ``read_edited_text``
the new text of one, and ``fill_procedure`` the steps of a procedure. Rules are loaded only here:
storing a message needs none.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engrams.core import LAYER_OF, PREREQUISITES, UTC_OFFSET, WARNINGS, Kind, Layer, Record
from engrams.core.clock import local_time
from engrams.extract.candidate import CandidateStatement, canonical_subject
from engrams.extract.owner_statements import tell_as_owner
from engrams.extract.predicate_slots import canonical_predicate, is_single
from engrams.frozen_data import replace
from engrams.text.text_caches import text_cache

if TYPE_CHECKING:
    from engrams.extract.rules.utterance import UtteranceContext

_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Time of words of which no time is read."""
_SINCE = re.compile(
    # Begins where white space begins: in linear time.
    r"(?<!\s)(?:\s*,)?\s*\b"
    r"(?:now|from now on|since (?:today|yesterday|(?:this|last) \w+|\w+ \d{4}|\d[\d-]*)|as of"
    r" (?:now|today|\w+ \d{4}|\d[\d-]*)|"
    r"these days|nowadays|instead)\b",
    re.IGNORECASE,
)
"""Words for a change: "now", "since May 2024"."""
_PLAIN = re.compile(
    r"(?:the |our |my |this )?(?P<subject>[\w][\w .'-]{1,60}?) "
    r"(?P<verb>runs(?: on)?|uses|listens on|points to|lies in|stands in|costs|is|are)"
    r" (?P<object>(?:[^.!?\n]|\.(?=\w)){1,80})[.!]?",
    re.IGNORECASE,
)
"""Plain sentence about a thing, which the rules for what people say of themselves do not read."""


def fill_procedure(record: Record) -> Record:
    """Fill triggers, steps and sections that a procedure was not given from its text."""
    candidates = _extract(record, record.text)
    procedure = next(
        (candidate for candidate in candidates if candidate.kind is Kind.PROCEDURE), None
    )
    if procedure is None:
        return record
    sections = {
        name: list(lines)
        for name, lines in (
            (PREREQUISITES, procedure.prerequisites),
            (WARNINGS, procedure.warnings),
        )
        if lines
    }
    return replace(
        record,
        triggers=record.triggers or procedure.triggers,
        steps=record.steps or procedure.steps,
        meta={**sections, **record.meta},
    )


def read_statement(record: Record) -> CandidateStatement:
    """Read subject, predicate and object of a stored statement; without them if it is unclear."""
    candidates = _extract(record, tell_as_owner(record.text))
    if len(candidates) == 1 and candidates[0].predicate:
        subject = canonical_subject(candidates[0].subject, record.scope)
        return replace(candidates[0], subject=subject)
    match = _PLAIN.fullmatch(_SINCE.sub("", record.text).strip())
    if match is None:
        return CandidateStatement(record.text)
    subject = " ".join(match["subject"].split())
    predicate = match["verb"].lower().replace(" ", "_").removesuffix("_on")
    return CandidateStatement(
        record.text,
        subject=subject,
        predicate=predicate,
        object=match["object"].strip(),
        single=is_single(predicate, subject) or bool(_SINCE.search(record.text)),
    )


def read_edited_text(record: Record, text: str) -> list[CandidateStatement]:
    """Read a new text of a statement by rules; subjects are canonical."""
    own_words = tell_as_owner(text)
    return [
        replace(candidate, subject=canonical_subject(candidate.subject, record.scope))
        for candidate in _extract(record, own_words, record.subject.lower())
    ]


def keeps_slot(candidate: CandidateStatement, record: Record) -> bool:
    """True if a new text only gives the statement's slot another value, for certain and from now on."""
    is_same_slot = (candidate.subject, canonical_predicate(candidate.predicate)) == (
        record.subject,
        canonical_predicate(record.predicate),
    )
    is_sure = (
        candidate.modality == "asserted"
        and candidate.effect in ("states", "changes")
        and candidate.polarity == record.meta.get("polarity", True)
    )
    is_current = candidate.valid_to is None and (
        candidate.valid_from is None or candidate.valid_from <= record.recorded_at
    )
    return is_same_slot and is_sure and is_current and bool(candidate.object)


def find_instruction_kind(text: str) -> Kind | None:
    """Find the kind of a wish for how the assistant is to behave, such as "answer briefly".

    The words need not say that the wish lasts. None: it is no such wish.
    """
    from engrams.extract.rules.utterance import UtteranceContext

    speech = UtteranceContext("the user", "user", _ANY_TIME, source="")
    for words in (text, f"Always {text}"):
        for candidate in _extract_cached(words, speech):
            if LAYER_OF[candidate.kind] is Layer.PROCEDURAL:
                return candidate.kind
    return None


def _extract(record: Record, text: str, *names: str) -> tuple[CandidateStatement, ...]:
    """Extract by rules, as if the owner had said the text. ``names``: of people in it."""
    from engrams.extract.rules.utterance import UtteranceContext

    speech = UtteranceContext(
        speaker="the user",
        subject="user",
        said_at=record.recorded_at,
        told_at=local_time(record.recorded_at, record.meta.get(UTC_OFFSET)),
        source=record.id,
        trust=record.trust,
        names=frozenset(names),
        project=record.scope.find("project"),
    )
    return _extract_cached(text, speech)


@text_cache(1024)
def _extract_cached(text: str, speech: UtteranceContext) -> tuple[CandidateStatement, ...]:
    """Extract by rules, cached: a statement is read when it is stored, and each time it is compared.

    One that rules cannot read is read anew beside every new statement near it.
    """
    from engrams.extract.rules.rule_extraction import extract_statements

    return extract_statements(text, speech)
