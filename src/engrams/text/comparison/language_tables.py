"""Tables of words by which two statements of a language are compared.

Enter at ``detect_language`` and ``load_table``. The tables are the TOML files beside this module.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from engrams.frozen_data import dataclass
from engrams.text.normalize import fold
from engrams.text.text_caches import text_cache

WordRole: TypeAlias = Literal["empty", "preposition", "person", "deciding", "number", "content"]

LANGUAGES = ("english", "german", "spanish", "french", "chinese", "japanese")
_LATIN_LANGUAGES = LANGUAGES[:4]
_ENGLISH = "english"
_ACCENTED = re.compile(r"[àâäáãçèéêëíîïñóôöúùûüœß¿¡]", re.IGNORECASE)
_SHORT_FORMS = frozenset(("mon",))
"""Short forms of English words that are whole words of other languages."""
_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+")
_UMLAUTS = (("ae", "a"), ("oe", "o"), ("ue", "u"))
"""Umlauts as they are typed without the letter, and as folding leaves them."""
_SYNONYM_LISTS: tuple[tuple[WordRole, str], ...] = (("person", "persons"), ("deciding", "deciding"))
"""Lists of lines of synonyms, with the role of their words."""
_LONGEST_TEXT = 2_000
"""Characters of a text by which its language is chosen."""


@dataclass(frozen=True, slots=True)
class TableWord:
    """A word or phrase of a table."""

    role: WordRole
    canonical: str
    """The word that stands for all that say the same."""
    group: int = -1
    """Words of one group with different canonical words exclude each other; -1: no group."""
    is_light: bool = False
    """A verb that adds nothing where the other statement has a form of "to be"."""


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """Words of one language for the comparison of statements."""

    language: str
    is_spaced: bool
    """Words stand between blanks; else a token is one character."""
    words: Mapping[tuple[str, ...], TableWord]
    """By the folded tokens of the word or phrase."""
    longest: int
    """Tokens of the longest phrase."""
    opposites: Mapping[str, int]
    """Lines of words that are opposites, by canonical word."""
    negations: frozenset[str]
    """Canonical words one of which makes a statement contradict the one without it."""
    over: tuple[str, ...]
    """Canonical words that make a statement tell that the one without them is over: the first, and
    one of the others if there are any. Empty: no words tell it for certain."""
    copulas: frozenset[str]
    """Forms of "to be", whose sides may change places."""
    relative: frozenset[str]
    """Words and phrases for the day on which a statement is made."""
    additional: frozenset[str]
    """Words and phrases by which a value comes beside another one."""
    frames: Mapping[str, frozenset[str]]
    """Words by which a predicate is said, by canonical predicate."""
    past: re.Pattern[str] | None
    """Ending of a verb in the past, in a word that is not folded."""


@text_cache(8_192)
def detect_language(text: str) -> str:
    """Return the language whose table knows the most words of a text; empty: none knows any.

    Letters that English does not write speak against it.
    """
    if _KANA.search(text):
        return "japanese"
    if _HAN.search(text):
        return "chinese"
    words = _WORD.findall(fold(text[:_LONGEST_TEXT]))
    counts = {
        language: sum(word in _known_words(language) for word in words)
        for language in _LATIN_LANGUAGES
    }
    if _ACCENTED.search(text):
        counts[_ENGLISH] -= 1
    language = max(counts, key=lambda name: counts[name])
    return language if counts[language] > 0 else ""


@cache
def load_table(language: str) -> ComparisonTable:
    """Load the table of a language. KeyError: there is none."""
    if language not in LANGUAGES:
        raise KeyError(language)
    path = Path(__file__).with_name(f"{language}.toml")
    data: Mapping[str, Any] = tomllib.loads(path.read_text("utf-8"))
    is_spaced = language in _LATIN_LANGUAGES
    words: dict[tuple[str, ...], TableWord] = {}
    # The later one of these wins: a deciding word is never dropped because it adds nothing elsewhere.
    for phrase, word in _read_words(data):
        for spelling in _find_spellings(phrase, language):
            words[_split_phrase(spelling, is_spaced=is_spaced)] = word
    return ComparisonTable(
        language=language,
        is_spaced=is_spaced,
        words=words,
        longest=max(map(len, words)),
        opposites={
            word: line
            for line, text in enumerate(data["opposites"].strip().splitlines())
            for word in text.split()
        },
        negations=frozenset(data["negations"].split()),
        over=tuple(data["over"].split()),
        copulas=frozenset(data["copulas"].split()),
        relative=_read_phrases(data["relative"], language, is_spaced=is_spaced),
        additional=_read_phrases(data["additional"], language, is_spaced=is_spaced),
        frames={
            predicate: _read_phrases(text, language, is_spaced=is_spaced)
            for predicate, text in data["frames"].items()
        },
        past=re.compile(data["past"]) if data["past"] else None,
    )


@cache
def _known_words(language: str) -> frozenset[str]:
    """Return the single words of a table, which vote for its language."""
    words = frozenset(tokens[0] for tokens in load_table(language).words if len(tokens) == 1)
    return words - _SHORT_FORMS if language == _ENGLISH else words


def _read_words(data: Mapping[str, Any]) -> Iterator[tuple[str, TableWord]]:
    """Read the words of a table with their roles, the strongest role last."""
    yield from _read_content(data)
    for word in data["empty"].split():
        yield word, TableWord("empty", "")
    for alternatives in data["prepositions"].split():
        spellings = alternatives.split("/")
        for word in spellings:
            yield word, TableWord("preposition", spellings[0])
    for role, list_name in _SYNONYM_LISTS:
        for synonyms in _read_lines(data[list_name]):
            for word in synonyms:
                yield word, TableWord(role, synonyms[0])


def _read_content(data: Mapping[str, Any]) -> Iterator[tuple[str, TableWord]]:
    """Read the words of content, and the numbers."""
    light_words = frozenset(data["light"].split())
    canonical = {word: line[0] for line in _read_lines(data["same"]) for word in line}
    for word in (*canonical, *light_words):
        yield word, TableWord("content", canonical.get(word, word), is_light=word in light_words)
    for group, line in enumerate(_read_lines(data["contrasts"])):
        for alternatives in line:
            spellings = alternatives.split("/")
            for word in spellings:
                yield word, TableWord("content", spellings[0], group, word in light_words)
    for position, entry in enumerate(data["numbers"].split()):
        word, _, value = entry.partition("=")
        yield word, TableWord("number", value or str(position))


def _read_lines(text: str) -> list[list[str]]:
    """Split a list of a table into the words of its lines."""
    return [line.split() for line in text.strip().splitlines()]


def _read_phrases(text: str, language: str, *, is_spaced: bool) -> frozenset[str]:
    """Read words and phrases as they stand in a text of folded tokens joined by blanks."""
    return frozenset(
        " ".join(_split_phrase(spelling, is_spaced=is_spaced))
        for phrase in text.split()
        for spelling in _find_spellings(phrase, language)
    )


def _find_spellings(phrase: str, language: str) -> tuple[str, ...]:
    """Return a phrase as it may be typed: a German umlaut with and without its e."""
    if language != "german":
        return (phrase,)
    folded = phrase
    for typed, letter in _UMLAUTS:
        folded = folded.replace(typed, letter)
    return (phrase, folded)


def _split_phrase(phrase: str, *, is_spaced: bool) -> tuple[str, ...]:
    """Split a phrase of a table into folded tokens."""
    if is_spaced:
        return tuple(fold(phrase).split("_"))
    return tuple(fold(phrase).replace("_", ""))
