"""Keep the state of the files as of their last synchronisation.

``VaultStateDatabase`` tells which memory each file is of, and what both had in common then. It is a
small database beside the memory's own, outside the folder of the files, so that a folder that is
not mounted can be told from an empty one. It is derived: without it, every file is compared with its
memory. Two tables hold unfinished work, and are copied if the database is damaged: ``touched`` (notes
for the next git commit) and ``erased`` (files that go with a purge).
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

from engrams import encryption
from engrams.core import Json, Scope
from engrams.errors import EngramsError, StoreError
from engrams.vault.files.folder_access import FileStat
from engrams.vault.files.vault_paths import path_key

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    owner TEXT NOT NULL, id TEXT NOT NULL, path TEXT NOT NULL, key TEXT NOT NULL, scope TEXT NOT NULL, hash TEXT NOT NULL,
    version INTEGER NOT NULL, links TEXT NOT NULL, mtime INTEGER NOT NULL, size INTEGER NOT NULL, seen INTEGER NOT NULL,
    next_path TEXT NOT NULL, next_hash TEXT NOT NULL, PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS files_key ON files (key) WHERE key <> '';
CREATE TABLE IF NOT EXISTS touched (path TEXT PRIMARY KEY, note TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS erased (
    owner TEXT NOT NULL, id TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY (owner, id, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS drawn (
    owner TEXT NOT NULL, line TEXT NOT NULL, id TEXT NOT NULL, covered INTEGER NOT NULL, PRIMARY KEY (owner, line, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS drawn_id ON drawn (owner, id);
CREATE TABLE IF NOT EXISTS problems (path TEXT PRIMARY KEY, told TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""
_COLUMNS = "owner, id, path, scope, hash, version, links, mtime, size, seen, next_path, next_hash"


_log = logging.getLogger(__name__)
_UNSEEN = FileStat(0, 0)
_MIN_ROOM = 1 << 17
"""Bytes of free disk below which an I/O error is taken for a full disk."""
_LOST_NOTE = json.dumps({"does": "keep", "why": "the note of what changed was damaged"})


@dataclass(frozen=True, slots=True)
class FileStateRow:
    """State of one memory's file."""

    owner: Scope
    id: str
    """Id of the memory."""
    path: str
    """Empty: it has no file, and needs none."""
    scope: Scope
    hash: str
    """Hash of the content that file and memory last had in common."""
    version: int = 1
    """Version of the memory at that time."""
    links: tuple[tuple[str, str, float, int], ...] = ()
    """Links of the file at that time: type, target, weight, count."""
    stat: FileStat = _UNSEEN
    looked_at: int = 0
    """Time at which the file was looked at, in nanoseconds since 1970."""
    next_path: str = ""
    """Path at which a file is being written; empty: none is."""
    next_hash: str = ""
    """Hash of the content that is being written."""


