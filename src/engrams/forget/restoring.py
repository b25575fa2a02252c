"""Restoring: the undo of a forget, of archiving, and of the mark of being outdated.

``build_restoration`` is the entry: it tries one undo after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from engrams.core import (
    BESIDE,
    EVICTED,
    GONE_STATUSES,
    STATEMENT_KINDS,
    Edge,
    EdgeType,
    Record,
    Scope,
    Status,
    build_restored_fields,
)
from engrams.errors import RefusedError
from engrams.forget.dependents import (
    GOING_ON,
    RELEASED,
    find_dependents,
    find_returning,
    has_later_summary,
)
from engrams.forget.source_changes import find_restored_sources
from engrams.ports import (
    LinkStore,
    RecordChange,
    RecordQuery,
    RecordStore,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.write.summary_jobs import plan_renewed_summaries

ENDING = ("status", "valid_to", "ended_at", "retired_at", "superseded_by")
"""Fields of a record that tell of its end."""
_LIMIT = 1000
"""Statements of one message that return with it, at most."""
_OUTDATING = (EdgeType.SUPERSEDES, EdgeType.MAY_OUTDATE)
_HINTS = {
    Status.ACTIVE: "Searches find it already.",
    Status.CANDIDATE: "It is held until more supports it.",
    Status.SUPERSEDED: (
        "Another memory took its place: edit that one, or forget it and restore this one."
    ),
    Status.PURGED: "A purged memory cannot be restored: add it again.",
}
"""Hints by status, where there is nothing to restore."""


def build_restoration(record: Record, store: Store, now: datetime) -> WriteBatch:
    """Build the batch that restores a forgotten, archived or outdated record.

    A superseded record returns where its replacement is gone. RefusedError: it is none of these.
    """
    batch = build_unmark(record, store, store, now) or build_return(record, store, now)
    if batch is not None:
        return batch
    if record.status is Status.ARCHIVED:
        fields = {"status": Status.ACTIVE, "superseded_by": "", "retired_at": None}
        change = RecordChange(record.scope.owner, record.id, fields, "restore")
        return WriteBatch("user", "restored", now, changes=(change,))
    if record.status is not Status.FORGOTTEN:
        raise RefusedError(
            f"The memory is not forgotten: its status is {record.status}.",
            hint=_HINTS.get(record.status, ""),
        )
    if has_later_summary(record, store):
        raise RefusedError(
            "The conversation has another summary now.",
            hint="It is made of what memory holds: restore or add what it lacks.",
        )
    batch = build_restore([record, *find_returning(record, store)], now)
    return replace(
        batch,
        changes=(*batch.changes, *find_restored_sources(record, store)),
        jobs=plan_renewed_summaries(find_dependents(record, store)),
    )


def build_restore(records: Sequence[Record], now: datetime) -> WriteBatch:
    """Build the batch that gives tombstones their former status."""
    changes = []
    for record in records:
        if record.status is Status.FORGOTTEN:
            fields = build_restored_fields(record)
            fields["meta"].pop(EVICTED, None)
            changes.append(RecordChange(record.scope.owner, record.id, fields, "restore"))
    return WriteBatch("user", "restored", now, changes=tuple(changes))


def build_unmark(
    record: Record, store: RecordStore, graph: LinkStore, now: datetime
) -> WriteBatch | None:
    """Build the batch that removes the mark of being outdated; None if nothing marks the record.

    A fact that a later statement ended is current again, and so are the messages that said it.
    """
    owner = record.scope.owner
    messages = _find_marked(record, store)
    message_ids = {message.id for message in messages}
    if not messages:
        return None
    marks = [
        edge
        for edge in graph.edges(owner, sorted(message_ids), _OUTDATING)
        if edge.target in message_ids
    ]
    later_ids = {edge.source for edge in marks}
    if not later_ids:
        return None
    if record.kind in STATEMENT_KINDS and record.superseded_by not in later_ids:
        return None
    quoting = RecordQuery(
        ScopeReach.of_owner(owner),
        statuses=(Status.SUPERSEDED,),
        sources=tuple(sorted(message_ids)),
        limit=_LIMIT,
    )
    marks += _find_doubts(owner, later_ids, quoting, store, graph)
    later_statements = store.find(
        replace(quoting, statuses=tuple(Status), sources=tuple(later_ids))
    ).records
    replacement_ids = later_ids | {statement.id for statement in later_statements}
    changes = [
        RecordChange(
            owner=owner,
            id=fact.id,
            fields={"status": Status.ACTIVE, **GOING_ON},
            action="restore",
            expect=fact.version,
        )
        for fact in store.find(quoting).records
        if fact.superseded_by in replacement_ids
    ]
    changes += [
        RecordChange(
            owner=owner,
            id=message.id,
            fields={
                "meta": {
                    **message.meta,
                    BESIDE: sorted({*message.meta.get(BESIDE, ()), *later_ids}),
                }
            },
            action="restore",
            expect=message.version,
        )
        for message in messages
    ]
    return WriteBatch("user", "it still holds", now, changes=tuple(changes), unlink=tuple(marks))


def build_return(record: Record, store: RecordStore, now: datetime) -> WriteBatch | None:
    """Build the batch that makes a superseded record current again.

    None unless its replacement is forgotten or purged. A message returns with its statements, and a
    statement with its message.
    """
    owner = record.scope.owner
    replacement_id = record.superseded_by
    if record.status is not Status.SUPERSEDED or not replacement_id:
        return None
    if not any(
        replacement.status in GONE_STATUSES for replacement in store.get(owner, [replacement_id])
    ):
        return None
    message_ids = tuple({record.id, *(item.source for item in record.evidence)})
    quoting = RecordQuery(
        ScopeReach.of_owner(owner),
        statuses=(Status.SUPERSEDED,),
        sources=message_ids,
        limit=_LIMIT,
    )
    related = {
        related_record.id: related_record
        for related_record in (*store.get(owner, message_ids), *store.find(quoting).records)
        if related_record.id != record.id
        and related_record.status is Status.SUPERSEDED
        and related_record.superseded_by == replacement_id
    }
    changes = tuple(build_former(returning, store) for returning in (record, *related.values()))
    return WriteBatch("user", RELEASED, now, changes=changes)


def build_former(record: Record, store: RecordStore) -> RecordChange:
    """Build the change that takes back how a record was superseded."""
    fields = {"status": Status.ACTIVE, "superseded_by": ""}
    for entry in reversed(store.history(record.scope.owner, record.id)):
        if entry.after.get("superseded_by") == record.superseded_by:
            fields |= {name: entry.before[name] for name in ENDING if name in entry.before}
            break
    return RecordChange(record.scope.owner, record.id, fields, "restore")


def _find_marked(record: Record, store: RecordStore) -> Sequence[Record]:
    """Find the messages that a mark of being outdated may point at: a record's own or quoted."""
    is_ended_fact = record.kind in STATEMENT_KINDS and record.status is Status.SUPERSEDED
    if is_ended_fact and record.superseded_by:
        return store.get(record.scope.owner, [item.source for item in record.evidence])
    return (record,) if record.status is Status.ACTIVE else ()


def _find_doubts(
    owner: Scope,
    later_ids: Collection[str],
    quoting: RecordQuery,
    store: RecordStore,
    graph: LinkStore,
) -> list[Edge]:
    """Find the edges by which later statements doubt the active facts of marked messages."""
    active = store.find(replace(quoting, statuses=(Status.ACTIVE,))).records
    doubted_ids = {fact.id for fact in active}
    return [
        edge
        for edge in graph.edges(owner, sorted(later_ids), (EdgeType.MAY_OUTDATE,))
        if edge.target in doubted_ids
    ]
