"""Rescue of readable rows from a damaged database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from engrams.settings import StoreSettings
from engrams.store.sqlite import connect, migrate
from engrams.store.sqlite.lexicon import TermLexicon
from engrams.store.sqlite.sql import execute, fetch_all, query
from engrams.text.terms import terms

_NUMBERED = ("models", "records", "vectors", "outbox")
_KEYED = ("history", "quotes", "edges", "topics", "jobs", "sessions", "owner_state")
_MOST_GAPS = 200_000


def copy_readable(source: Path, target: Path, settings: StoreSettings) -> dict[str, int]:
    """Copy readable rows into the new database ``target``; counts by table."""
    connect.create_file(target)
    old, new = connect.open_reader(source, settings), connect.open_writer(target, settings)
    copied: dict[str, int] = {}
    try:
        migrate.prepare(new, str(target), None)
        new.execute("BEGIN IMMEDIATE")
        for table in (*_NUMBERED, *_KEYED):
            copied[table] = _copy_table(old, new, table)
        for name in ("drop_orphan_vectors", "drop_orphan_history", "renumber_changes", "add_erasure"):
            new.execute(query(name))
        _reindex(new)
        new.execute("COMMIT")
    finally:
        connect.close_replaced(old)
        new.close()
    return copied


def _reindex(connection: apsw.Connection) -> None:
    """Index every text again: term numbers need the lost lexicon."""
    numbers = TermLexicon()
    reached = 0
    while rows := fetch_all(connection, "some_texts", reached):
        for number, text, caption in rows:
            words = terms(f"{text} [{caption}]" if caption else text)
            execute(connection, "set_lexemes", numbers.encode(connection, words), number)
            if words:
                execute(connection, "add_postings", number, " ".join(words))
        reached = rows[-1][0]


def _copy_table(old: apsw.Connection, new: apsw.Connection, table: str) -> int:
    columns = [name for name, _ in fetch_all(new, "columns", table)]
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - our own table's names
    rows = _read_by_number(old, table, columns) if table in _NUMBERED else _read_by_key(old, table, columns)
    copied = 0
    for row in rows:
        try:
            new.execute(insert, row)
            copied += new.changes()
        except apsw.ConstraintError:
            # A row whose page was overwritten can be read and still hold nonsense.
            continue
    return copied


def _read_by_number(old: apsw.Connection, table: str, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """Read rows by number, stepping over unreadable ones."""
    select = f"SELECT rowid, {', '.join(columns)} FROM {table} WHERE rowid > ? ORDER BY rowid"  # noqa: S608 - our own table's names
    reached = 0
    for _ in range(_MOST_GAPS):
        try:
            for number, *row in old.execute(select, (reached,)):
                reached = number
                yield tuple(row)
        except (apsw.CorruptError, UnicodeError):
            reached += 1
        else:
            return


def _read_by_key(old: apsw.Connection, table: str, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """Read rows up to the damage, then from the back."""
    keys = ", ".join(f"{name} DESC" for name, place in fetch_all(old, "columns", table) if place)
    names = ", ".join(columns)
    for select in (f"SELECT {names} FROM {table}", f"SELECT {names} FROM {table} ORDER BY {keys}"):  # noqa: S608 - our own table's names
        try:
            yield from old.execute(select)
        except (apsw.CorruptError, UnicodeError):
            continue
        else:
            return
