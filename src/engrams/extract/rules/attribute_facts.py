"""Attributes and their values: "the deadline is April 15", "my sister's name is Anna".

Enter at ``read_attribute``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.predicate_slots import ATTRIBUTES, PEOPLE, canonical_predicate, is_single
from engrams.extract.rules import clause_dates
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.clause_quote import quote_object
from engrams.extract.rules.clause_times import find_clause_spans
from engrams.extract.rules.english_lexicon import FORMS, find_lemma
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.extract.rules.utterance import UtteranceContext
from engrams.extract.rules.word_classes import (
    CLASSES,
    RELATIONS,
    is_concrete,
    match_proper_name,
    trim_trailing,
)
from engrams.frozen_data import replace
from engrams.text.times import TimeSpan
from engrams.text.vocabulary import word_set

_ONE = word_set("team crew family boss manager")
_NOT_NOW = word_set("old former previous ex last first next")
_OF_NOW = word_set("new current actual own official")
_FAVORITE = word_set("favorite favourite fave fav")
_TIMED = word_set(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june"
    " july august september october november december"
)
_CHANGE_VERBS = word_set(
    "change move extend push postpone reschedule update raise increase reduce shift delay switch"
    " bump drop cut lower set"
)
_BEFORE_VALUE = word_set("to from up down back forward again already now out")
"""Words that may stand between a verb of change and its value; any other is what was changed."""
_CALLED = word_set("called named")
_MOST_ROLE = 4
"""Words of the longest role in front of which a name stands: "is my new team lead"."""


def read_attribute(
    clause: EnglishClause, text: str, speech: UtteranceContext, times: Sequence[TimeSpan]
) -> CandidateStatement | None:
    """Read an attribute that is told, that changed, or that stands behind its value.

    ``times``: those of the clause.
    """
    if clause.verb == "be" and clause.subject_words[0].lower in ("my", "our", "the"):
        owned = _read_value(clause, text, speech, times)
        if owned is not None:
            return owned
    changed = _read_changed_value(clause, text, speech, bool(times))
    if changed is not None or clause.verb != "be" or clause.subject_words[0].lower == "the":
        return changed
    return _read_inverse(clause, text, speech)


def _read_value(
    clause: EnglishClause, text: str, speech: UtteranceContext, times: Sequence[TimeSpan]
) -> CandidateStatement | None:
    value_words = trim_trailing(clause.rest)
    owner = [word for word in clause.subject_words if word.lower not in _OF_NOW]
    is_told = clause.tense == "present" and not clause.negated
    if not is_told or not value_words or len(owner) < 2:
        return None
    if any(word.lower in _NOT_NOW for word in owner):
        return None
    is_called = len(value_words) > 1 and value_words[0].lower in _CALLED
    value_words = value_words[1:] if is_called else value_words
    nouns = [word.lower for word in owner[1:] if word.lower != "'s"]
    noun = nouns[-1]
    is_favorite = not _FAVORITE.isdisjoint(nouns[:-1])
    name = _match_name(value_words, noun) if owner[0].lower in ("my", "our") else ()
    if name and _is_person(noun):
        value_words = _cut_behind_name(value_words, name)
    within = clause_dates.filter_within(times, clause.start, clause.end)
    if noun in ("birthday", "anniversary"):  # it comes every year
        within = tuple(span for span in within if clause_dates.names_year(span))
    is_timed = any(span.grain == "day" for span in within) or _names_day(value_words)
    is_certain = is_favorite or bool(name) or is_timed
    if not _takes_value(noun, value_words, is_certain=is_certain, is_favorite=is_favorite):
        return None
    if (
        _is_person(noun)
        and not name
        and not (value_words[0].text[0].isupper() and owner[0].lower == "the")
    ):
        return None
    subject, predicate = _find_slot(owner, nouns, is_favorite or bool(name), speech)
    words = text[value_words[0].start : value_words[-1].end].removeprefix("on ").removeprefix("in ")
    body = name if name and predicate in ("is_named", "married_to", "dating") else value_words
    is_lone = bool(name) and not _is_person(noun) and not noun.endswith("s")
    sign = "1" if _has_digit(value_words) or is_called or within else value_words[0].text
    is_slot = is_favorite or is_lone or is_single(predicate) or is_single("is", noun, sign)
    category = "knowledge" if predicate == "is" else "identity"
    return speech.make_statement(
        text[clause.start : clause.end],
        kind=Kind.PREFERENCE if is_favorite else Kind.FACT,
        subject=subject,
        predicate=predicate,
        object=words if times else quote_object(body, text, ()),
        category="preference" if is_favorite else category,
        single=is_slot,
        confidence=0.9,
        reason="rule attribute",
    )


def _is_person(noun: str) -> bool:
    return noun in PEOPLE or (noun in RELATIONS and noun not in _ONE)


def _match_name(rest: Sequence[ClauseToken], noun: str) -> tuple[ClauseToken, ...]:
    """Match a name: ``FitBox``; of a thing also ``a Honda``."""
    is_kind = rest[0].lower in ("a", "an") and len(rest) > 1
    if is_kind and noun not in RELATIONS | PEOPLE:
        rest = rest[1:]
    name = match_proper_name(rest) if rest[0].text[0].isupper() else ()
    return () if any(word.lower in CLASSES["nation"] | CLASSES["faith"] for word in name) else name


def _cut_behind_name(
    value_words: tuple[ClauseToken, ...], name: tuple[ClauseToken, ...]
) -> tuple[ClauseToken, ...]:
    """Drop what a comma adds to a person's name: ``Ana, comes in at nine``; not ``Tim, Nora``."""
    added_words = [word for word in value_words if word.start >= name[-1].end]
    is_added = (
        len(added_words) > 1 and added_words[0].lower == "," and added_words[1].text.islower()
    )
    return name if is_added else value_words


