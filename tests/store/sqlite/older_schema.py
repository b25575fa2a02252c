"""A database file as the releases with a full-text index wrote it: schema 6, `postings` filled."""

from __future__ import annotations

from array import array
from contextlib import closing
from pathlib import Path

import apsw
from tests.store.make import Time, add

from engrams.core import Record
from engrams.settings import StoreSettings
from engrams.store.sql import migration_files
from engrams.store.sqlite import SqliteStore, schema_setup

LAST_WITH_POSTINGS = 6


def write_schema_6(path: Path, clock: Time, *records: Record) -> None:
    """Write records with the code of today, and copy its rows into the schema of then."""
    fresh = path.with_name("fresh.db")
    store = SqliteStore.open(fresh, StoreSettings(), clock)
    add(store, *records)
    store.close()
    steps = migration_files.load_migrations("engrams.store.sqlite")[:LAST_WITH_POSTINGS]
    with closing(apsw.Connection(str(path))) as old, closing(apsw.Connection(str(fresh))) as new:
        old.execute("PRAGMA journal_mode = WAL")
        for step in steps:
            old.execute(step.script)
        for (table,) in new.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            # Counts of records follow from them by triggers.
            if table in ("tallies", "migrations") or table.startswith("sqlite_"):
                continue
            # A column or a table of a later step has no place there.
            columns = ", ".join(name for _, name, *_ in old.execute(f"PRAGMA table_info({table})"))
            rows = new.execute(f"SELECT {columns} FROM {table}").fetchall() if columns else []
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                old.executemany(
                    f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", rows
                )
        old.executemany(
            "INSERT INTO migrations VALUES (?, ?, ?)",
            [(step.number, step.name, step.checksum) for step in steps],
        )
        terms = dict(old.execute("SELECT id, term FROM lexicon"))
        for number, lexemes in old.execute("SELECT number, lexemes FROM records").fetchall():
            text = " ".join(terms[term] for term in array("I", lexemes))
            old.execute("INSERT INTO postings (rowid, terms) VALUES (?, ?)", (number, text))
        old.execute("DELETE FROM counters WHERE name = 'seals'")
        old.pragma("application_id", schema_setup.APPLICATION)
        old.pragma("user_version", LAST_WITH_POSTINGS)
    fresh.unlink()
    path.with_name("seal.key").unlink(missing_ok=True)


def list_tables(path: Path) -> set[str]:
    """Names of the tables in a file."""
    with closing(apsw.Connection(str(path))) as connection:
        return {
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
