"""Ends of clauses: where the words behind a verb stop."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.extract.rules.clause_subject import CUT, LEAD, PRONOUN, match_possessed
from engrams.extract.rules.english_lexicon import ADVERBS, BE, DETERMINERS, PREPOSITIONS, find_lemma
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.text.vocabulary import word_set

STATES = frozenset("allergic intolerant vegan vegetarian diabetic coeliac celiac".split())
"""States that share the subject of the clause before them: "and allergic to kiwi"."""
_PURE = word_set(
    "go goes live lives stay stays listen listens talk talks sit sits eat eats drink drinks write"
    " writes sing sings swim swims"
)
_FINITE = BE.keys() | word_set(
    "'s makes helps brings has means can will keeps gives allows feels would could should might may"
    " must have had did do does 'll 've my our you"
)
_HAS = BE.keys() | {"have", "has", "had", "will", "did", "do", "does", "'ll", "'ve"}
_ENDS = frozenset((":", "(", ")", ";", "...", "!", "?", "because"))
_AFTER_SO = PRONOUN | DETERMINERS | word_set("please no put shared keep let can could")
"""Words behind a "so" that begins what follows from a clause; not "so much"."""
_QUANTITIES = word_set(
    "all both everyone many most people some one two three four five six seven eight nine ten"
    " twelve twenty life things work"
)
_DAYS = frozenset(("last", "today", "tomorrow", "tonight", "yesterday", "more"))
_JOINTS = frozenset(("as", "where", "since", "after", "before", "once", "how", "then", "like"))
_VERBAL = word_set(
    "bring buy build create eat gather give go keep make meet organise organize plan share sing"
    " take teach write"
)
_LISTED = 24
_STOPPERS = word_set("""
    but so because turns which who where and? then my our can could would will what how why when if too though right lol haha btw please
    thanks just specifically
    especially although anyway anyways luckily unfortunately
    sadly fortunately apparently while since as with? not maybe hopefully so here yes yeah send nobody me lucky tell sorry
    """)


def find_clause_end(words: Sequence[ClauseToken], at: int, names: frozenset[str]) -> int:
    """Find the place behind the last word of a verb's clause.

    ``at``: the place behind the verb. ``names``: people known by name, in small letters.
    """
    inner = False
    for place in range(at, len(words)):
        lower = words[place].lower
        if lower == ":" and _is_list(words, place + 1):
            return len(words)
        if inner or (lower == "(" and words[place - 1].end == words[place].start):
            inner = lower != ")"  # VARCHAR(50)
        elif _stops(words, place, at) or (lower == "," and _stops_at_comma(words, place, names)):
            return place
    return len(words)


def _stops(words: Sequence[ClauseToken], place: int, at: int) -> bool:
    """True if the clause ends at this mark or word."""
    lower = words[place].lower
    following = words[place + 1].lower if place + 1 < len(words) else ""
    if lower in _ENDS or lower == "but" or (lower in CUT and place > at):
        return True
    if lower == "and" and following:
        return (
            following in PRONOUN
            or (following in STATES and place > at)
            or _starts_predicate(words, place + 1)
            or (not following.endswith("ing") and _starts_sentence(words, place + 1))
        )
    if lower == "so" and place > at:
        return following in _AFTER_SO
    return lower in _JOINTS and place > at and following in PRONOUN | {"i", "we", "my"}


def _stops_at_comma(words: Sequence[ClauseToken], place: int, names: frozenset[str]) -> bool:
    """True if something else begins behind a comma."""
    if place + 1 == len(words):
        return True
    word = words[place + 1]
    after = words[place + 2].lower if place + 2 < len(words) else ""
    return (
        word.lower in PRONOUN
        or word.lower in _VERBAL
        or (word.lower in _STOPPERS and [word.lower, after] != ["as", "well"])
        or word.lower in names
        or after in BE  # "I'm not vegetarian, Nora is", "he is called Wim, rent is 900"
        or _starts_predicate(words, place + 1)
        or _starts_sentence(words, place + 1)
        or _is_bare_verb(words, place + 1)
    )


def _is_bare_verb(words: Sequence[ClauseToken], at: int) -> bool:
    """True for the second of three verbs: ``I fix bikes, sew, and have choir nights``."""
    reading = find_lemma(words[at].lower)
    ends = [word.lower for word in words[at + 1 : at + 3]] == [",", "and"]
    return ends and bool(reading and "base" in reading.forms) and _starts_predicate(words, at + 3)


def _is_list(words: Sequence[ClauseToken], at: int) -> bool:
    """True if only names of things follow: ``two tools: ruff and mypy``."""
    tail = words[at:]
    return 0 < len(tail) <= _LISTED and not any(
        word.lower in PRONOUN or word.lower in _FINITE or word.lower == ":" for word in tail
    )


def _starts_sentence(words: Sequence[ClauseToken], at: int) -> bool:
    """True if another sentence follows: ``, the effects are so cool``, ``and in 2020 I``."""
    first = words[at].lower
    if first in ("my", "our", "the") and match_possessed(words, at) is not None:
        return True
    is_gerund = first.endswith("ing")
    if is_gerund or first in DETERMINERS or first in _QUANTITIES:
        tail = words[at + 1 : at + 7]
        is_finite = any(word.lower in _FINITE for word in tail)
        return is_finite or (not is_gerund and _tells_past(words, at))
    timed = at
    while timed < len(words) and (words[timed].lower in LEAD or words[timed].text[0].isdigit()):
        timed += 1
    if not at < timed < len(words):
        return False
    subject = words[timed].lower
    is_relative = subject in ("my", "our") and match_possessed(words, timed) is not None
    return subject in ("i", "we") or is_relative


def _tells_past(words: Sequence[ClauseToken], at: int) -> bool:
    """True for a noun and its verb: ``, the box only arrived``."""
    for place in range(at + (1 if words[at].lower in _QUANTITIES else 2), min(at + 5, len(words))):
        reading = find_lemma(words[place].lower)
        if reading and reading.forms & {"past", "s"} and "base" not in reading.forms:
            after = words[place + 1].lower if place + 1 < len(words) else "on"
            is_verb = words[place - 1].lower not in DETERMINERS
            return is_verb and after in PREPOSITIONS | DETERMINERS | ADVERBS | PRONOUN | _DAYS
    return False


def _starts_predicate(words: Sequence[ClauseToken], at: int) -> bool:
    """True if a verb here must be another predicate: ``and sold``."""
    while at < len(words) and words[at].lower in ADVERBS:
        at += 1
    lower = words[at].lower if at < len(words) else ""
    reading = find_lemma(lower) if at + 1 < len(words) else None
    if reading is None or lower in _HAS:
        return lower in _HAS
    following = words[at + 1].lower
    is_open = following in DETERMINERS or following in PREPOSITIONS
    is_past = (
        "past" in reading.forms
        and reading.forms != {"part"}
        and (is_open or "base" not in reading.forms)
    )
    is_present = bool(reading.forms & {"base", "s"}) and (
        following in DETERMINERS or (lower in _PURE and following in PREPOSITIONS)
    )
    return is_past or is_present or is_work(words, at)


def is_work(words: Sequence[ClauseToken], at: int) -> bool:
    """True for "work as", a fact of its own."""
    pair = [word.lower for word in words[at : at + 2]]
    return len(pair) == 2 and pair[0] in ("work", "works") and pair[1] in ("as", "at", "for")
