"""Files that wait to be imported, in a table of Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from engrams.core import Scope
from engrams.encryption import file_encryption
from engrams.errors import ConflictError
from engrams.ports import StoredUpload, build_missing_upload
from engrams.store.postgres.database import PostgresDatabase
from engrams.store.sql.named_queries import SqlConnection, load_queries
from engrams.store.sql.row_conversion import to_datetime

_Rows: TypeAlias = list[tuple[Any, ...]]
_PAGE_PIECES = 16
"""Pieces that are read at once: each is what one read of a connection gave."""


class PostgresUploads:
    """Uploads of a fleet: any machine receives, and any machine imports them.

    The database's clock says when one was touched.
    """

    is_shared = True

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._queries = load_queries(__package__)

    def create(self, owner: Scope, id: str, about: str) -> None:
        self._change(owner, "add_upload", owner.key, id, about)

    def read(self, owner: Scope, id: str) -> str:
        return str(self._find(owner, id)[0])

    def write(self, owner: Scope, id: str, about: str) -> None:
        if not self._change(owner, "note_upload", owner.key, id, about):
            raise build_missing_upload()

    def list(self, owner: Scope) -> tuple[str, ...]:
        return tuple(about for (about,) in self._ask(owner, "list_uploads", owner.key))

    def measure(self, owner: Scope, id: str) -> int:
        return int(self._find(owner, id)[1])

    def append(self, owner: Scope, id: str, offset: int, piece: bytes) -> None:
        def append(connection: SqlConnection) -> bool:
            connection.execute(self._queries["grow_upload"], (owner.key, id, offset, len(piece)))
            if not connection.changes():
                return False
            connection.execute(self._queries["add_upload_piece"], (owner.key, id, offset, piece))
            return True

        if not self._database.write(owner, append):
            raise ConflictError(
                f"The file has {self.measure(owner, id)} bytes, not {offset}.",
                hint="Continue at that offset.",
            )

    @contextmanager
    def open(self, owner: Scope, id: str) -> Iterator[Path]:
        """Lend a copy on this machine's disk within the block."""
        self._find(owner, id)
        with file_encryption.open_scratch() as (file, path):
            for _, piece in self.iter_pieces(owner, id):
                file.write(piece)
            file.flush()
            yield path

    def iter_pieces(self, owner: Scope, id: str) -> Iterator[tuple[int, bytes]]:
        """Read the contents piece by piece, each with its offset in bytes."""
        start = 0
        while rows := self._ask(owner, "upload_pieces", owner.key, id, start, _PAGE_PIECES):
            for start, piece in rows:
                yield start, bytes(piece)
            start += 1

    def replace_piece(self, owner: Scope, id: str, start: int, piece: bytes) -> None:
        self._change(owner, "replace_upload_piece", owner.key, id, start, piece)

    def erase(self, owner: Scope, id: str) -> None:
        self._database.write(owner, self._remove, owner, id, "erase_upload")

    def drop(self, owner: Scope, id: str) -> None:
        if not self._database.write(owner, self._remove, owner, id, "drop_upload"):
            raise build_missing_upload()

    def iter_all(self) -> Iterator[StoredUpload]:
        for about, has_file, touched_at in self._ask(None, "every_upload"):
            yield StoredUpload(about, has_file, to_datetime(touched_at))

    def _find(self, owner: Scope, id: str) -> tuple[Any, ...]:
        rows = self._ask(owner, "find_upload", owner.key, id)
        if not rows:
            raise build_missing_upload()
        return rows[0]

    def _remove(self, connection: SqlConnection, owner: Scope, id: str, name: str) -> int:
        connection.execute(self._queries["erase_upload_pieces"], (owner.key, id))
        connection.execute(self._queries[name], (owner.key, id))
        return connection.changes()

    def _ask(self, owner: Scope | None, name: str, *values: Any) -> _Rows:
        with self._database.asking(owner) as connection:
            return connection.execute(self._queries[name], values).fetchall()

    def _change(self, owner: Scope, name: str, *values: Any) -> int:
        def change(connection: SqlConnection) -> int:
            connection.execute(self._queries[name], values)
            return connection.changes()

        return self._database.write(owner, change)
