"""Meanings of English clauses, read by the table ``vocabulary/meanings.txt``: predicate and object.

Enter at ``read_meanings``. A row names verbs, tenses and what follows the verb; the first row that
fits tells predicate, object and effect. A clause that fits no row has no triple.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import takewhile
from typing import TypeAlias

from engrams.core import Kind
from engrams.extract.candidate import Effect
from engrams.extract.rules.clause_parser import EnglishClause
from engrams.extract.rules.english_lexicon import (
    ADVERBS,
    DETERMINERS,
    PREPOSITIONS,
    find_lemma,
    third_person,
)
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.extract.rules.utterance import FAINT
from engrams.extract.rules.word_classes import (
    CLASSES,
    RELATIONS,
    cut_role,
    find_head_noun,
    is_concrete,
    is_content,
    match_proper_name,
    trim_intensity,
    trim_trailing,
)
from engrams.frozen_data import dataclass, replace
from engrams.text.vocabulary import read_classes, read_rows, word_set

Words: TypeAlias = tuple[ClauseToken, ...]
_CATEGORIES = {
    predicate: category
    for category, predicates in read_classes(__file__, "predicates").items()
    for predicate in predicates
}
_IMPORTANCE = {
    "home": 0.8,
    "health": 0.8,
    "work": 0.7,
    "family": 0.7,
    "identity": 0.7,
    "education": 0.6,
    "preference": 0.6,
}
_CONFIDENCE = {"plan": 0.7, "possession": 0.75, "event": 0.8, "home": 0.9, "health": 0.9}
_FAINT = word_set("kinda kind sort pretty lately recently currently")
_TENSES = {
    "present": "now",
    "progressive": "now coming",
    "been": "now",
    "past": "done",
    "was": "done",
    "perfect": "done",
    "future": "coming",
    "must": "coming",
    "used": "now",
}
_DEGREES = word_set("very well much that often enough really fluently")
_OVER = word_set("anymore longer more")
_HOME = "lives_in"
_LIMITS = frozenset(("self", "somebody", "negated", "asserted"))
"""Words of a row's tenses that limit it: all of them must hold."""
_PARTICLES = word_set("back over out here up down away together around off along forward")
_NO_OBJECT = word_set("how when that what seeing hearing having if")
_AFTER_GOAL = word_set("on for at by with until since because so and")
"""Words behind a place that somebody goes to: "to Rome for a wedding"."""
_HELPS = word_set("make find give get leave set put share help bring ensure")
_JOB_ENDINGS = ("ologist", "ographer", "ician", "tician")
_PASSING = word_set(
    "job lives_in works_at studies_at is_a is_named diet marital_status married_to engaged_to trait"
)
"""Predicates of which somebody has another later: in the past they are no value of today."""
_CLASS = re.compile(r"\{(\w+):(=?)((?:[^{}]|\{[\d,]+\})*)\}")
_WORD_CLASS = re.compile(r"(?<!\?P)<(\w+)>")


@dataclass(frozen=True, slots=True)
class ClauseMeaning:
    """Predicate and object of a clause."""

    predicate: str
    object: tuple[ClauseToken, ...] = ()
    value: str = ""
    """Object where it is not just its tokens."""
    effect: Effect = "states"
    polarity: bool = True
    is_event: bool = False
    is_family: bool = False
    """The object is a relative or a pet."""
    is_weak: bool = False
    """A liking of late, or a faint one: "I've been enjoying tea"."""

    @property
    def category(self) -> str:
        if self.predicate == "has" and self.is_family:
            return "family"
        return _CATEGORIES.get(self.predicate, "knowledge")

    @property
    def confidence(self) -> float:
        return FAINT if self.is_weak else _CONFIDENCE.get(self.category, 0.85)

    @property
    def importance(self) -> float:
        return _IMPORTANCE.get(self.category, 0.5)

    @property
    def is_wish(self) -> bool:
        return self.predicate == "wants_to"

    @property
    def kind(self) -> Kind:
        is_liking = self.predicate in ("likes", "prefers", "interested_in", "passionate_about")
        return Kind.PREFERENCE if is_liking and self.effect != "ends" else Kind.FACT


