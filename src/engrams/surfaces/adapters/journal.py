"""Ordered JSON items of a conversation, kept as turns of memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Literal

from engrams.ports import Condition, Where
from engrams.types import UNSEARCHED, Json, Kind, Record, Role, Scope, ScopeInput, Status, Turn

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine

ITEM = "item"
"""Metadata that holds an item of a framework, with the adapter's name."""

KEPT = (Status.ACTIVE, Status.ARCHIVED, Status.SUPERSEDED)
"""Statuses of what a framework gets back: all that was neither forgotten nor purged."""

_PAGE = 500


@dataclass(frozen=True, slots=True)
class JournalItem:
    """An item of a framework, and its text for people and searches.

    ``said``: somebody said it; anything else (calls of tools, results, marks) is stored, and no search finds it. ``key``: the framework's
    own id of it; the same one is stored once."""

    data: Json
    text: str
    role: Role = "user"
    said: bool = True
    key: str = ""
    at: datetime | None = None


class ItemJournal:
    """Items of one conversation in order, as a framework gave them.
    Thread safe."""

    def __init__(self, engine: MemoryEngine, scope: ScopeInput, session: str, adapter: str) -> None:
        self._engine, self.scope, self._session, self._adapter = engine, Scope.of(scope), session, adapter
        self._lock = threading.Lock()

    def append(self, items: Sequence[JournalItem]) -> None:
        """Store items in one durable write."""
        if items:
            self._engine.write_turns([self._to_turn(item) for item in items], self.scope, Kind.TURN)

    def read(self, limit: int | None = None) -> list[Json]:
        """Return the latest ``limit`` items (None: all), oldest first."""
        if limit is None:
            return [_get_data(record) for record in self._list_records("oldest")]
        return [_get_data(record) for record in islice(self._list_records("newest"), limit)][::-1]

    def pop(self) -> Json | None:
        """Erase the newest item and return it; None if there is none."""
        with self._lock:
            record = next(self._list_records("newest"), None)
            if record is None:
                return None
            self._engine.purge(record.id, scope=self.scope)
            return _get_data(record)

    def clear(self) -> None:
        """Erase every item, with what was learned from them alone."""
        with self._lock:
            if ids := [record.id for record in self._list_records("oldest")]:
                self._engine.purge(ids, scope=self.scope)

    def _to_turn(self, item: JournalItem) -> Turn:
        meta = {ITEM: {"adapter": self._adapter, "session": self._session, "data": item.data}}
        marked = meta if item.said else {**meta, UNSEARCHED: True}
        return Turn(item.text, role=item.role, session=self._session, external_id=item.key, at=item.at, meta=marked)

    def _list_records(self, order: Literal["newest", "oldest"]) -> Iterator[Record]:
        where = Where(
            "and",
            (
                Condition("scope", "eq", self.scope.key),
                Condition(f"meta.{ITEM}.adapter", "eq", self._adapter),
                Condition(f"meta.{ITEM}.session", "eq", self._session),
            ),
        )
        return list_records(self._engine, self.scope, where, order)


def list_records(engine: MemoryEngine, scope: Scope, where: Where, order: Literal["newest", "oldest"]) -> Iterator[Record]:
    """Yield all records that were neither forgotten nor purged, page by page."""
    after, most = "", min(_PAGE, engine.settings.limits.results)
    while True:
        page = engine.list(scope=scope, statuses=KEPT, where=where, order=order, after=after, limit=most)
        yield from page.records
        if not page.next:
            return
        after = page.next


def _get_data(record: Record) -> Json:
    return record.meta[ITEM]["data"]
