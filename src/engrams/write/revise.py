"""Changes by hand: edit, forget, restore. Each makes one batch; what was derived from a memory alone shares its fate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields as fields_of
from datetime import datetime
from typing import Any

from engrams.errors import InputError, RefusedError
from engrams.ports import Batch, Change, Query, Reach, Records
from engrams.types import Kind, Record, Scope, Status, Vector
from engrams.write.words import words

EDITABLE = words("""
    text caption tags category importance confidence valid_from valid_to meta kind summary triggers steps subject predicate
    object speaker
    """)
_BY_HAND = "user"
_TUPLES = frozenset(("tags", "triggers", "steps"))


def checked(record: Record, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as fields of a record. InputError: not editable, or not what that field holds."""
    if record.status is Status.PURGED:
        raise RefusedError("A purged memory cannot be edited.", hint="Add it anew.")
    unknown = sorted(set(values) - EDITABLE)
    if unknown or not values:
        raise InputError(f"Cannot edit {', '.join(unknown) or 'nothing'}.", hint=f"Editable: {', '.join(sorted(EDITABLE))}.")
    known = {field.name for field in fields_of(Record)}
    return {name: _value(name, value) for name, value in values.items() if name in known}


def _value(name: str, value: Any) -> Any:
    match name:
        case "importance" | "confidence":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{name} is a number from 0 to 1, not {value!r}.")
            return float(value)
        case "valid_from" | "valid_to":
            if value is not None and not isinstance(value, datetime):
                raise InputError(f"{name} is a time, not {value!r}.")
            return value
        case "kind":
            if value not in tuple(Kind):
                raise InputError(f"There is no kind {value!r}.", hint=f"The kinds are: {', '.join(Kind)}.")
            return Kind(value)
        case "meta":
            if not isinstance(value, Mapping):
                raise InputError("meta is an object.")
            return dict(value)
        case _ if name in _TUPLES:
            if isinstance(value, str) or not all(isinstance(part, str) for part in value):
                raise InputError(f"{name} is a list of texts.")
            return tuple(value)
        case _:
            if not isinstance(value, str):
                raise InputError(f"{name} is a text, not {value!r}.")
            return value


def edit(record: Record, fields: Mapping[str, Any], vectors: Sequence[Vector], at: datetime, reason: str, expect: int | None) -> Batch:
    """New values for one record."""
    change = Change(record.scope.owner, record.id, dict(fields), "edit", expect)
    return Batch(_BY_HAND, reason or "edited", at, changes=(change,), vectors=tuple((record.scope.owner, v) for v in vectors))


def forget(records: Sequence[Record], at: datetime, reason: str) -> Batch:
    """Tombstones, which remember what the status was."""
    changes = tuple(
        Change(r.scope.owner, r.id, {"status": Status.FORGOTTEN, "retired_at": at, "meta": {**r.meta, "was": r.status.value}}, "forget")
        for r in records
        if r.status not in (Status.FORGOTTEN, Status.PURGED)
    )
    return Batch(_BY_HAND, reason or "asked to forget", at, changes=changes)


def restore(records: Sequence[Record], at: datetime) -> Batch:
    """Tombstones back to what they were."""
    changes = []
    for record in records:
        if record.status is Status.FORGOTTEN:
            meta = {name: value for name, value in record.meta.items() if name != "was"}
            fields = {"status": Status(record.meta.get("was", Status.ACTIVE)), "retired_at": None, "meta": meta}
            changes.append(Change(record.scope.owner, record.id, fields, "restore"))
    return Batch(_BY_HAND, "restored", at, changes=tuple(changes))


def dependents(record: Record, records: Records) -> tuple[Record, ...]:
    """Memories that quote this one and nothing else."""
    owner: Scope = record.scope.owner
    query = Query(Reach(owner, (owner,), tree=True), statuses=tuple(Status), sources=(record.id,), limit=1000)
    return tuple(found for found in records.find(query).records if {quote.source for quote in found.evidence} == {record.id})