def _names_day(rest: Sequence[ClauseToken]) -> bool:
    return any(word.lower in _TIMED for word in rest)


def _takes_value(
    noun: str, rest: Sequence[ClauseToken], *, is_certain: bool, is_favorite: bool
) -> bool:
    """True if the noun takes the words as a value."""
    has_number = _has_digit(rest)
    if noun == "birthday" and not (has_number or is_certain or _names_day(rest)):
        return False
    if not (is_certain or noun in ATTRIBUTES) or rest[0].lower in CLASSES["mood"]:
        return False
    is_short = len(rest) < 3 and noun not in ("status", "door", "state")
    if is_short and rest[-1].lower in CLASSES["remark"]:
        return False
    is_gerund = rest[0].lower.endswith("ing") and rest[0].text.islower() and not is_favorite
    if is_gerund and (len(rest) > 1 or rest[0].lower in FORMS):
        return False
    return has_number or is_concrete(rest)


def _find_slot(
    owner: Sequence[ClauseToken], nouns: list[str], is_own: bool, speech: UtteranceContext
) -> tuple[str, str]:
    """Find whose attribute it is, and which."""
    speaker = speech.group if owner[0].lower == "our" else speech.subject
    mark = next((index for index, word in enumerate(owner) if word.lower == "'s"), 0)
    is_mine = owner[0].lower in ("my", "our")
    if mark:
        holder = " ".join(word.lower for word in owner[1:mark])
        predicate = canonical_predicate("_".join(word.lower for word in owner[mark + 1 :]))
        return f"{speaker}'s {holder}" if is_mine else holder, predicate
    if is_mine and (is_own or _is_personal(nouns)):
        words = ("favorite" if noun in _FAVORITE else noun for noun in nouns)
        return speaker, canonical_predicate("_".join(words))
    thing = " ".join(nouns)
    return (f"{speaker}'s {thing}" if is_mine else thing), "is"


