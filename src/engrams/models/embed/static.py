"""Embed texts with the shipped table, distilled from all-MiniLM-L6-v2.

A text's vector is the sum of its word pieces' rows, which carry their own weight, at unit length.
The table knows English best. Words of scripts that it cannot spell meaningfully (from Greek to
Chinese) get a row made from a hash of each of their index terms instead: their cosine then says how
many words two texts share, and unrelated texts stay apart.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from engrams.frozen_data import dataclass
from engrams.models.embed.cosine_scales import load_scale
from engrams.models.embed.families import BUILTIN_FLOORS, Purpose, add_prefixes
from engrams.ports import EmbedderCard
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from engrams.ports.models import Floats

_DATA = Path(__file__).with_name("data")
_DIMENSION = 256
_BEYOND_LATIN = "\u0370"
# Rows gathered at once, 1 KB each.
_CHUNK = 16_384

CARD = EmbedderCard(
    "builtin-256-1",
    _DIMENSION,
    floors=BUILTIN_FLOORS,
    scale=load_scale("builtin"),
    is_english=True,
    inline=True,
)


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
            cleaned = " "
        elif code == 0xFFFD or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co"):
            cleaned = ""
        elif char.isspace():
            cleaned = " "
        elif any(low <= code <= high for low, high in _HAN):
            cleaned = f" {char} "
        else:
            cleaned = char
        self[code] = cleaned
        return cleaned


class _LowerTable(dict[int, str]):
    """Character table: accents vanish, punctuation stands alone."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        lowered = char.lower()
        if kind == "Mn":
            mapped = ""
        elif kind[0] == "P" or (char.isascii() and not char.isalnum() and char != " "):
            mapped = f" {char} "
        else:
            mapped = lowered
        self[code] = mapped
        return mapped


_CLEANED = _CleanTable()
_LOWERED = _LowerTable()


def split_words(text: str) -> list[str]:
    """Split into lower-case words, punctuation and Han characters, without accents."""
    if text.isascii():
        # Control characters vanish rather than separate.
        return _ASCII.findall(_ASCII_CONTROL.sub("", text.lower()))
    return unicodedata.normalize("NFD", text.translate(_CLEANED)).translate(_LOWERED).split()


class WordPieceTokenizer:
    """BERT's uncased tokenizer: greedy longest match over word pieces; equal ids.

    Pieces that continue a word begin with ``##``. ``unknown``: the id of a word that cannot be
    spelled with the vocabulary; None: such a word gives no id.
    """

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
        piece_ids: list[int] = []
        for word in split_words(text):
            piece_ids.extend(self.spell(word))
        return piece_ids

    def _spell(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST:
            return self._unknown
        pieces: list[int] = []
        start = 0
        while start < len(word):
            lead = _CONTINUED if start else ""
            for end in range(len(word), start, -1):
                piece_id = self._ids.get(lead + word[start:end])
                if piece_id is not None:
                    pieces.append(piece_id)
                    start = end
                    break
            else:
                return self._unknown
        return tuple(pieces)


@dataclass(frozen=True, slots=True)
class _StaticEmbeddingTable:
    pieces: WordPieceTokenizer
    rows: npt.NDArray[np.int8]
    scale: npt.NDArray[np.float32]
    hashed: float


class BuiltinEmbedder:
    """Embedder port over the static table, which the whole process shares from its first use."""

    incognito: ClassVar[bool] = True
    """True: no text that it embeds is kept anywhere."""

    def __init__(self, query_prefix: str | None = None) -> None:
        """Set the text put before queries; None and empty: nothing."""
        self._card = replace(CARD, query_prefix=query_prefix or "")

    def __reduce__(self) -> tuple[object, ...]:
        """Stand for the one such embedder of whatever process takes it over."""
        return share_embedder, (self._card.query_prefix,)

    @property
    def card(self) -> EmbedderCard:
        return self._card

    def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> Floats:
        """Return unit vectors; zero for texts without any letter."""
        import numpy as np

        table = load_table()
        out = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
        prefixed = add_prefixes(self._card, texts, purpose) if self._card.query_prefix else texts
        for index, text in enumerate(prefixed):
            if ids := _token_ids(table.pieces, text):
                out[index] = _sum_rows(table, ids)
            if not text.isascii():
                for term in terms(text):
                    if term[0] >= _BEYOND_LATIN and term[0].isalnum():
                        out[index] += np.float32(table.hashed) * _hash_signs(term)
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        out /= np.where(lengths > 0, lengths, np.float32(1))
        return out

    def close(self) -> None:
        """Do nothing: the table stays for the next engine of this process."""


@cache
def share_embedder(query_prefix: str) -> BuiltinEmbedder:
    """Return the one embedder of a helper process."""
    return BuiltinEmbedder(query_prefix)


@cache
def load_table() -> _StaticEmbeddingTable:
    """Map the table of this process.

    Reading its 30,000 word pieces takes longer than a whole search.
    """
    import numpy as np

    # The plain view: a memmap runs Python code at each look-up.
    rows = np.asarray(np.load(_DATA / "table.npy", mmap_mode="r"))
    scale = np.load(_DATA / "scale.npy")
    pieces = WordPieceTokenizer.from_lines(
        (_DATA / "vocabulary.txt").read_text("utf-8").splitlines()
    )
    # As long as the row of a word of content: the median one, taken where the vocabulary holds
    # whole words.
    sample = rows[2000:12_000:100].astype(np.float32) * scale[2000:12_000:100, None]
    lengths = np.sort(np.linalg.norm(sample, axis=1))
    # np.median would load numpy.ma, which takes longer than everything else here.
    length = float(lengths[len(lengths) // 2 - 1 : len(lengths) // 2 + 1].mean())
    return _StaticEmbeddingTable(pieces, rows, scale, length / _DIMENSION**0.5)


def _token_ids(pieces: WordPieceTokenizer, text: str) -> list[int]:
    if text.isascii():
        return pieces.ids(text)
    piece_ids: list[int] = []
    for word in split_words(text):
        if word < _BEYOND_LATIN:
            piece_ids.extend(pieces.spell(word))
    return piece_ids


def _sum_rows(table: _StaticEmbeddingTable, ids: Sequence[int]) -> Floats:
    import numpy as np

    weights: Floats
    if len(ids) <= _CHUNK:
        flat = np.array(ids)
        weights = table.scale[flat]
    else:
        flat, counts = np.unique(ids, return_counts=True)
        weights = table.scale[flat] * counts.astype(np.float32)
    # Not a matrix product: BLAS would split it among threads that wait for each other on a busy
    # machine.
    total: Floats = np.einsum("i,ij->j", weights, table.rows[flat].astype(np.float32))
    return total


@text_cache(4096)
def _hash_signs(term: str) -> npt.NDArray[np.float32]:
    """Make 256 signs from a term's hash, as its own direction."""
    import numpy as np

    bits = np.unpackbits(
        np.frombuffer(
            hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=_DIMENSION // 8).digest(),
            dtype=np.uint8,
        )
    )
    return np.where(bits, np.float32(1), np.float32(-1))
