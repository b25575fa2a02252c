"""Copy of all memory from one store to another, owner by owner.

Enter at ``move_store``. Rows are copied as they are, but for numbers that a database gives by
itself: those of records, terms and changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

from engrams.core import Scope, Status, Vector
from engrams.errors import ConflictError, StoreError
from engrams.ports import JobSpec
from engrams.store.sql import job_queue
from engrams.store.sql.census import take_census
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
from engrams.store.sql.row_conversion import FIELDS, decode_json, to_datetime
from engrams.store.sql.sealing import find_altered, seal_row
from engrams.store.sql.store import SqlStore
from engrams.store.sql.vector_rows import save_vector
from engrams.text.terms import index_terms

_RECORD_COLUMNS = ("hash", "words", "question", "dated", *FIELDS)
_OWNED_COLUMNS = {
    "edges": ("source", "target", "type", "weight", "count"),
    "topics": ("id", "scope", "label", "named", "members", "model", "centroid", "at"),
    "sessions": ("id", "scope", "state", "started_at", "last_active", "token", "data"),
    "owner_state": ("name", "token", "data"),
    "outbox": ("topic", "record", "payload"),
    "attachments": ("digest", "bytes", "reserved_at"),
}
"""Columns by table, of tables whose rows name their owner."""
_JOB_COLUMNS = (
    "id",
    "kind",
    "key",
    "payload",
    "state",
    "attempt",
    "attempts",
    "due",
    "priority",
    "error",
    "worker",
    "lease",
    "lease_until",
    "created_at",
    "updated_at",
)
_LINKED_QUERIES = ("move_history", "move_quotes", "move_vectors")
"""Queries of rows that name a record by its number; they give its id instead."""
_FLAGS = ("question", "dated")
_MAX_NAMED = 5
"""Differing memories that an error names."""
_MAX_EXACT = 1 << 50
"""Whole numbers below are the same as real ones."""

Report: TypeAlias = Callable[[int, int], object]
Rows: TypeAlias = list[tuple[Any, ...]]
OwnerRows: TypeAlias = dict[str, Rows]
"""Rows of one owner, by table or by query of linked rows."""


class _SharedRows(NamedTuple):
    """Rows that belong to no owner."""

    jobs: Rows
    usage: Rows
    """Counters of model usage: name and value."""
    paces: Rows
    """States with the pace of models."""


def move_store(source: SqlStore, target: SqlStore, report: Report) -> dict[str, int]:
    """Copy everything, and compare each owner's rows by hash; return how much it was.

    What an earlier run copied is left alone. ConflictError: the source was written to meanwhile, or
    the target holds something else.
    """
    with source.reading(None) as connection:
        owners = [Scope.parse(key) for (key,) in fetch_all(connection, "every_owner")]
    counts = {"owners": len(owners), "records": 0, "jobs": 0}
    for owner_count, owner in enumerate(owners, 1):
        counts["records"] += _move_owner(source, target, owner)
        report(owner_count, len(owners))
    shared = _read_shared(source)
    target.write(None, _write_shared, shared)
    return counts | {"jobs": len(shared.jobs)}


def _move_owner(source: SqlStore, target: SqlStore, owner: Scope) -> int:
    """Copy the memory of one owner; return its number of records."""
    source_digest, record_count = _digest(source, owner)
    target_digest, existing_count = _digest(target, owner)
    if existing_count and target_digest != source_digest:
        difference = _describe_difference(_read_owner(source, owner), _read_owner(target, owner))
        raise ConflictError(
            f"{owner.key} already has other memories there: {difference}.",
            hint="Move into an empty store.",
        )
    if target_digest != source_digest:
        rows = _read_owner(source, owner)
        with source.reading(owner) as connection:
            altered_ids = {row.id for row in find_altered(connection, source.seals, owner.key)}
        target.write(owner, _write_owner, target.dialect, owner, rows, altered_ids)
    if not _digest(target, owner)[0] == source_digest == _digest(source, owner)[0]:
        raise ConflictError(
            f"The memory of {owner.key} changed meanwhile.",
            hint="Stop the programs that write to it, and move again.",
        )
    return record_count


# --------------------------------------------------------------------------------------------------
# reading and comparing


def _read_owner(store: SqlStore, owner: Scope) -> OwnerRows:
    """Read all rows of an owner, records in stored order."""
    with store.reading(owner) as connection:
        rows = {name: fetch_all(connection, name, owner.key) for name in _LINKED_QUERIES}
        for table, columns in {"records": _RECORD_COLUMNS, **_OWNED_COLUMNS}.items():
            if table == "records":
                order = "number"
            elif table == "outbox":
                order = "id"
            else:
                order = f"{columns[0]}, {columns[1]}"
            # Our own tables and columns.
            statement = f"SELECT {', '.join(columns)} FROM {table} WHERE owner = ? ORDER BY {order}"  # noqa: S608
            rows[table] = fetch_composed(connection, statement, (owner.key,))
    return rows


def _digest(store: SqlStore, owner: Scope) -> tuple[str, int]:
    """Hash an owner's rows for comparison of two stores; count records."""
    rows = _read_owner(store, owner)
    digest = hashlib.blake2b(digest_size=16)
    for table in sorted(rows):
        texts = [_to_text(row) for row in rows[table]]
        # Databases sort texts differently; the order of records alone means something.
        if table != "records":
            texts.sort()
        for text in texts:
            digest.update(text.encode("utf-8", "surrogatepass"))
        digest.update(f"{table} {len(rows[table])}".encode())
    return digest.hexdigest(), len(rows["records"])