def _read_changed_value(
    clause: EnglishClause, text: str, speech: UtteranceContext, has_times: bool
) -> CandidateStatement | None:
    """Read a changed attribute: ``the deadline was moved to June 10``.

    A verb with an object changes that object, not its subject. A date without a year is the next one, whatever the verb's tense.
    """
    rest = clause.rest
    if clause.subject_words[-1].lower in RELATIONS or clause.subject_words[-1].text[0].isupper():
        return None
    first = rest[0].lower if rest else ""
    lemma = find_lemma(first)
    is_passive = clause.verb in ("be", "get") and lemma is not None and lemma.base in _CHANGE_VERBS
    is_done = clause.tense in ("past", "perfect")
    goes_up_or_down = clause.verb == "go" and is_done and first in ("up", "down")
    if is_passive or goes_up_or_down:
        rest = rest[1:]
    elif clause.verb not in _CHANGE_VERBS or not is_done or first not in _BEFORE_VALUE:
        return None  # "the dentist moved my appointment to Friday": not the dentist changed
    # The new value stands after the last "to".
    value_start = 1 + max(
        (index for index, word in enumerate(rest) if word.lower == "to"), default=-1
    )
    has_value = 0 < value_start < len(rest)
    if not has_value or clause.negated:
        return None
    bounds = (clause.start, clause.end)
    times = find_clause_spans(text, bounds, speech.local_time, "present", "be") if has_times else ()
    past_times = (
        find_clause_spans(text, bounds, speech.local_time, "past", "be") if has_times else ()
    )
    value_words, begun = _split_day(rest[value_start:], past_times)
    present = replace(clause, verb="be", tense="present", rest=value_words)
    value = _read_value(present, text, speech, times)
    return value and replace(
        value,
        effect="changes",
        valid_from=begun if begun and begun <= speech.said_at else speech.said_at,
        reason="rule attribute changed",
    )


def _split_day(
    words: Sequence[ClauseToken], times: Sequence[TimeSpan]
) -> tuple[Sequence[ClauseToken], datetime | None]:
    """Split off the day of a change that stands behind its value: "to ramipril on the 4th".

    A value with a number or day may be a time itself: "to 4 pm on Friday".
    """
    for index, word in enumerate(words[1:], start=1):
        if word.lower not in ("on", "in") or _has_digit(words[:index]) or _names_day(words[:index]):
            continue
        following = words[index + 1 :]
        spans = [
            span
            for span in times
            if following and following[0].start <= span.at <= following[-1].start
        ]
        if spans:
            return words[:index], spans[0].start
    return words, None


def _read_inverse(
    clause: EnglishClause, text: str, speech: UtteranceContext
) -> CandidateStatement | None:
    """Read an inverted attribute: ``Kim is my manager now``."""
    until = (i for i, word in enumerate(clause.rest) if word.lower in ("since", "from"))
    rest = trim_trailing(clause.rest[: next(until, len(clause.rest))])
    noun = rest[-1].lower if rest else ""
    is_role = 1 < len(rest) <= _MOST_ROLE and rest[0].lower in ("my", "our")
    if clause.tense != "present" or clause.negated or not is_role:
        return None
    is_qualified = any(
        word.lower in _NOT_NOW | _FAVORITE or word.lower == "best" for word in rest[1:-1]
    )
    if noun not in ATTRIBUTES | RELATIONS or is_qualified:
        return None
    predicate = canonical_predicate(noun)
    return speech.make_statement(
        text[clause.start : clause.end],
        subject=speech.group if rest[0].lower == "our" else speech.subject,
        predicate=predicate,
        object=text[clause.subject_words[0].start : clause.subject_words[-1].end],
        category="identity",
        single=is_single(predicate),
        reason="rule attribute",
    )


def _has_digit(words: Sequence[ClauseToken]) -> bool:
    return any(word.text.lstrip("$€£¥")[:1].isdigit() for word in words)


def _is_personal(nouns: Sequence[str]) -> bool:
    """True for a person's attribute: my name, not my project deadline."""
    is_attribute = len(nouns) == 1 and nouns[0] in ATTRIBUTES
    return is_single("_".join(nouns)) or (
        is_attribute and nouns[0] not in ("car", "team", "plan", "project")
    )
