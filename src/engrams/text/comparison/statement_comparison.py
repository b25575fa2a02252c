"""Comparison of two statements: whether they say the same to a reader.

Enter at ``compare_statements``; ``differ_in_detail`` asks only for what no paraphrase changes.
Function words decide as much as names do: "before meals" is not "after meals". Where the language
has no table, only equal words are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from engrams.text.comparison.language_tables import (
    TableWord,
    WordRole,
    detect_language,
    load_table,
)
from engrams.text.comparison.statement_words import (
    PAST_MARK,
    StatementWords,
    holds_phrase,
    read_words,
)
from engrams.text.name_order import is_reordered
from engrams.text.stems import stem_word

_COMPOUND_LINKS = frozenset(("for", "fur", "para", "pour", "de"))
"""Words that link the parts of a measure which a compound gives without them."""
_PHRASE_ROLES: tuple[WordRole, ...] = ("preposition", "deciding")
"""Roles of words that begin a phrase."""
StatementRelation: TypeAlias = Literal["same", "less", "more", "different"]
"""How a new statement says what a known one says: the same, only a part of it, more than it, or
something else."""


def compare_statements(new: str, known: str, predicate: str = "") -> StatementRelation:
    """Compare a new statement with a known one.

    ``predicate``: canonical predicate of the slot that both fill, whose words do not count: "lives
    in Berlin" and "moved to Berlin" are the same there.
    """
    language = _find_language(new, known)
    if language is None:
        return "different"
    new_words = read_words(new, language, predicate)
    known_words = read_words(known, language, predicate)
    if _is_same_measure(new_words, known_words, language):
        return "same"
    if _differ_in_detail(new_words, known_words) or is_reordered(new, known):
        return "different"
    return _relate_content(new_words, known_words)


def differ_in_detail(text_a: str, text_b: str, predicate: str = "") -> bool:
    """True if two statements differ in what no paraphrase changes.

    That is a function word that decides, a negation, number, unit, name, person or tense, two words
    that exclude each other, the order of names and numbers, which of the same words follow a
    preposition, or two things of which each has the other's place.
    """
    language = _find_language(text_a, text_b)
    if language is None:
        return True
    words_a = read_words(text_a, language, predicate)
    words_b = read_words(text_b, language, predicate)
    if _is_same_measure(words_a, words_b, language):
        return False
    if _differ_in_detail(words_a, words_b) or is_reordered(text_a, text_b):
        return True
    return _swap_places(words_a, words_b)


def differ_in_deciding_words(text_a: str, text_b: str) -> bool:
    """True if two values differ in a function word that decides, or exclude each other.

    Names and numbers may differ: "Berlin" is a less exact "Berlin, Germany".
    """
    language = _find_language(text_a, text_b)
    if language is None:
        return False
    words_a = read_words(text_a, language)
    words_b = read_words(text_b, language)
    return _count_deciding(words_a) != _count_deciding(words_b) or bool(
        _find_exclusive(words_a, words_b)
    )


def are_opposite(text_a: str, text_b: str) -> bool:
    """True if two statements contradict each other: "with milk", "without milk".

    They differ in two opposite words alone, or in a negation that one of them has.
    """
    language = _find_language(text_a, text_b)
    if not language or is_additional(text_a) or is_additional(text_b):
        return False
    words_a = read_words(text_a, language)
    words_b = read_words(text_b, language)
    only_a, only_b = _subtract(words_a, words_b)
    if len(only_a) > 1 or len(only_b) > 1:
        return False
    deciding_a = Counter(_count_deciding(words_a)) - _count_deciding(words_b)
    deciding_b = Counter(_count_deciding(words_b)) - _count_deciding(words_a)
    differing_a = [*only_a, *deciding_a.elements()]
    differing_b = [*only_b, *deciding_b.elements()]
    if words_a.persons != words_b.persons or is_reordered(text_a, text_b):
        return False
    table = load_table(language)
    match (differing_a, differing_b):
        case ([word_a], [word_b]):
            line = table.opposites.get(word_a)
            return line is not None and line == table.opposites.get(word_b)
        case ([word], []) | ([], [word]):
            return word in table.negations
        case _:
            return False


def tells_end_of(text: str, earlier_text: str) -> bool:
    """True for the same words with "no longer": what they said is over."""
    language = _find_language(text, earlier_text)
    if not language:
        return False
    over = load_table(language).over
    if not over or is_reordered(text, earlier_text):
        return False
    words = read_words(text, language)
    earlier_words = read_words(earlier_text, language)
    added = Counter(_count_deciding(words)) - _count_deciding(earlier_words)
    is_same = (
        frozenset(words.content) == frozenset(earlier_words.content)
        and words.persons == earlier_words.persons
        and added.total() == len(words.deciding) - len(earlier_words.deciding)
    )
    marker, *companions = over
    return is_same and set(added) - set(companions) == {marker} and len(added) == min(len(over), 2)


def is_turned_round(text: str, earlier_text: str) -> bool:
    """True for the same words of which others follow a preposition or "than", or two are exchanged.

    "I prefer spaces over tabs" turns "I prefer tabs over spaces" round.
    """
    language = _find_language(text, earlier_text)
    if not language:
        return False
    words = read_words(text, language)
    earlier_words = read_words(earlier_text, language)
    return _count_deciding(words) == _count_deciding(earlier_words) and (
        _swap_places(words, earlier_words) or _exchange_things(words, earlier_words)
    )


def is_additional(text: str) -> bool:
    """True for a statement of one more value beside others: "I also work at Volvo"."""
    return holds_phrase(text, detect_language(text), "additional")


def is_of_its_day(text: str) -> bool:
    """True for a statement that names the day on which it is made: "I ran five miles today"."""
    return holds_phrase(text, detect_language(text), "relative")


def _find_language(text_a: str, text_b: str) -> str | None:
    """Return the language of both texts; empty: unknown; None: they are of two languages."""
    language_a = detect_language(text_a)
    language_b = detect_language(text_b)
    if language_a and language_b and language_a != language_b:
        return None
    return language_a or language_b


def _is_same_measure(words_a: StatementWords, words_b: StatementWords, language: str) -> bool:
    """True if two statements give one measure, once as a compound: "4-space", "four spaces for".

    Within a compound no word tells how its parts belong together, so neither the order nor the
    words that link them decide. All else must be equal.
    """
    if words_a.has_measure_compound == words_b.has_measure_compound:
        return False
    linking_words = set(words_a.deciding) ^ set(words_b.deciding)
    stems_a, stems_b = (
        sorted(stem_word(word, language) for word in words.content) for words in (words_a, words_b)
    )
    return (
        stems_a == stems_b
        and len(words_a.numbers) == 1
        and words_a.persons == words_b.persons
        and {word for word, _ in linking_words} <= _COMPOUND_LINKS
    )


def _differ_in_detail(words_a: StatementWords, words_b: StatementWords) -> bool:
    if words_a.deciding != words_b.deciding and _differ_in_deciding(words_a, words_b):
        return True
    if words_a.persons != words_b.persons:
        return True
    if sorted(words_a.numbers) != sorted(words_b.numbers):
        return True
    only_a, only_b = _subtract(words_a, words_b)
    if words_a.names & only_a or words_b.names & only_b:
        return True
    if _differ_in_tense(only_a, only_b) or _differ_in_tense(only_b, only_a):
        return True
    return bool(_find_exclusive(words_a, words_b)) or _exchange_things(words_a, words_b)


def _differ_in_deciding(words_a: StatementWords, words_b: StatementWords) -> bool:
    """True if two statements differ in their deciding words.

    One of these may stand anywhere; of several each belongs to the words after it.
    """
    if _count_deciding(words_a) != _count_deciding(words_b):
        return True
    return len(words_a.deciding) > 1 and Counter(words_a.deciding) != Counter(words_b.deciding)


def _differ_in_tense(only_past: frozenset[str], only_present: frozenset[str]) -> bool:
    """True if a verb stands in the past in one statement and in the present in the other."""
    return any(PAST_MARK + word in only_past for word in only_present)


def _relate_content(new: StatementWords, known: StatementWords) -> StatementRelation:
    """Relate statements that differ in no detail by their words of content."""
    if not new.content or not known.content:
        return "same" if new.content == known.content else "different"
    extra, missing = _subtract(new, known)
    if extra and not missing and extra <= new.light and known.has_copula:
        extra = frozenset()
    elif missing and not extra and missing <= known.light and new.has_copula:
        missing = frozenset()
    if extra and missing:
        return "different"
    if not (new.has_copula or known.has_copula) and _is_other_order(new, known):
        return "different"
    if extra:
        return "more"
    return "less" if missing else "same"


def _swap_places(words_a: StatementWords, words_b: StatementWords) -> bool:
    """True for the same words of which others follow a preposition: "tabs over spaces".

    With a form of "to be" the sides of a sentence may change places.
    """
    if words_a.has_copula or words_b.has_copula or words_a.moving == words_b.moving:
        return False
    is_same_content = frozenset(words_a.content) == frozenset(words_b.content)
    return is_same_content and _is_other_order(words_a, words_b)


def _exchange_things(words_a: StatementWords, words_b: StatementWords) -> bool:
    """True if two things have each other's place: "coffee in the morning, tea at night".

    All other words stay where they are, and words between the two tell the places apart. A phrase
    with its own preposition has no place that counts, nor has an item of a list.
    """
    sequence_a, sequence_b = words_a.sequence, words_b.sequence
    spellings_a = [word.canonical for word in sequence_a]
    spellings_b = [word.canonical for word in sequence_b]
    if spellings_a == spellings_b or sorted(spellings_a) != sorted(spellings_b):
        return False
    is_equal = [word_a == word_b for word_a, word_b in zip(spellings_a, spellings_b, strict=True)]
    start = is_equal.index(False)
    end = len(is_equal) - is_equal[::-1].index(False)
    changed_a, changed_b = spellings_a[start:end], spellings_b[start:end]
    words = sequence_a[start:end]
    length = len(words)
    return any(
        _separates(words[first:last])
        and words[0].role not in _PHRASE_ROLES
        and words[last].role not in _PHRASE_ROLES
        and changed_b == [*changed_a[last:], *changed_a[first:last], *changed_a[:first]]
        for first in range(1, length - 1)
        for last in range(first + 1, length)
    )


def _separates(words: Sequence[TableWord]) -> bool:
    """True if words between two things tell their places apart."""
    return any(word.role in _PHRASE_ROLES or word.group >= 0 for word in words)


def _is_other_order(words_a: StatementWords, words_b: StatementWords) -> bool:
    """True if the words that both share stand in another order, as in "dogs chase cats".

    A phrase that begins with a preposition may stand anywhere.
    """
    moving = words_a.moving & words_b.moving
    shared = set(words_a.content) & set(words_b.content) - moving
    order_a = dict.fromkeys(word for word in words_a.content if word in shared)
    order_b = dict.fromkeys(word for word in words_b.content if word in shared)
    return list(order_a) != list(order_b)


def _count_deciding(words: StatementWords) -> Counter[str]:
    return Counter(word for word, _ in words.deciding)


def _subtract(
    words_a: StatementWords, words_b: StatementWords
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of content that only the first has, and that only the second has."""
    content_a = frozenset(words_a.content)
    content_b = frozenset(words_b.content)
    return content_a - content_b, content_b - content_a


def _find_exclusive(words_a: StatementWords, words_b: StatementWords) -> frozenset[str]:
    """Return the words of both that exclude each other, one of each pair in either statement."""
    only_a = words_a.groups - words_b.groups
    only_b = words_b.groups - words_a.groups
    groups = {group for group, _ in only_a} & {group for group, _ in only_b}
    return frozenset(word for group, word in only_a | only_b if group in groups)
