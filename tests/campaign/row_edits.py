"""Edits of one or two rows of a database, as another program makes them that has not the key."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

Row = tuple[Any, ...]
OlderRows = Mapping[str, Sequence[Row]]
"""Rows of an earlier state, by table."""

USES = ("access_count", "last_accessed")
"""Columns of memories that reads change: nothing holds them."""
_OWNING = ("owner", "scope")
"""Columns that say whose a row is."""
_NAMING = ("id", "number", "record", "external_id", "hash")
"""Columns by which a row is known."""
_FIRST_TIME = 1_500_000_000_000_000
"""Microseconds since 1970 from which a number is taken for a moment."""
_HOUR = 3_600_000_000
_MOVES = (-8760 * _HOUR, -_HOUR, 1, _HOUR, 24 * _HOUR)


@dataclass(frozen=True)
class RowEdit:
    """One edit: what it did, and where."""

    way: str
    place: str
    """Table, or table and column."""
    detail: str = ""


@dataclass(frozen=True)
class Table:
    """A table as it is, and as it was."""

    name: str
    columns: list[str]
    keys: list[int]
    """Positions of the columns of its primary key."""
    rows: list[Row]
    older: Sequence[Row] = field(default_factory=list)

    def key_of(self, row: Row) -> Row:
        return tuple(row[position] for position in self.keys)


Change = tuple[RowEdit, list[Row], list[Row]]
"""An edit, the rows that it takes away, and those that it adds."""


def edit_database(home: Path) -> apsw.Connection:
    """Open the database of a home as another program does."""
    return apsw.Connection(str(home / "memory.db"))


def list_tables(home: Path) -> list[str]:
    """List the tables with rows. SQLite's own one holds the last numbers that were given out."""
    with closing(edit_database(home)) as connection:
        names = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND name NOT GLOB 'sqlite_*' ORDER BY name"
            )
        ]
        return [
            name for name in names if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()
        ]


