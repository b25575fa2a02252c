"""Files of pictures and sounds in a table of Postgres."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from engrams.core import Scope
from engrams.store.postgres.database import PostgresDatabase
from engrams.store.sql.named_queries import SqlConnection, load_queries

_Rows: TypeAlias = list[tuple[Any, ...]]
_FILE = "file"
_PREVIEW = "preview"
_PIECE_BYTES = 1 << 20
_PAGE_PIECES = 16
"""Pieces that one statement reads."""


class PostgresAttachments:
    """Attachments of a fleet (the port ``AttachmentFiles``): every machine reads them.

    A file is written in one transaction, so that nobody reads half of one.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._queries = load_queries(__package__)

    def write(self, owner: Scope, digest: str, data: bytes, preview: bytes) -> None:
        pieces = [
            (owner.key, digest, part, start, contents[start : start + _PIECE_BYTES])
            for part, contents in ((_FILE, data), (_PREVIEW, preview))
            for start in range(0, len(contents), _PIECE_BYTES)
        ]

        def add(connection: SqlConnection) -> None:
            for piece in pieces:
                connection.execute(self._queries["add_attachment_piece"], piece)

        self._database.write(owner, add)

    def read(self, owner: Scope, digest: str) -> bytes | None:
        return b"".join(self._iter_pieces(owner, digest, _FILE)) or None

    def read_preview(self, owner: Scope, digest: str) -> bytes | None:
        return b"".join(self._iter_pieces(owner, digest, _PREVIEW)) or None

    def has(self, owner: Scope, digest: str) -> bool:
        return bool(self._ask(owner, "has_attachment_pieces", owner.key, digest)[0][0])

    def erase(self, owner: Scope, digest: str) -> bool:
        def erase(connection: SqlConnection) -> int:
            values = (owner.key, digest)
            connection.execute(self._queries["erase_attachment_pieces"], values)
            return connection.changes()

        return self._database.write(owner, erase) > 0

    def measure(self, owner: Scope) -> Mapping[str, int]:
        return dict(self._ask(owner, "measure_attachments", owner.key))

    def _iter_pieces(self, owner: Scope, digest: str, part: str) -> Iterator[bytes]:
        values = (owner.key, digest, part)
        start = 0
        while rows := self._ask(owner, "attachment_pieces", *values, start, _PAGE_PIECES):
            yield from (bytes(piece) for _, piece in rows)
            start = rows[-1][0] + 1

    def _ask(self, owner: Scope, name: str, *values: Any) -> _Rows:
        with self._database.asking(owner) as connection:
            return connection.execute(self._queries[name], values).fetchall()
