"""Search indexes in files beside a database, marked in it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import apsw

from engrams import encryption
from engrams.errors import EngramsError
from engrams.store.sql.index_file_store import SegmentKey
from engrams.store.sql.named_queries import execute, fetch_one
from engrams.store.sqlite.database import SqliteDatabase
from engrams.store.sqlite.index_file_folder import ENDING, IndexFileFolder, name_mark

if TYPE_CHECKING:
    from engrams.index import OwnerSearchIndex


class SqliteIndexFiles:
    """Files of one database's indexes, as ``IndexFileStore`` describes them.

    There are none beside one in memory, or in an encrypted home.
    """

    def __init__(self, database: SqliteDatabase) -> None:
        path = database.path
        self._database = database
        self._folder = IndexFileFolder(path.with_name(path.name + ENDING) if path else None)

    def load(self, connection: apsw.Connection, key: SegmentKey) -> OwnerSearchIndex | None:
        (mark,) = fetch_one(connection, "spent", name_mark(key.owner))
        return self._folder.load(key, mark) if mark and self._has_files() else None

    def read_epoch(self, connection: apsw.Connection) -> int:
        return int(fetch_one(connection, "erasures")[0])

    def write(self, key: SegmentKey, index: OwnerSearchIndex, epoch: int) -> bool:

        def is_current() -> bool:
            with self._database.reading() as connection:
                return self.read_epoch(connection) == epoch

        def accept(connection: apsw.Connection, mark: int) -> bool:
            if self.read_epoch(connection) != epoch:
                return False
            execute(connection, "set_counter", name_mark(key.owner), mark)
            return True

        # Where a file cannot be written, everything works without.
        with suppress(EngramsError, OSError), encryption.share_home(self._database.path):
            return self._has_files() and self._folder.write(
                key, index, is_current, lambda mark: self._database.write(None, accept, mark)
            )
        return False

    def unmark(self, connection: apsw.Connection, owner_key: str) -> None:
        execute(connection, "drop_index_mark", name_mark(owner_key))
        execute(connection, "add_erasure")

    def drop(self, owner_key: str) -> int:
        return self._folder.drop(owner_key)

    def _has_files(self) -> bool:
        path = self._database.path
        return path is not None and encryption.find_keys(encryption.home_of(path)) is None
