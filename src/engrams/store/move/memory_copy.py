"""Copy of all memory from one store to another, owner by owner."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from engrams.core import Scope, Status, Vector
from engrams.errors import ConflictError, StoreError
from engrams.ports import JobSpec
from engrams.store.sql import job_queue
from engrams.store.sql.dialect import SqlDialect
from engrams.store.sql.lexemes import join_caption
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_all,
    fetch_composed,
    fetch_first,
    fetch_one,
    query,
)
from engrams.store.sql.record_queries import save_vector
from engrams.store.sql.row_conversion import FIELDS, decode_json, to_datetime
from engrams.store.sql.store import SqlStore
from engrams.text.terms import index_terms

_RECORD = ("hash", "words", "question", "dated", *FIELDS)
_OWNED = {
    "edges": ("source", "target", "type", "weight", "count"),
    "topics": ("id", "scope", "label", "named", "members", "model", "centroid", "at"),
    "sessions": ("id", "scope", "state", "started_at", "last_active", "token", "data"),
    "owner_state": ("name", "token", "data"),
    "outbox": ("topic", "record", "payload"),
}
_JOBS = (
    "id", "kind", "key", "payload", "state", "attempt", "attempts", "due", "priority", "error", "worker", "lease", "lease_until",
    "created_at", "updated_at",
)  # fmt: skip
_LINKED = ("move_history", "move_quotes", "move_vectors")
_FLAGS = ("question", "dated")
_SHOWN = 5
"""Differing memories that an error names."""
_EXACT = 1 << 50
"""Whole numbers below are the same as real ones."""

Report: TypeAlias = Callable[[int, int], object]
SharedRows: TypeAlias = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[Any, ...]]]


def move_store(source: SqlStore, target: SqlStore, report: Report) -> dict[str, int]:
    """Copy everything, and compare each owner's rows by hash; numbers of them.

    What an earlier run copied is left alone. ConflictError: the source was written to meanwhile, or
    the target holds something else.
    """
    with source.reading(None) as connection:
        owners = [Scope.parse(key) for (key,) in fetch_all(connection, "every_owner")]
    counted = {"owners": len(owners), "records": 0, "jobs": 0}
    for place, owner in enumerate(owners):
        before, total = _digest(source, owner)
        there, held = _digest(target, owner)
        if held and there != before:
            told = _describe_difference(_read_owner(source, owner), _read_owner(target, owner))
            raise ConflictError(
                f"{owner.key} has other memory there already: {told}.",
                hint="Move into an empty store.",
            )
        if there != before:
            rows = _read_owner(source, owner)
            target.write(owner, _write_owner, target.dialect, owner, rows)
        if not _digest(target, owner)[0] == before == _digest(source, owner)[0]:
            raise ConflictError(
                f"The memory of {owner.key} changed meanwhile.",
                hint="Stop what writes to it, and move again.",
            )
        counted["records"] += total
        report(place + 1, len(owners))
    shared = _read_shared(source)
    target.write(None, _write_shared, shared)
    return counted | {"jobs": len(shared[0])}


def _read_owner(store: SqlStore, owner: Scope) -> dict[str, list[tuple[Any, ...]]]:
    """Read all rows of an owner by table, records in stored order."""
    with store.reading(owner) as connection:
        found = {name: fetch_all(connection, name, owner.key) for name in _LINKED}
        for table, columns in {"records": _RECORD, **_OWNED}.items():
            if table == "records":
                order = "number"
            elif table == "outbox":
                order = "id"
            else:
                order = f"{columns[0]}, {columns[1]}"
            # Our own tables and columns.
            text = f"SELECT {', '.join(columns)} FROM {table} WHERE owner = ? ORDER BY {order}"  # noqa: S608
            found[table] = fetch_composed(connection, text, (owner.key,))
    return found


def _digest(store: SqlStore, owner: Scope) -> tuple[str, int]:
    """Hash an owner's rows for comparison of two stores; count records."""
    rows = _read_owner(store, owner)
    digest = hashlib.blake2b(digest_size=16)
    for table in sorted(rows):
        for row in (
            sorted(map(_to_text, rows[table])) if table != "records" else map(_to_text, rows[table])
        ):
            digest.update(row.encode("utf-8", "surrogatepass"))
        digest.update(f"{table} {len(rows[table])}".encode())
    return digest.hexdigest(), len(rows["records"])


def _describe_difference(
    here: dict[str, list[tuple[Any, ...]]], there: dict[str, list[tuple[Any, ...]]]
) -> str:
    """Name some memories that differ; where none does, the tables that do."""
    place = _RECORD.index("id")
    mine, theirs = (
        {row[place]: _to_text(row) for row in rows["records"]} for rows in (here, there)
    )
    if found := sorted(id for id in mine.keys() | theirs.keys() if mine.get(id) != theirs.get(id)):
        return (
            f"{len(found):,} memories differ"
            f" ({', '.join(found[:_SHOWN])}{', …' if len(found) > _SHOWN else ''})"
        )
    tables = [
        name
        for name, rows in here.items()
        if sorted(map(_to_text, rows)) != sorted(map(_to_text, there[name]))
    ]
    return (
        f"{', '.join(name.removeprefix('move_') for name in tables) or 'the order of memories'}"
        " differ"
    )


