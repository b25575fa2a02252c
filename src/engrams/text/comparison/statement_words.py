"""Words of a statement as they are compared: what each one says, and which ones decide.

Enter at ``read_words``. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engrams.frozen_data import dataclass
from engrams.text.comparison.language_tables import (
    ComparisonTable,
    TableWord,
    WordRole,
    load_table,
)
from engrams.text.normalize import fold
from engrams.text.stems import stem_word
from engrams.text.text_caches import text_cache

_SPACED = re.compile(
    r"(?<![\w.])-\d+(?:[.,:/-]\d+)*|\d+(?:[.,:/-]\d+)*|[^\W\d_]+|[€$£¥₹%°‰]|!=|[<>=+*/^&|~#@]+"
)
_UNSPACED = re.compile(r"\d+(?:[.,:/-]\d+)*|[a-zA-Z]+|[€$£¥₹%°‰]|[\u3040-\u30ff\u3400-\u9fff]")
_FORENOON = re.compile(r"(\d)\s?a\.?m\b\.?")
"""Time before noon, whose "am" is no form of "to be"."""
_CONTRACTED_NOT = re.compile(r"\b(ca|wo|sha)?(\w*?)n't\b")
_CONTRACTED_VERBS = {"ca": "can", "wo": "will", "sha": "shall"}
_SYMBOLS = {
    "€": "euro",
    "$": "dollar",
    "£": "pound",
    "¥": "yen",
    "₹": "rupee",
    "%": "percent",
    "°": "degree",
    "‰": "permille",
}
_HYPHENATED = re.compile(r"(?<![\w-])(\w+)-[^\W\d_]+(?![\w-])")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][\w-]+")
_UNSPACED_NAME = re.compile(r"[a-zA-Z]+|[\u30a1-\u30fa\u30fc]+")
"""Latin letters among Chinese or Japanese characters, and foreign words in katakana."""
_HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2}
_HAN_TENS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
_ORDINAL = frozenset(("st", "nd", "rd", "th"))
_PHRASE_ROLES: tuple[WordRole, ...] = ("preposition", "deciding")
_STATING: tuple[WordRole, ...] = ("content", "number")
PAST_MARK = "<"
"""Begins the canonical word of a verb in the past."""
_SHORTEST_PAST = 4
"""Letters above which a word may be a verb in the past."""
_ABOUT_USER = (
    "the user",
    "der nutzer",
    "el usuario",
    "l'utilisateur",
    "用户",
    "该用户",
    "ユーザー",
)
_THIRD_PERSONS = frozenset(("they", "sein", "su", "son"))
"""Canonical words that mean the user in a sentence about the user."""


@dataclass(frozen=True, slots=True)
class StatementWords:
    """A statement as it is compared with another one of its language."""

    sequence: tuple[TableWord, ...]
    """Words that say something, in order."""
    content: tuple[str, ...]
    """Canonical words of content and numbers, in order."""
    deciding: tuple[tuple[str, str], ...]
    """Words the difference of which makes another statement, each with the word of content after
    it (empty: none)."""
    persons: frozenset[str]
    """Pronouns of others than the speaker."""
    moving: frozenset[str]
    """Words of content that begin a phrase with a preposition or a deciding word, which may stand
    anywhere."""
    numbers: tuple[str, ...]
    """Numbers in order, as digits where they were words."""
    names: frozenset[str]
    """Canonical words that are written like names within the sentence."""
    light: frozenset[str]
    """Canonical verbs that add nothing beside a form of "to be"."""
    groups: frozenset[tuple[int, str]]
    """Groups of words that exclude each other, each with the canonical word of it here. Those that
    say the predicate are among them: both "love" and "hate" say ``likes``."""
    has_copula: bool
    has_measure_compound: bool
    """A number and its unit stand before a noun as one word: "4-space indentation"."""


@text_cache(4_096)
def read_words(text: str, language: str, predicate: str = "") -> StatementWords:
    """Read the words of a statement.

    ``language``: one with a table; empty: its words are compared as they are. ``predicate``: of the
    slot that both statements fill; words by which it is said are left out.
    """
    table = load_table(language) if language else None
    raw_tokens = _split_text(text, table)
    folded = [fold(token) for token in raw_tokens]
    frame = table.frames.get(predicate, frozenset()) if table and predicate else frozenset()
    every_word = list(_match_words(raw_tokens, folded, table))
    words = [word for phrase, word in every_word if phrase not in frame]
    if fold(text).lstrip().startswith(_ABOUT_USER):
        words = [word for word in words if word.canonical not in _THIRD_PERSONS]
    content = [word for word in words if word.role in _STATING]
    canonical_names = {
        word.canonical
        for name in _split_names(text, table)
        for phrase, word in _match_words(name, [fold(token) for token in name], table)
        if word.role == "content" and phrase not in frame
    }
    return StatementWords(
        sequence=tuple(word for word in words if word.role != "empty"),
        content=tuple(word.canonical for word in content),
        deciding=tuple(_bind_words(words, "deciding")),
        persons=frozenset(word.canonical for word in words if word.role == "person"),
        moving=frozenset(
            following for role in _PHRASE_ROLES for _, following in _bind_words(words, role)
        ),
        numbers=tuple(word.canonical for word in words if word.role == "number"),
        names=frozenset(canonical_names),
        light=frozenset(word.canonical for word in content if word.is_light),
        groups=frozenset((word.group, word.canonical) for _, word in every_word if word.group >= 0),
        has_copula=table is not None and not table.copulas.isdisjoint(folded),
        has_measure_compound=table is not None and _has_measure_compound(text, table),
    )


@text_cache(4_096)
def holds_phrase(text: str, language: str, list_name: str) -> bool:
    """True if a text has a word or phrase of a list of its table: ``relative``, ``additional``."""
    if not language:
        return False
    table = load_table(language)
    phrases: frozenset[str] = getattr(table, list_name)
    tokens = [fold(token) for token in _split_text(text, table)]
    joined = f" {' '.join(tokens)} "
    return any(f" {phrase} " in joined for phrase in phrases)


def _has_measure_compound(text: str, table: ComparisonTable) -> bool:
    """True if a number and its unit stand as one word; only where words are set apart by blanks."""
    if not table.is_spaced or "-" not in text:
        return False
    first_parts = _HYPHENATED.findall(text)
    words = _match_words(first_parts, [fold(part) for part in first_parts], table)
    return any(word.role == "number" for _, word in words)


def _split_text(text: str, table: ComparisonTable | None) -> list[str]:
    """Split a text into tokens with their accents, in lower case."""
    plain = text.lower().replace("’", "'")
    if table is not None and not table.is_spaced:
        return _UNSPACED.findall(plain)
    plain = _FORENOON.sub(r"\1 forenoon", plain)
    plain = _CONTRACTED_NOT.sub(_spell_not, plain.replace("cannot", "can not"))
    return [token for token in _SPACED.findall(plain) if token not in _ORDINAL]


def _split_names(text: str, table: ComparisonTable | None) -> Iterator[list[str]]:
    """Yield the tokens of each word that is written like a name."""
    if table is not None and not table.is_spaced:
        for name in _UNSPACED_NAME.findall(text):
            yield _split_text(name, table)
        return
    for name in _NAME.findall(text):
        yield [name]


def _spell_not(match: re.Match[str]) -> str:
    verb = _CONTRACTED_VERBS.get(match[1] or "", match[1] or "")
    return f"{verb}{match[2]} not"


def _match_words(
    raw_tokens: Sequence[str], tokens: Sequence[str], table: ComparisonTable | None
) -> Iterator[tuple[str, TableWord]]:
    """Yield the words of a statement as they stand there, the longest phrases of the table first."""
    position = 0
    while position < len(tokens):
        length, word = _match_at(position, raw_tokens, tokens, table)
        phrase = " ".join(tokens[position : position + length])
        position += length
        yield phrase, word


def _match_at(
    position: int, raw_tokens: Sequence[str], tokens: Sequence[str], table: ComparisonTable | None
) -> tuple[int, TableWord]:
    """Return how many tokens make the word at a position, and the word."""
    if table is not None:
        for length in range(min(table.longest, len(tokens) - position), 0, -1):
            word = table.words.get(tuple(tokens[position : position + length]))
            if word is not None and not (
                length == 1 and _is_accented_past(raw_tokens[position], table)
            ):
                return length, word
        if not table.is_spaced:
            length, value = _read_han_number(tokens, position)
            if length:
                return length, TableWord("number", value)
    token = tokens[position]
    if token in _SYMBOLS:
        return 1, TableWord("content", _SYMBOLS[token])
    if any(char.isdigit() for char in token):
        return 1, TableWord("number", _spell_number(token))
    return 1, TableWord("content", _find_stem(raw_tokens[position], token, table))


def _find_stem(raw_token: str, token: str, table: ComparisonTable | None) -> str:
    """Return the stem of a word, marked if it is a verb in the past."""
    if table is None or not table.is_spaced:
        return token
    ending = table.past.search(raw_token) if table.past is not None else None
    if ending is None or len(token) <= _SHORTEST_PAST:
        return stem_word(token, table.language)
    for present in (raw_token[: ending.start()], f"{raw_token[: ending.start()]}e"):
        word = table.words.get((fold(present),))
        if word is not None and word.role == "content":
            return PAST_MARK + word.canonical
    return PAST_MARK + stem_word(token, table.language)


def _is_accented_past(raw_token: str, table: ComparisonTable) -> bool:
    """True for a verb that only its accent tells from another time: ``trabajó``, ``trabajo``."""
    return table.past is not None and not raw_token.isascii() and bool(table.past.search(raw_token))


def _spell_number(token: str) -> str:
    """Write a number without separators of thousands: ``1,000`` is ``1000``."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", token)


def _read_han_number(tokens: Sequence[str], position: int) -> tuple[int, str]:
    """Read a number in Chinese characters; length 0: there is none."""
    total = 0
    digit = 0
    length = 0
    for token in tokens[position:]:
        if token in _HAN_DIGITS:
            digit = 10 * digit + _HAN_DIGITS[token]
        elif token in _HAN_TENS:
            total += max(digit, 1) * _HAN_TENS[token]
            digit = 0
        else:
            break
        length += 1
    return length, str(total + digit)


def _bind_words(words: Sequence[TableWord], role: WordRole) -> Iterator[tuple[str, str]]:
    """Yield each word of a role with the word of content after it; empty: there is none."""
    for position, word in enumerate(words):
        if word.role != role:
            continue
        following = (later.canonical for later in words[position + 1 :] if later.role in _STATING)
        yield word.canonical, next(following, "")
