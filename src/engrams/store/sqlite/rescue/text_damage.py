"""Texts that are no longer what was written, found by their stored hashes."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from engrams.core import content_hash
from engrams.store.sql.lexemes import join_caption
from engrams.store.sql.named_queries import execute, stream_rows
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sql.sealing import seal_counted
from engrams.store.sqlite.rescue.lost_memories import MemoryVersion


@dataclass(frozen=True, slots=True)
class DamagedText:
    """Text of a memory that does not have its stored hash."""

    number: int
    memory: MemoryVersion
    real_hash: bytes


def find_damaged_texts(connection: apsw.Connection) -> list[DamagedText]:
    """Find memories whose text does not have its stored hash; it reads all texts."""
    damaged = []
    for number, record_id, owner, version, stored_hash, text, caption in stream_rows(
        connection, "texts_and_hashes"
    ):
        real_hash = bytes.fromhex(content_hash(join_caption(text, caption)))
        if real_hash != stored_hash:
            memory = MemoryVersion(record_id, owner, version)
            damaged.append(DamagedText(number, memory, real_hash))
    return damaged


def accept_damaged_texts(connection: apsw.Connection, seals: RowSeals) -> tuple[MemoryVersion, ...]:
    """Store the real hashes of damaged texts; return the memories they belong to, sorted."""
    damaged = find_damaged_texts(connection)
    for text in damaged:
        execute(connection, "set_hash", text.real_hash, text.number)
        seal_counted(connection, seals, text.memory.owner, (text.number,))
    return tuple(sorted(text.memory for text in damaged))
