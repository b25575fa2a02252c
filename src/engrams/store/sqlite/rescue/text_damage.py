"""Texts that are no longer what was written, found by their hashes."""

from __future__ import annotations

import apsw

from engrams.core import content_hash
from engrams.store.sql.lexemes import join_caption
from engrams.store.sql.named_queries import execute, stream_rows

DamagedText = tuple[str, str, int]
"""Id, owner and version of a memory."""


def find_damaged_texts(connection: apsw.Connection) -> list[tuple[int, DamagedText, bytes]]:
    """Find memories whose text does not have its stored hash.

    Number, memory and the text's real hash of each.
    """
    found = []
    for number, id, owner, version, stored, text, caption in stream_rows(
        connection, "texts_and_hashes"
    ):
        digest = bytes.fromhex(content_hash(join_caption(text, caption)))
        if digest != stored:
            found.append((number, (id, owner, version), digest))
    return found


def accept_damaged_texts(connection: apsw.Connection) -> tuple[DamagedText, ...]:
    """Store the real hashes of damaged texts; the memories they belong to."""
    found = find_damaged_texts(connection)
    for number, _, digest in found:
        execute(connection, "set_hash", digest, number)
    return tuple(sorted(memory for _, memory, _ in found))
