"""Split text into words and index terms.

A term holds ASCII letters and digits and non-ASCII characters, never a blank or ASCII punctuation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache
from string import ascii_lowercase, digits

from engrams.frozen_data import dataclass
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.normalize import fold
from engrams.text.stems import LANGUAGES, find_languages, is_frequent, stem_all, stem_word
from engrams.text.stopwords import HAN_FUNCTION, STOP
from engrams.text.text_caches import text_cache

TERM_SCHEME = 2
"""Version of what ``index_terms`` gives: an index of an older one is built anew when it is opened.
"""

# Scripts without blanks, or (Hangul) with particles attached to the word.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_BEYOND_WORDS = "\u0e00"
_BEYOND_LATIN = "\u0250"
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_NUMBER = r"\d{1,3}(?:,\d{3}){1,9}(?!,?\d)"
_ASCII = late_pattern(rf"{_NUMBER}|[a-z0-9]+(?:'[a-z0-9]+)*")
_GROUPED_DIGITS = late_pattern(r"\d,\d")
_KEPT = (ascii_lowercase + digits + "'").encode()
_BLANK_PUNCTUATION = bytes(code if code in _KEPT else ord(" ") for code in range(256))
"""Table for ``bytes.translate`` that leaves folded letters of ASCII, digits and apostrophes."""
_EDGES = (" '", "' ", "''")
"""Apostrophes that are no part of a word."""

_ELIDED = late_pattern(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'(?=[^\d\W])")
_CONTRACTED = late_pattern(r"'(?:s|m|re|ve|ll|d)$")
_ORDINAL = late_pattern(r"(?<!\d)(\d++)(?:st|nd|rd|th)$")
_LONGEST = 64
_MAX_CACHED = 2_000
"""Characters of the longest text whose terms are cached."""
_EMOJI = 0x2600

_STEMMERS: tuple[tuple[int, int, str], ...] = (
    (0x0000, 0x024F, "english"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
)


@dataclass(frozen=True, slots=True)
class _ScriptPatterns:
    """Patterns that find words in scripts beyond Latin."""

    han: re.Pattern[str]
    unspaced: re.Pattern[str]
    piece: re.Pattern[str]


@cache
def _script_patterns() -> _ScriptPatterns:
    """Compile on first use: slow, and rarely needed."""
    return _ScriptPatterns(
        re.compile(f"[{_HAN}]"),
        re.compile(f"[{UNSPACED}]+"),
        re.compile(rf"{_NUMBER}|[{UNSPACED}]+|[^\s',{UNSPACED}]+(?:'[^\s',{UNSPACED}]+)*"),
    )


class _SpaceTable(dict[int, str]):
    """Map to a blank all but letters, marks, numbers, emoji."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        self[code] = spaced = (
            char
            if kind[0] in "LMN" or char in "',"
            else f" {char} "
            if kind == "So" and code >= _EMOJI
            else " "
        )
        return spaced


_SPACES = _SpaceTable()


def tokens(text: str) -> list[str]:
    """Split ``text`` into folded words in order, repeats kept.

    No stop words are dropped and nothing is stemmed.

    Scripts without blanks give one token per character, emoji one each. A possessive ``'s`` is
    dropped, other apostrophes stay (``don't``); hyphenated words are split; ``1,000`` is ``1000``.
    """
    folded = fold(text)
    if folded.isascii():
        return _clean_pieces(folded, split_ascii(folded))
    words: list[str] = []
    for piece in _split_words(folded):
        if is_unspaced(piece):
            words.extend(piece)
        else:
            words.append(piece.replace(",", "").removesuffix("'s")[:_LONGEST])
    return words


def _clean_pieces(folded: str, pieces: list[str]) -> list[str]:
    """Return the words of ASCII pieces; most texts have neither an apostrophe nor a comma."""
    if "'" in folded or "," in folded:
        pieces = [piece.replace(",", "").removesuffix("'s") for piece in pieces]
    return [piece[:_LONGEST] for piece in pieces]


def split_ascii(folded: str) -> list[str]:
    """Return the pieces of a folded ASCII text of which each is a word, as they stand in it."""
    if "," in folded and _GROUPED_DIGITS.search(folded):
        return _ASCII.findall(folded)
    spaced = f" {folded.encode().translate(_BLANK_PUNCTUATION).decode()} "
    if "'" in folded and holds_any(spaced, _EDGES):
        return _ASCII.findall(folded)
    # What the pattern finds, in a third of its time.
    return spaced.split()


def read_piece(piece: str) -> tuple[str, str]:
    """Return the word of a piece, as ``tokens`` does, and its term; empty for a function word."""
    word = piece.replace(",", "").removesuffix("'s")[:_LONGEST]
    return word, _to_term(piece[:_LONGEST])


