"""Rows of a damaged database, read from its bytes and copied into a sound one.

Enter at ``copy_readable``. Rows are taken from pages in order, then records are carved from pages
whose order is lost, then looked for in earlier states of pages that the log still holds.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import apsw

from engrams.core import Status
from engrams.settings import StoreSettings
from engrams.store.seal_key import load_seals
from engrams.store.sql.named_queries import execute, fetch_all, fetch_one, query
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sql.sealing import find_altered, seal_rows
from engrams.store.sqlite import connections, schema_setup, stored_terms
from engrams.store.sqlite.rescue.btree_page_decoder import RawDatabasePages
from engrams.store.sqlite.rescue.lost_memories import MemoryRescueLoss, MemoryVersion
from engrams.store.sqlite.rescue.record_carving import (
    TableShape,
    carve_records,
    correct_scope,
    decode_whole,
    is_whole,
    mend_record,
)
from engrams.store.sqlite.rescue.text_damage import accept_damaged_texts
from engrams.store.sqlite.rescue.value_check import WORDS, replace_unreadable
from engrams.store.sqlite.rescue.vector_repair import find_damaged
from engrams.store.sqlite.seal_setup import name_sealing_key, take_all

Row: TypeAlias = tuple[Any, ...]

_NUMBERED = ("models", "records", "outbox")
"""Tables whose rows have a number, in the order in which they are copied."""
_BY_RECORD = ("history", "vectors", "quotes")
"""Tables whose rows name a record by its number."""
_KEYED = ("edges", "topics", "jobs", "sessions", "owner_state")
_COPIED = (*_NUMBERED, *_BY_RECORD, *_KEYED)
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "REAL": (float, int),
    "BLOB": (bytes,),
}
_COLUMNS_OF = 'SELECT name, type, pk, "notnull" FROM pragma_table_info(?) ORDER BY cid'
_MAX_NUMBER = 1 << 40
"""Row numbers beyond are damaged ones."""
_MIN_RECORD_BYTES = 100
"""Bytes that a memory takes at least."""
_USUAL_PAGE_BYTES = 4096


@dataclass(slots=True)
class RescuedRows:
    """Rows that could be read from a damaged file."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    """By table; each in the order of its columns."""
    lost: tuple[tuple[str, str], ...] = ()
    """Ids and owners of records that an index names and no page holds."""
    defaulted: frozenset[str] = frozenset()
    """Ids of records some of whose values are defaults, as they could not be read."""


def copy_readable(
    source: Path, target: Path, settings: StoreSettings
) -> tuple[dict[str, int], MemoryRescueLoss]:
    """Copy readable rows into the database ``target``; return their number by table, and the loss.

    The target is made if it is missing; its own rows stay.
    """
    connections.create_file(target)
    connection = connections.open_writer(target, settings)
    try:
        schema_setup.prepare(connection, str(target), None)
        rescued = read_rows(source, read_shapes(connection))
        connection.execute("BEGIN IMMEDIATE")
        kept_numbers = {number for (number,) in fetch_all(connection, "numbers")}
        seals = load_seals(settings, target)
        insertion = _RowInsertion(connection)
        insertion.insert_all(rescued)
        unverified = _find_unverified(connection, seals, insertion.numbers)
        for name in (
            "drop_orphan_vectors",
            "drop_orphan_history",
            "renumber_changes",
            "add_erasure",
        ):
            connection.execute(query(name))
        for record, model in find_damaged(connection):
            execute(connection, "drop_vector", record, model)
        damaged = accept_damaged_texts(connection, seals)
        if insertion.copied["records"]:
            stored_terms.rebuild(connection)
        numbers = {number for (number,) in fetch_all(connection, "numbers")}
        # What can be read of a damaged file is trusted: what has no fitting seal is told.
        seal_rows(connection, seals, numbers - kept_numbers)
        name_sealing_key(connection, seals)
        take_all(connection, seals)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.close()
    expected = _count_expected(source, settings)
    unidentified = max(0, expected - len(rescued.rows["records"]) - len(rescued.lost))
    loss = MemoryRescueLoss(
        identified=rescued.lost,
        unidentified=unidentified,
        damaged=damaged,
        defaulted=tuple(sorted(insertion.defaulted)),
        unverified=tuple(sorted({*unverified} - {*damaged} - {*insertion.defaulted})),
        rows=insertion.unreadable,
    )
    return insertion.copied, loss


def _find_unverified(
    connection: apsw.Connection, seals: RowSeals, numbers: Set[int]
) -> list[MemoryVersion]:
    """Find the inserted records whose seals do not fit: damage and edits look alike there.

    None of a file that was made before rows had seals.
    """
    unfit = {(row.id, row.owner) for row in find_altered(connection, seals)}
    rows = [row for row in fetch_all(connection, "seals_of_records") if row[0] in numbers]
    if not any(seal for *_, seal in rows):
        return []
    return [
        MemoryVersion(record_id, owner, version)
        for _, record_id, owner, version, _ in rows
        if (record_id, owner) in unfit
    ]


def _count_expected(source: Path, settings: StoreSettings) -> int:
    """Count the records that there should be; 0 where nobody knows."""
    with (
        suppress(apsw.Error, UnicodeDecodeError),
        closing(connections.open_reader(source, settings)) as connection,
    ):
        total = int(fetch_one(connection, "tallied")[0])
        file_bytes = sum(path.stat().st_size for path in source.parent.glob(f"{source.name}*"))
        return total if 0 < total * _MIN_RECORD_BYTES < file_bytes else 0
    return 0


# --------------------------------------------------------------------------------------------------
# reading


def read_rows(path: Path, shapes: list[TableShape]) -> RescuedRows:
    """Read all rows of our tables from a file and its log; none from a file that is not ours."""
    rescued = _read_pages(RawDatabasePages(path), shapes)
    if not any(rescued.rows.values()):
        # The header may tell a wrong size of pages.
        rescued = _read_pages(RawDatabasePages(path, _USUAL_PAGE_BYTES), shapes)
    return rescued


def read_shapes(connection: apsw.Connection) -> list[TableShape]:
    """Read the shapes of the tables that are rescued."""
    shapes = []
    for table in _COPIED:
        columns: list[Any] = connection.execute(_COLUMNS_OF, (table,)).fetchall()
        number_column = columns[0][0] if table in _NUMBERED else ""
        types = [
            (type(None),)
            if name == number_column
            else _list_types(column_type, nullable=not (is_required or in_key))
            for name, column_type, in_key, is_required in columns
        ]
        names = tuple(column[0] for column in columns)
        key = [
            position
            for position, (name, _, in_key, _) in enumerate(columns)
            if in_key and name not in WORDS.get(table, {})
        ]
        shapes.append(TableShape(table, names, tuple(types), number_column, tuple(key)))
    return shapes


def _list_types(column_type: str, *, nullable: bool) -> tuple[type, ...]:
    """List the Python types that a column may hold."""
    types = _PYTHON_TYPES[column_type]
    return (*types, type(None)) if nullable else types


def _read_pages(pages: RawDatabasePages, shapes: list[TableShape]) -> RescuedRows:
    """Sort the rows of all pages into tables, by the number and types of their values."""
    numbered = {len(shape.columns): shape for shape in shapes if shape.number_column}
    unnumbered = [shape for shape in shapes if not shape.number_column]
    records = next(shape for shape in shapes if shape.name == "records")
    rows: dict[str, list[Row]] = {shape.name: [] for shape in shapes}
    indexed: dict[int, tuple[str, str]] = {}
    """Id and owner of records by number, as the index of ids tells them."""
    lengths = Counter[int]()
    """Number of rows that have so many values: those of an older file are one shorter."""
    suspect_pages = set(pages.suspect_pages())
    for page_number, row_number, stored_values in pages.rows():
        values = stored_values if row_number is None else records.complete(stored_values)
        lengths[len(stored_values)] += row_number is not None
        shape = numbered.get(len(values)) if row_number is not None else None
        if shape is not None and shape.fits(values):
            rows[shape.name].append((row_number, *values[1:]))
            if shape is records and not is_whole(shape, values):
                suspect_pages.add(page_number)
            continue
        shape = _find_unnumbered(unnumbered, row_number, values)
        if shape is not None:
            rows[shape.name].append(tuple(values))
        elif row_number is None and _is_index_entry(values):
            record_id, owner, record_number = values
            indexed[record_number] = (record_id, owner)
        elif row_number is not None and len(values) == len(records.types):
            suspect_pages.add(page_number)
    is_older = not lengths[len(records.types)] and lengths[len(records.types) - 1] > 0
    carving = (records.older if is_older else None) or records
    missing = (b"",) * (len(records.types) - len(carving.types))
    carved = [
        (*row, *missing)
        for page_number in sorted(suspect_pages)
        for row in carve_records(pages, pages.page(page_number), carving)
    ]
    mending = _RecordMending(records, indexed, rows["history"])
    rows["records"] = mending.mend_all(carved + rows["records"])
    rows["records"] += [(*row, *missing) for row in _find_older(pages, carving, rows)]
    rescued_names = _list_names(rows["records"])
    lost = [
        name
        for number, name in indexed.items()
        if not rescued_names.intersection((number, name[0]))
    ]
    return RescuedRows(rows, tuple(sorted(lost)), frozenset(mending.defaulted))


def _find_unnumbered(
    shapes: Iterable[TableShape], row_number: int | None, values: list[Any]
) -> TableShape | None:
    """Find the table of a row whose table has no column for its number.

    ``vectors`` alone has rows with a number that no column shows; the others are b-trees of keys.
    """
    for shape in shapes:
        if (shape.name == "vectors") == (row_number is not None) and shape.fits(values):
            return shape
    return None


def _is_index_entry(values: list[Any]) -> bool:
    """Test for a sound entry of the index of ids: id, owner, number."""
    if len(values) != 3 or not isinstance(values[2], int):
        return False
    record_id, owner, _ = values
    is_sound = all(
        isinstance(text, str) and text.isprintable() and "\ufffd" not in text
        for text in (record_id, owner)
    )
    return is_sound and "/" in owner and "/" not in record_id


def _list_names(records: Sequence[Row]) -> set[Any]:
    """Numbers and ids of records."""
    return {name for row in records for name in row[:2]}


def _find_older(
    pages: RawDatabasePages, shape: TableShape, rows: dict[str, list[Row]]
) -> list[Row]:
    """Find records whose page is gone in earlier states of pages.

    One forgotten since stays forgotten; of a purged one no state is left.
    """
    version = shape.columns.index("version")
    status = shape.columns.index("status")
    rescued_names = _list_names(rows["records"])
    newest: dict[str, Row] = {}
    for page in pages.older_pages():
        for row in carve_records(pages, page, shape):
            earlier = newest.get(row[1])
            if (
                not rescued_names.intersection(row[:2])
                and is_whole(shape, row)
                and (earlier is None or row[version] > earlier[version])
            ):
                newest[row[1]] = row
    statuses = _find_statuses(rows["history"], {row[0] for row in newest.values()})
    return [
        (*row[:status], statuses.get(row[0], row[status]), *row[status + 1 :])
        for row in newest.values()
    ]


def _find_statuses(history: list[Row], numbers: set[int]) -> dict[int, str]:
    """Find the last readable status that history tells of records."""
    statuses: dict[int, str] = {}
    entries = (entry for entry in history if entry[0] in numbers)
    # By record and version.
    for number, *_, after in sorted(entries, key=lambda entry: entry[:2]):
        with suppress(ValueError):
            changed = json.loads(after or "{}")
            if isinstance(changed, dict) and changed.get("status") in tuple(Status):
                statuses[number] = changed["status"]
    return statuses


class _RecordMending:
    """Records corrected by what indexes and histories say, each once.

    ``indexed``: id and owner of records by number.
    """

    def __init__(
        self, shape: TableShape, indexed: dict[int, tuple[str, str]], history: list[Row]
    ) -> None:
        self._shape = shape
        self._indexed = indexed
        self._history = history
        self.numbers = {record_id: number for number, (record_id, _) in indexed.items()}
        columns = shape.columns
        self._number = columns.index("number")
        self._id = columns.index("id")
        self._owner = columns.index("owner")
        self._version = columns.index("version")
        self._text = columns.index("text")
        self._status = columns.index("status")
        self.defaulted = set[str]()
        """Ids of records some of whose values could not be read."""

    def mend_all(self, rows: list[Row]) -> list[Row]:
        """Return the best copy of each record, with numbers that are different."""
        owners = Counter(row[self._owner] for row in rows)
        owners.update(owner for _, owner in self._indexed.values())
        ids = {row[self._id] for row in rows}
        newest: dict[str, int] = {}
        for row in rows:
            newest[row[self._id]] = max(row[self._version], newest.get(row[self._id], 0))
        statuses = _find_statuses(self._history, {row[self._number] for row in rows})
        mended: dict[int, Row] = {}
        unnumbered = list[Row]()
        mended_ids = set[str]()
        for row in sorted(rows, key=self._rank):
            values = list(row)
            if row[self._version] < newest[row[self._id]] or row[self._status] not in tuple(Status):
                values[self._status] = statuses.get(row[self._number], row[self._status])
            self._correct_names(values, ids, owners)
            best = mend_record(self._shape, values)
            if (
                best is None
                or best[self._id] in mended_ids
                or (_is_rubbish(values[self._text]) and not is_whole(self._shape, best))
            ):
                continue
            mended_ids.add(best[self._id])
            if best != tuple(values):
                self.defaulted.add(best[self._id])
            number = best[self._number]
            if number in mended or not 0 < number < _MAX_NUMBER:
                unnumbered.append(best)
            else:
                mended[number] = best
        first_free = max((*mended, *self._indexed), default=0) + 1
        numbered = ((number, *row[1:]) for number, row in enumerate(unnumbered, first_free))
        return [*mended.values(), *numbered]

    def _rank(self, row: Row) -> tuple[bool, int, bool]:
        """Order copies of a record, the best first.

        Of a record that is there in several states the newest readable one counts, as bytes that
        are none have any version; of its copies the whole one.
        """
        is_nonsense = decode_whole(self._shape, (1, *row[1:])) is None
        return is_nonsense, -row[self._version], not is_whole(self._shape, row)

    def _correct_names(self, values: list[Any], ids: set[str], owners: Counter[str]) -> None:
        """Correct id, owner, scope and number of a record by the index of ids.

        ``ids``: those of all rows. ``owners``: how often each is named.
        """
        indexed = self._indexed.get(values[self._number])
        if indexed:
            indexed_id, indexed_owner = indexed
            if values[self._id] not in self.numbers and indexed_id not in ids:
                values[self._id] = indexed_id
            if (
                indexed_id == values[self._id]
                and owners[indexed_owner] > owners[values[self._owner]]
            ):
                values[self._owner] = indexed_owner
        values[self._number] = self.numbers.get(values[self._id], values[self._number])
        correct_scope(self._shape, values)


def _is_rubbish(text: str) -> bool:
    """Test for an overwritten text, most of which cannot be printed."""
    return 2 * sum(char == "\ufffd" or not char.isprintable() for char in text) > len(text)


# --------------------------------------------------------------------------------------------------
# writing


class _RowInsertion:
    """Insertion of rescued rows under numbers that are free, in the caller's transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._shapes = {shape.name: shape for shape in read_shapes(connection)}
        largest: Any = connection.execute("SELECT coalesce(max(number), 0) FROM records")
        self._offset = int(largest.fetchall()[0][0])
        """Added to the number of each record."""
        self.numbers: set[int] = set()
        """Numbers of inserted records."""
        self._models: dict[int, int] = {}
        """Numbers of models in the new file, by those in the damaged one."""
        self.copied: dict[str, int] = {}
        """Numbers of inserted rows, by table."""
        self.unreadable: dict[str, int] = {}
        """Numbers of rows with values that could not be read, by table; records are mended before."""
        self.defaulted = list[MemoryVersion]()
        """Inserted records some of whose values are defaults."""

    def insert_all(self, rescued: RescuedRows) -> None:
        """Insert all rows that fit; those that are there already stay as they are."""
        for table in _COPIED:
            self.copied[table] = 0
            self._insert_table(self._shapes[table], rescued.rows[table])
        records = self._shapes["records"]
        id, owner, version = (records.columns.index(name) for name in ("id", "owner", "version"))
        for row in rescued.rows["records"]:
            if row[id] in rescued.defaulted and row[0] + self._offset in self.numbers:
                self.defaulted.append(MemoryVersion(row[id], row[owner], row[version]))

    def _insert_table(self, shape: TableShape, rows: list[Row]) -> None:
        """Insert the rows of a table: sound ones first, as of a row there may be several copies."""
        sound_keys = set[object]()
        damaged: list[tuple[Row, Row | None]] = []
        for row in rows:
            renumbered = self._renumber(shape, row)
            if renumbered is None:
                continue
            values = replace_unreadable(shape.name, shape.columns, renumbered)
            if values == renumbered:
                sound_keys.add(shape.get_key(row))
                self._insert(shape, row, values)
            else:
                damaged.append((row, values))
        for row, defaulted in damaged:
            if shape.get_key(row) in sound_keys:
                continue
            self.unreadable[shape.name] = self.unreadable.get(shape.name, 0) + 1
            if defaulted is not None:
                self._insert(shape, row, defaulted)

    def _insert(self, shape: TableShape, row: Row, values: Row) -> None:
        """Insert the values of a row that was read as ``row``."""
        marks = ", ".join("?" * len(shape.columns))
        columns = ", ".join(shape.columns)
        insert = f"INSERT OR IGNORE INTO {shape.name} ({columns}) VALUES ({marks})"  # noqa: S608 - our own table's names
        try:
            self._connection.execute(insert, values)
        except apsw.ConstraintError:
            # A row whose page was overwritten can be read and still hold nonsense.
            return
        inserted = self._connection.changes()
        self.copied[shape.name] += inserted
        if shape.name == "records" and inserted:
            self.numbers.add(values[0])
        if shape.name == "models":
            self._note_model(row)

    def _note_model(self, row: Row) -> None:
        ids: Any = self._connection.execute("SELECT id FROM models WHERE name = ?", (row[1],))
        self._models[row[0]] = int(ids.fetchall()[0][0])

    def _renumber(self, shape: TableShape, row: Row) -> Row | None:
        """Renumber a row for the new file; None where its record did not come."""
        if shape.name == "records":
            return (row[0] + self._offset, *row[1:])
        if shape.number_column:
            return (None, *row[1:])
        if shape.name not in _BY_RECORD:
            return row
        values = list(row)
        record = shape.columns.index("record")
        values[record] += self._offset
        if shape.name == "vectors":
            values[shape.columns.index("model")] = self._models.get(row[1])
        is_known = values[record] in self.numbers and None not in values[:2]
        return tuple(values) if is_known else None
