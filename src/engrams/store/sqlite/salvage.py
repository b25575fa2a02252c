"""Rescue of rows from the bytes of a damaged database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from engrams.errors import EngramsError
from engrams.settings import StoreSettings
from engrams.store.sqlite import connect, migrate, termids
from engrams.store.sqlite.namedqueries import execute, fetch_one, query
from engrams.store.sqlite.pagedecoder import (
    RawPages,
    UnreadableCellError,
    decode_body,
    decode_values,
    list_cells,
    read_cell,
    read_types,
    read_varint,
    value_size,
)
from engrams.store.sqlite.rescuelosses import RescueLoss
from engrams.store.sqlite.rowconversion import FIELDS, decode_record
from engrams.store.sqlite.valuerepair import EMPTY_JSON, mend_row
from engrams.store.sqlite.vectorrepair import find_damaged

_NUMBERED = ("models", "records", "outbox")
_BY_RECORD = ("history", "vectors", "quotes")
_KEYED = ("edges", "topics", "jobs", "sessions", "owner_state")
_CLASSES: dict[str, tuple[type, ...]] = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,)}
_SERIALS = {0: 8, 1: 1, 2: 2, 3: 3, 4: 4, 6: 5, 8: 6}
"""Serial types of whole numbers by their bytes."""
_SLACK = 40
_COLUMNS = 'SELECT name, type, pk, "notnull" FROM pragma_table_info(?) ORDER BY cid'
_SMALLEST = 100
"""Bytes that a memory takes at least."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """Columns of a table, and the types that each may hold."""

    name: str
    columns: tuple[str, ...]
    types: tuple[tuple[type, ...], ...]
    number: str = ""
    """Column that stands for the row's number, and is not stored."""

    def fits(self, values: list[Any]) -> bool:
        return len(values) == len(self.types) and all(map(isinstance, values, self.types))


@dataclass(slots=True)
class RescuedRows:
    """Rows of each table.
    ``lost``: ids and owners of records that an index names and no page holds."""

    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    lost: tuple[tuple[str, str], ...] = ()


def read_rows(path: Path, shapes: list[TableShape]) -> RescuedRows:
    """Read all rows of our tables from a file and its WAL.
    None from a file that is not ours."""
    found = _read_pages(RawPages(path), shapes)
    if not any(found.rows.values()):
        found = _read_pages(RawPages(path, 4096), shapes)
    return found


def copy_readable(source: Path, target: Path, settings: StoreSettings) -> tuple[dict[str, int], RescueLoss]:
    """Copy readable rows into the database ``target``.
    It is made if missing; its own rows stay.

    Counts by table, and the memories that are lost."""
    connect.create_file(target)
    new = connect.open_writer(target, settings)
    try:
        migrate.prepare(new, str(target), None)
        found = read_rows(source, read_shapes(new))
        new.execute("BEGIN IMMEDIATE")
        copied = _insert_all(new, found)
        for name in ("drop_orphan_vectors", "drop_orphan_history", "renumber_changes", "add_erasure"):
            new.execute(query(name))
        for record, model in find_damaged(new):
            execute(new, "drop_vector", record, model)
        if copied["records"]:
            termids.rebuild(new)
        new.execute("COMMIT")
    finally:
        if new.in_transaction:
            new.execute("ROLLBACK")
        new.close()
    unnamed = _count_expected(source, settings) - len(found.rows["records"]) - len(found.lost)
    return copied, RescueLoss(found.lost, max(0, unnamed))


def _count_expected(source: Path, settings: StoreSettings) -> int:
    """Count the records that there should be; 0 where nobody knows."""
    with suppress(apsw.Error, UnicodeDecodeError), closing(connect.open_reader(source, settings)) as connection:
        total = int(fetch_one(connection, "tallied")[0])
        return total if 0 < total * _SMALLEST < sum(path.stat().st_size for path in source.parent.glob(f"{source.name}*")) else 0
    return 0


def read_shapes(connection: apsw.Connection) -> list[TableShape]:
    """Read the shapes of the tables that are rescued."""
    shapes = []
    for table in (*_NUMBERED, *_BY_RECORD, *_KEYED):
        rows: list[Any] = connection.execute(_COLUMNS, (table,)).fetchall()
        number = rows[0][0] if table in _NUMBERED else ""
        types = [
            (type(None),) if name == number else (*_CLASSES[kind], *(() if must or key else (type(None),)))
            for name, kind, key, must in rows
        ]
        shapes.append(TableShape(table, tuple(row[0] for row in rows), tuple(types), number))
    return shapes


def _read_pages(pages: RawPages, shapes: list[TableShape]) -> RescuedRows:
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
            continue
        shape = next((one for one in others if (one.name == "vectors") == (number is not None) and one.fits(values)), None)
        if shape is not None:
            found.rows[shape.name].append(tuple(values))
        elif number is None and len(values) == 3 and isinstance(values[2], int) and _is_name(values):
            named[values[2]] = (values[0], values[1])
        elif number is not None and len(values) == len(records.types):
            suspect.add(place)
    found.rows["records"] += (row for place in sorted(suspect) for row in _carve(pages, pages.page(place), records))
    found.rows["records"] = _mend_records(found.rows["records"], records, named)
    kept = {row[0] for row in found.rows["records"]}
    found.lost = tuple(sorted(name for number, name in named.items() if number not in kept))
    return found


