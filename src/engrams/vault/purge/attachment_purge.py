"""Purge of the files of pictures and sounds, which go with the last memory that is made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from engrams.core import Kind, Scope, Status
from engrams.ports import (
    AttachmentStore,
    Condition,
    HomeFileCleaner,
    LiveWords,
    PurgeOrder,
    PurgePlaceCheck,
    RecordQuery,
    RecordStore,
    ScopeReach,
    Where,
)
from engrams.vault.purge.home_files import ATTACHMENTS

_ADVICE = "Purge again; if they stay, delete the folder `attachments` of this home."
_KEPT_STATUSES = tuple(status for status in Status if status is not Status.PURGED)


class AttachmentPurger:
    """Removes the files of purged documents and, by another cleaner, purged words from a home."""

    def __init__(
        self, home: HomeFileCleaner, attachments: AttachmentStore, records: RecordStore
    ) -> None:
        self._home = home
        self._attachments = attachments
        self._records = records

    def clean(self, order: PurgeOrder) -> Mapping[str, int]:
        erased = sum(
            self._attachments.erase(order.owner, digest) for digest in self._iter_unused(order)
        )
        counts = dict(self._home.clean(order))
        return {**counts, ATTACHMENTS: erased} if erased else counts

    def recall_words(self, ids: Sequence[str], was_said: Callable[[str], bool]) -> tuple[str, ...]:
        return self._home.recall_words(ids, was_said)

    def look(self, order: PurgeOrder, live: LiveWords) -> tuple[PurgePlaceCheck, ...]:
        checks = self._home.look(order, live)
        if not order.attachments:
            return checks
        left_count = sum(
            self._attachments.has(order.owner, digest) for digest in self._iter_unused(order)
        )
        check = PurgePlaceCheck(
            "files of documents", len(order.attachments), left_count, _ADVICE if left_count else ""
        )
        return (*checks, check)

    def _iter_unused(self, order: PurgeOrder) -> Iterator[str]:
        """Yield the files of an order that no memory of the owner is made of any more."""
        for digest in order.attachments:
            if not self._is_used(order.owner, digest):
                yield digest

    def _is_used(self, owner: Scope, digest: str) -> bool:
        """True for a file that a memory is made of: by another name, or in another scope."""
        where = Where("and", (Condition("meta.document.version", "eq", digest),))
        query = RecordQuery(
            ScopeReach.of_owner(owner), (Kind.PASSAGE,), _KEPT_STATUSES, where=where, limit=1
        )
        return bool(self._records.find(query).records)
