"""The doctor of a database: it checks everything, and repairs what it can.

Repairs go from mild to thorough: what is derived is built anew in place; if problems are left,
readable rows are copied to a new file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import apsw

from engrams.core import Json, Scope
from engrams.errors import StoreError
from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.sql.head_file import HeadFile
from engrams.store.sql.named_queries import execute, fetch_first, fetch_one
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sql.sealing import describe_altered
from engrams.store.sqlite import ledger_mark, schema_setup, stored_terms, table_sums
from engrams.store.sqlite.index_file_folder import ENDING, IndexFileFolder
from engrams.store.sqlite.rescue import lost_memories, vector_repair
from engrams.store.sqlite.rescue.file_opening import check_integrity, find_problems
from engrams.store.sqlite.rescue.file_replacement import (
    list_damaged,
    merge_damaged,
    replace_file,
    write_replacement,
)
from engrams.store.sqlite.rescue.lost_memories import MemoryRescueLoss
from engrams.store.sqlite.rescue.row_salvage import copy_readable
from engrams.store.sqlite.rescue.text_damage import accept_damaged_texts, find_damaged_texts

T = TypeVar("T")
P = ParamSpec("P")

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
"""Tables in the order of the query ``rows``."""
_COUNTS_PROBLEM = "The counts of records are wrong."
_MAX_NAMED = 20
"""Memories that a problem names."""


class CheckedDatabase(Protocol):
    """Database that can be checked and repaired."""

    path: Path | None
    settings: StoreSettings
    notes: list[str]
    seals: RowSeals

    def reading(self) -> AbstractContextManager[apsw.Connection]:
        """Begin a read transaction."""
        ...

    def write(
        self,
        owner: Scope | None,
        work: Callable[Concatenate[apsw.Connection, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run ``work`` in a durable transaction."""
        ...

    def run_exclusive(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run ``work`` on the writing connection, outside a transaction."""
        ...

    def reload(self) -> None:
        """Void all caches after the file changed from outside."""
        ...


def check_database(
    database: CheckedDatabase, mend: bool, clock: Clock, head: HeadFile | None
) -> dict[str, Json]:
    """Check everything; with ``mend`` also repair it.

    ``head``: the last changes that are kept elsewhere.

    Returns
    ``ok``: no problem is left;
    ``problems``: what was found;
    ``repaired``: what was done about it, now or on opening;
    ``aside``: damaged files that were moved away and still hold memories;
    ``lost``: texts that tell what no repair brought back, until the file ``losses`` is removed;
    ``altered``: texts that tell what another program changed;
    ``bytes``: size on disk; ``rows``: by table.
    """
    problems = remaining = _find_all_problems(database)
    if mend and (problems or _are_derived(_find_changed_tables(database))):
        database.notes.extend(_repair(database, clock))
        remaining = _find_all_problems(database)
    path = database.path
    aside = list_damaged(path) if path else []
    if path and aside and mend and not remaining:
        database.notes.extend(_merge_aside(database, path))
        aside = list_damaged(path)
    rows: dict[str, Json] = {}
    lost: list[str] = []
    altered = _describe_altered(database, head)
    if not remaining:
        with database.reading() as connection:
            rows = dict(zip(_TABLES, fetch_one(connection, "rows"), strict=True))
            lost = lost_memories.report(connection, path) if path else []
    return {
        "ok": not remaining and not aside and not altered,
        "problems": [
            *problems,
            *(f"{name} was moved aside, and its contents were not restored." for name in aside),
        ],
        "repaired": list(database.notes),
        "path": str(path) if path else ":memory:",
        "bytes": _measure_files(database),
        "schema": schema_setup.newest_version(),
        "rows": rows,
        "aside": aside,
        "altered": altered,
        "losses": str(lost_memories.list_path(path)) if path else "",
        "lost": lost,
    }


# --------------------------------------------------------------------------------------------------
# checks


def _find_all_problems(database: CheckedDatabase) -> list[str]:
    """Run all checks; a damaged page ends one of them, not those that follow."""
    problems: list[str] = []
    checks: tuple[Callable[[apsw.Connection], list[str]], ...] = (
        check_integrity,
        find_problems,
        _check_terms,
        _check_texts,
        _check_counts,
        _check_migrations,
        vector_repair.check_vectors,
    )
    with database.reading() as connection:
        for check in checks:
            try:
                problems += [text for text in check(connection) if text not in problems]
            except (apsw.CorruptError, UnicodeError) as problem:
                problems.append(f"The database is damaged: {problem}.")
    problems += [
        f"The search index in {path.name} is damaged." for path in _list_damaged_indexes(database)
    ]
    return problems


def _describe_altered(database: CheckedDatabase, head: HeadFile | None) -> list[str]:
    """Describe what another program changed; nothing where the rows cannot be read."""
    try:
        with database.reading() as connection:
            texts = describe_altered(connection, database.seals, head)
    except (StoreError, apsw.Error, UnicodeError):
        return []
    if tables := _find_changed_tables(database):
        names = ", ".join(tables)
        texts.append(
            f"Rows of these tables were changed, added or taken away: {names}. Answers may differ."
        )
    return texts + _compare_ledger(database)


def _compare_ledger(database: CheckedDatabase) -> list[str]:
    """Say whether the ledger of the home's files is gone or older; note its number if it is not."""
    path = database.path
    if path is None or not path.exists() or database.seals.is_blind:
        return []
    ledger = ledger_mark.open_ledger(path, database.settings)
    with database.reading() as connection:
        difference = ledger_mark.find_difference(connection, ledger)
        is_behind = ledger_mark.is_behind(connection, ledger)
    if is_behind:
        database.write(None, ledger_mark.note, ledger)
    return [difference] if difference else []


def _find_changed_tables(database: CheckedDatabase) -> list[str]:
    """Find the tables in which another program changed a row; none where they cannot be read."""
    if database.path is None or not database.path.exists() or database.seals.is_blind:
        return []
    try:
        with database.reading() as connection:
            return table_sums.find_changed_tables(connection, database.seals)
    except (StoreError, apsw.Error, UnicodeError):
        return []


def _are_derived(tables: Collection[str]) -> bool:
    """True if there are tables, and a repair makes all of them from the texts."""
    return bool(tables) and table_sums.REPAIRED.issuperset(tables)


def _check_terms(connection: apsw.Connection) -> list[str]:
    """Check that searches find records by the words of their texts."""
    record_ids = stored_terms.find_wrong_terms(connection)
    if not record_ids:
        return []
    names = ", ".join(record_ids[:_MAX_NAMED])
    return [
        f"{len(record_ids):,} memories are not in the index by the words of their texts: {names}."
    ]


def _check_texts(connection: apsw.Connection) -> list[str]:
    record_ids = sorted(text.memory.record_id for text in find_damaged_texts(connection))
    if not record_ids:
        return []
    names = ", ".join(record_ids[:_MAX_NAMED])
    return [f"The text of {len(record_ids):,} memories differs from the written text: {names}."]


def _check_counts(connection: apsw.Connection) -> list[str]:
    return [_COUNTS_PROBLEM] if fetch_first(connection, "recount") else []


def _check_migrations(connection: apsw.Connection) -> list[str]:
    return [
        f"The migration {name!r} was applied in another form."
        for name in schema_setup.find_drift(connection)
    ]


def _list_damaged_indexes(database: CheckedDatabase) -> list[Path]:
    path = database.path
    return IndexFileFolder(path.with_name(path.name + ENDING)).list_damaged() if path else []


# --------------------------------------------------------------------------------------------------
# repairs


def _repair(database: CheckedDatabase, clock: Clock) -> list[str]:
    """Rebuild what is derived; if that fails, copy what is readable. Returns notes."""
    notes: list[str] = []
    try:
        notes += [
            database.write(None, _recount),
            database.write(None, _reindex),
            database.write(None, stored_terms.mend_terms),
            database.write(None, vector_repair.drop_damaged, clock()),
            _accept_texts(database),
            _drop_damaged_indexes(database),
        ]
        if database.path is not None:
            database.write(None, table_sums.take_derived, database.seals)
        if not _find_all_problems(database):
            return [note for note in notes if note]
    except StoreError as problem:
        notes.append(f"A milder repair failed: {problem}")
    notes.append(
        database.run_exclusive(lambda connection: _replace_file(database, connection, clock))
    )
    return [note for note in notes if note]


def _recount(connection: apsw.Connection) -> str:
    execute(connection, "clear_tallies")
    execute(connection, "fill_tallies")
    return "Records were counted again."


def _reindex(connection: apsw.Connection) -> str:
    execute(connection, "reindex")
    return "The indexes were built again."


def _accept_texts(database: CheckedDatabase) -> str:
    """Accept damaged texts, and remember whose they are; a vault's files bring them back."""
    with database.reading() as connection:
        loss = MemoryRescueLoss(
            damaged=tuple(text.memory for text in find_damaged_texts(connection))
        )
    if not loss:
        return ""
    if database.path is not None:
        lost_memories.remember(database.path, database.path.name, loss)
    database.write(None, accept_damaged_texts, database.seals)
    return f"{loss}."


def _drop_damaged_indexes(database: CheckedDatabase) -> str:
    """Remove damaged index files: the next search builds them anew."""
    damaged = _list_damaged_indexes(database)
    for path in damaged:
        path.unlink(missing_ok=True)
    return "The next search builds its index again." if damaged else ""


def _replace_file(database: CheckedDatabase, connection: apsw.Connection, clock: Clock) -> str:
    """Copy readable rows to a new file; move the damaged one aside."""
    path = database.path
    if path is None:
        return "A damaged database in memory cannot be rescued."
    with write_replacement(path, "rescue") as fresh:
        connection.execute("BEGIN IMMEDIATE")
        try:
            copied, loss = copy_readable(path, fresh, database.settings)
            return replace_file(path, fresh, clock, copied, loss)
        finally:
            connection.execute("ROLLBACK")


def _merge_aside(database: CheckedDatabase, path: Path) -> list[str]:
    """Bring back rows of damaged files that lie aside; return notes.

    A store that was never written is made first.
    """
    notes = database.run_exclusive(lambda _: merge_damaged(path, database.settings))
    database.reload()
    return notes


def _measure_files(database: CheckedDatabase) -> int:
    """Bytes of the database, its logs included."""
    if database.path is None:
        with database.reading() as connection:
            return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
    files = (database.path.with_name(database.path.name + end) for end in ("", "-wal", "-shm"))
    return sum(file.stat().st_size for file in files if file.exists())
