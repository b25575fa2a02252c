"""Seals of all rows, given at the migration that brought them, and where a person trusts what is there."""

from __future__ import annotations

from engrams.core import Scope
from engrams.settings import StoreSettings
from engrams.store.postgres.database import PostgresDatabase
from engrams.store.sql.head_file import HeadFile
from engrams.store.sql.named_queries import fetch_all
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sql.sealing import seal_owner


def seal_all(url: str, seals: RowSeals) -> int:
    """Seal every row as it is, each owner's in one transaction; return how many had no seal.

    StoreError: an owner's rows stayed locked; repeat it.
    """
    database = PostgresDatabase(url, StoreSettings())
    try:
        return seal_owners(database, seals)
    finally:
        database.close()


def seal_owners(database: PostgresDatabase, seals: RowSeals, head: HeadFile | None = None) -> int:
    """Seal every row of an open database; return how many had no seal that fits.

    ``head``: where the last changes are kept, which are noted anew.
    """
    with database.reading(None) as connection:
        owner_keys = [owner_key for (owner_key,) in fetch_all(connection, "every_owner")]
    count = sum(
        database.write(Scope.parse(owner_key), seal_owner, seals, owner_key)
        for owner_key in owner_keys
    )
    if head is not None:
        for owner_key in {*owner_keys, *head.list_owners()}:
            with database.reading(Scope.parse(owner_key)) as connection:
                head.trust(connection, (owner_key,))
    return count
