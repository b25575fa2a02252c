"""Texts that nothing was learned from, because they are not the user's own words.

Enter at ``list_kept_out``; ``MemoryEngine.let_in`` makes one of them the user's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engrams.core import CONFIRMED, MESSAGE_KINDS, Record, Status
from engrams.core.records import repeats_turns
from engrams.extract.own_words import ForeignText, split_own_words
from engrams.ports import RecordQuery, RecordStore, ScopeReach

_PAGE = 200


@dataclass(frozen=True, slots=True)
class KeptOutText:
    """Message with the parts that nothing was learned from."""

    record: Record
    parts: tuple[ForeignText, ...]
    """In order, each with its reason."""


def list_kept_out(reach: ScopeReach, store: RecordStore, limit: int) -> list[KeptOutText]:
    """List the newest messages with foreign parts, at most ``limit``."""
    kept_out: list[KeptOutText] = []
    let_in: set[str] = set()
    for record in _iter_messages(reach, store):
        # Newer than the message whose foreign parts it holds.
        let_in.add(str(record.meta.get(CONFIRMED, "")))
        # An exchange is no message: its turns are listed by themselves.
        if record.id in let_in or repeats_turns(record):
            continue
        parts = split_own_words(record, record.text).foreign
        if parts:
            kept_out.append(KeptOutText(record, parts))
            if len(kept_out) == limit:
                break
    return kept_out


def _iter_messages(reach: ScopeReach, store: RecordStore) -> Iterator[Record]:
    """Yield messages, newest first."""
    after = ""
    while True:
        query = RecordQuery(
            reach, MESSAGE_KINDS, (Status.ACTIVE, Status.ARCHIVED), after=after, limit=_PAGE
        )
        page = store.find(query)
        yield from page.records
        if not page.next:
            return
        after = page.next