def _describe_difference(source_rows: OwnerRows, target_rows: OwnerRows) -> str:
    """Name some memories that differ; where none does, the tables that do."""
    id_position = _RECORD_COLUMNS.index("id")
    source_texts, target_texts = (
        {row[id_position]: _to_text(row) for row in rows["records"]}
        for rows in (source_rows, target_rows)
    )
    differing = sorted(
        record_id
        for record_id in source_texts.keys() | target_texts.keys()
        if source_texts.get(record_id) != target_texts.get(record_id)
    )
    if differing:
        names = ", ".join(differing[:_MAX_NAMED])
        dots = ", …" if len(differing) > _MAX_NAMED else ""
        return f"{len(differing):,} memories differ ({names}{dots})"
    tables = [
        table.removeprefix("move_")
        for table, rows in source_rows.items()
        if sorted(map(_to_text, rows)) != sorted(map(_to_text, target_rows[table]))
    ]
    return f"{', '.join(tables) or 'the order of memories'} differ"


def _to_text(row: Sequence[Any]) -> str:
    return repr([_to_plain(value) for value in row])


def _to_plain(value: Any) -> Any:
    """Convert a value to one that is the same from every database."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    # Databases differ in what is a flag, a whole number or a real one.
    is_exact = isinstance(value, int) and abs(value) < _MAX_EXACT
    return float(value) if is_exact or isinstance(value, bool | float) else value


# --------------------------------------------------------------------------------------------------
# writing


def _write_owner(
    connection: SqlConnection,
    dialect: SqlDialect,
    owner: Scope,
    rows: OwnerRows,
    altered_ids: Set[str],
) -> None:
    """Insert all rows of an owner, in the caller's transaction.

    Records of ``altered_ids`` were changed by another program: they get no seal.
    """
    dialect.begin(connection)
    dialect.enter(connection, owner.key)
    changed = int(fetch_one(connection, "lock_owner")[0])
    numbers: dict[str, int] = {}
    """New numbers of records by id."""
    for row in rows["records"]:
        changed += 1
        values = dict(zip(_RECORD_COLUMNS, row, strict=True))
        number = _insert_record(connection, dialect, owner, values, changed)
        if values["id"] not in altered_ids:
            seal_row(connection, dialect.seals, number)
        numbers[values["id"]] = number
    take_census(connection, dialect.seals, owner.key)
    execute(connection, "set_changes", changed)
    for record_id, version, *entry in rows["move_history"]:
        execute(connection, "add_history", numbers[record_id], version, *entry)
    for record_id, source, current in rows["move_quotes"]:
        execute(connection, "add_quote", owner.key, source, numbers[record_id])
        if not current:
            statement = (
                "UPDATE quotes SET current = 0 WHERE owner = ? AND source = ? AND record = ?"
            )
            connection.execute(statement, (owner.key, source, numbers[record_id]))
    for record_id, model, dimension, data in rows["move_vectors"]:
        vector = Vector(record_id, model, dimension, bytes(data))
        save_vector(connection, numbers[record_id], vector)
    for table, columns in _OWNED_COLUMNS.items():
        for row in rows[table]:
            values = {"owner": owner.key, **dict(zip(columns, row, strict=True))}
            _insert(connection, table, values)


def _insert_record(
    connection: SqlConnection,
    dialect: SqlDialect,
    owner: Scope,
    values: dict[str, Any],
    changed: int,
) -> int:
    """Insert a record; return its number. ``values``: by column, but for those added here."""
    text = join_caption(values["text"], values["caption"])
    terms = [] if values["status"] == Status.PURGED else index_terms(text)
    row = {
        **values,
        **{name: bool(values[name]) for name in _FLAGS},
        **dialect.describe(text if terms else ""),
        "owner": owner.key,
        "changed": changed,
        "lexemes": dialect.encode(connection, terms),
    }
    return int(_insert(connection, "records", row, query("once"))[0][0])


def _read_shared(store: SqlStore) -> _SharedRows:
    with store.reading(None) as connection:
        return _fetch_shared(connection)


def _fetch_shared(connection: SqlConnection) -> _SharedRows:
    jobs = f"SELECT {', '.join(_JOB_COLUMNS)} FROM jobs ORDER BY id"  # noqa: S608 - our own columns
    paces = "SELECT name, token, data FROM owner_state WHERE owner = '' ORDER BY name"
    return _SharedRows(
        jobs=fetch_composed(connection, jobs, ()),
        usage=fetch_all(connection, "move_spend"),
        paces=fetch_composed(connection, paces, ()),
    )


def _write_shared(connection: SqlConnection, rows: _SharedRows) -> None:
    """Add rows that are missing; what others have there already stays.

    StoreError: a row differs from what was written.
    """
    existing = _fetch_shared(connection)
    job_ids = {row[0] for row in existing.jobs}
    state_names = {row[0] for row in existing.paces}
    jobs = [
        row for row in rows.jobs if row[0] not in job_ids and not _join_waiting(connection, row)
    ]
    for row in jobs:
        _insert(connection, "jobs", dict(zip(_JOB_COLUMNS, row, strict=True)))
    used: Mapping[str, int] = dict(existing.usage)
    for name, value in rows.usage:
        execute(connection, "spend", name, max(0, value - used.get(name, 0)))
    paces = [row for row in rows.paces if row[0] not in state_names]
    for row in paces:
        execute(connection, "save_state", "", *row)
    stored = _fetch_shared(connection)
    if not (set(jobs) <= set(stored.jobs) and set(paces) <= set(stored.paces)):
        raise StoreError("The jobs were not copied completely.", hint="Move again.")


def _join_waiting(connection: SqlConnection, row: tuple[Any, ...]) -> bool:
    """Join a waiting job to one of its kind and key that waits there; False: none does."""
    job = dict(zip(_JOB_COLUMNS, row, strict=True))
    if (
        job["state"] != "waiting"
        or fetch_first(connection, "waiting_job", job["kind"], job["key"]) is None
    ):
        return False
    spec = JobSpec(
        job["kind"],
        job["key"],
        decode_json(job["payload"]),
        due=to_datetime(job["due"]),
        priority=job["priority"],
        attempts=job["attempts"],
    )
    job_queue.enqueue(connection, spec, to_datetime(job["updated_at"]))
    return True


def _insert(
    connection: SqlConnection, table: str, values: Mapping[str, Any], tail: str = ""
) -> Rows:
    """Insert a row by column; return what ``tail``, the statement's end, gives back."""
    parameters = [
        bytes(value) if isinstance(value, memoryview) else value for value in values.values()
    ]
    marks = ", ".join("?" * len(values))
    # Our own tables and columns.
    statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks}) {tail}"  # noqa: S608
    if tail:
        return fetch_composed(connection, statement, parameters)
    connection.execute(statement, parameters)
    return []
