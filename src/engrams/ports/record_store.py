"""The port of durable records, their history and their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from engrams.core import HistoryEntry, Json, Meta, Record, Scope
from engrams.ports.purge_types import PurgeReport
from engrams.ports.record_queries import (
    ChangedRecords,
    FactSlot,
    RecordPage,
    RecordQuery,
    ScopeReach,
)
from engrams.ports.write_batch import CommitResult, OutboxEntry, StorageUse, WriteBatch


class RecordStore(Protocol):
    """The durable records, their history and their vectors."""

    def commit(self, batch: WriteBatch) -> CommitResult:
        """Write a batch in one transaction; it is durable on return.

        ConflictError: a version changed. NotFoundError: a change names no record.
        """
        ...

    def get(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        """Return the existing ones of these records, in the order of ``ids``."""
        ...

    def find(self, query: RecordQuery) -> RecordPage:
        """List the records of a query, one page at a time."""
        ...

    def count(self, query: RecordQuery) -> int:
        """Count the records of a query, on all its pages."""
        ...

    def slots(self, query: RecordQuery) -> tuple[FactSlot, ...]:
        """Find only the (subject, predicate) slots of matching records."""
        ...

    def history(self, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
        """List the changes of one record, oldest first."""
        ...

    def changes(self, owner: Scope, after: int, limit: int) -> ChangedRecords:
        """List records of any status that changed after change number ``after``.

        Purged records come as tombstones. At most ``limit`` records.
        """
        ...

    def find_change(self, owner: Scope, back: int) -> int:
        """Return the number of the change that ``back`` changed records of the owner follow.

        ``back`` 0: the number of the last change. 0 where fewer records changed.
        """
        ...

    def scopes(self, owner: Scope | None) -> tuple[Scope, ...]:
        """List the scopes that hold records. None: of all owners, for administration only."""
        ...

    def count_scopes(self, owner: Scope) -> Mapping[Scope, int]:
        """Count the active records in each scope that holds records."""
        ...

    def storage(self, owner: Scope) -> StorageUse:
        """Measure what an owner's memory takes of a quota."""
        ...

    def counts(self, reach: ScopeReach | None) -> Mapping[str, Mapping[str, int]]:
        """Count records by several fields; None: of all owners.

        ``status``, ``kind``, ``layer`` and ``tier`` count all records by that field; ``active``
        counts active ones by tier, ``layers`` active ones by layer, ``model`` vectors by model.
        """
        ...

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        at: datetime,
        rewrites: WriteBatch | None = None,
        words: Sequence[str] = (),
    ) -> PurgeReport:
        """Erase records, with their vectors, index rows, edges, history and jobs.

        Empty tombstones stay. ``rewrites``: new texts of records that stay, in the same
        transaction. ``words``: texts to remove from the history of those, too, and from the owner's
        sessions, states and jobs.
        """
        ...

    def missing(self, model: str, after: str, limit: int) -> tuple[Record, ...]:
        """List retrievable records without a vector of ``model``, by id from ``after`` on."""
        ...

    def outbox(self, limit: int) -> tuple[OutboxEntry, ...]:
        """List the oldest outbox entries."""
        ...

    def clear(self, ids: Sequence[int]) -> None:
        """Remove outbox entries that were carried out."""
        ...

    def require_ready(self) -> None:
        """Raise StoreError where memory cannot be read, or its schema differs."""
        ...

    def check(self, repair: bool) -> Mapping[str, Json]:
        """Check the files, and repair them where asked.

        Returns ``{"ok": bool, "problems": [...], "repaired": [...], "bytes": n, ...}``.
        """
        ...

    def include_altered(self) -> AbstractContextManager[None]:
        """Let this thread read within the block what another program changed: a purge needs it."""
        ...

    def read_head(self, owner: Scope) -> Meta:
        """Read the head of an owner's memory: number and census of the rows, last change."""
        ...

    def certify(self, statement: Meta) -> Meta:
        """Issue a certificate of a statement, signed by the key of the seals where there is one."""
        ...

    def trust_altered(self) -> int:
        """Trust what another program changed, as it is now; return the number of memories."""
        ...

    def close(self) -> None: ...
