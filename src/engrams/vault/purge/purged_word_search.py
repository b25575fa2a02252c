"""Look for purged words in the bytes of files.

``PurgedWordSearcher`` looks for all words of a purge in one pass over the bytes.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engrams.encryption import file_encryption
from engrams.text.redact import MIN_REDACTED_CHARS, holds_word
from engrams.vault.files.vault_paths import make_slug

MAX_NEEDLE_BYTES = 256
"""Bytes of the longest needle; a longer text is found by its beginning."""
_WIDTH = 24
"""Characters of the pieces of a long line."""
_KEY = 8
"""Bytes at the beginning of a needle that are compared as one number; no needle is shorter."""
_BLOCK = 4
"""Bytes that are looked up in the table at once."""
_TABLE_BITS = 16
_MIX = 0x9E3779B1
"""Multiplier (2**32 / golden ratio) that spreads four bytes over the numbers of the table."""
_MAX_PIECES = 2000
"""Pieces of one text that are looked for, at most; spread over all of it."""


class PurgedWordSearcher:
    """Searches for many words at once.

    A long text is looked for in pieces of 24 characters, since a database splits it over pages.
    Each piece is also looked for as JSON spells it, and a text as a file's name spells it. Words of
    fewer than eight bytes would be found by chance in any file: such ``short`` ones are looked for
    in texts only, as whole words.
    """

    def __init__(self, words: Iterable[str], short: Iterable[str] = ()) -> None:
        self._short = {word.encode(): word for word in short}
        needles = {
            needle: origin
            for word in words
            for needle, origin in _make_needles(word)
            if len(needle) >= _KEY
        }
        self.origins: Mapping[bytes, str] = {**needles, **self._short}
        """The words that each needle stands for."""
        self._needles: dict[int, list[tuple[bytes, int]]] = {}
        self._table = np.zeros(1 << _TABLE_BITS, dtype=bool)
        for needle in needles:
            for skipped in range(_BLOCK):
                code = int.from_bytes(needle[skipped : skipped + _BLOCK], "little")
                self._needles.setdefault(code, []).append((needle, skipped))
                self._table[(code * _MIX & 0xFFFFFFFF) >> _TABLE_BITS] = True

    def find(self, data: bytes) -> set[bytes]:
        """Return the needles that some bytes contain."""
        return {needle for needle, _ in self.iter_matches(data)}

    def find_in_text(self, data: bytes) -> set[bytes]:
        """Return the needles and whole short words of a text."""
        matches = self.find(data)
        if any(word in data for word in self._short):
            text = data.decode("utf-8", "replace")
            matches |= {code for code, word in self._short.items() if holds_word(text, word)}
        return matches

    def iter_matches(self, data: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield each needle in some bytes, and the offset at which it begins.

        The bytes are read in blocks of four. A needle of eight bytes or more contains one whole
        block, whatever its offset, so that the table needs to be asked only once for each block.
        """
        if len(data) < _KEY or not self._needles:
            return
        blocks = np.frombuffer(data, "<u4", len(data) // _BLOCK)
        likely = np.flatnonzero(self._table[(blocks * np.uint32(_MIX)) >> _TABLE_BITS])
        heads = np.ndarray((len(data) - _KEY + 1,), "<u8", data, strides=(1,))
        for code, block_offsets in _group_by_code(blocks[likely], likely * _BLOCK):
            for needle, skipped in self._needles.get(code, ()):
                offsets = block_offsets - skipped
                offsets = offsets[(offsets >= 0) & (offsets < len(heads))]
                for offset in offsets[heads[offsets] == int.from_bytes(needle[:_KEY], "little")]:
                    if data.startswith(needle, offset):
                        yield needle, int(offset)

    def find_in_file(self, path: Path, home: Path) -> set[bytes]:
        """Return the needles in a file and in its name.

        ``home``: the home whose key opens the file. EncryptionError: the key does not.
        """
        matches = self.find(path.name.encode("utf-8", "surrogateescape"))
        overlap = b""
        try:
            for chunk in file_encryption.iter_contents(home, path):
                matches |= self.find(overlap + chunk)
                overlap = chunk[-MAX_NEEDLE_BYTES:]
        except FileNotFoundError:
            pass
        return matches

    def blank(self, data: bytes) -> bytes:
        """Return some bytes with every needle overwritten, as long as before."""
        blanked = bytearray(data)
        for needle, offset in self.iter_matches(data):
            blanked[offset : offset + len(needle)] = b"[removed]".ljust(len(needle))[: len(needle)]
        return bytes(blanked)

    def overwrite(self, path: Path) -> None:
        """Overwrite every needle in a file, which keeps its length."""
        with path.open("r+b") as file:
            data = self.blank(file.read())
            file.seek(0)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def list_files(*roots: Path) -> tuple[Path, ...]:
    """List the plain files below folders, following no links."""
    files: dict[Path, None] = {}
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                try:
                    is_plain = stat.S_ISREG(path.lstat().st_mode)
                except FileNotFoundError:
                    continue
                if is_plain:
                    files[path] = None
    return tuple(files)


def cut_words(text: str) -> Sequence[str]:
    """Cut a text into lines, and long lines into pieces.

    The last piece of a line overlaps the one before it, so that all have the same length.
    """
    pieces: dict[str, None] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        if len(line) <= 2 * _WIDTH:
            pieces[line] = None
        else:
            starts = (*range(0, len(line) - _WIDTH, _WIDTH), len(line) - _WIDTH)
            pieces |= dict.fromkeys(line[start : start + _WIDTH] for start in starts)
    step = max(1, len(pieces) // _MAX_PIECES)
    return list(pieces)[::step]


def _make_needles(text: str) -> Iterator[tuple[bytes, str]]:
    """Yield the bytes to look for, each with the words that it stands for."""
    for piece in cut_words(text):
        spellings = {
            piece,
            json.dumps(piece)[1:-1],
            json.dumps(piece, ensure_ascii=False)[1:-1],
        }
        for spelling in spellings:
            # A cut within a character does no harm: needles are bytes, and are compared as such.
            yield spelling.encode("utf-8", "replace")[:MAX_NEEDLE_BYTES], piece
    slug = make_slug(text)
    if "-" in slug and len(slug) > MIN_REDACTED_CHARS:
        yield slug.encode(), text


def _group_by_code(codes: Any, offsets: Any) -> Iterator[tuple[int, Any]]:
    """Group the offsets of equal blocks; yield each block as a number, with its offsets."""
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    offsets = offsets[order]
    edges = np.flatnonzero(np.diff(codes)) + 1
    for group, group_offsets in zip(np.split(codes, edges), np.split(offsets, edges), strict=True):
        if len(group):
            yield int(group[0]), group_offsets
