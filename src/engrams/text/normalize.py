"""Normalize text to one spelling for comparison."""

from __future__ import annotations

import unicodedata

from engrams.text.text_caches import text_cache

_MAX_CACHED = 2_000
"""Characters of the longest text whose folded form is cached."""
# Letters without a separable mark, and variants that people mix when typing.
_REPLACEMENTS = {
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "þ": "th", "æ": "ae", "œ": "oe", "ĸ": "k", "ŋ": "n",
    "ё": "е", "ѐ": "е", "ѝ": "и",
    "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ـ": "",
    "‘": "'", "’": "'", "‛": "'", "ʼ": "'", "ʹ": "'", "´": "'", "＇": "'", "“": '"', "”": '"', "„": '"',
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "−": "-",
    "\u200b": " ", "\u2028": "\n", "\u2029": "\n", "\x00": "",
}  # fmt: skip

# Precomposed letters that are letters of their own: й is not и.
_OWN_LETTERS = frozenset("йї")

_MARKS = (
    (0x00AD, 0x00AD), (0x0300, 0x036F), (0x0483, 0x0489), (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2), (0x05C4, 0x05C5),
    (0x05C7, 0x05C7), (0x0610, 0x061A), (0x061C, 0x061C), (0x064B, 0x0652), (0x0656, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06DC),
    (0x06DF, 0x06E4), (0x06E7, 0x06E8), (0x06EA, 0x06ED), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x200C, 0x200F), (0x202A, 0x202E),
    (0x2060, 0x2064), (0x2066, 0x206F), (0x20D0, 0x20F0), (0xD800, 0xDFFF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xFEFF, 0xFEFF),
    (0x1F3FB, 0x1F3FF), (0xE0000, 0xE01EF),
)  # fmt: skip

_DIACRITIC_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC")


class _LetterTable(dict[int, str]):
    """Translation table of characters to their folded forms, filled lazily."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _normalize_letter(chr(code))
        return folded


def _normalize_letter(char: str) -> str:
    if char in _REPLACEMENTS:
        return _REPLACEMENTS[char]
    code = ord(char)
    if any(low <= code <= high for low, high in _MARKS):
        return ""
    if unicodedata.category(char) == "Nd":
        return str(unicodedata.decimal(char))
    parts = unicodedata.normalize("NFD", char)
    if (
        len(parts) > 1
        and char not in _OWN_LETTERS
        and unicodedata.name(parts[0], "").startswith(_DIACRITIC_SCRIPTS)
    ):
        return "".join(_normalize_letter(part) for part in parts)
    return char


_LETTERS = _LetterTable()


def fold(text: str) -> str:
    """Fold ``text`` for comparison: NFKC, case, diacritics. Idempotent.

    Removed: the accents of Latin, Greek and Cyrillic letters (й and ї stay: they are letters of
    their own; ø, ł, æ, ß become o, l, ae, ss), Hebrew points, Arabic vowel signs, tatweel and alef
    variants, variation selectors, skin tones, direction marks, soft hyphens, NUL and lone
    surrogates. Kept: the vowels of Thai and the Indic scripts, the dakuten of kana, Hangul. Digits
    of every script become 0-9, typographic quotes and dashes their ASCII forms.
    """
    if text.isascii():
        return text.lower().replace("\x00", "")
    return _fold_cached(text) if len(text) <= _MAX_CACHED else _fold_letters(text)


@text_cache(1024)
def _fold_cached(text: str) -> str:
    """Fold a text, cached: one write folds it ten times."""
    return _fold_letters(text)


def _fold_letters(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS)
    if folded.isascii() or unicodedata.is_normalized("NFKC", folded):
        return folded
    # A removed character may have separated two halves of one, such as parts of a Hangul syllable.
    return unicodedata.normalize("NFKC", folded).casefold().translate(_LETTERS)