@dataclass(frozen=True, slots=True)
class MeaningRow:
    """A row of the table."""

    tenses: frozenset[str]
    pattern: re.Pattern[str]
    """Groups are predicates, with an effect of their own after two underscores."""
    classes: dict[str, str]
    """Class of each group's words; a group without one has no object."""
    effect: str
    """``states``, ``changes``, ``ends``; ``event`` or ``no`` (dislikes)."""


@dataclass(frozen=True, slots=True)
class _Rest:
    """Words after a verb, joined with blanks."""

    words: Words
    is_lowercase: bool

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    def slice(self, start: int, end: int) -> _Rest:
        """Return what lies at characters of ``text``."""
        position = 0
        chosen = []
        for word in self.words:
            if start <= position < end:
                chosen.append(word)
            position += len(word.text) + 1
        return _Rest(tuple(chosen), self.is_lowercase)


def read_meanings(clause: EnglishClause, *, is_lowercase: bool) -> tuple[ClauseMeaning, ...]:
    """Read what a clause says; several where it says several, none where it is not certain."""
    words = trim_trailing(clause.rest)
    if not clause.negated:  # Who does not drink tea a lot drinks some.
        words = trim_intensity(words)
    tenses = _list_tenses(clause)
    start = 0
    while start < len(words) and words[start].lower in _PARTICLES:
        start += 1
    for tail in (words, words[start:]) if start else (words,):
        meanings = _match_rows(clause, tenses, _Rest(tail, is_lowercase))
        if meanings:
            adjusted = (_apply_tense(meaning, clause) for meaning in meanings)
            return tuple(meaning for meaning in adjusted if meaning is not None)
    return ()


def says_nothing(clause: EnglishClause) -> bool:
    """True for a clause that is no statement: "I left Acme at 6 to catch the train"."""
    rows = _rows_of_verb(f"{clause.verb}!")
    if not rows or clause.tense not in ("past", "perfect"):
        return False
    text = _Rest(clause.rest, False).text
    return any(row.pattern.fullmatch(text) for row in rows)


def _list_tenses(clause: EnglishClause) -> frozenset[str]:
    tenses = {clause.tense, "any", *_TENSES.get(clause.tense, "").split()}
    if clause.tense == "perfect" and (clause.lasting or clause.verb == "be"):
        tenses.add("now")
    if clause.tense == "can" and clause.verb not in CLASSES["able"] and not clause.negated:
        tenses.discard("can")
    if clause.tense in ("would", "future", "must"):
        tenses.discard("any")
    if clause.person == "self":
        tenses.add("self")
    if _is_somebody(clause):
        tenses.add("somebody")
    tenses.add("negated" if clause.negated else "asserted")
    return frozenset(tenses)


def _is_somebody(clause: EnglishClause) -> bool:
    """True if the subject is a person or a pet: "my locker is 212" tells no age."""
    words = clause.subject_words
    if len(words) < 2:
        return True
    return words[-1].lower in RELATIONS or words[-1].text[0].isupper()


def _match_rows(
    clause: EnglishClause, tenses: frozenset[str], rest: _Rest
) -> tuple[ClauseMeaning, ...]:
    text = rest.text
    for row in _rows_of_verb(clause.verb):
        needed = row.tenses & _LIMITS
        if not needed <= tenses or row.tenses.isdisjoint(tenses - _LIMITS):
            continue
        match = row.pattern.fullmatch(text)
        if match is None:
            continue
        meanings = _take_objects(row, match, rest, clause)
        if meanings:
            return meanings
    return ()


