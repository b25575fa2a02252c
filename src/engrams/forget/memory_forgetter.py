"""Forgetting: memories become tombstones that no read finds, until a restore.

The engine calls ``MemoryForgetter``. ``build_tombstone_batch`` makes tombstones of exactly the
records that it gets. ``build_forget_batch`` also forgets the records derived from them alone, and
changes the messages that they quote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from engrams.core import GONE_STATUSES, Record, Scope, Status, build_tombstone
from engrams.forget.dependents import build_release, find_dependents
from engrams.forget.restoring import build_restoration
from engrams.forget.source_changes import find_source_changes
from engrams.forget.source_effects import ChangeAction, SourceChangeReport, preview_change
from engrams.frozen_data import dataclass
from engrams.ports import (
    Clock,
    JobSpec,
    RecordChange,
    RecordStore,
    Store,
    WriteBatch,
)
from engrams.write.summary_jobs import plan_renewed_summaries

_DERIVED_REASON = "it rests on a memory that was forgotten"
"""Reason in the history of a record that goes with another one."""


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """Actor, time and reason of a forget, for the history."""

    now: datetime
    reason: str = ""
    """Goes into the history; empty: ``asked to forget``."""
    actor: str = ""
    """Goes into the history; empty: ``user``."""
    jobs: tuple[JobSpec, ...] = ()
    """Jobs to enqueue in the transaction of the first write."""


@dataclass(frozen=True, slots=True)
class ForgetDeps:
    """Dependencies of forgetting and restoring."""

    store: Store
    clock: Clock
    min_words: int
    """Words that a message must have left to be worth keeping (``write.min_words``)."""
    drop_cached: Callable[[Scope, Sequence[str]], None]
    """Removes records of an owner from the caches of this process."""


class MemoryForgetter:
    """Forgets and restores memories, with all that follows for others."""

    def __init__(self, deps: ForgetDeps) -> None:
        self._deps = deps

    def forget(
        self,
        records: Sequence[Record],
        owner: Scope,
        reason: str = "",
        jobs: Sequence[JobSpec] = (),
    ) -> None:
        """Forget memories of one owner. ``jobs``: to enqueue with the first write."""
        deps = self._deps
        request = ForgetRequest(deps.clock(), reason, jobs=tuple(jobs))
        changed_ids = forget_records(records, deps.store, request, deps.min_words)
        deps.drop_cached(owner, changed_ids)

    def restore(self, record: Record) -> None:
        """Undo a forget, archiving, or the mark of being outdated.

        RefusedError: the record is none of these.
        """
        deps = self._deps
        deps.store.commit(build_restoration(record, deps.store, deps.clock()))

    def preview(self, records: Sequence[Record], action: ChangeAction) -> SourceChangeReport:
        """Report what an action on these records reaches; nothing is changed."""
        return preview_change(records, action, self._deps.store, self._deps.min_words)


def forget_records(
    records: Sequence[Record], store: RecordStore, request: ForgetRequest, min_words: int
) -> list[str]:
    """Forget memories with those derived from them alone; return the ids of changed records.

    Records that quote nothing go first, in one write. The others follow one by one, because two of
    them may quote one message: the second must see what the first left of it.
    """
    without_quotes = [record for record in records if not record.evidence]
    groups = [without_quotes, *([record] for record in records if record.evidence)]
    is_forgotten = dict[str, bool]()
    for group in groups:
        # An earlier group may have taken some of these along.
        remaining = [record for record in group if not is_forgotten.get(record.id)]
        if not remaining:
            continue
        batch = build_forget_batch(
            remaining, store, request.now, reason=request.reason, min_words=min_words
        )
        jobs = batch.jobs if is_forgotten else (*batch.jobs, *request.jobs)
        store.commit(replace(batch, actor=request.actor or batch.actor, jobs=jobs))
        is_forgotten |= {
            change.id: change.fields.get("status") is Status.FORGOTTEN for change in batch.changes
        }
    return list(is_forgotten)


def build_forget_batch(
    records: Sequence[Record],
    store: RecordStore,
    now: datetime,
    *,
    reason: str,
    min_words: int,
) -> WriteBatch:
    """Build the batch that forgets memories and those derived from them alone.

    The batch also changes the messages that they quote. At most one of ``records`` may quote a
    message. A job makes the summaries that go anew, of what is left.
    """
    asked_ids = {record.id for record in records}
    forgotten = {record.id: record for record in records}
    for record in records:
        forgotten |= {dependent.id: dependent for dependent in find_dependents(record, store)}
    batch = build_tombstone_batch(list(forgotten.values()), now, reason)
    changes = [
        change if change.id in asked_ids else replace(change, reason=_DERIVED_REASON)
        for change in batch.changes
    ]
    changed_ids = {change.id for change in changes}
    changes += find_source_changes(records[0], "forget", store, now, min_words, changed_ids)
    changes += build_release(list(forgotten.values()), store, now).changes
    jobs = plan_renewed_summaries(forgotten.values())
    return replace(batch, changes=tuple(changes), jobs=jobs)


def build_tombstone_batch(records: Sequence[Record], now: datetime, reason: str) -> WriteBatch:
    """Build the batch that makes tombstones of exactly these records.

    A tombstone keeps the former status of its record, for a restore.
    """
    changes = tuple(
        RecordChange(record.scope.owner, record.id, build_tombstone(record, now), "forget")
        for record in records
        if record.status not in GONE_STATUSES
    )
    return WriteBatch("user", reason or "asked to forget", now, changes=changes)
