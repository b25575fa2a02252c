"""Consequences of a manual edit for related records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engrams.ports import RecordChange, RecordQuery, RecordStore, ScopeReach, WriteBatch
from engrams.text.terms import tokens
from engrams.types import UNSAID, Kind, Record, Status
from engrams.write import manualedits, sourcechanges
from engrams.write.statedfacts import keeps_slot, read_edited

_SAID = (Kind.NOTE, Kind.TURN, Kind.EXCHANGE)


def restate_slot(record: Record, text: str) -> dict[str, Any]:
    """Find the slot of a statement whose text is edited.

    Returns fields. Where rules read the new text as one statement with the same subject and predicate: those of that. Else the new
    ``object`` where only that one's words changed, emptied ``predicate`` and ``object`` where the text differs elsewhere, says several
    things, or never held the object's words, and none where no word changes, or where it still holds the object. Pure."""
    if not record.object or tokens(record.text) == tokens(text):
        return {}
    read = read_edited(record, text)
    if len(read) == 1 and keeps_slot(read[0], record):
        return {name: getattr(read[0], name) for name in ("subject", "predicate", "object")}
    if record.object in text:
        return {}
    if len(read) > 1 or record.object not in record.text:
        return {"predicate": "", "object": ""}
    before, _, after = record.text.partition(record.object)
    inner = text[len(before) : len(text) - len(after)]
    held = text.startswith(before) and text.endswith(after) and len(text) >= len(before) + len(after)
    thing = inner.strip().rstrip(".!")
    return {"object": thing} if held and thing else {"predicate": "", "object": ""}


def cascade_changes(
    record: Record, values: Mapping[str, Any], records: RecordStore, at: datetime, min_words: int
) -> tuple[RecordChange, ...]:
    """Return changes of other records for one record's new values.
    The same as of an edit, a forget and a restore through the engine."""
    if values.get("status") is Status.FORGOTTEN:
        changes = sourcechanges.build_forgetting([record], records, at, "", min_words).changes
        return tuple(change for change in changes if change.id != record.id)
    if record.status is Status.FORGOTTEN and "status" in values:
        batch = manualedits.build_restore(manualedits.find_returning(record, records), at)
        return sourcechanges.with_restored_sources(batch, record, records).changes
    if "text" not in values:
        return ()
    if record.kind in _SAID:
        return _cascade_facts(record, values["text"], records, at)
    return sourcechanges.with_sources(WriteBatch("", "", at), record, "edit", records, min_words).changes


def _cascade_facts(source: Record, text: str, records: RecordStore, at: datetime) -> tuple[RecordChange, ...]:
    """Retract facts that only this source said; restore repeated ones."""
    owner = source.scope.owner
    query = RecordQuery(
        ScopeReach(owner, (owner,), tree=True), statuses=(Status.ACTIVE, Status.SUPERSEDED), sources=(source.id,), limit=1000
    )
    changes = []
    for fact in records.find(query).records:
        if {quote.source for quote in fact.evidence} != {source.id}:
            continue
        said = _supports_fact(text, fact)
        if fact.status is Status.ACTIVE and not said:
            fields: dict[str, Any] = {"status": Status.SUPERSEDED, "retired_at": at, "meta": {**fact.meta, UNSAID: True}}
        elif fact.status is Status.SUPERSEDED and said and fact.meta.get(UNSAID):
            meta = {name: value for name, value in fact.meta.items() if name != UNSAID}
            fields = {"status": Status.ACTIVE, "retired_at": None, "meta": meta}
        else:
            continue
        changes.append(RecordChange(owner, fact.id, fields, "restore" if said else "retract", fact.version))
    return tuple(changes)


def _supports_fact(text: str, fact: Record) -> bool:
    """True if a text holds the fact's quote, or its restated object."""
    if any(quote.quote and quote.quote in text for quote in fact.evidence):
        return True
    restated = bool(fact.object) and not any(fact.object in quote.quote for quote in fact.evidence)
    return restated and fact.object in text
