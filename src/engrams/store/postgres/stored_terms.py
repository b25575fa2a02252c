"""Terms of all records, split anew where a release splits otherwise."""

from __future__ import annotations

from engrams.core import Scope
from engrams.settings import StoreSettings
from engrams.store.postgres.database import PostgresDatabase
from engrams.store.postgres.dialect import PostgresDialect
from engrams.store.sql.lexemes import split_again
from engrams.store.sql.named_queries import SqlConnection, fetch_all, fetch_one
from engrams.store.sql.row_seals import RowSeals


def update_terms(url: str) -> None:
    """Split every text again, each owner's in one transaction.

    StoreError: an owner's rows stayed locked; repeat it.
    """
    database = PostgresDatabase(url, StoreSettings())
    try:
        with database.reading(None) as connection:
            owners = [Scope.parse(key) for (key,) in fetch_all(connection, "every_owner")]
        for owner in owners:
            database.write(owner, _update_owner)
    finally:
        database.close()


def _update_owner(connection: SqlConnection) -> None:
    fetch_one(connection, "lock_owner")
    split_again(connection, PostgresDialect(RowSeals()).encode)