class VaultStateDatabase:
    """Database of the files' state, made at the first change; thread safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = RLock()
        self._opened: Any = None
        self._identity: tuple[int, int] | None = None
        self._abandoned: Any = None
        self._process = os.getpid()

    @property
    def exists(self) -> bool:
        return self._path.exists()

    def get(self, owner: Scope, ids: Sequence[str]) -> dict[str, FileStateRow]:
        """Return the rows of these memories, by id."""
        ids_json = json.dumps(list(ids))
        return {
            row.id: row
            for row in self._find_rows(
                "WHERE owner = ? AND id IN (SELECT value FROM json_each(?))", (owner.key, ids_json)
            )
        }

    def find_paths(self, paths: Iterable[str]) -> dict[str, FileStateRow]:
        """Return the rows of these files, by their paths' keys."""
        keys_json = json.dumps([path_key(path) for path in paths])
        return {
            path_key(row.path): row
            for row in self._find_rows(
                "WHERE key <> '' AND key IN (SELECT value FROM json_each(?))", (keys_json,)
            )
        }

    def all_rows(self) -> Iterator[FileStateRow]:
        return self._find_rows("", ())

    def count(self) -> int:
        """Count the files there should be."""
        return (
            int(self._query("SELECT count(*) FROM files WHERE key <> ''")[0][0])
            if self.exists
            else 0
        )

    def put(self, rows: Iterable[FileStateRow]) -> None:
        with self.transaction() as connection:
            for row in rows:
                values = _encode_row(row)
                connection.execute(
                    f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * len(values))})",  # noqa: S608
                    values,
                )

    def drop(self, owner: Scope, ids: Iterable[str]) -> None:
        with self.transaction() as connection:
            for id in ids:
                connection.execute("DELETE FROM files WHERE owner = ? AND id = ?", (owner.key, id))

    def clear(self) -> None:
        """Delete every row and problem."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM files; DELETE FROM problems")

    def touch(self, notes: Iterable[tuple[str, Json]]) -> None:
        """Note changed files and their cause, for the next git commit."""
        with self.transaction() as connection:
            for path, note in notes:
                connection.execute(
                    "INSERT OR REPLACE INTO touched VALUES (?, ?)", (path, json.dumps(note))
                )

    def touched_notes(self) -> dict[str, Any]:
        return (
            {path: json.loads(note) for path, note in self._query("SELECT path, note FROM touched")}
            if self.exists
            else {}
        )

    def count_touched(self) -> int:
        """Count the files that changed since the last commit."""
        return int(self._query("SELECT count(*) FROM touched")[0][0]) if self.exists else 0

    def untouch(self, notes: Iterable[tuple[str, Json]]) -> None:
        """Delete notes of committed files, unless they changed again."""
        with self.transaction() as connection:
            for path, note in notes:
                connection.execute(
                    "DELETE FROM touched WHERE path = ? AND note = ?", (path, json.dumps(note))
                )

    def forget_missing(self, is_there: Callable[[str], bool]) -> None:
        """Delete notes and problems of files that are gone; empty the log."""
        if not self.exists:
            return
        with self.transaction() as connection:
            for table in ("touched", "problems"):
                for (path,) in list(connection.execute(f"SELECT path FROM {table}")):  # noqa: S608 - our own tables
                    if not is_there(path):
                        connection.execute(f"DELETE FROM {table} WHERE path = ?", (path,))  # noqa: S608 - our own tables
        self._query("PRAGMA wal_checkpoint(TRUNCATE)")

    def report_problems(self, problems: dict[str, str], looked_paths: Iterable[str] | None) -> None:
        """Replace the problems of some files.

        ``looked_paths``: the files that were looked at; None: all.
        """
        if not problems and not self.exists:
            return
        with self.transaction() as connection:
            if looked_paths is None:
                connection.execute("DELETE FROM problems")
            for path in looked_paths or ():
                connection.execute("DELETE FROM problems WHERE path = ?", (path,))
            for path, problem in problems.items():
                connection.execute("INSERT OR REPLACE INTO problems VALUES (?, ?)", (path, problem))

    def problems(self) -> dict[str, str]:
        return (
            dict(self._query("SELECT path, told FROM problems ORDER BY path"))
            if self.exists
            else {}
        )

    def add_erasures(self, rows: Iterable[tuple[Scope, str, str]]) -> None:
        """Note files that go because their memory is being purged."""
        with self.transaction() as connection:
            for owner, id, path in rows:
                connection.execute(
                    "INSERT OR REPLACE INTO erased VALUES (?, ?, ?)", (owner.key, id, path)
                )

    def pending_erasures(self) -> list[tuple[Scope, str, str]]:
        if not self.exists:
            return []
        return [
            (Scope.parse(owner), id, path)
            for owner, id, path in self._query("SELECT owner, id, path FROM erased")
        ]

    def drop_erasures(self, rows: Iterable[tuple[Scope, str]]) -> None:
        with self.transaction() as connection:
            for owner, id in rows:
                connection.execute("DELETE FROM erased WHERE owner = ? AND id = ?", (owner.key, id))

    def add_drawn(self, owner: Scope, rows: Iterable[tuple[str, str, int]]) -> None:
        """Note from which memories lines were drawn: hash, id, words covered."""
        with self.transaction() as connection:
            for line, id, covered in rows:
                connection.execute(
                    "INSERT OR REPLACE INTO drawn VALUES (?, ?, ?, ?)",
                    (owner.key, line, id, covered),
                )

    def find_drawn(self, owner: Scope, lines: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
        """Return each line's memories, with the words that they covered together."""
        memories: dict[str, list[tuple[str, int]]] = {}
        if self.exists and lines:
            statement = (
                "SELECT line, id, covered FROM drawn WHERE owner = ? AND line IN (SELECT value FROM"
                " json_each(?))"
            )
            for line, id, covered in self._query(statement, (owner.key, json.dumps(lines))):
                memories.setdefault(line, []).append((id, covered))
        return memories

    def find_lines_of(self, owner: Scope, ids: Sequence[str]) -> set[str]:
        """Return the lines that were drawn from these memories."""
        statement = (
            "SELECT line FROM drawn WHERE owner = ? AND id IN (SELECT value FROM json_each(?))"
        )
        return (
            {line for (line,) in self._query(statement, (owner.key, json.dumps(ids)))}
            if self.exists
            else set()
        )

    def get_fact(self, name: str) -> str:
        rows = self._query("SELECT value FROM facts WHERE name = ?", (name,)) if self.exists else []
        return str(rows[0][0]) if rows else ""

    def set_fact(self, name: str, value: str) -> None:
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Open a transaction; changes within it join it."""
        with self._lock, self._map_errors(), encryption.share_home(self._path):
            connection = self._connection()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                # Not where SQLite rolled back by itself, as on a full disk.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _find_rows(self, where: str, values: tuple[Any, ...]) -> Iterator[FileStateRow]:
        if not self.exists:
            return
        # ``where`` comes from this module alone.
        for row in self._query(f"SELECT {_COLUMNS} FROM files {where}", values):  # noqa: S608
            # A row that makes no sense is as good as none: its file is compared with its memory.
            with suppress(ValueError, TypeError, EngramsError):
                yield _decode_row(row)

    def _query(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock, self._map_errors(), encryption.share_home(self._path):
            return list(self._connection().execute(statement, values))

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        import apsw

        try:
            yield
        except apsw.Error as problem:
            if isinstance(problem, apsw.FullError) or (
                isinstance(problem, apsw.IOError) and _has_no_room(self._path)
            ):
                hint = "Free some space; the waiting files are written then."
                raise StoreError(
                    f"The disk that holds {self._path} is full.", hint=hint
                ) from problem
            hint = (
                f"Look at the disk. {self._path.name} is derived: without it, every file is"
                " compared with its memory."
            )
            raise StoreError(f"{self._path}: {problem}.", hint=hint) from problem

    def _connection(self) -> Any:
        if self._process != os.getpid():
            # A connection that a fork copied belongs to the parent.
            self._abandoned = self._opened
            self._opened = None
            self._process = os.getpid()
        if (
            self._opened is not None
            and not self._opened.in_transaction
            and self._identity != encryption.identify(self._path)
        ):
            encryption.close_replaced(self._opened)
            self._opened = None
        if self._opened is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._opened = _open_sound(self._path) or self._start_anew()
            self._path.chmod(0o600)
            self._identity = encryption.identify(self._path)
        return self._opened

    def _start_anew(self) -> Any:
        """Recreate a damaged database, copying its unfinished work."""
        unfinished = _read_unfinished(self._path)
        for end in ("-wal", "-shm", ""):
            self._path.with_name(self._path.name + end).unlink(missing_ok=True)
        connection = _open_sound(self._path)
        for table, rows in unfinished.items():
            for row in rows:
                connection.execute(
                    f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})",  # noqa: S608
                    row,
                )
        _log.warning(
            "%s was damaged. It was created again, and every file is compared with its memory.",
            self._path.name,
        )
        return connection


def _encode_row(row: FileStateRow) -> tuple[Any, ...]:
    """Return the columns of a row, in the order of the table."""
    return (
        row.owner.key,
        row.id,
        row.path,
        path_key(row.path),
        row.scope.key,
        row.hash,
        row.version,
        json.dumps(row.links),
        row.stat.mtime,
        row.stat.size,
        row.looked_at,
        row.next_path,
        row.next_hash,
    )


def _decode_row(row: tuple[Any, ...]) -> FileStateRow:
    owner, id, path, scope, hash, version, links, mtime, size, looked_at, next_path, next_hash = row
    link_rows = tuple(
        (str(kind), str(target), float(weight), int(count))
        for kind, target, weight, count in json.loads(links)
    )
    return FileStateRow(
        owner=Scope.parse(owner),
        id=id,
        path=path,
        scope=Scope.parse(scope),
        hash=hash,
        version=version,
        links=link_rows,
        stat=FileStat(mtime, size),
        looked_at=looked_at,
        next_path=next_path,
        next_hash=next_hash,
    )


def _has_no_room(path: Path) -> bool:
    """True where a disk has no room for a log."""
    with suppress(OSError):
        return shutil.disk_usage(path.parent).free < _MIN_ROOM
    return False


def _open_sound(path: Path) -> Any:
    """Open the database; None where it is damaged."""
    import apsw

    encryption.prepare_home(encryption.home_of(path))
    connection = encryption.connect(
        str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, path
    )
    try:
        connection.set_busy_timeout(10_000)
        connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(_SCHEMA)
        for table in ("files", "touched", "erased", "drawn", "problems", "facts"):
            for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - our own tables; also finds what is no UTF-8
                if not _is_sound(table, row):
                    raise apsw.CorruptError(f"a row of {table} makes no sense")
        if connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]:
            return connection
    except (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, UnicodeDecodeError):
        encryption.require_own_file(path)
    connection.close()
    return None


def _is_sound(table: str, row: tuple[Any, ...]) -> bool:
    """Tell whether a row of unfinished work can be read."""
    try:
        if table == "touched":
            return "does" in dict(json.loads(row[1]))
        if table == "erased":
            Scope.parse(row[0])
    except (ValueError, TypeError, EngramsError):
        return False
    return True


def _read_unfinished(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Read unfinished work from a damaged database: erasures, uncommitted notes."""
    import apsw

    unfinished: dict[str, list[tuple[Any, ...]]] = {"erased": [], "touched": []}
    with suppress(apsw.Error, UnicodeDecodeError):
        connection = encryption.connect(str(path), apsw.SQLITE_OPEN_READWRITE, path)
        with closing(connection):
            for table, rows in unfinished.items():
                for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - our own tables
                    if _is_sound(table, row):
                        rows.append(row)
                    elif table == "touched":
                        rows.append((row[0], _LOST_NOTE))
                    else:
                        _log.warning(
                            "%s was to be erased with its memory; the note of it is damaged. Look"
                            " at the file.",
                            row[2],
                        )
    return unfinished
