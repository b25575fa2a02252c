"""Check and repair of database files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from engrams.core import Json
from engrams.errors import StoreError
from engrams.ports import Clock
from engrams.store.sql.named_queries import execute, fetch_first, fetch_one
from engrams.store.sqlite import schema_setup, term_rebuild
from engrams.store.sqlite.database import SqliteDatabase
from engrams.store.sqlite.folder_lock import lock_folder
from engrams.store.sqlite.rescue import database_repair, lost_memories, vector_repair
from engrams.store.sqlite.rescue.lost_memories import MemoryRescueLoss
from engrams.store.sqlite.rescue.row_salvage import copy_readable
from engrams.store.sqlite.rescue.text_damage import accept_damaged_texts, find_damaged_texts
from engrams.store.sqlite.segment_folder import ENDING, SegmentFolder

_TABLES = (
    "records",
    "vectors",
    "history",
    "edges",
    "jobs",
    "sessions",
    "owner_state",
    "outbox",
    "lexicon",
)
_MAX_NAMED = 20
"""Memories that a problem names."""
_COUNTS_PROBLEM = "The counts of records are wrong."


def check_database(database: SqliteDatabase, mend: bool, clock: Clock) -> dict[str, Json]:
    """Check everything; with ``mend`` also repair it.

    ``ok``: no problem is left. ``problems``: what was found; ``repaired``: what was done about it,
    now or on opening; ``aside``: damaged files that were moved away and still hold memories;
    ``lost``: texts that tell which memories no repair brought back, until the file ``losses`` is
    removed; ``bytes``: size on disk; ``rows``: by table.
    """
    problems = left = _find_problems(database)
    if problems and mend:
        database.notes.extend(_repair(database, clock))
        left = _find_problems(database)
    path = database.path
    aside = database_repair.list_damaged(path) if path else []
    if path and aside and mend and not left:
        database.notes.extend(_merge_aside(database, path))
        aside = database_repair.list_damaged(path)
    rows: dict[str, Json] = {}
    lost: list[str] = []
    if not left:
        with database.reading() as connection:
            rows = dict(zip(_TABLES, fetch_one(connection, "rows"), strict=True))
            lost = lost_memories.report(connection, path) if path else []
    return {
        "ok": not left and not aside,
        "problems": [
            *problems,
            *(f"{name} was moved aside, and what it holds was not brought back." for name in aside),
        ],
        "repaired": list(database.notes),
        "path": str(path) if path else ":memory:",
        "bytes": _file_bytes(database),
        "schema": schema_setup.newest_version(),
        "rows": rows,
        "aside": aside,
        "losses": str(lost_memories.list_path(path)) if path else "",
        "lost": lost,
    }


def _merge_aside(database: SqliteDatabase, path: Path) -> list[str]:
    """Bring back rows of damaged files that lie aside.

    A store that was never written is made first.
    """
    notes = database.run_exclusive(lambda _: database_repair.merge_damaged(path, database.settings))
    database.reload()
    return notes


def _find_problems(database: SqliteDatabase) -> list[str]:
    found: list[str] = []
    checks: tuple[Callable[[apsw.Connection], list[str]], ...] = (
        database_repair.check_integrity,
        database_repair.find_problems,
        _check_terms,
        _check_texts,
        _check_counts,
        _check_migrations,
        vector_repair.check_vectors,
    )
    with database.reading() as connection:
        for check in checks:
            try:
                found += (problem for problem in check(connection) if problem not in found)
            except (apsw.CorruptError, UnicodeError) as problem:
                found.append(f"The database is damaged: {problem}.")
    return [
        *found,
        *(
            f"The search index in {path.name} is damaged."
            for path in _list_damaged_indexes(database)
        ),
    ]


def _list_damaged_indexes(database: SqliteDatabase) -> list[Path]:
    return (
        SegmentFolder(database.path.with_name(database.path.name + ENDING)).list_damaged()
        if database.path
        else []
    )


def _drop_indexes(database: SqliteDatabase) -> list[str]:
    """Remove damaged index files: the next search builds them anew."""
    damaged = _list_damaged_indexes(database)
    for path in damaged:
        path.unlink(missing_ok=True)
    return ["The next search builds its index anew."] if damaged else []


def _check_terms(connection: apsw.Connection) -> list[str]:
    """Check that searches find records by the words of their texts."""
    record_ids = term_rebuild.find_wrong_terms(connection)
    return (
        [
            f"{len(record_ids):,} memories are not in the index by the words of their texts:"
            f" {', '.join(record_ids[:_MAX_NAMED])}."
        ]
        if record_ids
        else []
    )


def _check_texts(connection: apsw.Connection) -> list[str]:
    found = sorted(id for _, (id, *_), _ in find_damaged_texts(connection))
    return (
        [
            f"The text of {len(found):,} memories is not what was written: {', '.join(found[:_MAX_NAMED])}."
        ]
        if found
        else []
    )


def _check_counts(connection: apsw.Connection) -> list[str]:
    return [_COUNTS_PROBLEM] if fetch_first(connection, "recount") else []


def _check_migrations(connection: apsw.Connection) -> list[str]:
    return [
        f"The migration {name!r} was applied in another form."
        for name in schema_setup.find_drift(connection)
    ]


def _repair(database: SqliteDatabase, clock: Clock) -> list[str]:
    """Rebuild what is derived; if that fails, copy what is readable."""
    notes: list[str] = []
    try:
        notes.extend(database.write(None, remedy) for remedy in (_recount, _reindex))
        notes.extend(
            filter(
                None,
                (
                    database.write(None, term_rebuild.mend_terms),
                    database.write(None, vector_repair.drop_damaged, clock()),
                ),
            )
        )
        notes.extend(_accept_texts(database))
        notes.extend(_drop_indexes(database))
        if not _find_problems(database):
            return notes
    except StoreError as problem:
        notes.append(f"A milder repair failed: {problem}")
    return [
        *notes,
        database.run_exclusive(lambda connection: _replace_file(database, connection, clock)),
    ]


def _accept_texts(database: SqliteDatabase) -> list[str]:
    """Accept damaged texts, and remember whose they are.

    A vault's files bring them back.
    """
    with database.reading() as connection:
        found = MemoryRescueLoss(
            damaged=tuple(memory for _, memory, _ in find_damaged_texts(connection))
        )
    if not found:
        return []
    if database.path is not None:
        lost_memories.remember(database.path, database.path.name, found)
    database.write(None, accept_damaged_texts)
    return [f"{found}."]


def _recount(connection: apsw.Connection) -> str:
    execute(connection, "clear_tallies")
    execute(connection, "fill_tallies")
    return "Records were counted again."


def _reindex(connection: apsw.Connection) -> str:
    execute(connection, "reindex")
    return "The indexes were built again."


def _replace_file(database: SqliteDatabase, connection: apsw.Connection, clock: Clock) -> str:
    """Copy readable rows to a new file; move the damaged one aside."""
    path = database.path
    if path is None:
        return "A damaged database in memory cannot be rescued."
    fresh = path.with_name(f"{path.name}.rescue")
    database_repair.remove_with_logs(fresh)
    connection.execute("BEGIN IMMEDIATE")
    try:
        copied, loss = copy_readable(path, fresh, database.settings)
        with lock_folder(path.parent):
            return database_repair.replace_file(path, fresh, clock, copied, loss)
    finally:
        database_repair.remove_with_logs(fresh)
        connection.execute("ROLLBACK")


def _file_bytes(database: SqliteDatabase) -> int:
    if database.path is None:
        with database.reading() as connection:
            return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
    files = (database.path.with_name(database.path.name + end) for end in ("", "-wal", "-shm"))
    return sum(file.stat().st_size for file in files if file.exists())