def _take_objects(
    row: MeaningRow, match: re.Match[str], rest: _Rest, clause: EnglishClause
) -> tuple[ClauseMeaning, ...]:
    """Make a meaning of each group that took part; none if one takes no such words."""
    meanings = []
    for group in row.pattern.groupindex:
        start, end = match.span(group)
        if start < 0:
            continue
        kind = row.classes.get(group)
        named = rest.slice(start, end)
        words = _TAKE[kind](named) if kind else ()
        if words is None:
            return ()
        is_cut = kind in ("NAME", "PLACE") and len(words) < len(named.words)
        if is_cut and clause.negated and named.words[-1].lower not in _OVER:
            return ()  # "I didn't move to Naples alone" denies no move
        predicate, _, effect = group.partition("__")
        if predicate == _HOME and _leaves_tool(rest, words):
            return ()
        meaning = ClauseMeaning(
            predicate,
            words,
            effect=effect or (row.effect if row.effect in ("changes", "ends") else "states"),  # type: ignore[arg-type]  # words of the table
            polarity=row.effect != "no",
            is_event=row.effect == "event" or (row.effect != "states" and "done" in row.tenses),
            is_family=find_head_noun(words) in RELATIONS,
        )
        meanings.append(_name_verb(meaning, row, clause))
    return tuple(meanings)


def _leaves_tool(behind: _Rest, goal: Words) -> bool:
    """True for a move between tools: "from Jenkins to Forgejo", "from rsyslog to vector".

    A writer who has capitals has them for places.
    """
    if any(word.lower in CLASSES["tool"] for word in behind.words):
        return True
    is_from = bool(behind.words) and behind.words[0].lower == "from"
    return is_from and not behind.is_lowercase and all(word.text.islower() for word in goal)


def _name_verb(meaning: ClauseMeaning, row: MeaningRow, clause: EnglishClause) -> ClauseMeaning:
    """Put the verb where it belongs: "move to Rome" is a plan, who stopped smoking "smokes" no more."""
    if "+verb" in row.tenses:
        words = " ".join(word.text for word in meaning.object)
        return replace(meaning, value=f"{clause.verb} {words}")
    if meaning.predicate == "stopped":
        lemma = find_lemma(meaning.object[0].lower)
        verb = lemma.base if lemma else meaning.object[0].lower
        return replace(meaning, predicate=third_person(verb), object=meaning.object[1:])
    return meaning


def _apply_tense(meaning: ClauseMeaning, clause: EnglishClause) -> ClauseMeaning | None:
    """Adjust a meaning to tense and negation; None where they leave nothing certain."""
    if clause.person == "group" and "all" in clause.adverbs:
        return None  # "we all have our paths" is about everybody
    last = [word.lower for word in clause.rest[-2:]]
    is_over = "no longer" in clause.adverbs or (clause.negated and not _OVER.isdisjoint(last))
    if is_over or clause.tense == "used":
        return replace(meaning, effect="ends", polarity=True)
    is_faint = not _FAINT.isdisjoint(clause.adverbs)
    if meaning.predicate == "likes":
        # "I can't stand it" tells of now, as "I hate it" does.
        is_present = clause.tense == "present" or (clause.tense == "can" and clause.negated)
        meaning = replace(meaning, is_weak=is_faint or not is_present)
    elif meaning.kind is Kind.PREFERENCE:
        meaning = replace(meaning, is_weak=is_faint)
    if clause.negated:
        return _deny(meaning, clause, last)
    is_past_state = clause.verb == "be" and clause.tense == "past" and not meaning.is_event
    if is_past_state and meaning.predicate in _PASSING and meaning.effect == "states":
        return replace(meaning, predicate=f"was_{meaning.predicate}")
    return meaning


def _deny(
    meaning: ClauseMeaning, clause: EnglishClause, last: Sequence[str]
) -> ClauseMeaning | None:
    if meaning.effect in ("changes", "ends") and clause.tense not in ("past", "perfect"):
        return None
    if clause.infinitive and clause.verb != "decide":
        return None  # "I don't plan to" plans nothing else
    if meaning.predicate != "likes" and not _DEGREES.isdisjoint(last):
        return None  # "I don't speak Thai very well" denies little
    return replace(meaning, polarity=not meaning.polarity)


