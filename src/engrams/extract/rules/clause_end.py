"""Ends of clauses: where the words behind a verb stop."""

from __future__ import annotations

from collections.abc import Sequence

from engrams.extract.rules.clause_subject import CUT, LEAD, PRONOUN, match_possessed
from engrams.extract.rules.english_lexicon import ADVERBS, BE, DETERMINERS, PREPOSITIONS, find_lemma
from engrams.extract.rules.sentence_segmenter import ClauseToken
from engrams.text.vocabulary import read_vocabulary
from engrams.text.word_list import word_set

_PURE = word_set(
    "go goes live lives stay stays listen listens talk talks sit sits eat eats drink drinks write"
    " writes sing sings swim swims"
)
FINITE = word_set(
    "is 's was are were makes make helps help brings bring has means can will keeps gives allows"
    " feels takes would could sounds have had let lets must should might may will made gave"
)


_MODAL = frozenset(("would", "could", "should", "will", "can", "'s", "have", "has"))
_QUANTITIES = word_set(
    "all both everyone many most people some one two three four five six seven eight nine ten"
    " twelve twenty life things work"
)
_EFFECTS = frozenset(("brings", "feels", "gives", "helps", "keeps", "lets", "makes", "means"))
_TIMES = word_set(read_vocabulary(__file__, "times"))
_DAYS = frozenset(("last", "today", "tomorrow", "tonight", "yesterday"))
_HEDGING = frozenset(("guess", "reckon", "suppose", "think"))
_RELATIVE = frozenset(("where", "which", "who", "when"))
_PARTS = frozenset(("part", "parts", "one", "ones", "way", "time", "case"))
_JOINTS = frozenset(("as", "where", "since", "after", "before", "once", "how", "then"))
_VERBAL = word_set(
    "bring buy build create eat gather give go keep make meet organise organize plan share sing"
    " take teach write"
)
_LISTED = 24
_LONGEST = 28
_STOPPERS = word_set("""
    but so because turns which who where and? then my our can could would will what how why when if too though right lol haha btw please
    thanks
    especially although while since as with? not maybe hopefully so here yes yeah send nobody me lucky tell sorry
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
            continue
        if lower in _RELATIVE and (aside := _find_aside(words, at, place)):
            return aside
        if lower == "," and _joins_clause(words, place):
            return _find_first_verb(words, at, place)
        if _stops(words, place, at) or (lower == "," and _stops_at_comma(words, place, names)):
            return place
        if lower in ("which", "who") and words[place - 1].lower == ",":
            return place - 1
        if place - at > _LONGEST:
            return place
    return len(words)


def _stops(words: Sequence[ClauseToken], place: int, at: int) -> bool:
    """True if the clause ends at this mark or word."""
    lower = words[place].lower
    following = words[place + 1].lower if place + 1 < len(words) else ""
    if lower in (":", "(", ")", ";", "...", "!", "?", "because") or (lower in CUT and place > at):
        return True
    if lower == "and" and place + 1 < len(words):
        return _starts_another(words, place + 1)
    if lower == "so":
        begins = following in PRONOUN or following in ("my", "our", "that", "then")
        return place > at and (begins or (bool(following) and _starts_remark(words, place + 1)))
    if (
        lower == "i"
        and place > at
        and (following in _HEDGING or words[place - 1].lower in ("ago", "yesterday", "now"))
    ):
        return words[place - 1].lower not in PRONOUN and following != ""
    return lower in _JOINTS and place > at and following in PRONOUN | {"i", "we", "my"}


def _starts_another(words: Sequence[ClauseToken], at: int) -> bool:
    """True if a sentence or a verb of its own follows "and"."""
    after = words[at + 1].lower if at + 1 < len(words) else ""
    if words[at].lower == "others" and after in ("do", "did", "ca", "can", "have"):
        return True
    return (
        words[at].lower in PRONOUN
        or _starts_clause(words, at)
        or _starts_predicate(words, at)
        or _starts_statement(words, at)
    )


def _stops_at_comma(words: Sequence[ClauseToken], place: int, names: frozenset[str]) -> bool:
    """True if something else begins behind a comma."""
    if place + 1 == len(words):
        return True
    following = words[place + 1].lower
    if (
        following == "its"
        and place + 2 < len(words)
        and (words[place + 2].lower in ADVERBS or words[place + 2].lower in DETERMINERS)
    ):
        return True  # ", its a bit burnt"
    if (
        words[place + 1].text[0].isupper()
        and place + 2 < len(words)
        and words[place + 2].lower in BE
    ):
        return True  # "I'm not vegetarian, Nora is"
    if following == "just" and place + 2 < len(words) and words[place + 2].lower == "me":
        return True
    return (
        following in PRONOUN
        or (following in _STOPPERS and not _is_also(words, place + 1))
        or following in names
        or following in _VERBAL
        or _starts_predicate(words, place + 1)
        or _starts_remark(words, place + 1)
    )


def _joins_clause(words: Sequence[ClauseToken], place: int) -> bool:
    """True for ``, and we …`` and ``, and sold …``."""
    if place + 2 >= len(words) or words[place + 1].lower not in ("and", "or"):
        return False
    return (
        words[place + 2].lower in PRONOUN | {"my", "our"}
        or _starts_predicate(words, place + 2)
        or _starts_statement(words, place + 2)
    )


def _find_aside(words: Sequence[ClauseToken], at: int, end: int) -> int:
    """Find the comma of an aside that a relative clause cuts.

    0 without one: ``, specifically the part where``.
    """
    comma = next((i for i in range(end - 1, max(at, end - 5), -1) if words[i].lower == ","), 0)
    return comma if comma and words[end - 1].lower in _PARTS else 0


def _find_first_verb(words: Sequence[ClauseToken], at: int, end: int) -> int:
    """Find the end of the first of several verbs.

    In ``We watch movies, hike, and have game nights`` it is the first comma.
    """
    for place in range(at + 1, end - 1):
        known = find_lemma(words[place + 1].text) if words[place].lower == "," else None
        if known and "base" in known[1] and words[end + 2].lower not in PRONOUN:
            return place
    return end


def _is_list(words: Sequence[ClauseToken], at: int) -> bool:
    """True if only names of things follow: ``two tools: ruff and mypy``."""
    tail = words[at:]
    return 0 < len(tail) <= _LISTED and not any(
        word.lower in PRONOUN
        or word.lower in BE
        or word.lower in FINITE
        or word.lower in (":", "my", "our", "you")
        for word in tail
    )


def _is_also(words: Sequence[ClauseToken], at: int) -> bool:
    return [word.lower for word in words[at : at + 3]] == ["as", "well", "as"]


def _starts_remark(words: Sequence[ClauseToken], at: int) -> bool:
    """True if another sentence follows: ``, the effects are so cool``."""
    first = words[at].lower
    if first == "like":
        return at + 1 < len(words) and words[at + 1].lower in PRONOUN
    if first in LEAD and _starts_timed(words, at):
        return True
    gerund = first.endswith("ing")
    if not (gerund or first in DETERMINERS or first in _QUANTITIES):
        return False
    for word in words[at + 1 : at + 7]:
        if word.lower in BE or word.lower in _MODAL or (gerund and word.lower in _EFFECTS):
            return True
        if word.lower in CUT or word.lower in PRONOUN or word.lower in (",", "and", "who", ":"):
            break
    return not gerund and _tells_past(words, at)


def _starts_statement(words: Sequence[ClauseToken], at: int) -> bool:
    """True if a sentence follows "and"; a gerund may share its verb."""
    return not words[at].lower.endswith("ing") and _starts_remark(words, at)


def _starts_timed(words: Sequence[ClauseToken], at: int) -> bool:
    """True for a time before a subject: ``, last Sunday we``."""
    place = next(
        (
            i
            for i in range(at, min(at + 6, len(words)))
            if words[i].lower not in LEAD and not words[i].text[0].isdigit()
        ),
        at,
    )
    subject = words[place].lower
    if subject in PRONOUN:
        return subject not in ("that", "this", "these", "those", "who", "what")
    if not any(word.text[0].isdigit() or word.lower in _TIMES for word in words[at:place]):
        return False
    return (
        _starts_clause(words, place)
        or _tells_past(words, place - 1)
        or _starts_predicate(words, place)
    )


def _tells_past(words: Sequence[ClauseToken], at: int) -> bool:
    """True for a noun and its verb: ``, the box only arrived``."""
    for place in range(at + (1 if words[at].lower in _QUANTITIES else 2), min(at + 5, len(words))):
        known = find_lemma(words[place].lower)
        if known and known[1] & {"past", "s"} and "base" not in known[1]:
            after = words[place + 1].lower if place + 1 < len(words) else "on"
            return (
                words[place - 1].lower not in DETERMINERS
                and after in PREPOSITIONS | DETERMINERS | ADVERBS | PRONOUN | _DAYS | {"more"}
            )
        if words[place].lower in PREPOSITIONS or not words[place].text[0].isalnum():
            return False
    return False


def _starts_clause(words: Sequence[ClauseToken], at: int) -> bool:
    """True if a new subject with a verb starts here."""
    return (
        words[at].lower in ("my", "our", "the") and match_possessed(words, at) is not None
        if at < len(words)
        else False
    )


def _starts_predicate(words: Sequence[ClauseToken], at: int) -> bool:
    """True if a verb here must be another predicate: ``and sold``."""
    while at < len(words) and words[at].lower in ADVERBS:
        at += 1
    if at >= len(words):
        return False
    lower = words[at].lower
    if is_work(words, at):
        return True
    if lower in BE or lower in ("have", "has", "had", "will", "did", "do", "does", "'ll", "'ve"):
        return True
    known = find_lemma(lower)
    if known is None or at + 1 >= len(words):
        return False
    following = words[at + 1].lower
    if known[0] in ("hope", "need", "want") and following == "to":
        return True
    open_ended = following in DETERMINERS or following in PREPOSITIONS
    return (
        "past" in known[1] and ("base" not in known[1] or open_ended) and known[1] != {"part"}
    ) or (
        bool(known[1] & {"base", "s"})
        and (following in DETERMINERS or (lower in _PURE and following in PREPOSITIONS))
    )


def is_work(words: Sequence[ClauseToken], at: int) -> bool:
    """True for "work as", a fact of its own."""
    return (
        at + 1 < len(words)
        and words[at].lower in ("work", "works")
        and words[at + 1].lower in ("as", "at", "for")
    )
