"""Reading records, their history and what is known about them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from engrams.ports import OutboxEntry, Reach
from engrams.store.sqlite import filters
from engrams.store.sqlite.filters import Clause
from engrams.store.sqlite.rows import decode, decode_json, moment, plain
from engrams.store.sqlite.sql import composed, every, first, query
from engrams.types import HistoryEntry, Record, Scope, Status

_BY_IDS = " WHERE id IN (SELECT value FROM json_each(?)) AND owner = ?"
_TOLD = ("text", "kind", "status")


def get(connection: apsw.Connection, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
    """Those that exist, purged ones as empty tombstones, in the order of ``ids``."""
    rows = composed(connection, query("select_records") + _BY_IDS, (json.dumps(list(ids), ensure_ascii=False), owner.key))
    found = {record.id: record for record in map(decode, rows)}
    return tuple(found[name] for name in ids if name in found)


def history(connection: apsw.Connection, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
    """Oldest first. The first entry tells the text, kind and status that the record began with."""
    row = first(connection, "number_of", id, owner.key)
    if row is None:
        return ()
    entries = [_entry(id, item) for item in every(connection, "history", row[0])]
    if entries and row[1] != Status.PURGED and not entries[0].before:
        record = get(connection, owner, [id])[0]
        entries[0] = HistoryEntry(
            record=id,
            version=entries[0].version,
            at=entries[0].at,
            action=entries[0].action,
            actor=entries[0].actor,
            reason=entries[0].reason,
            before={},
            after={name: _began(name, record, entries[1:]) for name in _TOLD},
        )
    return tuple(entries)


def _began(name: str, record: Record, later: Sequence[HistoryEntry]) -> Any:
    """A field's first value: what the first change of it found, or what it still is."""
    for entry in later:
        if name in entry.before:
            return entry.before[name]
    return plain(name, getattr(record, name))


def _entry(id: str, row: tuple[Any, ...]) -> HistoryEntry:
    version, at, action, actor, reason, before, after = row
    return HistoryEntry(id, version, moment(at), action, actor, reason, decode_json(before or "{}"), decode_json(after or "{}"))


def missing(connection: apsw.Connection, model: str, after: str, limit: int) -> tuple[Record, ...]:
    """Active records of all owners without a vector of ``model``, by id."""
    rows = composed(connection, f"{query('select_records')} {query('missing_tail')}", (after, model, limit))
    return tuple(decode(row) for row in rows)


def scopes(connection: apsw.Connection, owner: Scope | None) -> tuple[Scope, ...]:
    """The scopes that hold records."""
    rows = every(connection, "every_scope") if owner is None else every(connection, "scopes_of", owner.key)
    return tuple(Scope.parse(key) for (key,) in rows)


def speakers(connection: apsw.Connection, seen: Reach) -> Mapping[str, int]:
    """Who spoke in active records of the reach, most first."""
    within = filters.reach(seen)
    text = f"{query('tally_speakers')} AND {within.text} GROUP BY speaker ORDER BY 2 DESC, 1"
    return dict(composed(connection, text, (seen.owner.key, *within.values)))


def counts(connection: apsw.Connection, seen: Reach | None) -> Mapping[str, Mapping[str, int]]:
    """Records by status; those that were not purged by kind, layer and tier; active ones by tier and layer; vectors by model."""
    within = Clause("1") if seen is None else filters.reach(seen)
    found: dict[str, dict[str, int]] = {"status": {}, "kind": {}, "layer": {}, "tier": {}, "active": {}, "active_layers": {}, "model": {}}
    text = f"{query('tally_kinds')} WHERE {within.text} GROUP BY status, kind, layer, tier"
    for status, *axes, total in composed(connection, text, within.values):
        _count(found["status"], status, total)
        if status != Status.PURGED:
            for axis, name in zip(("kind", "layer", "tier"), axes, strict=True):
                _count(found[axis], name, total)
        if status == Status.ACTIVE:
            _count(found["active"], axes[-1], total)
            _count(found["active_layers"], axes[1], total)
    if seen is None:
        found["model"] = dict(every(connection, "count_vectors"))
    else:
        text = f"{query('count_reached_vectors')} AND {within.text} GROUP BY models.name"
        found["model"] = dict(composed(connection, text, within.values))
    return found


def _count(table: dict[str, int], name: str, total: int) -> None:
    table[name] = table.get(name, 0) + total


def outbox(connection: apsw.Connection, limit: int) -> tuple[OutboxEntry, ...]:
    return tuple(
        OutboxEntry(number, topic, Scope.parse(owner), record, decode_json(payload))
        for number, topic, owner, record, payload in every(connection, "outbox", limit)
    )
