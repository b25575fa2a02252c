"""Changes of other records that follow from new values of one record.

``cascade_changes`` is the entry: the editor calls it for an edit, the vault for a file that
somebody edited, removed or put back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from engrams.core import CORRECTED, MESSAGE_KINDS, RUNNING, UNSAID, Kind, Record, Status
from engrams.forget.dependents import find_returning
from engrams.forget.memory_forgetter import build_forget_batch
from engrams.forget.restoring import build_restore
from engrams.forget.source_changes import find_restored_sources, find_source_changes
from engrams.ports import RecordChange, RecordQuery, RecordStore, ScopeReach
from engrams.text.redact import find_sentence

_LIMIT = 1000
"""Records derived from one message that are changed with it, at most."""
_RETELLING_KINDS = (Kind.EPISODE, Kind.EXCHANGE)
"""Kinds of records that repeat words of several messages."""


def cascade_changes(
    record: Record, values: Mapping[str, Any], store: RecordStore, now: datetime, min_words: int
) -> tuple[RecordChange, ...]:
    """Build the changes of other records that follow from new values of one record.

    They are those of an edit, a forget or a restore through the engine. ``min_words``: words that a
    message must have left to be worth keeping (``write.min_words``).
    """
    if values.get("status") is Status.FORGOTTEN:
        batch = build_forget_batch([record], store, now, reason="", min_words=min_words)
        return tuple(change for change in batch.changes if change.id != record.id)
    if record.status is Status.FORGOTTEN and "status" in values:
        batch = build_restore(find_returning(record, store), now)
        return (*batch.changes, *find_restored_sources(record, store))
    if "text" not in values:
        return ()
    if record.kind in MESSAGE_KINDS:
        return _change_derived(record, values["text"], store, now)
    return (
        *find_source_changes(record, "edit", store, now, min_words),
        *_retire_summaries([record], store, now),
    )


def _change_derived(
    message: Record, text: str, store: RecordStore, now: datetime
) -> tuple[RecordChange, ...]:
    """Build the changes of everything derived from a message whose text is edited."""
    ended, returned = _sort_facts(message, text, store)
    changes = [
        _change(
            fact,
            {"status": Status.SUPERSEDED, "retired_at": now, "meta": {**fact.meta, UNSAID: True}},
            "retract",
        )
        for fact in ended
    ]
    changes += [
        _change(
            fact,
            {"status": Status.ACTIVE, "retired_at": None, "meta": _without(fact.meta, UNSAID)},
            "restore",
        )
        for fact in returned
    ]
    return (
        *changes,
        *_correct_retellings(message, text, ended, store, now),
        *_retire_summaries(ended, store, now),
    )


def _retire_summaries(
    statements: Sequence[Record], store: RecordStore, now: datetime
) -> list[RecordChange]:
    """End the rolling summaries that tell statements with their old words.

    The next update makes a summary of the conversation's statements anew.
    """
    if not statements:
        return []
    query = RecordQuery(
        ScopeReach.of_owner(statements[0].scope.owner),
        (Kind.SUMMARY,),
        sources=tuple(statement.id for statement in statements),
        limit=_LIMIT,
    )
    return [
        _change(summary, {"status": Status.SUPERSEDED, "retired_at": now}, "supersede")
        for summary in store.find(query).records
        if summary.meta.get(RUNNING) == "rolling"
    ]


def _sort_facts(
    message: Record, text: str, store: RecordStore
) -> tuple[list[Record], list[Record]]:
    """Find the facts that end with an edit, and those that return.

    Only facts that this message alone said: another message still supports any other fact.
    """
    ended = list[Record]()
    returned = list[Record]()
    for fact in _find_derived(message, (Status.ACTIVE, Status.SUPERSEDED), store):
        if {item.source for item in fact.evidence} != {message.id}:
            continue
        is_supported = _supports_fact(text, fact)
        if fact.status is Status.ACTIVE and not is_supported:
            ended.append(fact)
        elif fact.status is Status.SUPERSEDED and is_supported and fact.meta.get(UNSAID):
            returned.append(fact)
    return ended, returned


def _find_derived(
    message: Record,
    statuses: tuple[Status, ...],
    store: RecordStore,
    kinds: tuple[Kind, ...] = (),
) -> Sequence[Record]:
    return store.find(
        RecordQuery(
            ScopeReach.of_owner(message.scope.owner),
            kinds,
            statuses=statuses,
            sources=(message.id,),
            limit=_LIMIT,
        )
    ).records


def _correct_retellings(
    message: Record,
    text: str,
    ended: Sequence[Record],
    store: RecordStore,
    now: datetime,
) -> list[RecordChange]:
    """Mark the old words of an edited message in the records that repeat them.

    A model retells in its own words: there the sentences with the object of an ended fact are
    marked. Marks of words that the new text says again go.
    """
    changes = []
    for retelling in _find_derived(
        message, (Status.ACTIVE, Status.ARCHIVED), store, _RETELLING_KINDS
    ):
        repeated = [item.quote for item in retelling.evidence if item.source == message.id]
        repeated += [
            find_sentence(retelling.text, fact.object) for fact in ended if fact.object not in text
        ]
        old_marks = list(retelling.meta.get(CORRECTED, ()))
        marks = [
            mark
            for mark in old_marks
            if (mark["by"], mark["action"]) != (message.id, "edit") or mark["quote"] not in text
        ]
        marked = {"", *(mark["quote"] for mark in marks)}
        marks += [
            {"quote": quote, "at": now.isoformat(), "action": "edit", "by": message.id}
            for quote in dict.fromkeys(repeated)
            if quote not in marked and quote not in text
        ]
        if marks != old_marks:
            meta = _without(retelling.meta, CORRECTED)
            changes.append(
                _change(
                    retelling,
                    {"meta": {**meta, CORRECTED: marks} if marks else meta},
                    "edit",
                )
            )
    return changes


def _supports_fact(text: str, fact: Record) -> bool:
    """Return True if a text contains the fact's quote, or its restated object."""
    if any(item.quote and item.quote in text for item in fact.evidence):
        return True
    is_restated = bool(fact.object) and not any(fact.object in item.quote for item in fact.evidence)
    return is_restated and fact.object in text


def _change(record: Record, fields: dict[str, Any], action: str) -> RecordChange:
    return RecordChange(
        owner=record.scope.owner,
        id=record.id,
        fields=fields,
        action=action,
        expect=record.version,
    )


def _without(meta: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in meta.items() if name != key}
