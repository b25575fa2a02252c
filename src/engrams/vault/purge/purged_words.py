"""Look for purged words in the bytes of files."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engrams.encryption import file_encryption
from engrams.text.redact import LEAST, holds_word
from engrams.vault.files.vault_paths import make_slug

_WIDTH = 24
_KEY = 8
_BLOCK = 4
_MIX = 0x9E3779B1
"""Multiplier that spreads four bytes over the numbers of a table."""
LONGEST = 256
"""Most bytes that are looked for as one."""
_WINDOWS = 2000
"""Pieces of one text that are looked for, at most; spread over all of it."""


class PurgedWordSearcher:
    """Search for many words at once.

    ``origins``: each needle's bytes, and the words it stands for. A long text is looked for in
    pieces of 24 characters, since a database splits it over pages; each also as JSON spells it, and
    as a file's name does. Words of fewer than eight bytes would be found in anything: ``short``
    ones are looked for in texts only, as whole words.
    """

    def __init__(self, words: Iterable[str], short: Iterable[str] = ()) -> None:
        self._short = {word.encode(): word for word in short}
        found = {
            needle: origin
            for word in words
            for needle, origin in _make_needles(word)
            if len(needle) >= _KEY
        }
        self.origins: Mapping[bytes, str] = {**found, **self._short}
        self._needles: dict[int, list[tuple[bytes, int]]] = {}
        self._table = np.zeros(1 << 16, dtype=bool)
        for needle in found:
            for skipped in range(_BLOCK):
                code = int.from_bytes(needle[skipped : skipped + _BLOCK], "little")
                self._needles.setdefault(code, []).append((needle, skipped))
                self._table[(code * _MIX & 0xFFFFFFFF) >> 16] = True

    def find(self, data: bytes) -> set[bytes]:
        """Return the needles that some bytes hold."""
        return {needle for needle, _ in self.places(data)}

    def find_in_text(self, data: bytes) -> set[bytes]:
        """Return the needles and whole short words of a text."""
        found = self.find(data)
        if any(word in data for word in self._short):
            text = data.decode("utf-8", "replace")
            found |= {code for code, word in self._short.items() if holds_word(text, word)}
        return found

    def places(self, data: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield each needle in some bytes, and where it begins."""
        if len(data) < _KEY or not self._needles:
            return
        # Eight bytes hold four that begin at a multiple of four, wherever they stand.
        blocks = np.frombuffer(data, "<u4", len(data) // _BLOCK)
        likely = np.flatnonzero(self._table[(blocks * np.uint32(_MIX)) >> 16])
        heads = np.ndarray((len(data) - _KEY + 1,), "<u8", data, strides=(1,))
        for code, starts in _group(blocks[likely], likely * _BLOCK):
            for needle, skipped in self._needles.get(code, ()):
                begins = starts - skipped
                begins = begins[(begins >= 0) & (begins < len(heads))]
                for place in begins[heads[begins] == int.from_bytes(needle[:_KEY], "little")]:
                    if data.startswith(needle, place):
                        yield needle, int(place)

    def find_in_file(self, path: Path, home: Path) -> set[bytes]:
        """Return the needles in a file and in its name.

        ``home``: whose key opens it. EncryptionError: it does not.
        """
        found = self.find(path.name.encode("utf-8", "surrogateescape"))
        before = b""
        try:
            for chunk in file_encryption.iter_contents(home, path):
                found |= self.find(before + chunk)
                before = chunk[-LONGEST:]
        except FileNotFoundError:
            pass
        return found

    def blank(self, data: bytes) -> bytes:
        """Return some bytes with every needle overwritten, as long as before."""
        blanked = bytearray(data)
        for needle, place in self.places(data):
            blanked[place : place + len(needle)] = b"[removed]".ljust(len(needle))[: len(needle)]
        return bytes(blanked)

    def overwrite(self, path: Path) -> None:
        """Overwrite every needle in a file, which keeps its length."""
        with path.open("r+b") as file:
            data = self.blank(file.read())
            file.seek(0)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def _group(codes: Any, starts: Any) -> Iterator[tuple[int, Any]]:
    """Group equal hash codes; yield each with its positions."""
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    starts = starts[order]
    edges = np.flatnonzero(np.diff(codes)) + 1
    for part, places in zip(np.split(codes, edges), np.split(starts, edges), strict=True):
        if len(part):
            yield int(part[0]), places


def list_files(*roots: Path) -> tuple[Path, ...]:
    """List the plain files below folders, following no links."""
    found: dict[Path, None] = {}
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                try:
                    plain = stat.S_ISREG(path.lstat().st_mode)
                except FileNotFoundError:
                    continue
                if plain:
                    found[path] = None
    return tuple(found)


def _make_needles(word: str) -> Iterator[tuple[bytes, str]]:
    for piece in cut_words(word):
        for told in {piece, json.dumps(piece)[1:-1], json.dumps(piece, ensure_ascii=False)[1:-1]}:
            yield told.encode("utf-8", "replace")[:LONGEST], piece
    slug = make_slug(word)
    if "-" in slug and len(slug) > LEAST:
        yield slug.encode(), word


def cut_words(word: str) -> Sequence[str]:
    """Cut a text into lines, and long lines into pieces."""
    pieces: dict[str, None] = {}
    for line in filter(None, map(str.strip, word.split("\n"))):
        if len(line) <= 2 * _WIDTH:
            pieces[line] = None
        else:
            pieces |= dict.fromkeys(
                line[at : at + _WIDTH]
                for at in (*range(0, len(line) - _WIDTH, _WIDTH), len(line) - _WIDTH)
            )
    step = max(1, len(pieces) // _WINDOWS)
    return list(pieces)[::step]
