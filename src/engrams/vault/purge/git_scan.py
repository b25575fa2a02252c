"""Look for purged words in the objects of a git repository."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from engrams.errors import ExtraError
from engrams.installation import install_hint
from engrams.vault.files.front_matter import FrontMatterError
from engrams.vault.files.record_markdown import parse_entry
from engrams.vault.notes.text_chunks import split_chunks
from engrams.vault.purge.purged_word_search import PurgedWordSearcher

HEAD_BYTES = 4096
"""Bytes at the beginning of a file in which its front matter names the memory."""
ID_LINE = re.compile(rb"(?m)^id: ['\"]?([^\s'\"]+)")


class GitHistoryScanner:
    """Searches a repository's objects, names and messages for purged words."""

    def __init__(self, root: Path) -> None:
        """Set up the scanner. ``root``: the folder with ``.git`` in it; there may be none."""
        self._root = root

    def look(self, search: PurgedWordSearcher) -> tuple[int, dict[str, set[bytes]]]:
        """Count the objects of a repository, and find purged words in them.

        Returns the needles by the first characters of the object's name.
        """
        count = 0
        needles = dict[str, set[bytes]]()
        for object_name, data in self._iter_objects():
            count += 1
            matches = search.find_in_text(data)
            if matches:
                needles[object_name[:12]] = matches
        return count, needles

    def find_words(self, ids: frozenset[str], was_said: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the texts and quotes of these memories' files, and pieces of notes.

        Of every version. ``was_said``: picks the pieces of notes that are meant.
        """
        words: dict[str, None] = {}
        chunks: dict[str, None] = {}
        for _, data in self._iter_objects():
            id_line = ID_LINE.search(data[:HEAD_BYTES])
            if id_line is None:
                if b"\0" not in data:
                    text = data.decode("utf-8", "replace")
                    chunks |= dict.fromkeys(chunk.text.strip() for chunk in split_chunks(text))
            elif id_line[1].decode("utf-8", "replace") in ids:
                words |= dict.fromkeys(_list_entry_texts(data.decode("utf-8", "replace")))
        words |= dict.fromkeys(filter(was_said, filter(None, chunks)))
        return tuple(word.strip() for word in words if word.strip())

    def _iter_objects(self) -> Iterator[tuple[str, bytes]]:
        if not (self._root / ".git").exists():
            return
        try:
            from dulwich.repo import Repo
        except ImportError:
            raise ExtraError(
                "The history of the files needs dulwich.", hint=install_hint("vault")
            ) from None
        with Repo(str(self._root)) as repo:
            for sha in repo.object_store:
                yield sha.decode(), repo.object_store[sha].as_raw_string()


def _list_entry_texts(text: str) -> list[str]:
    """List the texts and quotes of a memory's file; none where it cannot be read."""
    texts: list[str] = []
    with contextlib.suppress(FrontMatterError):
        fields = parse_entry(text).fields
        texts += (fields.get(name, "") for name in ("text", "caption", "summary"))
        texts += (item.quote for item in fields.get("evidence", ()))
    return texts
