"""Move of a part of a memory into another: a project that was split by its folders' names.

``ScopeMover`` lists what would move, and moves it with its ids, history and links.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engrams.core import Record, Scope, Status
from engrams.errors import InputError
from engrams.ports import Clock, RecordChange, RecordQuery, ScopeReach, Store, WriteBatch

_PAGE = 500
"""Records that one write moves."""
_STATUSES = tuple(status for status in Status if status is not Status.PURGED)


class ScopeMover:
    """Moves records from one scope of an owner into another."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def list_records(self, source: Scope, target: Scope) -> list[Record]:
        """List the records of a scope and of what is below it, oldest first.

        InputError: source and target are of different owners, or one contains the other.
        """
        is_nested = source in target.chain() or target in source.chain()
        if source.owner != target.owner or is_nested:
            raise InputError("A part of a memory moves into another part of the same memory.")
        return list(self._read(source))

    def move(self, source: Scope, target: Scope) -> int:
        """Move the records; return how many.

        A message that both parts have, by the same id of its sender, stays where it is.
        """
        records = [
            record
            for record in self.list_records(source, target)
            if not self._is_in(target, source, record)
        ]
        for start in range(0, len(records), _PAGE):
            changes = tuple(
                RecordChange(
                    owner=record.scope.owner,
                    id=record.id,
                    fields={"scope": _moved_scope(record.scope, source, target)},
                    action="edit",
                )
                for record in records[start : start + _PAGE]
            )
            self._store.commit(
                WriteBatch(
                    actor="user",
                    reason=f"moved to {target.labels[-1]}",
                    at=self._clock(),
                    changes=changes,
                )
            )
        return len(records)

    def _read(self, source: Scope) -> Iterator[Record]:
        query = RecordQuery(
            ScopeReach(source.owner, (source,), tree=True),
            statuses=_STATUSES,
            order="oldest",
            limit=_PAGE,
        )
        after = ""
        while True:
            page = self._store.find(replace(query, after=after))
            yield from (record for record in page.records if _is_below(record.scope, source))
            if not page.next:
                return
            after = page.next

    def _is_in(self, target: Scope, source: Scope, record: Record) -> bool:
        if not record.external_id:
            return False
        moved = _moved_scope(record.scope, source, target)
        query = RecordQuery(
            ScopeReach(moved.owner, (moved,)),
            statuses=tuple(Status),
            external_id=record.external_id,
            limit=1,
        )
        return any(existing.scope == moved for existing in self._store.find(query).records)


def _is_below(scope: Scope, top: Scope) -> bool:
    return scope.labels[: len(top.labels)] == top.labels


def _moved_scope(scope: Scope, source: Scope, target: Scope) -> Scope:
    return Scope((*target.labels, *scope.labels[len(source.labels) :]))
