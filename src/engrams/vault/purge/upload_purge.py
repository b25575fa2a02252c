"""Purge of words in a fleet's uploads, which lie in the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from engrams.core import Scope
from engrams.ports import (
    HomeFileCleaner,
    LiveWords,
    PurgeOrder,
    PurgePlaceCheck,
    UploadPieceStorage,
)
from engrams.vault.purge.purged_words import LONGEST, PurgedWordSearcher

UPLOADS = "uploads"


class UploadPurger:
    """Removes purged words from the owner's uploads, and from a home's files."""

    def __init__(self, home: HomeFileCleaner, uploads: UploadPieceStorage) -> None:
        self._home = home
        self._uploads = uploads
        self.recall_words: Callable[[Sequence[str], Callable[[str], bool]], tuple[str, ...]] = (
            home.recall_words
        )

    def clean(self, order: PurgeOrder) -> Mapping[str, int]:
        done = dict(self._home.clean(order))
        search = PurgedWordSearcher(order.words)
        cleaned = sum(
            self._clean_upload(order.owner, id, about, search)
            for id, about in self._list(order.owner)
        )
        return {**done, UPLOADS: done.get(UPLOADS, 0) + cleaned} if cleaned else done

    def look(self, order: PurgeOrder, live: LiveWords) -> tuple[PurgePlaceCheck, ...]:
        search = PurgedWordSearcher(order.words)
        uploads = self._list(order.owner)
        held = {id: self._find_words(order.owner, id, about, search) for id, about in uploads}
        known = live(sorted(set().union(*held.values())))
        left = [id for id, words in held.items() if words - known]
        advice = f"Drop these imports. ({', '.join(left[:5])})" if left else ""
        return (
            *self._home.look(order, live),
            PurgePlaceCheck("files to be imported", len(uploads), len(left), advice),
        )

    def _list(self, owner: Scope) -> list[tuple[str, str]]:
        return [(json.loads(about)["id"], about) for about in self._uploads.list(owner)]

    def _clean_upload(self, owner: Scope, id: str, about: str, search: PurgedWordSearcher) -> bool:
        """Overwrite words in an upload; True where it held some."""
        told = search.blank(about.encode())
        if is_changed := told != about.encode():
            self._uploads.write(owner, id, told.decode("utf-8", "replace"))
        window: list[tuple[int, bytes]] = []
        for piece in self._uploads.iter_pieces(owner, id):
            window = _slide(window, piece)
            data = b"".join(held for _, held in window)
            cleaned = search.blank(data)
            if cleaned == data:
                continue
            is_changed = True
            begin = window[0][0]
            window = [(place, cleaned[place - begin :][: len(held)]) for place, held in window]
            for place, held in window:
                self._uploads.replace_piece(owner, id, place, held)
        return is_changed

    def _find_words(
        self, owner: Scope, id: str, about: str, search: PurgedWordSearcher
    ) -> set[str]:
        found = search.find(about.encode())
        window = list[tuple[int, bytes]]()
        for piece in self._uploads.iter_pieces(owner, id):
            window = _slide(window, piece)
            found |= search.find(b"".join(held for _, held in window))
        return {search.origins[needle] for needle in found}


def _slide(window: list[tuple[int, bytes]], piece: tuple[int, bytes]) -> list[tuple[int, bytes]]:
    """Add a piece, and drop those too far before it."""
    end = piece[0] - LONGEST
    return [*((place, held) for place, held in window if place + len(held) > end), piece]
