"""Attributes and their values: "the deadline is April 15"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engrams.core import Evidence, Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import ATTRIBUTES, PEOPLE, canonical_predicate, is_single
from engrams.extract.rules import clause_dates
from engrams.extract.rules.clause_meaning import (
    UtteranceContext,
    is_concrete,
    match_proper_name,
    trim_trailing,
)
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.clause_quote import quote_object, trim_quote
from engrams.extract.rules.clause_times import find_clause_spans
from engrams.extract.rules.english_lexicon import FORMS, find_lemma
from engrams.extract.rules.predicate_table import RELATIONS
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.text.times import TimeSpan
from engrams.text.vocabulary import read_vocabulary
from engrams.text.word_list import word_set

_MOODS = word_set(read_vocabulary(__file__, "moods"))
_REMARKS = word_set(read_vocabulary(__file__, "remarks"))
_ONE = frozenset(("team", "crew", "family", "boss", "manager"))
_PAST = frozenset(("old", "former", "previous", "ex", "last", "first", "next"))
_MONTHS = word_set(
    "january february march april may june july august september october november december"
)
_WEEKDAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
_MOVES = word_set(
    "change move extend push postpone reschedule update raise increase reduce shift delay switch"
    " bump drop cut lower set"
)


def extract_attribute(
    clause: EnglishClause, text: str, speech: UtteranceContext, times: Sequence[TimeSpan]
) -> CandidateStatement | None:
    """Extract an attribute and its value."""
    rest = trim_trailing(clause.rest)
    owner = [
        word
        for word in clause.owner
        if word.lower not in ("new", "current", "actual", "own", "official")
    ]
    if (
        clause.tense != "present"
        or clause.negated
        or not rest
        or len(owner) < 2
        or any(word.lower in _PAST for word in owner)
    ):
        return None
    called = len(rest) > 1 and rest[0].lower in ("called", "named")
    rest = rest[1:] if called else rest
    things = [word.lower for word in owner[1:] if word.lower != "'s"]
    favorite = next(
        (word for word in things[:-1] if word in ("favorite", "favourite", "fave", "fav")), ""
    )
    named = _match_name(rest, things[-1]) if owner[0].lower in ("my", "our") else ()
    found = clause_dates.filter_within(times, clause.start, clause.end)
    if things[-1] in ("birthday", "anniversary"):
        found = tuple(
            span for span in found if clause_dates.names_year(span)
        )  # it comes every year
    exact = any(span.grain == "day" for span in found) or any(
        word.lower in _WEEKDAYS for word in rest
    )
    if not _has_value(
        things[-1], rest, bool(favorite), bool(named) or exact, owner[0].lower == "the"
    ):
        return None
    subject, predicate = _attribute_slot(owner, things, favorite, bool(named), speech.subject)
    words = text[rest[0].start : rest[-1].end]
    body = named if named and predicate in ("is_named", "married_to", "dating") else rest
    relation = things[-1] in RELATIONS and things[-1] not in _ONE
    lone = bool(named) and not relation and not things[-1].endswith("s")
    return CandidateStatement(
        text=trim_quote(text[clause.start : clause.end]),
        kind=Kind.PREFERENCE if favorite else Kind.FACT,
        subject=subject,
        predicate=predicate,
        object=(
            words.removeprefix("on ").removeprefix("in ")
            if found or times
            else quote_object(body, text, ())
        ),
        category="preference" if favorite else "identity" if predicate != "is" else "knowledge",
        single=bool(favorite)
        or lone
        or is_single(predicate)
        or is_single(
            "is", things[-1], "1" if _has_digit(rest) or called or found else rest[0].text
        ),
        evidence=(speech.evidence(text[clause.start : clause.end]),),
        confidence=0.9,
        importance=0.7,
        trust=speech.trust,
        said_at=speech.said_at,
        effective_at=speech.said_at,
        reason="rule attribute",
    )


def _match_name(rest: tuple[ClauseToken, ...], noun: str) -> tuple[ClauseToken, ...]:
    """Match a name: ``FitBox``; of a thing also ``a Honda``."""
    if (
        rest[0].lower in ("a", "an")
        and len(rest) > 1
        and noun not in RELATIONS
        and noun not in PEOPLE
    ):
        rest = rest[1:]
    return match_proper_name(rest) if rest[0].text[0].isupper() else ()


def _has_value(
    noun: str, rest: tuple[ClauseToken, ...], favorite: bool, named: bool, the: bool
) -> bool:
    """True if the noun takes the words as a value."""
    number = _has_digit(rest)
    if (
        ((noun in RELATIONS and noun not in _ONE) or noun in PEOPLE)
        and not named
        and not (rest[0].text[0].isupper() and the)
    ):
        return False
    if noun == "birthday" and not (number or named or any(word.lower in _MONTHS for word in rest)):
        return False
    if not (favorite or named or noun in ATTRIBUTES) or (
        rest[0].lower in _MOODS and not rest[0].text[0].isdigit()
    ):
        return False
    if len(rest) < 3 and rest[-1].lower in _REMARKS and noun not in ("status", "door", "state"):
        return False
    if (
        rest[0].lower.endswith("ing")
        and rest[0].text.islower()
        and not favorite
        and (len(rest) > 1 or rest[0].lower in FORMS)
    ):
        return False
    return number or is_concrete(rest)


def _attribute_slot(
    owner: Sequence[ClauseToken], things: list[str], favorite: str, named: bool, speaker: str
) -> tuple[str, str]:
    possessive = next((i for i, word in enumerate(owner) if word.lower == "'s"), 0)
    mine = owner[0].lower in ("my", "our")
    if possessive:
        holder = " ".join(word.lower for word in owner[1:possessive])
        return f"{speaker}'s {holder}" if mine else holder, canonical_predicate(
            "_".join(word.lower for word in owner[possessive + 1 :])
        )
    if mine and (favorite or named or _is_personal(things)):
        return speaker, canonical_predicate(
            "_".join("favorite" if word == favorite else word for word in things)
        )
    return (f"{speaker}'s {' '.join(things)}" if mine else " ".join(things)), "is"


def extract_changed_attribute(
    clause: EnglishClause, text: str, speech: UtteranceContext, times: Sequence[TimeSpan]
) -> CandidateStatement | None:
    """Extract a changed attribute: ``the deadline was moved to June 10``.

    ``times``: as found; a date without a year is the next one, whatever the verb's tense.
    """
    rest = clause.rest
    if clause.owner[-1].lower in RELATIONS or clause.owner[-1].text[0].isupper():
        return None
    if (
        rest
        and clause.verb in ("be", "get")
        and (known := find_lemma(rest[0].lower))
        and known[0] in _MOVES
    ) or (
        clause.verb == "go"
        and clause.tense in ("past", "perfect")
        and rest
        and rest[0].lower in ("up", "down")
    ):
        rest = rest[1:]
    elif clause.verb not in _MOVES or clause.tense not in ("past", "perfect"):
        return None
    at = max((i for i, word in enumerate(rest) if word.lower == "to"), default=None)
    if at is None or at + 1 >= len(rest) or clause.negated:
        return None
    coming = (
        find_clause_spans(text, (clause.start, clause.end), speech.local_time, "present", "be")
        if times
        else ()
    )
    made = extract_attribute(
        replace(clause, verb="be", tense="present", rest=rest[at + 1 :]), text, speech, coming
    )
    if made is None:
        return None
    return replace(
        made, effect="changes", valid_from=speech.said_at, reason="rule attribute changed"
    )


def extract_inverse_attribute(
    clause: EnglishClause, text: str, speech: UtteranceContext
) -> CandidateStatement | None:
    """Extract an inverted attribute: ``Kim is my manager now``."""
    begun = next(
        (i for i, word in enumerate(clause.rest) if word.lower in ("since", "from")),
        len(clause.rest),
    )
    rest = trim_trailing(clause.rest[:begun])
    noun = rest[-1].lower if rest else ""
    if (
        clause.tense != "present"
        or clause.negated
        or not 1 < len(rest) <= 4
        or rest[0].lower not in ("my", "our")
        or noun not in ATTRIBUTES | RELATIONS
    ):
        return None
    if any(
        word.lower in ("old", "former", "ex", "favorite", "favourite", "best")
        for word in rest[1:-1]
    ):
        return None
    name = text[clause.owner[0].start : clause.owner[-1].end]
    predicate = canonical_predicate(noun)
    return CandidateStatement(
        text=trim_quote(text[clause.start : clause.end]),
        subject=speech.subject,
        predicate=predicate,
        object=name,
        category="identity",
        single=is_single(predicate),
        evidence=(
            Evidence(
                text[clause.start : clause.end].strip(),
                speech.source,
                "" if speech.speaker == "the user" else speech.speaker,
            ),
        ),
        confidence=0.85,
        importance=0.7,
        trust=speech.trust,
        said_at=speech.said_at,
        effective_at=speech.said_at,
        reason="rule attribute",
    )


def _has_digit(words: Sequence[ClauseToken]) -> bool:
    return any(word.text.lstrip("$€£¥")[:1].isdigit() for word in words)


def _is_personal(things: list[str]) -> bool:
    """True for a person's attribute: my name, not my project deadline."""
    return is_single("_".join(things)) or (
        len(things) == 1
        and things[0] in ATTRIBUTES
        and things[0] not in ("car", "team", "plan", "project")
    )
