"""Look for purged words in the bytes of files."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from engrams.encryption import fileencryption
from engrams.text.redact import LEAST
from engrams.vault.path import make_slug

_WIDTH = 24
_KEY = 8
_LONGEST = 256
_WINDOWS = 2000
"""Pieces of one text that are looked for, at most; spread over all of it."""


class WordSearch:
    """Search for many words at once.

    ``origins``: each needle's bytes, and the words it stands for. A long text is looked for in pieces of 24 characters, since a database
    splits it over pages; each also as JSON spells it, and as a file's name does. Words of fewer than eight bytes are not looked for: they
    would be found in anything."""

    def __init__(self, words: Iterable[str]) -> None:
        found = {needle: origin for word in words for needle, origin in _make_needles(word) if len(needle) >= _KEY}
        self.origins: Mapping[bytes, str] = found
        self._heads: dict[bytes, list[bytes]] = {}
        self._table = np.zeros(1 << 24 if found else 1, dtype=bool)
        for needle in found:
            self._heads.setdefault(needle[:_KEY], []).append(needle)
            self._table[needle[0] | needle[1] << 8 | needle[2] << 16] = True

    def find(self, data: bytes) -> set[bytes]:
        """Return the needles that some bytes hold."""
        return {needle for needle, _ in self.places(data)}

    def places(self, data: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield each needle in some bytes, and where it begins."""
        if len(data) < _KEY or not self.origins:
            return
        codes = np.frombuffer(data, dtype=np.uint8).astype(np.uint32)
        for place in np.flatnonzero(self._table[codes[:-2] | codes[1:-1] << 8 | codes[2:] << 16]):
            for needle in self._heads.get(data[place : place + _KEY], ()):
                if data.startswith(needle, place):
                    yield needle, int(place)

    def find_in_file(self, path: Path, home: Path) -> set[bytes]:
        """Return the needles in a file and in its name.

        ``home``: whose key opens it. EncryptionError: it does not."""
        found = self.find(path.name.encode("utf-8", "surrogateescape"))
        before = b""
        try:
            for chunk in fileencryption.iter_contents(home, path):
                found |= self.find(before + chunk)
                before = chunk[-_LONGEST:]
        except FileNotFoundError:
            pass
        return found

    def overwrite(self, path: Path) -> None:
        """Overwrite every needle in a file, which keeps its length."""
        data = bytearray(path.read_bytes())
        for needle, place in list(self.places(bytes(data))):
            data[place : place + len(needle)] = b"[removed]".ljust(len(needle))[: len(needle)]
        with path.open("r+b") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


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
    for piece in _cut(word):
        for told in {piece, json.dumps(piece)[1:-1], json.dumps(piece, ensure_ascii=False)[1:-1]}:
            yield told.encode("utf-8", "replace")[:_LONGEST], piece
    slug = make_slug(word)
    if "-" in slug and len(slug) > LEAST:
        yield slug.encode(), word


def _cut(word: str) -> Sequence[str]:
    """Cut a text into lines, and long lines into pieces."""
    pieces: dict[str, None] = {}
    for line in filter(None, map(str.strip, word.split("\n"))):
        if len(line) <= 2 * _WIDTH:
            pieces[line] = None
        else:
            pieces |= dict.fromkeys(line[at : at + _WIDTH] for at in (*range(0, len(line) - _WIDTH, _WIDTH), len(line) - _WIDTH))
    step = max(1, len(pieces) // _WINDOWS)
    return list(pieces)[::step]
