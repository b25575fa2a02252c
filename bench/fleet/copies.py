"""Owners by the thousand:
copies of an owner that the product wrote, row by row within the database.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg.sql import SQL, Composable, Identifier, Literal

from engrams.core import Scope

_PER_OWNER = ("records", "vectors", "history")
"""Tables of turns as they are observed; the counts of records follow by triggers."""
_COLUMNS = """SELECT column_name FROM information_schema.columns WHERE table_schema = 'engrams' AND table_name = %s
    AND column_name NOT IN ('owner', 'scope', 'record', 'number') AND is_generated = 'NEVER' ORDER BY ordinal_position"""
_OWNER = (
    "INSERT INTO engrams.owners SELECT {to}, changed FROM engrams.owners WHERE owner = {source}"
)
_ROWS = """WITH copied AS (
        INSERT INTO engrams.records (owner, scope, {records})
        SELECT {to}, {to} || substr(scope, length({source}) + 1), {records} FROM engrams.records WHERE owner = {source} ORDER BY number
        RETURNING number, id),
    pairs AS (SELECT copied.number, r.number AS old FROM copied JOIN engrams.records r ON r.owner = {source} AND r.id = copied.id),
    embedded AS (
        INSERT INTO engrams.vectors (owner, record, {vectors})
        SELECT {to}, pairs.number, {vectors} FROM pairs JOIN engrams.vectors v ON v.owner = {source} AND v.record = pairs.old)
    INSERT INTO engrams.history (owner, record, {history})
    SELECT {to}, pairs.number, {history} FROM pairs JOIN engrams.history h ON h.owner = {source} AND h.record = pairs.old"""


def copy_owner(
    connection: psycopg.Connection[tuple[object, ...]], source: Sequence[str], target: Sequence[str]
) -> None:
    """Copy what an owner observed to one that has nothing, in a transaction of its own.

    The connection's user must be one whom row-level security does not bind.
    """
    columns = {
        name: [str(row[0]) for row in connection.execute(_COLUMNS, (name,)).fetchall()]
        for name in _PER_OWNER
    }
    given: dict[str, Composable] = {
        name: SQL(", ").join(map(Identifier, some)) for name, some in columns.items()
    }
    given |= {"source": Literal(Scope.of(source).key), "to": Literal(Scope.of(target).key)}
    with connection.transaction():
        for statement in (_OWNER, _ROWS):
            connection.execute(SQL(statement).format(**given))


def list_owners(connection: psycopg.Connection[tuple[object, ...]]) -> set[str]:
    """Keys of the owners that have memory."""
    return {
        str(key) for (key,) in connection.execute("SELECT owner FROM engrams.owners").fetchall()
    }