def read_rows(home: Path) -> dict[str, list[Row]]:
    """Read all rows of a home, by table."""
    tables = list_tables(home)
    with closing(edit_database(home)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


def edit_row(
    connection: apsw.Connection,
    table_name: str,
    dice: random.Random,
    older: OlderRows | None = None,
) -> RowEdit | None:
    """Change, take away, add, copy or exchange rows of a table, or put older ones back; None: it
    cannot be done so.
    """
    described = connection.execute(f"PRAGMA table_info({table_name})").fetchall()
    table = Table(
        table_name,
        [name for _, name, *_ in described],
        [position for position, *_, key in described if key] or [0],
        connection.execute(f"SELECT * FROM {table_name}").fetchall(),
        (older or {}).get(table_name, []),
    )
    change = dice.choice(_WAYS)(table, dice)
    if change is None or sorted(map(repr, change[1])) == sorted(map(repr, change[2])):
        return None
    edit, removed, added = change
    try:
        with connection:
            if len(removed) == len(added) == 1 and table.key_of(removed[0]) == table.key_of(
                added[0]
            ):
                _update(connection, table, removed[0], added[0])
            else:
                _exchange(connection, table, removed, added)
    except apsw.ConstraintError:
        return None
    return edit


def _update(connection: apsw.Connection, table: Table, old: Row, new: Row) -> None:
    pairs = [
        (name, value)
        for name, before, value in zip(table.columns, old, new, strict=True)
        if before != value
    ]
    matched = " AND ".join(f"{table.columns[position]} IS ?" for position in table.keys)
    assigned = ", ".join(f"{name} = ?" for name, _ in pairs)
    connection.execute(
        f"UPDATE {table.name} SET {assigned} WHERE {matched}",
        (*(value for _, value in pairs), *table.key_of(old)),
    )


def _exchange(
    connection: apsw.Connection, table: Table, removed: list[Row], added: list[Row]
) -> None:
    matched = " AND ".join(f"{table.columns[position]} IS ?" for position in table.keys)
    for row in removed:
        connection.execute(f"DELETE FROM {table.name} WHERE {matched}", table.key_of(row))
    marks = ", ".join("?" * len(table.columns))
    for row in added:
        connection.execute(f"INSERT INTO {table.name} VALUES ({marks})", row)


def _change(table: Table, dice: random.Random) -> Change:
    row = dice.choice(table.rows)
    position = _draw_position(table, dice)
    value = draw_value(row[position], [each[position] for each in table.rows], dice)
    detail = f"{row[position]!r} -> {value!r}"[:120]
    edit = RowEdit("change row", f"{table.name}.{table.columns[position]}", detail)
    return edit, [row], [_replace(row, {position: value})]


def _delete(table: Table, dice: random.Random) -> Change:
    row = dice.choice(table.rows)
    return RowEdit("delete row", table.name, str(row)[:80]), [row], []


def _insert(table: Table, dice: random.Random) -> Change:
    row = dice.choice(table.rows)
    position = _draw_position(table, dice)
    values = {position: draw_value(row[position], [each[position] for each in table.rows], dice)}
    if table.name == "records":
        values[0] = row[0] + 100_000
    return RowEdit("insert row", table.name, table.columns[position]), [], [_replace(row, values)]


def _copy(table: Table, dice: random.Random) -> Change | None:
    """A row once more, under another name, and perhaps for another owner."""
    row, other = dice.choice(table.rows), dice.choice(table.rows)
    values: dict[int, Any] = {}
    for position, name in enumerate(table.columns):
        if name in _OWNING:
            values[position] = other[position]
        elif name in _NAMING or (position in table.keys and not set(table.columns) & set(_NAMING)):
            values[position] = _draw_name(row[position], dice)
    if not values:
        return None
    return RowEdit("copy row", table.name, str(values)[:80]), [], [_replace(row, values)]


def _move(table: Table, dice: random.Random) -> Change | None:
    """A row given to another owner, or to another part of this one's memory."""
    row, other = dice.choice(table.rows), dice.choice(table.rows)
    values = {table.columns.index(name): None for name in _OWNING if name in table.columns}
    if not values:
        return None
    moved = _replace(row, {position: other[position] for position in values})
    return RowEdit("move row", table.name, str(row)[:80]), [row], [moved]


def _swap(table: Table, dice: random.Random) -> Change | None:
    """Two rows exchange a column, or all but what they are known by."""
    if len(table.rows) < 2:
        return None
    first, second = dice.sample(table.rows, 2)
    if dice.random() < 0.5:
        positions = [_draw_position(table, dice)]
    else:
        positions = [
            position
            for position, name in enumerate(table.columns)
            if position not in table.keys and name not in (*_NAMING, *USES)
        ]
    swapped = [
        _replace(row, {position: other[position] for position in positions})
        for row, other in ((first, second), (second, first))
    ]
    names = ",".join(table.columns[position] for position in positions)[:60]
    return RowEdit("swap rows", table.name, names), [first, second], swapped


def _put_back(table: Table, dice: random.Random) -> Change | None:
    """An older version of a row, or a row that is gone."""
    now = {table.key_of(row): row for row in table.rows}
    uses = [position for position, name in enumerate(table.columns) if name in USES]
    changed = []
    for row in table.older:
        current = now.get(table.key_of(row))
        kept = {} if current is None else {position: current[position] for position in uses}
        if (older := _replace(row, kept)) != current:
            changed.append(older)
    if not changed:
        return None
    row = dice.choice(changed)
    current = now.get(table.key_of(row))
    edit = RowEdit("older row", table.name, str(row)[:80])
    return edit, [] if current is None else [current], [row]


def _move_time(table: Table, dice: random.Random) -> Change | None:
    row = dice.choice(table.rows)
    positions = [
        position
        for position, value in enumerate(row)
        if isinstance(value, int) and value > _FIRST_TIME and table.columns[position] not in USES
    ]
    if not positions:
        return None
    position = dice.choice(positions)
    moved = _replace(row, {position: row[position] + dice.choice(_MOVES)})
    return RowEdit("move time", f"{table.name}.{table.columns[position]}"), [row], [moved]


_WAYS: tuple[Callable[[Table, random.Random], Change | None], ...] = (
    _change, _change, _change, _delete, _insert, _copy, _move, _swap, _put_back, _move_time,
)  # fmt: skip


def _draw_position(table: Table, dice: random.Random) -> int:
    return dice.choice([at for at, name in enumerate(table.columns) if name not in USES])


def _replace(row: Row, values: Mapping[int, Any]) -> Row:
    return tuple(values.get(position, value) for position, value in enumerate(row))


def _draw_name(value: Any, dice: random.Random) -> Any:
    """Draw a name that no row has: of the same sort, another number, text or bytes."""
    if isinstance(value, int):
        return value + 100_000 + dice.randrange(1000)
    if isinstance(value, bytes):
        return dice.randbytes(len(value))
    return value and value[:-4] + "".join(dice.choices("0123456789abcdef", k=4))


def draw_value(value: Any, others: list[Any], dice: random.Random) -> Any:
    """Draw another value for a column: another row's, or a like one."""
    if dice.random() < 0.5:
        return dice.choice(others)
    if value is None:
        return dice.choice((None, 7))
    if isinstance(value, int):
        return value + dice.choice((-1, 1, 1000))
    if isinstance(value, float):
        return value / 2 + 0.1
    if isinstance(value, bytes):
        place = dice.randrange(len(value)) if value else 0
        return value[:place] + bytes([dice.randrange(256)]) + value[place + 1 :]
    for old, new in (("room", "hall"), ("Paris", "Rome"), ("tea", "rum"), ("alice", "bob")):
        if old in value:
            return value.replace(old, new)
    return f"{value}x"
