"""Parser of English clauses: subject, verb group and rest."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.extract.rules.clause_end import STATES, find_clause_end, is_work
from engrams.extract.rules.clause_subject import LEAD, MARKERS, find_subject
from engrams.extract.rules.english_lexicon import (
    ADVERBS,
    BE,
    DETERMINERS,
    FORMS,
    PREPOSITIONS,
    VerbForm,
    find_lemma,
)
from engrams.extract.rules.sentence_segmenter import ClauseToken, Person, Tense
from engrams.extract.rules.verb_group_parser import parse_verb_group
from engrams.frozen_data import dataclass, replace
from engrams.text.vocabulary import word_set

_NONE = -1
_BEFORE_ELIDED = (MARKERS | word_set(", just still already only")) - {"like"}
_NO_ELIDED = ADVERBS | word_set("used based left thought saw heard said put let cut set read shut")
_DAY_WORDS = frozenset(("today", "yesterday", "tomorrow", "tonight"))
_AFTER_PASSIVE = frozenset(("by", "to", "on", "in", "at")) | BE.keys()
_SHARED: dict[Tense, VerbForm] = {
    "past": "past", "used": "past", "perfect": "part", "progressive": "ing", "been": "ing", "was": "ing", "present": "base",
}  # fmt: skip
_OPEN = frozenset(("to", "married", "engaged"))
_STATE_FORMS: dict[Person, str] = {"self": "am", "group": "are", "other": "is"}
_OTHERS_VERB = frozenset(("i", "we", "to", "help", "helps", "let", "lets", "make", "makes"))


@dataclass(frozen=True, slots=True)
class EnglishClause:
    """One clause of an English sentence.

    ``subject_words``: tokens of the subject; empty if it is the speaker. ``rest``: the tokens after
    the verb. ``verb``: its base form; ``surface``: the verb as it stood. ``lasting``: the clause says
    since when or for how long.
    """

    person: Person
    subject_words: tuple[ClauseToken, ...]
    verb: str
    surface: str
    tense: Tense
    negated: bool
    hedged: bool
    adverbs: tuple[str, ...]
    rest: tuple[ClauseToken, ...]
    start: int
    end: int
    lead: tuple[ClauseToken, ...] = ()
    infinitive: str = ""
    lasting: bool = False
    is_coordinated: bool = False
    """Its subject stands in the clause before: "I moved and work there"."""


def parse_clauses(
    words: Sequence[ClauseToken], names: frozenset[str] = frozenset()
) -> list[EnglishClause]:
    """Parse the clauses about the speaker, their relations or ``names``.

    A verb at the head may lack its "I" (Went to the gym).
    """
    found: list[EnglishClause] = []
    at = floor = 0
    elided = _find_elided_verb(words)
    if elided != _NONE:
        clause, at = _parse_verb_phrase(words, elided, "self", (), words[elided].start, names)
        found += [clause] if clause else []
        at = _parse_coordinated(words, at, found, names)
    while at < len(words):
        subject = find_subject(words, at, names)
        if subject is None:
            at += 1
            continue
        person, subject_words, after = subject
        clause, end = _parse_verb_phrase(
            words, after, person, subject_words, words[at].start, names
        )
        if clause is None:
            at += 1
            continue
        found.append(_add_lead(clause, words, at, floor))
        at = floor = _parse_coordinated(words, max(end, at + 1), found, names)
    return found


def _add_lead(
    clause: EnglishClause, words: Sequence[ClauseToken], at: int, floor: int
) -> EnglishClause:
    """Add the time words before the subject, from ``floor`` on."""
    first = at
    while first > floor and (
        words[first - 1].lower in LEAD
        or words[first - 1].lower == ","
        or words[first - 1].text[0].isdigit()
    ):
        first -= 1
    if (
        first > floor
        and words[first - 1].text[0].isalnum()
        and words[first - 1].lower not in MARKERS
    ):
        return clause  # "6 hours a night since July, I'm …": the time belongs to what is before it
    return replace(clause, lead=tuple(words[first:at]))


def _find_elided_verb(words: Sequence[ClauseToken]) -> int:
    """Find the verb of a sentence without "I"; -1: none."""
    at = 0
    while at + 2 < len(words) and words[at].lower in _BEFORE_ELIDED:
        at += 1
    if len(words) - at < 3 or words[at + 1].text[0] in ",.;:!?":
        return _NONE
    lower = words[at].lower
    following = words[at + 1].lower
    if at and lower in BE and words[at - 1].lower in _DAY_WORDS:
        return _NONE  # "yesterday was wild"
    if lower in ("been", "gonna", "gotta", "went", "moved") or (lower, following) == ("used", "to"):
        return at
    forms = FORMS[lower][1] if lower in FORMS and lower not in _NO_ELIDED else frozenset()
    is_past = "past" in forms and "base" not in forms
    return at if is_past and following not in _AFTER_PASSIVE else _NONE


def _parse_coordinated(
    words: Sequence[ClauseToken], at: int, found: list[EnglishClause], names: frozenset[str]
) -> int:
    """Parse further verbs of the same subject: ``… and sold my bike``."""
    while found and at + 2 < len(words) and words[at].lower in ("and", "then", "but", ","):
        after = at + 1
        while after < len(words) - 1 and (
            words[after].lower in ("and", "then", "also") or words[after].lower in ADVERBS
        ):
            after += 1
        if words[at].lower == "," and words[at + 1].lower == "like":
            return at  # "slow mornings, like the ones in May": no verb
        reading = find_lemma(words[after].lower)
        last = found[-1]
        if words[after].lower in STATES and _shares_copula(last):
            # "I'm married to Paul and allergic to kiwi": the verb is shared as well.
            end = find_clause_end(words, after, names)
            found.append(
                replace(
                    last,
                    rest=tuple(words[after:end]),
                    start=words[after].start,
                    end=words[end - 1].end,
                    lead=(),
                    is_coordinated=True,
                )
            )
            at = end
            continue
        is_sure = is_work(words, after) or _tells_state(last, words, after)
        is_parallel = reading is not None and _is_parallel(last, reading.forms, words, after)
        if not is_sure and not is_parallel:
            return at
        clause, end = _parse_verb_phrase(
            words,
            after,
            last.person,
            last.subject_words,
            words[after].start,
            names,
            like=None if is_sure else last.tense,
        )
        if clause is None:
            return at
        found.append(replace(clause, is_coordinated=True))
        at = max(end, after + 1)
    return at


def _shares_copula(clause: EnglishClause) -> bool:
    """True for a clause with "am" or "is", which a state behind it may share."""
    return clause.surface in BE and clause.tense == "present" and not clause.negated


def drop_addressee(
    words: tuple[ClauseToken, ...], names: frozenset[str]
) -> tuple[ClauseToken, ...]:
    """Drop the addressee at the end: ``I love the thought Nate``."""
    is_addressed = len(words) > 2 and words[-1].lower in names
    before = words[-2].lower if is_addressed else "to"
    is_joined = before in PREPOSITIONS or before in DETERMINERS or before in ("and", "to")
    return words if is_joined else words[:-1]


def _tells_state(last: EnglishClause, words: Sequence[ClauseToken], at: int) -> bool:
    """True for "am allergic" or "is vegan" behind a clause of the present, whose subject it shares."""
    is_state_form = words[at].lower == _STATE_FORMS[last.person]
    is_present = last.tense == "present"
    return is_present and is_state_form and words[at + 1].lower in STATES


def _is_parallel(
    last: EnglishClause, forms: frozenset[VerbForm], words: Sequence[ClauseToken], at: int
) -> bool:
    """True if a verb here has the tense of the verb before, whose subject it then shares."""
    form = "s" if last.person == "other" and last.tense == "present" else _SHARED.get(last.tense)
    if form not in forms:
        return False
    following = words[at + 1].lower if at + 1 < len(words) else ""
    is_open = following in DETERMINERS or following in PREPOSITIONS or following in _OPEN
    if last.tense == "present":
        words_between = {last.infinitive, *(word.lower for word in last.rest)}
        return (is_open or following[:1].isdigit()) and (
            last.person == "other" or _OTHERS_VERB.isdisjoint(words_between - {""})
        )
    return form == "ing" or "base" not in forms or (form == "past" and following in DETERMINERS)


def _parse_verb_phrase(  # noqa: PLR0913 - the state of the parser
    words: Sequence[ClauseToken],
    at: int,
    person: Person,
    subject_words: tuple[ClauseToken, ...],
    start: int,
    names: frozenset[str],
    like: Tense | None = None,
) -> tuple[EnglishClause | None, int]:
    read = parse_verb_group(words, at, like)
    if read is None:
        return None, at
    end = find_clause_end(words, read.after, names)
    rest = tuple(words[read.after : end])
    stop = rest[-1].end if rest else words[read.after - 1].end
    clause = EnglishClause(
        person=person,
        subject_words=subject_words,
        verb=read.verb,
        surface=read.surface,
        tense=read.tense,
        negated=read.negated,
        hedged=read.hedged,
        adverbs=read.adverbs,
        rest=rest,
        start=start,
        end=stop,
        lead=(),
        infinitive=read.infinitive,
    )
    return clause, end
