"""Rescue of rows from the bytes of a damaged database."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing, suppress
from dataclasses import field
from pathlib import Path
from typing import Any

import apsw

from engrams.core import Status
from engrams.frozen_data import dataclass
from engrams.settings import StoreSettings
from engrams.store.sql.named_queries import execute, fetch_one, query
from engrams.store.sqlite import connections, schema_setup, term_rebuild
from engrams.store.sqlite.rescue.btree_page_decoder import RawDatabasePages
from engrams.store.sqlite.rescue.lost_memories import MemoryRescueLoss
from engrams.store.sqlite.rescue.record_rescue import (
    TableShape,
    carve_records,
    decode_whole,
    is_whole,
    mend_record,
)
from engrams.store.sqlite.rescue.text_damage import accept_damaged_texts
from engrams.store.sqlite.rescue.value_repair import mend_row
from engrams.store.sqlite.rescue.vector_repair import find_damaged

_NUMBERED = ("models", "records", "outbox")
_BY_RECORD = ("history", "vectors", "quotes")
_KEYED = ("edges", "topics", "jobs", "sessions", "owner_state")
_CLASSES: dict[str, tuple[type, ...]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "REAL": (float, int),
    "BLOB": (bytes,),
}
_COLUMNS = 'SELECT name, type, pk, "notnull" FROM pragma_table_info(?) ORDER BY cid'
_MOST_RECORDS = 1 << 40
_SMALLEST = 100
"""Bytes that a memory takes at least."""


@dataclass(slots=True)
class RescuedRows:
    """Rows of each table.

    ``lost``: ids and owners of records that an index names and no page holds.
    """

    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    lost: tuple[tuple[str, str], ...] = ()


def read_rows(path: Path, shapes: list[TableShape]) -> RescuedRows:
    """Read all rows of our tables from a file and its WAL.

    None from a file that is not ours.
    """
    found = _read_pages(RawDatabasePages(path), shapes)
    if not any(found.rows.values()):
        found = _read_pages(RawDatabasePages(path, 4096), shapes)
    return found


def copy_readable(
    source: Path, target: Path, settings: StoreSettings
) -> tuple[dict[str, int], MemoryRescueLoss]:
    """Copy readable rows into the database ``target``.

    It is made if missing; its own rows stay.

    Counts by table, and the memories that are lost.
    """
    connections.create_file(target)
    new = connections.open_writer(target, settings)
    try:
        schema_setup.prepare(new, str(target), None)
        found = read_rows(source, read_shapes(new))
        new.execute("BEGIN IMMEDIATE")
        copied = _insert_all(new, found)
        for name in (
            "drop_orphan_vectors",
            "drop_orphan_history",
            "renumber_changes",
            "add_erasure",
        ):
            new.execute(query(name))
        for record, model in find_damaged(new):
            execute(new, "drop_vector", record, model)
        damaged = accept_damaged_texts(new)
        if copied["records"]:
            term_rebuild.rebuild(new)
        new.execute("COMMIT")
    finally:
        if new.in_transaction:
            new.execute("ROLLBACK")
        new.close()
    unnamed = _count_expected(source, settings) - len(found.rows["records"]) - len(found.lost)
    return copied, MemoryRescueLoss(found.lost, max(0, unnamed), damaged)


def _count_expected(source: Path, settings: StoreSettings) -> int:
    """Count the records that there should be; 0 where nobody knows."""
    with (
        suppress(apsw.Error, UnicodeDecodeError),
        closing(connections.open_reader(source, settings)) as connection,
    ):
        total = int(fetch_one(connection, "tallied")[0])
        return (
            total
            if 0
            < total * _SMALLEST
            < sum(path.stat().st_size for path in source.parent.glob(f"{source.name}*"))
            else 0
        )
    return 0


def _list_classes(column_type: str, *, nullable: bool) -> tuple[type, ...]:
    """List the Python classes that a column of a type may hold."""
    return (*_CLASSES[column_type], type(None)) if nullable else _CLASSES[column_type]


def read_shapes(connection: apsw.Connection) -> list[TableShape]:
    """Read the shapes of the tables that are rescued."""
    shapes = []
    for table in (*_NUMBERED, *_BY_RECORD, *_KEYED):
        rows: list[Any] = connection.execute(_COLUMNS, (table,)).fetchall()
        number = rows[0][0] if table in _NUMBERED else ""
        types = [
            _list_classes(kind, nullable=not (must or key)) if name != number else (type(None),)
            for name, kind, key, must in rows
        ]
        shapes.append(TableShape(table, tuple(row[0] for row in rows), tuple(types), number))
    return shapes


def _read_pages(pages: RawDatabasePages, shapes: list[TableShape]) -> RescuedRows:
    numbered = {len(shape.columns): shape for shape in shapes if shape.number}
    others = [shape for shape in shapes if not shape.number]
    records = next(shape for shape in shapes if shape.name == "records")
    found = RescuedRows({shape.name: [] for shape in shapes})
    named: dict[int, tuple[str, str]] = {}
    suspect = set(pages.suspect_pages())
    for place, number, values in pages.rows():
        shape = numbered.get(len(values)) if number is not None else None
        if shape is not None and shape.fits(values):
            found.rows[shape.name].append((number, *values[1:]))
            if shape is records and not is_whole(shape, values):
                suspect.add(place)
            continue
        shape = next(
            (
                one
                for one in others
                if (one.name == "vectors") == (number is not None) and one.fits(values)
            ),
            None,
        )
        if shape is not None:
            found.rows[shape.name].append(tuple(values))
        elif (
            number is None and len(values) == 3 and isinstance(values[2], int) and _is_name(values)
        ):
            named[values[2]] = (values[0], values[1])
        elif number is not None and len(values) == len(records.types):
            suspect.add(place)
    carved = [
        row for place in sorted(suspect) for row in carve_records(pages, pages.page(place), records)
    ]
    found.rows["records"] = _mend_records(
        carved + found.rows["records"], records, named, found.rows["history"]
    )
    found.rows["records"] += _find_older(pages, records, found)
    kept = {held for row in found.rows["records"] for held in row[:2]}
    found.lost = tuple(
        sorted(name for number, name in named.items() if not kept.intersection((number, name[0])))
    )
    return found


def _find_older(
    pages: RawDatabasePages, shape: TableShape, found: RescuedRows
) -> list[tuple[Any, ...]]:
    """Find records whose page is gone in earlier states of pages.

    One forgotten since stays forgotten; of a purged one no state is left.
    """
    version = shape.columns.index("version")
    status = shape.columns.index("status")
    kept = {held for row in found.rows["records"] for held in row[:2]}
    newest: dict[str, tuple[Any, ...]] = {}
    for page in pages.older_pages():
        for row in carve_records(pages, page, shape):
            old = newest.get(row[1])
            if (
                not kept.intersection(row[:2])
                and is_whole(shape, row)
                and (old is None or row[version] > old[version])
            ):
                newest[row[1]] = row
    later = _find_statuses(found.rows["history"], {row[0] for row in newest.values()})
    return [
        (*row[:status], later.get(row[0], row[status]), *row[status + 1 :])
        for row in newest.values()
    ]


def _find_statuses(history: list[tuple[Any, ...]], numbers: set[int]) -> dict[int, str]:
    """Find the last readable status that history tells of records."""
    found: dict[int, str] = {}
    for number, *_, after in sorted(
        (entry for entry in history if entry[0] in numbers), key=lambda entry: entry[:2]
    ):
        with suppress(ValueError):
            changed = json.loads(after or "{}")
            if isinstance(changed, dict) and changed.get("status") in tuple(Status):
                found[number] = changed["status"]
    return found


def _is_name(values: list[Any]) -> bool:
    """Test for a sound entry of the index of ids."""
    sound = all(
        isinstance(one, str) and one.isprintable() and "\ufffd" not in one for one in values[:2]
    )
    return sound and "/" in values[1] and "/" not in values[0]


def _mend_records(
    rows: list[tuple[Any, ...]],
    shape: TableShape,
    named: dict[int, tuple[str, str]],
    history: list[tuple[Any, ...]],
) -> list[tuple[Any, ...]]:
    """Correct numbers, ids and owners by what the rest says.

    Values that make no sense are replaced.
    """
    columns = shape.columns
    number, id, owner, version, text, status = (
        columns.index(name) for name in ("number", "id", "owner", "version", "text", "status")
    )
    owners = Counter([row[owner] for row in rows] + [one for _, one in named.values()])
    numbers = {one: place for place, (one, _) in named.items()}
    held = {row[id] for row in rows}
    kept: dict[int, tuple[Any, ...]] = {}
    seen = set[str]()
    homeless = list[tuple[Any, ...]]()
    newest: dict[str, int] = {}
    for row in rows:
        newest[row[id]] = max(row[version], newest.get(row[id], 0))
    later = _find_statuses(history, {row[number] for row in rows})
    # Of a record that is there in several states the newest readable one counts, as bytes that are
    # none have any version; of its copies the whole one.
    for row in sorted(
        rows,
        key=lambda row: (
            decode_whole(shape, (1, *row[1:])) is None,
            -row[version],
            not is_whole(shape, row),
        ),
    ):
        values = list(row)
        if row[version] < newest[row[id]]:
            values[status] = later.get(row[number], row[status])
        known = named.get(values[number])
        if known and values[id] not in numbers and known[0] not in held:
            values[id] = known[0]
        if known and known[0] == values[id] and owners[known[1]] > owners[values[owner]]:
            values[owner] = known[1]
        values[number] = numbers.get(values[id], values[number])
        mended = mend_record(shape, values)
        if (
            mended is None
            or values[id] in seen
            or (_is_rubbish(values[text]) and not is_whole(shape, mended))
        ):
            continue
        seen.add(values[id])
        if values[number] in kept or not 0 < values[number] < _MOST_RECORDS:
            homeless.append(mended)
        else:
            kept[values[number]] = mended
    free = max((*kept, *named), default=0) + 1
    return [*kept.values(), *((place, *row[1:]) for place, row in enumerate(homeless, free))]


def _is_rubbish(text: str) -> bool:
    """Test for an overwritten text, most of which cannot be printed."""
    return 2 * sum(char == "\ufffd" or not char.isprintable() for char in text) > len(text)


def _insert_all(new: apsw.Connection, found: RescuedRows) -> dict[str, int]:
    """Insert rescued rows under numbers that are free; counts by table."""
    shapes = {shape.name: shape for shape in read_shapes(new)}
    copied: dict[str, int] = {}
    offset: Any = new.execute("SELECT coalesce(max(number), 0) FROM records").fetchall()[0][0]
    held: set[int] = set()
    models: dict[int, Any] = {}
    for name in (*_NUMBERED, *_BY_RECORD, *_KEYED):
        shape = shapes[name]
        insert = f"INSERT OR IGNORE INTO {name} ({', '.join(shape.columns)}) VALUES ({', '.join('?' * len(shape.columns))})"  # noqa: S608 - our own table's names
        copied[name] = 0
        for row in found.rows[name]:
            placed = _place_row(shape, row, offset, models, held)
            values = mend_row(name, shape.columns, placed) if placed else None
            if values is None:
                continue
            try:
                new.execute(insert, values)
            except apsw.ConstraintError:
                # A row whose page was overwritten can be read and still hold nonsense.
                continue
            copied[name] += new.changes()
            if name == "records" and new.changes():
                held.add(values[0])
            elif name == "models":
                models[row[0]] = new.execute(
                    "SELECT id FROM models WHERE name = ?", (row[1],)
                ).fetchall()[0][0]
    return copied


def _place_row(
    shape: TableShape, row: tuple[Any, ...], offset: int, models: dict[int, Any], held: set[int]
) -> tuple[Any, ...] | None:
    """Renumber a row for the new file.

    None where its record did not come.
    """
    if shape.name == "records":
        return (row[0] + offset, *row[1:])
    if shape.number:
        return (None, *row[1:])
    if shape.name not in _BY_RECORD:
        return row
    place = shape.columns.index("record")
    values = list(row)
    values[place] += offset
    if shape.name == "vectors":
        values[1] = models.get(values[1])
    return tuple(values) if values[place] in held and None not in values[:2] else None