def _take_words(rest: _Rest) -> Words | None:
    return rest.words


def _take_name(rest: _Rest) -> Words | None:
    return match_proper_name(rest.words, is_lowercase=rest.is_lowercase) or None


def _take_place(rest: _Rest) -> Words | None:
    if rest.words and rest.words[0].lower in CLASSES["day"]:
        # "My therapist moved to Tuesdays."
        return None
    name = match_proper_name(rest.words, is_lowercase=rest.is_lowercase)
    if name:
        return None if name[0].lower in CLASSES["tool"] else name
    bare = [word for word in rest.words if word.lower not in ("now", "too", "currently")]
    is_name = 0 < len(bare) <= 2 and all(_may_name_place(word) for word in bare)
    return tuple(bare) if is_name and is_concrete(bare) else None


def _may_name_place(word: ClauseToken) -> bool:
    """True for a word that may be a place in text without capitals: ``i live in berlin``."""
    is_function = word.lower in PREPOSITIONS or word.lower in DETERMINERS
    is_word = word.text.replace("-", "").isalpha()
    return is_word and word.lower not in CLASSES["kind"] and not is_function


def _take_own_name(rest: _Rest) -> Words | None:
    first = rest.words[0]
    name = match_proper_name(rest.words)
    if not first.text.istitle() or first.lower in ADVERBS or find_lemma(first.lower):
        return None
    after = rest.words[len(name)].lower if len(name) < len(rest.words) else ","
    is_end = after in (",", "and", "from", "by", "here")
    return name if is_end and len(name) < 4 else None


def _take_thing(rest: _Rest) -> Words | None:
    return rest.words if is_concrete(rest.words) else None


def _take_role(rest: _Rest) -> Words | None:
    role = cut_role(rest.words)
    return role if is_concrete(role) else None


def _take_job(rest: _Rest) -> Words | None:
    noun = find_head_noun(rest.words)
    is_job = noun in CLASSES["job"] or (len(noun) > 6 and noun.endswith(_JOB_ENDINGS))
    is_praised = any(word.lower in CLASSES["praise"] for word in rest.words[:2])
    if not is_job or is_praised or not is_concrete(rest.words):
        return None
    end = next(index for index, word in enumerate(rest.words) if word.lower == noun)
    return tuple(rest.words[: end + 1])


def _take_noun(rest: _Rest) -> Words | None:
    is_empty = find_head_noun(rest.words) in CLASSES["empty_head"]
    is_praised = any(word.lower in CLASSES["praise"] for word in rest.words[:2])
    return rest.words if is_concrete(rest.words) and not is_empty and not is_praised else None


def _take_language(rest: _Rest) -> Words | None:
    if rest.is_lowercase:
        return match_proper_name(rest.words, is_lowercase=True) or None
    names = tuple(
        takewhile(lambda word: word.text[0].isupper() or word.lower in (",", "and"), rest.words)
    )
    return trim_trailing(names) or None


def _take_liked(rest: _Rest) -> Words | None:
    """Take what is liked for good: "the sea" and "the Beatles", not "the movie"."""
    first = rest.words[0].lower
    if first in _NO_OBJECT or not is_concrete(rest.words):
        return None
    is_named = any(word.text[0].isupper() or word.lower == "of" for word in rest.words[1:])
    is_lasting = is_named or find_head_noun(rest.words) in CLASSES["generic"]
    return rest.words if is_lasting or first not in ("the", "his", "her", "its") else None


def _take_owned(rest: _Rest) -> Words | None:
    head = takewhile(lambda word: word.lower not in PREPOSITIONS, rest.words)
    is_vague = find_head_noun(rest.words) in CLASSES["vague"] and not any(map(is_content, head))
    return rest.words if is_concrete(rest.words) and not is_vague else None


