"""Purge of words in a fleet's uploads, which lie in the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from engrams.core import Scope
from engrams.ports import (
    HomeFileCleaner,
    LiveWords,
    PurgeOrder,
    PurgePlaceCheck,
    UploadPieceStorage,
)
from engrams.vault.purge.purged_word_search import MAX_NEEDLE_BYTES, PurgedWordSearcher

UPLOADS = "uploads"
_SHOWN = 5

Window: TypeAlias = list[tuple[int, bytes]]
"""Pieces of an upload that follow each other, each with its offset in the upload."""


class UploadPurger:
    """Removes purged words from an owner's uploads and, by another cleaner, from a home's files."""

    def __init__(self, home: HomeFileCleaner, uploads: UploadPieceStorage) -> None:
        self._home = home
        self._uploads = uploads

    def clean(self, order: PurgeOrder) -> Mapping[str, int]:
        counts = dict(self._home.clean(order))
        search = PurgedWordSearcher(order.words)
        cleaned = sum(
            self._clean_upload(order.owner, upload_id, description, search)
            for upload_id, description in self._list_uploads(order.owner)
        )
        if cleaned:
            counts[UPLOADS] = counts.get(UPLOADS, 0) + cleaned
        return counts

    def recall_words(self, ids: Sequence[str], was_said: Callable[[str], bool]) -> tuple[str, ...]:
        return self._home.recall_words(ids, was_said)

    def look(self, order: PurgeOrder, live: LiveWords) -> tuple[PurgePlaceCheck, ...]:
        search = PurgedWordSearcher(order.words)
        words_by_upload = {
            upload_id: self._find_words(order.owner, upload_id, description, search)
            for upload_id, description in self._list_uploads(order.owner)
        }
        words_in_use = live(sorted(set().union(*words_by_upload.values())))
        remaining = [
            upload_id for upload_id, words in words_by_upload.items() if words - words_in_use
        ]
        examples = ", ".join(remaining[:_SHOWN])
        advice = f"Drop these imports. ({examples})" if remaining else ""
        return (
            *self._home.look(order, live),
            PurgePlaceCheck("files to be imported", len(words_by_upload), len(remaining), advice),
        )

    def _list_uploads(self, owner: Scope) -> list[tuple[str, str]]:
        """List the ids of an owner's uploads, each with its description (JSON)."""
        return [
            (json.loads(description)["id"], description)
            for description in self._uploads.list(owner)
        ]

    def _clean_upload(
        self, owner: Scope, upload_id: str, description: str, search: PurgedWordSearcher
    ) -> bool:
        """Overwrite words in an upload; return True where it contained some."""
        blanked = search.blank(description.encode())
        is_changed = blanked != description.encode()
        if is_changed:
            self._uploads.write(owner, upload_id, blanked.decode("utf-8", "replace"))
        window: Window = []
        for piece in self._uploads.iter_pieces(owner, upload_id):
            window = _slide(window, piece)
            data = _join(window)
            cleaned = search.blank(data)
            if cleaned == data:
                continue
            is_changed = True
            start = window[0][0]
            window = [
                (offset, cleaned[offset - start :][: len(content)]) for offset, content in window
            ]
            for offset, content in window:
                self._uploads.replace_piece(owner, upload_id, offset, content)
        return is_changed

    def _find_words(
        self, owner: Scope, upload_id: str, description: str, search: PurgedWordSearcher
    ) -> set[str]:
        needles = search.find(description.encode())
        for window in self._iter_windows(owner, upload_id):
            needles |= search.find(_join(window))
        return {search.origins[needle] for needle in needles}

    def _iter_windows(self, owner: Scope, upload_id: str) -> Iterator[Window]:
        window: Window = []
        for piece in self._uploads.iter_pieces(owner, upload_id):
            window = _slide(window, piece)
            yield window


def _slide(window: Window, piece: tuple[int, bytes]) -> Window:
    """Add a piece, and drop the pieces that end too far before it to share a word with it."""
    start = piece[0] - MAX_NEEDLE_BYTES
    return [
        *((offset, content) for offset, content in window if offset + len(content) > start),
        piece,
    ]


def _join(window: Window) -> bytes:
    return b"".join(content for _, content in window)
