"""The schema of a file: created, or migrated from an older one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cache
from importlib import resources
from pathlib import Path

import apsw

from engrams.errors import StoreError
from engrams.store.sql.migration_files import SchemaMigration, load_migrations
from engrams.store.sql.named_queries import execute, fetch_all
from engrams.store.sqlite import stored_terms

APPLICATION = 0x656E6772
"""``application_id`` of an engrams database: "engr"."""
_DROPS_INDEX = "without_postings"
"""Name of the migration that drops the full-text index."""


def newest_version() -> int:
    """Return the ``user_version`` that this code writes."""
    return load_migrations(__package__)[-1].number


def load_schema() -> str:
    return (resources.files(__package__) / "schema.sql").read_text("utf-8")


@cache
def expected_columns() -> frozenset[tuple[str, str]]:
    """List the tables and columns of a file of the newest version."""
    with closing(apsw.Connection(":memory:")) as connection:
        prepare(connection, ":memory:", None)
        return frozenset(fetch_all(connection, "our_columns"))


@cache
def blank_image() -> bytes:
    """Make the bytes of a database of the newest version without rows.

    Running the schema takes longer than everything else that opens a home.
    """
    with closing(apsw.Connection(":memory:")) as connection:
        prepare(connection, ":memory:", None)
        return connection.serialize("main")


def read_version(connection: apsw.Connection, label: str, newest: int) -> int:
    """Schema version of a file, 0 for an empty one.

    ``newest``: the one that this code knows. StoreError: another program's file, or one of a newer
    engrams; ``label``: what its message calls the file.
    """
    # In one transaction: another process may be filling the file.
    with connection:
        version = int(connection.pragma("user_version"))
        application = int(connection.pragma("application_id"))
        is_empty = version == 0 and application == 0 and not fetch_all(connection, "any_table")
    if is_empty:
        return 0
    if application != APPLICATION:
        raise StoreError(
            f"{label} is a database of another program.",
            hint="Choose another home (ENGRAMS_HOME) or `store.url`.",
        )
    if version > newest:
        raise StoreError(
            f"{label} was written by a newer engrams (schema {version}; this one knows {newest}).",
            hint="Upgrade engrams on this machine.",
        )
    return version


def prepare(
    connection: apsw.Connection,
    label: str,
    backup: Path | None,
    steps: Sequence[SchemaMigration] = (),
) -> None:
    """Create the schema, or migrate an older one, in one transaction.

    ``label``: what messages call the file. ``steps``: migrations, those that ship by default. A
    file with an older schema is copied to ``backup`` first, unless that exists.
    """
    steps = steps or load_migrations(__package__)
    newest = steps[-1].number
    version = read_version(connection, label, newest)
    if version == newest and not has_old_index(connection):
        return
    if backup is not None and 0 < version < newest and not backup.exists():
        execute(connection, "backup", str(backup))
        backup.chmod(0o600)
    # A migration may write tables that SQLite keeps for an index of its own.
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have done it while this one waited for the lock.
        version = read_version(connection, label, newest)
        if version == 0:
            connection.execute(load_schema())
            stored_terms.mark_current(connection)
        for step in steps:
            if step.number <= version:
                continue
            if version:
                connection.execute(step.script)
            execute(connection, "add_migration", step.number, step.name, step.checksum)
        if has_old_index(connection):
            connection.execute(next(step.script for step in steps if step.name == _DROPS_INDEX))
        connection.pragma("application_id", APPLICATION)
        connection.pragma("user_version", newest)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def has_old_index(connection: apsw.Connection) -> bool:
    """True if there is a full-text index, which this schema does not have.

    A process of an older release that was still running when the schema was migrated made it anew.
    It holds words that no purge would find.
    """
    return bool(fetch_all(connection, "left_index"))


def find_drift(connection: apsw.Connection) -> list[str]:
    """List the names of applied migrations that differ from the shipped ones, or are none of them."""
    applied = {
        number: (name, checksum)
        for number, name, checksum in fetch_all(connection, "applied_migrations")
    }
    shipped = {step.number: (step.name, step.checksum) for step in load_migrations(__package__)}
    return [
        shipped.get(number, applied.get(number, ("", "")))[0]
        for number in sorted(shipped.keys() | applied.keys())
        if applied.get(number) != shipped.get(number)
    ]