def _take_goal(rest: _Rest) -> Words | None:
    is_vague = find_head_noun(rest.words) in CLASSES["vague"]
    return rest.words if is_concrete(rest.words) and not is_vague else None


def _take_tool(rest: _Rest) -> Words | None:
    tool = cut_role(rest.words)
    return tool if any(word.lower in CLASSES["tool"] for word in tool) else None


def _take_one_tool(rest: _Rest) -> Words | None:
    tool = cut_role(rest.words)
    return tool if len(tool) == 1 and is_concrete(tool) else None


def _take_towards(rest: _Rest) -> Words | None:
    """Take ``to Rome``, ``to a small town in Hove``; not on which day, nor what for."""
    is_goal = (
        rest.words[0].lower == "to"
        and _take_place(_Rest(rest.words[1:], rest.is_lowercase)) is not None
    )
    end = takewhile(lambda word: word.lower not in _AFTER_GOAL, rest.words)
    return tuple(end) if is_goal else None


def _take_action(rest: _Rest) -> Words | None:
    verb = rest.words[0].lower
    is_talk = verb in CLASSES["chatter"] and verb not in _HELPS
    is_made_sure = (
        verb == "make" and len(rest.words) > 1 and rest.words[1].lower in ("sure", "it", "that")
    )
    return None if is_talk or is_made_sure or not is_concrete(rest.words[1:]) else rest.words


def _take_gerund(rest: _Rest) -> Words | None:
    return _take_action(rest) if rest.words[0].lower.endswith("ing") else None


def _take_stopped(rest: _Rest) -> Words | None:
    lemma = find_lemma(rest.words[0].lower)
    return rest.words if lemma is not None and "ing" in lemma.forms else None


_TAKE: dict[str, Callable[[_Rest], Words | None]] = {
    "WORDS": _take_words,
    "NAME": _take_name,
    "PLACE": _take_place,
    "OWNNAME": _take_own_name,
    "THING": _take_thing,
    "ROLE": _take_role,
    "JOB": _take_job,
    "NOUN": _take_noun,
    "LANGUAGE": _take_language,
    "LIKED": _take_liked,
    "OWNED": _take_owned,
    "WHERE": _take_goal,
    "TOOL": _take_tool,
    "TOOLNAME": _take_one_tool,
    "TOWARDS": _take_towards,
    "ACTION": _take_action,
    "GERUND": _take_gerund,
    "VERBING": _take_stopped,
}


@cache
def _index_rows() -> dict[str, list[tuple[str, str, str]]]:
    """Read the table: tenses, what follows and effect of each row, by verb."""
    rows: dict[str, list[tuple[str, str, str]]] = {}
    for line in read_rows(__file__, "meanings"):
        verbs, tenses, shape, effect = (part.strip() for part in line.split(";"))
        for verb in verbs.split():
            rows.setdefault(verb, []).append((tenses, shape, effect))
    return rows


@cache
def _rows_of_verb(verb: str) -> tuple[MeaningRow, ...]:
    """Compile the rows of a verb on first use."""
    return tuple(_compile_row(*row) for row in _index_rows().get(verb, ()))


def _compile_row(tenses: str, shape: str, effect: str) -> MeaningRow:
    classes = {match[1]: "WORDS" if match[2] else match[3] for match in _CLASS.finditer(shape)}
    pattern = _CLASS.sub(lambda match: f"(?P<{match[1]}>{match[3] if match[2] else '.+?'})", shape)
    pattern = _WORD_CLASS.sub(_list_alternatives, pattern)
    return MeaningRow(
        frozenset(tenses.split()), re.compile(pattern, re.IGNORECASE), classes, effect
    )


def _list_alternatives(match: re.Match[str]) -> str:
    words = ADVERBS if match[1] == "adverb" else CLASSES[match[1]]
    return f"(?:{'|'.join(sorted(map(re.escape, words), reverse=True))})"
