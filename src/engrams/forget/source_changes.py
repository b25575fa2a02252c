"""Changes of the messages that a memory was derived from, for an edit, a forget and a restore.

A message that says only what was taken back is superseded or forgotten. One that says more is
marked: reads leave the marked quotes out, and a restore takes the marks away.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, Literal, TypeAlias

from engrams.core import (
    CORRECTED,
    STATEMENT_KINDS,
    Kind,
    Record,
    Status,
    build_restored_fields,
    build_tombstone,
)
from engrams.forget.dependents import WENT_WITH
from engrams.forget.source_effects import (
    SourceChangeEffect,
    SourceEffectFinder,
    SourceLookup,
)
from engrams.ports import RecordChange, RecordQuery, RecordStore, ScopeReach

UndoableAction: TypeAlias = Literal["edit", "forget"]

_LIMIT = 1000
"""Exchanges and episodes of one message that are changed with it, at most."""
_REASONS = {"edit": "what it said was corrected", "forget": "what it said was forgotten"}


def find_source_changes(
    record: Record,
    action: UndoableAction,
    store: RecordStore,
    now: datetime,
    min_words: int,
    changed_ids: Collection[str] = (),
) -> tuple[RecordChange, ...]:
    """Build the changes of source messages that follow from an edit or forget of a record.

    ``changed_ids``: records that the same write changes already; they are left out.
    """
    owner = record.scope.owner
    changes = list[RecordChange]()
    finder = SourceEffectFinder(action, SourceLookup([record], store), store, min_words)
    for effect in finder.find_effects([record]):
        if effect.effect == "kept":
            continue
        query = RecordQuery(
            ScopeReach.of_owner(owner), (Kind.EXCHANGE,), sources=(effect.id,), limit=_LIMIT
        )
        for source in (*store.get(owner, [effect.id]), *store.find(query).records):
            if source.id in changed_ids:
                continue
            verb: str = action
            # Of an exchange the other half stays, so only the message itself goes as a whole.
            if effect.effect != "shortened" and source.id == effect.id:
                fields = _put_away(source, action, record, now)
                verb = "supersede" if action == "edit" else action
            else:
                fields = _mark_corrected(source, effect, action, record, now)
            if fields:
                changes.append(
                    RecordChange(owner, source.id, fields, verb, reason=_REASONS[action])
                )
    return tuple(changes)


def find_restored_sources(record: Record, store: RecordStore) -> tuple[RecordChange, ...]:
    """Build the changes of the messages, exchanges and episodes that return with a statement."""
    source_ids = tuple(item.source for item in record.evidence)
    if not source_ids or record.kind not in STATEMENT_KINDS:
        return ()
    owner = record.scope.owner
    query = RecordQuery(
        ScopeReach.of_owner(owner),
        (Kind.EXCHANGE, Kind.EPISODE),
        sources=source_ids,
        limit=_LIMIT,
    )
    changes = list[RecordChange]()
    for source in (*store.get(owner, source_ids), *store.find(query).records):
        fields = _bring_back(source, record, store)
        if fields:
            changes.append(RecordChange(owner, source.id, fields, "restore"))
    return tuple(changes)


def _put_away(
    source: Record, action: UndoableAction, record: Record, now: datetime
) -> dict[str, Any]:
    """Build the fields of a message that goes as a whole with a record."""
    if action == "edit":
        return {"status": Status.SUPERSEDED, "superseded_by": record.id, "valid_to": now}
    fields = build_tombstone(source, now)
    return {**fields, "meta": {**fields["meta"], WENT_WITH: record.id}}


def _mark_corrected(
    source: Record,
    effect: SourceChangeEffect,
    action: UndoableAction,
    record: Record,
    now: datetime,
) -> dict[str, Any]:
    """Build the fields that mark quotes of a message; none where all are marked already."""
    old_marks = list(source.meta.get(CORRECTED, ()))
    marked = {mark["quote"] for mark in old_marks}
    new_marks = [
        _make_mark(quote, action, record.id, now) for quote in effect.quotes if quote not in marked
    ]
    if not new_marks:
        return {}
    return {"meta": {**source.meta, CORRECTED: [*old_marks, *new_marks]}}


def _bring_back(source: Record, record: Record, store: RecordStore) -> dict[str, Any]:
    """Build the fields that restore a message, or its words, with a restored record."""
    old_marks = source.meta.get(CORRECTED, ())
    marks = [mark for mark in old_marks if (mark["by"], mark["action"]) != (record.id, "forget")]
    took_along = source.meta.get(WENT_WITH, "")
    is_away = source.status is Status.FORGOTTEN and bool(took_along)
    if len(marks) == len(old_marks) and not (is_away and took_along == record.id):
        return {}
    fields: dict[str, Any] = build_restored_fields(source) if is_away else {"meta": source.meta}
    dropped_keys = (WENT_WITH, CORRECTED) if is_away else (CORRECTED,)
    meta = {name: value for name, value in fields["meta"].items() if name not in dropped_keys}
    if is_away and took_along != record.id:
        # Another memory took the whole message along: the words of that one stay out.
        for taker in store.get(source.scope.owner, [took_along]):
            marks += [
                _make_mark(item.quote, "forget", took_along, taker.retired_at or source.recorded_at)
                for item in taker.evidence
                if item.source == source.id and item.quote
            ]
    return {**fields, "meta": {**meta, CORRECTED: marks} if marks else meta}


def _make_mark(quote: str, action: UndoableAction, by_id: str, at: datetime) -> dict[str, str]:
    """Make the mark of a quote that reads leave out. ``by_id``: the record that took it back."""
    return {"quote": quote, "at": at.isoformat(), "action": action, "by": by_id}