def terms(text: str) -> list[str]:
    """Return the terms of ``text`` in order, repeats kept.

    The same for documents and queries; ``index_terms`` adds the stems of a document's own language.

    Folded words without the function words of English, German, Spanish and French, stemmed by
    script (Latin as English, Cyrillic as Russian, Greek, Arabic, Devanagari as Hindi). Runs of
    scripts without blanks give their overlapping pairs of characters (a lone character itself) and,
    for Han, each character that can be a word: Chinese chat is full of one-character words, which
    pairs alone would lose. A text of function words only keeps them, so that "The Who" can be
    found.
    """
    return [*(_terms_cached(text) if len(text) <= _MAX_CACHED else _find_terms(text))]


@text_cache(4096)
def _terms_cached(text: str) -> tuple[str, ...]:
    """Find terms, cached: a text is indexed, learned from and compared."""
    return tuple(_find_terms(text))


def _find_terms(text: str) -> list[str]:
    folded = fold(text)
    stems: list[str] = []
    if folded.isascii():
        stems = [term for word in split_ascii(folded) if (term := _to_term(word[:_LONGEST]))]
    else:
        for word in _split_words(folded):
            if is_unspaced(word):
                stems.extend(_character_pairs(word))
            elif term := _to_term(word[:_LONGEST]):
                stems.append(term)
    return stems or [_stem(word.replace("'", "")) for word in tokens(text)]


@dataclass(frozen=True, slots=True)
class QueryTermStems:
    """Stems of a query's terms in its likely languages."""

    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Term -> its stems in these languages, where they differ."""
    common: frozenset[str] = frozenset()
    """Terms of function words of these languages."""
    sure: bool = False
    """True: the query shows its language. False: ``forms`` are guesses for unknown terms."""


NO_FORMS = QueryTermStems()
"""Forms of a query in English."""


def index_terms(text: str) -> list[str]:
    """Return a document's terms, then its own language's stems where they differ."""
    document_terms = terms(text)
    languages = find_languages(text)
    if languages:
        for word in _split_words(fold(text)):
            document_terms += _find_other_stems(word, languages)
    return document_terms


@text_cache(1 << 16)
def _find_other_stems(word: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the stems of a folded word in some languages that its term is not."""
    plain = _to_latin_word(word)
    if not plain:
        return ()
    own_stem = _stem(plain)
    return tuple(stem for stem in stem_all(plain, languages) if stem != own_stem)


def find_forms(text: str, context: str = "") -> QueryTermStems:
    """Find other stems of a query's terms.

    ``context``: the whole query, which shows its language.
    """
    languages = find_languages(context or text)
    if languages == ():
        return NO_FORMS
    forms: dict[str, tuple[str, ...]] = {}
    common = set()
    for word in _latin_words(fold(text)):
        own_stem = _stem(word)
        if languages and is_frequent(word, languages):
            common.add(own_stem)
            continue
        if other_stems := tuple(
            stem for stem in stem_all(word, languages or LANGUAGES) if stem != own_stem
        ):
            forms[own_stem] = tuple(dict.fromkeys((*forms.get(own_stem, ()), *other_stems)))
    return QueryTermStems(forms, frozenset(common), sure=languages is not None)


def _latin_words(folded: str) -> Iterator[str]:
    """Words of content that the stemmers of Latin script can stem."""
    return filter(None, map(_to_latin_word, _split_words(folded)))


def _to_latin_word(word: str) -> str:
    """Strip a folded word of Latin script; empty for another one and for a function word."""
    if word[0] >= _BEYOND_LATIN or word[0].isdigit():
        return ""
    return _to_plain(word[:_LONGEST])


def is_unspaced(word: str) -> bool:
    """Check if the word begins in a script without blanks."""
    return word >= _BEYOND_WORDS and _script_patterns().unspaced.match(word) is not None


def _split_words(folded: str) -> list[str]:
    return (
        split_ascii(folded)
        if folded.isascii()
        else _script_patterns().piece.findall(folded.translate(_SPACES))
    )


@text_cache(1 << 16)
def _to_term(word: str) -> str:
    """Return a folded word's term; empty for a function word."""
    plain = _to_plain(word)
    return _stem(plain) if plain else ""


def _to_plain(word: str) -> str:
    """Strip elisions and endings; empty for a function word."""
    word = word.replace(",", "")
    if "'" in word:
        if word.endswith("n't"):
            return ""
        word = _CONTRACTED.sub("", _ELIDED.sub("", word)).replace("'", "")
    if word in STOP:
        return ""
    if word[:1].isdigit():
        word = _ORDINAL.sub(r"\1", word)
    return word


def _character_pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    parts: list[str] = []
    for index, char in enumerate(run):
        if _script_patterns().han.match(char) and char not in HAN_FUNCTION:
            parts.append(char)
        if index + 1 < len(run):
            parts.append(run[index : index + 2])
    return parts


def _stem(word: str) -> str:
    code = ord(word[0])
    for low, high, name in _STEMMERS:
        if low <= code <= high:
            return stem_word(word, name)
    return word
