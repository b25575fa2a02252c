"""Columns that are made from the texts of memories, compared with them.

Searches, lists of texts and the look for twins read these columns, and no seal holds them. Lengths of
texts and marks of questions and dates are not compared: another release measures them in another way,
and they change no more than the order of what is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from engrams.core import content_hash
from engrams.store.sql.dialect import SqlDialect
from engrams.store.sql.lexemes import join_caption
from engrams.store.sql.named_queries import SqlConnection, execute, fetch_composed, fetch_one
from engrams.text.terms import index_terms

_PAGE = 2_000
_ROWS = (
    "SELECT id, number, changed, hash, lexemes, folded, text, caption FROM records"
    " WHERE owner = ? AND number > ? AND status <> 'purged' ORDER BY number LIMIT ?"
)
_DERIVE = "UPDATE records SET hash = ?, lexemes = ?, folded = ?, changed = ? WHERE number = ?"
_MAX_NAMED = 20
"""Memories that a text names."""


class _MisderivedRow(NamedTuple):
    """Row whose columns are not those of its text."""

    id: str
    number: int
    derived: tuple[Any, ...]
    """Hash, lexemes and folded text as they must be."""


def describe_misderived(
    connection: SqlConnection, dialect: SqlDialect, owner_key: str
) -> list[str]:
    """Describe the memories of an owner that searches take for others than their texts are."""
    ids = sorted(row.id for row in _find_misderived(connection, dialect, owner_key))
    if not ids:
        return []
    names = ", ".join(ids[:_MAX_NAMED])
    return [
        f"What searches read of {len(ids):,} memories of {owner_key} is not what they say: {names}."
    ]


def derive_again(connection: SqlConnection, dialect: SqlDialect, owner_key: str) -> None:
    """Make the columns of an owner's memories anew where they are not those of their texts."""
    last_change = int(fetch_one(connection, "lock_owner")[0])
    for row in list(_find_misderived(connection, dialect, owner_key)):
        last_change += 1
        connection.execute(_DERIVE, (*row.derived, last_change, row.number))
    execute(connection, "set_changes", last_change)


def _find_misderived(
    connection: SqlConnection, dialect: SqlDialect, owner_key: str
) -> Iterator[_MisderivedRow]:
    last_change = int(fetch_one(connection, "last_change", owner_key)[0] or 0)
    last_number = 0
    while rows := fetch_composed(connection, _ROWS, (owner_key, last_number, _PAGE)):
        for record_id, number, changed, digest, lexemes, folded, text, caption in rows:
            searched = join_caption(text, caption)
            derived = (
                bytes.fromhex(content_hash(searched)),
                dialect.encode(connection, index_terms(searched)),
                *dialect.describe(searched).values(),
            )
            # A number beyond the last one would hide the changes to come from running processes.
            if changed > last_change or (bytes(digest), bytes(lexemes), folded) != derived:
                yield _MisderivedRow(record_id, number, derived)
        last_number = rows[-1][1]