def _to_text(row: Sequence[Any]) -> str:
    return repr([_to_plain(value) for value in row])


def _to_plain(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    # Databases differ in what is a flag, a whole number or a real one.
    exact = isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < _EXACT)
    return float(value) if exact else value


def _write_owner(
    connection: SqlConnection,
    dialect: SqlDialect,
    owner: Scope,
    rows: dict[str, list[tuple[Any, ...]]],
) -> None:
    dialect.begin(connection)
    dialect.enter(connection, owner.key)
    changed = int(fetch_one(connection, "lock_owner")[0])
    numbers: dict[str, int] = {}
    for row in rows["records"]:
        changed += 1
        given = dict(zip(_RECORD, row, strict=True))
        text = join_caption(given["text"], given["caption"])
        terms = [] if given["status"] == Status.PURGED else index_terms(text)
        given |= {name: bool(given[name]) for name in _FLAGS}
        given |= dialect.describe(text if terms else "")
        given |= {
            "owner": owner.key,
            "changed": changed,
            "lexemes": dialect.encode(connection, terms),
        }
        numbers[given["id"]] = int(_insert(connection, "records", given, query("once"))[0][0])
    execute(connection, "set_changes", changed)
    for id, version, *rest in rows["move_history"]:
        execute(connection, "add_history", numbers[id], version, *rest)
    for id, source, current in rows["move_quotes"]:
        execute(connection, "add_quote", owner.key, source, numbers[id])
        if not current:
            text = "UPDATE quotes SET current = 0 WHERE owner = ? AND source = ? AND record = ?"
            connection.execute(text, (owner.key, source, numbers[id]))
    for id, model, dimension, data in rows["move_vectors"]:
        save_vector(connection, numbers[id], Vector(id, model, dimension, bytes(data)))
    for table, columns in _OWNED.items():
        for row in rows[table]:
            _insert(connection, table, {"owner": owner.key, **dict(zip(columns, row, strict=True))})


def _read_shared(store: SqlStore) -> SharedRows:
    """Read rows that belong to no owner: jobs, model usage, pace."""
    with store.reading(None) as connection:
        return _fetch_shared(connection)


def _fetch_shared(connection: SqlConnection) -> SharedRows:
    text = f"SELECT {', '.join(_JOBS)} FROM jobs ORDER BY id"  # noqa: S608 - our own columns
    pace = "SELECT name, token, data FROM owner_state WHERE owner = '' ORDER BY name"
    return (
        fetch_composed(connection, text, ()),
        fetch_all(connection, "move_spend"),
        fetch_composed(connection, pace, ()),
    )


def _write_shared(connection: SqlConnection, rows: SharedRows) -> None:
    """Add what is not there yet to what others have.

    StoreError: a row differs from what was written.
    """
    jobs, spent, states = _fetch_shared(connection)
    known = {row[0] for row in jobs}
    named = {row[0] for row in states}
    fresh = [row for row in rows[0] if row[0] not in known and not _join_waiting(connection, row)]
    for row in fresh:
        _insert(connection, "jobs", dict(zip(_JOBS, row, strict=True)))
    there: dict[str, int] = dict(spent)
    for name, value in rows[1]:
        execute(connection, "spend", name, max(0, value - there.get(name, 0)))
    paces = [row for row in rows[2] if row[0] not in named]
    for row in paces:
        execute(connection, "save_state", "", *row)
    held = _fetch_shared(connection)
    if not (set(fresh) <= set(held[0]) and set(paces) <= set(held[2])):
        raise StoreError("The jobs did not arrive as they were.", hint="Move again.")


def _join_waiting(connection: SqlConnection, row: tuple[Any, ...]) -> bool:
    """Join a waiting job to its like there; False: none waits."""
    job = dict(zip(_JOBS, row, strict=True))
    if (
        job["state"] != "waiting"
        or fetch_first(connection, "waiting_job", job["kind"], job["key"]) is None
    ):
        return False
    due = to_datetime(job["due"])
    at = to_datetime(job["updated_at"])
    spec = JobSpec(
        job["kind"],
        job["key"],
        decode_json(job["payload"]),
        due=due,
        priority=job["priority"],
        attempts=job["attempts"],
    )
    job_queue.enqueue(connection, spec, at)
    return True


def _insert(
    connection: SqlConnection, table: str, given: dict[str, Any], tail: str = ""
) -> list[tuple[Any, ...]]:
    values = [bytes(value) if isinstance(value, memoryview) else value for value in given.values()]
    # Our own tables and columns.
    text = f"INSERT INTO {table} ({', '.join(given)}) VALUES ({', '.join('?' * len(given))}) {tail}"  # noqa: S608
    if tail:
        return fetch_composed(connection, text, values)
    connection.execute(text, values)
    return []