def _is_name(values: list[Any]) -> bool:
    """Test for an entry of the index of ids: id, owner, number."""
    return isinstance(values[0], str) and isinstance(values[1], str) and "/" in values[1] and "/" not in values[0]


def _carve(pages: RawPages, page: bytes, shape: TableShape) -> Iterator[tuple[Any, ...]]:
    """Find records anywhere in a page whose order is lost."""
    width = len(shape.types)
    for cell in list_cells(page, first=False):
        # A pointed-to cell is worth more trouble than any place in the page.
        if cell.number is not None and (values := _mend_values(page[cell.start :], cell.size, shape)):
            yield (cell.number, *values[1:])
    for place in range(len(page) - width - 4):
        found = read_cell(page, place, numbered=True)
        if found is None or found.number is None or not 0 < found.number < 1 << 40 or not width < page[found.start] < width + _SLACK:
            continue
        cell = found
        try:
            payload = pages.payload(page, cell)
            values = decode_values(payload)
        except UnreadableCellError:
            values = _mend_values(page[cell.start :], cell.size, shape, 1)
        if shape.fits(values):
            yield (found.number, *values[1:])


def _mend_values(record: bytes, size: int, shape: TableShape, tries: int | None = None) -> list[Any]:
    """Decode a record with one damaged byte in its header.
    Empty where nothing fits."""
    for types, start in islice(_guess_types(record, size, shape), tries):
        if 0 <= start + sum(map(value_size, types)) <= len(record):
            try:
                values = decode_body(record, types, start)
            except UnreadableCellError:
                continue
            if shape.fits(values) and decode_whole(shape, (1, *values[1:])) is not None:
                return values
    return []


def _guess_types(record: bytes, size: int, shape: TableShape) -> Iterator[tuple[list[int], int]]:
    """Possible serial types of a record, with its values' start."""
    width, types, at = len(shape.types), list[int](), 1
    while len(types) < width and at < len(record):
        kind, at = read_varint(record, at)
        types.append(kind)
    # The length of the header or of the record was overwritten.
    yield types, at
    end = record[0]
    if not width < end < width + _SLACK:
        return
    for place in range(end - 1, 0, -1):
        for step in (1, 2):
            try:
                before, after = read_types(record, 1, place), read_types(record, min(place + step, end), end)
            except UnreadableCellError:
                continue
            length = size - end - sum(map(value_size, before)) - sum(map(value_size, after))
            if len(before) + 1 + len(after) == width and length >= 0:
                kinds = shape.types[len(before)]
                yield [*before, _serial_type(kinds, length), *after], end


def _serial_type(kinds: tuple[type, ...], length: int) -> int:
    """Serial type of a column's value by its length."""
    if str in kinds:
        return 13 + 2 * length
    if bytes in kinds:
        return 12 + 2 * length
    return 7 if float in kinds and length == 8 else _SERIALS.get(length, 0)


def _mend_records(rows: list[tuple[Any, ...]], shape: TableShape, named: dict[int, tuple[str, str]]) -> list[tuple[Any, ...]]:
    """Correct owners, scopes and enumerations.
    By what the rest says; what is still no record is dropped."""
    columns = shape.columns
    number, id, owner, scope = (columns.index(name) for name in ("number", "id", "owner", "scope"))
    owners = Counter([row[owner] for row in rows] + [one for _, one in named.values()])
    kept: dict[int, tuple[Any, ...]] = {}
    version, seen = columns.index("version"), set[str]()
    free = max((row[number] for row in rows), default=0) + 1
    # Of a record that is there in several states, the newest one counts.
    for row in sorted(rows, key=lambda row: -row[version]):
        values = list(row)
        known = named.get(values[number])
        if known and known[0] == values[id] and owners[known[1]] > owners[values[owner]]:
            values[owner] = known[1]
        top = values[owner]
        if values[scope][: len(top)] != top:
            values[scope] = top + values[scope][len(top) :]
        mended = mend_row("records", columns, tuple(values))
        if mended is None or values[id] in seen:
            continue
        values = list(mended)
        if decode_whole(shape, mended) is None:
            for name, empty in EMPTY_JSON.items():
                values[columns.index(name)] = empty
            if decode_whole(shape, tuple(values)) is None:
                continue
        if values[number] in kept:
            values[number], free = free, free + 1
        seen.add(values[id])
        kept[values[number]] = tuple(values)
    return list(kept.values())


def decode_whole(shape: TableShape, row: tuple[Any, ...]) -> Any:
    """Decode a row of ``records``; None where it is nonsense."""
    try:
        held = dict(zip(shape.columns, row, strict=True))
        return decode_record(tuple(held[name] for name in FIELDS))
    except (EngramsError, ValueError, KeyError):
        return None


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
                models[row[0]] = new.execute("SELECT id FROM models WHERE name = ?", (row[1],)).fetchall()[0][0]
    return copied


def _place_row(shape: TableShape, row: tuple[Any, ...], offset: int, models: dict[int, Any], held: set[int]) -> tuple[Any, ...] | None:
    """Renumber a row for the new file.
    None where its record did not come."""
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
