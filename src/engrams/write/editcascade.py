"""Consequences of a manual edit for related records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engrams.ports import RecordChange, RecordQuery, RecordStore, ScopeReach
from engrams.types import Kind, Record, Status
from engrams.write import manualedits

_SAID = (Kind.NOTE, Kind.TURN, Kind.EXCHANGE)
UNSAID = "unsaid"
"""Metadata key of a fact whose source no longer says it; repeating it restores the fact."""


def restate_object(record: Record, text: str) -> dict[str, Any]:
    """Find the new object where only the object's words changed.

    Returns fields: the new ``object``, emptied ``predicate`` and ``object`` where the text differs elsewhere, or none where nothing
    changes. Pure."""
    if not record.object or record.object in text or record.object not in record.text:
        return {}
    before, _, after = record.text.partition(record.object)
    inner = text[len(before) : len(text) - len(after)]
    held = text.startswith(before) and text.endswith(after) and len(text) >= len(before) + len(after)
    thing = inner.strip().rstrip(".!")
    return {"object": thing} if held and thing else {"predicate": "", "object": ""}


def cascade_changes(record: Record, values: Mapping[str, Any], records: RecordStore, at: datetime) -> tuple[RecordChange, ...]:
    """Return changes of other records for one record's new values."""
    if values.get("status") is Status.FORGOTTEN:
        return manualedits.build_forget(manualedits.find_dependents(record, records), at, "").changes
    if record.status is Status.FORGOTTEN and "status" in values:
        return manualedits.build_restore(manualedits.find_returning(record, records), at).changes
    if record.status is not Status.ACTIVE or "text" not in values:
        return ()
    return _cascade_facts(record, values["text"], records, at) if record.kind in _SAID else _cascade_notes(record, records, at)


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


def _cascade_notes(fact: Record, records: RecordStore, at: datetime) -> tuple[RecordChange, ...]:
    """Supersede a note that said only this fact; turns stay."""
    if not fact.meta.get("whole") or not fact.evidence:
        return ()
    fields = {"status": Status.SUPERSEDED, "retired_at": at, "superseded_by": fact.id}
    found = records.get(fact.scope.owner, [fact.evidence[0].source])
    notes = [note for note in found if note.kind is Kind.NOTE and note.status is Status.ACTIVE]
    return tuple(RecordChange(fact.scope.owner, note.id, dict(fields), "supersede", note.version) for note in notes)


def _supports_fact(text: str, fact: Record) -> bool:
    """True if a text holds the fact's quote, or its restated object."""
    if any(quote.quote and quote.quote in text for quote in fact.evidence):
        return True
    restated = bool(fact.object) and not any(fact.object in quote.quote for quote in fact.evidence)
    return restated and fact.object in text
