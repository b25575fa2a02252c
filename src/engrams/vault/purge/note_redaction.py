"""Removal of the lines of notes that a purge takes the ground from.

A model words what it writes into a note or a dream anew, so that these lines repeat no purged text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.core import Record, Scope
from engrams.text.terms import terms
from engrams.vault.notes.note_lines import NoteLineLedger, NotePurge, hash_line
from engrams.vault.notes.note_paths import has_notes, is_diary

_CHANGE = re.compile(r"^- (?:in|out \([^)]*\)): ")
"""Beginning of a diary's line about an item of MEMORY.md."""


class NoteLineRemover:
    """Removes lines from the notes and diaries of one owner. Call before the memories are erased."""

    def __init__(
        self, ledger: NoteLineLedger, owner: Scope, purge: NotePurge, records: Sequence[Record]
    ) -> None:
        """Set up the remover. ``records``: the memories that are purged."""
        self._ledger = ledger
        self._owner = owner
        self._purge = purge
        texts = [*(record.search_text for record in records), *purge.words]
        self._words = {word for text in texts for word in terms(text)}

    def remove(self, path: str, text: str) -> str:
        """Return the text of a file without those lines."""
        if not has_notes(path, self._owner):
            return text
        lines = text.split("\n")
        items = [_CHANGE.sub("", line) for line in lines]
        gone_hashes = self._ledger.find_purged(self._owner, items, self._purge)
        kept_lines = [
            line
            for line, item in zip(lines, items, strict=True)
            if not item.strip() or hash_line(item) not in gone_hashes
        ]
        if is_diary(path):
            kept_lines = [line for line in kept_lines if not self._tells(line)]
        return "\n".join(kept_lines)

    def _tells(self, line: str) -> bool:
        """Return True for a sentence of a model with a purged word.

        Nobody noted from which memories it was made.
        """
        is_sentence = not line.startswith("#") and _CHANGE.match(line) is None
        return is_sentence and not self._words.isdisjoint(terms(line))
