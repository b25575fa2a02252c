"""BERT's uncased word-piece tokenizer, without a dependency; equal ids."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from engrams.text.textcaches import text_cache

_LONGEST = 100
_CONTINUED = "##"
_ASCII = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_HAN = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class _CleanTable(dict[int, str]):
    """Character table: control characters vanish, Han characters stand alone."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in "\t\n\r":
            found = " "
        elif code == 0xFFFD or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co"):
            found = ""
        elif char.isspace():
            found = " "
        elif any(low <= code <= high for low, high in _HAN):
            found = f" {char} "
        else:
            found = char
        self[code] = found
        return found


class _LowerTable(dict[int, str]):
    """Character table: accents vanish, punctuation stands alone."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        lowered = char.lower()
        if kind == "Mn":
            found = ""
        elif kind[0] == "P" or (char.isascii() and not char.isalnum() and char != " "):
            found = f" {char} "
        else:
            found = lowered
        self[code] = found
        return found


_CLEANED = _CleanTable()
_LOWERED = _LowerTable()


def split_words(text: str) -> list[str]:
    """Split into lower-case words, punctuation and Han characters, without accents."""
    if text.isascii():
        # Control characters vanish rather than separate.
        return _ASCII.findall(_ASCII_CONTROL.sub("", text.lower()))
    return unicodedata.normalize("NFD", text.translate(_CLEANED)).translate(_LOWERED).split()


class WordPieceTokenizer:
    """Greedy longest match over a vocabulary of word pieces.

    Pieces that continue a word begin with ``##``. ``unknown``: the id of a word that cannot be spelled with the vocabulary; None: such a
    word gives no id."""

    def __init__(self, vocabulary: Mapping[str, int], unknown: int | None = None) -> None:
        self._ids = vocabulary
        self._unknown = () if unknown is None else (unknown,)
        self.spell = text_cache(1 << 15)(self._spell)

    @classmethod
    def from_lines(cls, lines: Iterable[str], unknown: str = "") -> WordPieceTokenizer:
        """Make it from a vocabulary file, whose line numbers are the ids."""
        ids = {piece: number for number, piece in enumerate(lines)}
        return cls(ids, ids[unknown] if unknown else None)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens."""
        found: list[int] = []
        for word in split_words(text):
            found.extend(self.spell(word))
        return found

    def _spell(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST:
            return self._unknown
        pieces: list[int] = []
        start = 0
        while start < len(word):
            lead = _CONTINUED if start else ""
            for end in range(len(word), start, -1):
                known = self._ids.get(lead + word[start:end])
                if known is not None:
                    pieces.append(known)
                    start = end
                    break
            else:
                return self._unknown
        return tuple(pieces)
