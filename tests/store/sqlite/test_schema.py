"""The schema, the migrations that lead to it, and the SQL file."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import apsw
import pytest
from tests.store.make import ALICE, START, Time, add, change, found, get, record
from tests.store.sqlite.older_schema import list_tables, write_schema_6

from engrams.core import Record
from engrams.errors import StoreError
from engrams.settings import StoreSettings
from engrams.store import sqlite
from engrams.store.sql import migration_files, named_queries
from engrams.store.sql.migration_files import SchemaMigration
from engrams.store.sql.row_conversion import FIELDS
from engrams.store.sql.row_seals import READ_COLUMNS
from engrams.store.sqlite import SqliteStore, connections, schema_setup
from engrams.store.sqlite.rescue.row_salvage import copy_readable

SOURCE = Path(sqlite.__file__).parent


def shape(connection: apsw.Connection) -> list[tuple[object, ...]]:
    """What is in a schema; a column that was added stands on no line of its own."""
    rows = connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    )
    return [(*names, re.sub(r"\s*([,)])\s*", r"\1 ", sql or "")) for *names, sql in rows]


def test_migrations_lead_to_the_schema() -> None:
    """Applying every migration in order gives exactly the schema that a new store gets."""
    stepped = apsw.Connection(":memory:")
    made = apsw.Connection(":memory:")
    for step in migration_files.load_migrations("engrams.store.sqlite"):
        stepped.execute(step.script)
    made.execute(schema_setup.load_schema())
    assert shape(stepped) == shape(made)
    assert [
        step.number for step in migration_files.load_migrations("engrams.store.sqlite")
    ] == list(range(1, len(migration_files.load_migrations("engrams.store.sqlite")) + 1))


def test_states_of_owners_move_out_of_the_sessions() -> None:
    """The rows with reserved names become states under their plain names, with their tokens;
    sessions stay.
    """
    database = apsw.Connection(":memory:")
    *earlier, last = [
        step for step in migration_files.load_migrations("engrams.store.sqlite") if step.number <= 5
    ]
    for step in earlier:
        database.execute(step.script)
    for name in (":learned", ":profile", ":garden", "s1", ":else"):
        database.execute(
            "INSERT INTO sessions VALUES ('user/ann', ?, 'user/ann', 'closed', 1, 1, 7, ?)",
            (name, f'"{name}"'),
        )
    database.execute(last.script)
    assert database.execute("SELECT * FROM owner_state ORDER BY name").fetchall() == [
        ("user/ann", name, 7, f'":{name}"') for name in ("garden", "learned", "profile")
    ]
    assert [name for (name,) in database.execute("SELECT id FROM sessions ORDER BY id")] == [
        ":else",
        "s1",
    ]


def test_every_query_is_valid_and_used() -> None:
    """Each named query compiles against the schema, is used somewhere, and every name used exists."""
    connection = connections.open_memory(StoreSettings())
    connection.execute(schema_setup.load_schema())
    where = f"{named_queries.query('select_records')} WHERE "
    fragments = {
        **dict.fromkeys(
            ("missing_tail", "named_records", "owned_rows", "sealed_row"),
            named_queries.query("select_records") + " ",
        ),
        **dict.fromkeys(
            (
                "quoting_numbers",
                "about_names",
                "folded_text",
                "saying",
                "saying_formerly",
                "is_taught",
            ),
            where,
        ),
    }
    fragments["once"] = "INSERT INTO records (id) VALUES ('x') "
    for name, body in named_queries.load_queries().items():
        table = "(SELECT 1)" if name == "count_matching" else ""
        text = f"{fragments.get(name, '')}{body} {table}"
        marks = set(re.findall(r"\?\d", text)) or re.findall(r"\?", text)
        connection.execute(f"EXPLAIN {text}", [None] * len(marks))
    code = "\n".join(
        path.read_text("utf-8")
        for folder in (SOURCE, SOURCE.parent / "sql", SOURCE.parent / "move")
        for path in folder.rglob("*.py")
    )
    words = set(re.findall(r'"(\w+)"', code)) | set(re.findall(r"'(\w+)'", code))
    assert set(named_queries.load_queries()) <= words
    called = set(
        re.findall(r'(?:query\(|(?:every|first|one|run|stream)\([\w.]+, )["\'](\w+)["\']', code)
    )
    assert called <= set(named_queries.load_queries())


def test_columns_are_read_in_the_order_of_the_fields() -> None:
    """The list of columns in the SQL is the list of fields in the code, and nothing of Record is
    missing.
    """
    columns = (
        named_queries.query("select_records").removeprefix("SELECT").removesuffix("FROM records")
    )
    assert tuple(name.strip() for name in columns.split(",")) == READ_COLUMNS
    assert READ_COLUMNS[: len(FIELDS)] == FIELDS
    assert set(FIELDS) == {field.name for field in fields(Record)}


def test_a_new_file_is_marked(home: Path, clock: Time) -> None:
    """A store's file carries engrams' application id and the schema's number, and lists its
    migrations.
    """
    store = SqliteStore.open(home / "memory.db", StoreSettings(), clock)
    add(store, record("x"))
    raw = apsw.Connection(str(home / "memory.db"))
    assert (raw.pragma("application_id"), raw.pragma("user_version")) == (
        schema_setup.APPLICATION,
        schema_setup.newest_version(),
    )
    assert schema_setup.find_drift(raw) == []
    assert raw.pragma("journal_mode") == "wal"
    store.close()


@pytest.mark.covers("S3.54", "S4.59")
def test_an_older_file_is_brought_up_with_a_backup(home: Path, clock: Time) -> None:
    """An older schema is upgraded step by step in one transaction, after a copy of the file was put
    beside it.
    """
    store = SqliteStore.open(home / "memory.db", StoreSettings(), clock)
    tea = record("Alice likes tea")
    add(store, tea)
    store.close()
    steps = (
        *migration_files.load_migrations("engrams.store.sqlite"),
        SchemaMigration(
            schema_setup.newest_version() + 1,
            "colour",
            "ALTER TABLE records ADD COLUMN colour TEXT NOT NULL DEFAULT ''",
        ),
    )
    connection = connections.open_writer(home / "memory.db", StoreSettings())
    schema_setup.prepare(connection, "here", home / "backup", steps)
    schema_setup.prepare(connection, "here", home / "backup", steps)
    assert connection.pragma("user_version") == schema_setup.newest_version() + 1
    assert connection.execute("SELECT text, colour FROM records").fetchall() == [
        ("Alice likes tea", "")
    ]
    assert connection.execute("SELECT number, name FROM migrations").fetchall() == [
        *(
            (step.number, step.name)
            for step in migration_files.load_migrations("engrams.store.sqlite")
        ),
        (schema_setup.newest_version() + 1, "colour"),
    ]
    connection.close()
    older = SqliteStore.open(home / "backup", StoreSettings(), clock)
    assert get(older, tea) == tea
    older.close()


FULL_TEXT_DAMAGE = {
    "none": [],
    "all data gone": ["DELETE FROM postings_data"],
    "structure gone": ["DELETE FROM postings_data WHERE id = 10"],
    "blocks overwritten": ["UPDATE postings_data SET block = x'DEADBEEF'"],
    "table gone": ["DROP TABLE postings"],
    "format gone": ["DELETE FROM postings_config"],
    "format of another": ["UPDATE postings_config SET v = 99 WHERE k = 'version'"],
}


@pytest.mark.parametrize("damage", FULL_TEXT_DAMAGE)
@pytest.mark.parametrize("old_name", ["memory.db", "backup.db"])
def test_a_full_text_index_of_older_releases_goes(
    home: Path, clock: Time, damage: str, old_name: str
) -> None:
    """A home, or a backup, with the full-text index that older releases kept opens without it,
    however damaged that is; every memory is found, and can be changed and purged.
    """
    home.mkdir()
    tea = record("Alice likes tea")
    write_schema_6(home / old_name, clock, tea, record("Zanzibarquux drinks coffee"))
    with closing(apsw.Connection(str(home / old_name))) as raw:
        for statement in FULL_TEXT_DAMAGE[damage]:
            raw.execute(statement)
    if old_name == "backup.db":
        copy_readable(home / old_name, home / "memory.db", StoreSettings())
    store = SqliteStore.open(home / "memory.db", StoreSettings(), clock)
    assert get(store, tea) == tea
    assert found(store, "tea") == {tea.id}
    assert not {name for name in list_tables(home / "memory.db") if name.startswith("postings")}
    report = store.check(False)
    assert report["ok"], report
    change(store, tea, text="Alice likes cocoa")
    erased = store.purge(ALICE, [tea.id], START)
    assert (erased.removed["words"], set(erased.remaining.values())) == (4, {0})
    store.close()
    assert (home / "memory.db.v6.bak").exists() == (old_name == "memory.db")


def test_an_older_process_that_makes_the_index_again_leaves_no_words(
    home: Path, clock: Time
) -> None:
    """A process of an older release that ran on while the file was migrated makes the index anew;
    the next opening drops it, and makes no second copy of the file.
    """
    home.mkdir()
    path = home / "memory.db"
    write_schema_6(path, clock, record("Alice likes tea"))
    SqliteStore.open(path, StoreSettings(), clock).close()
    with closing(apsw.Connection(str(path))) as raw:
        raw.execute("CREATE VIRTUAL TABLE postings USING fts5(terms, content='', columnsize=0)")
        raw.execute("INSERT INTO postings (rowid, terms) VALUES (1, 'alic like tea')")
    store = SqliteStore.open(path, StoreSettings(), clock)
    assert not {name for name in list_tables(path) if name.startswith("postings")}
    assert found(store, "tea")
    store.close()
    assert [file.name for file in home.glob("*.bak")] == ["memory.db.v6.bak"]


def test_an_upgrade_says_what_it_did(
    home: Path, clock: Time, caplog: pytest.LogCaptureFixture
) -> None:
    """The one who opens an older file is told both schemas, and where the former file is; once."""
    home.mkdir()
    write_schema_6(home / "memory.db", clock, record("Alice likes tea"))
    for _ in range(2):
        SqliteStore.open(home / "memory.db", StoreSettings(), clock).close()
    (line,) = [message for message in caplog.messages if "upgraded" in message]
    assert f"from schema 6 to {schema_setup.newest_version()}" in line
    assert "memory.db.v6.bak" in line


def test_a_failing_step_leaves_the_file_as_it_was(home: Path, clock: Time) -> None:
    """A migration that fails half way changes nothing."""
    store = SqliteStore.open(home / "memory.db", StoreSettings(), clock)
    add(store, record("x"))
    store.close()
    steps = (
        *migration_files.load_migrations("engrams.store.sqlite"),
        SchemaMigration(
            schema_setup.newest_version() + 1,
            "bad",
            "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1)",
        ),
    )
    connection = connections.open_writer(home / "memory.db", StoreSettings())
    before = shape(connection)
    with pytest.raises(apsw.SQLError):
        schema_setup.prepare(connection, "here", home / "backup", steps)
    assert (shape(connection), connection.pragma("user_version")) == (
        before,
        schema_setup.newest_version(),
    )
    connection.close()


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 99", "PRAGMA application_id = 7"])
def test_a_strange_file_is_left_alone(home: Path, clock: Time, statement: str) -> None:
    """A newer engrams' file, or another program's, is refused with a hint and not touched."""
    store = SqliteStore.open(home / "memory.db", StoreSettings(), clock)
    add(store, record("x"))
    store.close()
    raw = apsw.Connection(str(home / "memory.db"))
    raw.execute(statement)
    raw.close()
    before = (home / "memory.db").read_bytes()
    with pytest.raises(StoreError) as caught:
        SqliteStore.open(home / "memory.db", StoreSettings(), clock)
    assert caught.value.hint
    assert (home / "memory.db").read_bytes() == before
    assert {path.name for path in home.iterdir()} == {".lock", "memory.db", "seal.key"}


def test_another_programs_tables_are_left_alone(home: Path, clock: Time) -> None:
    """A database with tables and no mark of ours is somebody else's."""
    home.mkdir()
    raw = apsw.Connection(str(home / "memory.db"))
    raw.execute("CREATE TABLE bookmarks (url)")
    raw.close()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore.open(home / "memory.db", StoreSettings(), clock)
