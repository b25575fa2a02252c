"""From an empty file, or an older one, to the schema of this version."""

from __future__ import annotations

from pathlib import Path

import apsw

from engrams.errors import StoreError
from engrams.store.sqlite.sql import migrations, query, schema

APPLICATION = 0x656E6772
"""``application_id`` of an engrams database: "engr"."""


def newest() -> int:
    """The ``user_version`` that this code writes."""
    return migrations()[-1].number


def version(connection: apsw.Connection, place: str) -> int:
    """The schema's number, 0 for an empty file. StoreError: another program's file, or one of a newer engrams."""
    found = int(connection.pragma("user_version"))
    application = int(connection.pragma("application_id"))
    if application != APPLICATION:
        if found == 0 and application == 0 and not connection.execute(query("any_table")).fetchall():
            return 0
        raise StoreError(f"{place} is a database of another program.", hint="Choose another home (ENGRAMS_HOME) or `store.url`.")
    if found > newest():
        raise StoreError(
            f"{place} was written by a newer engrams (schema {found}; this one knows {newest()}).", hint="Upgrade engrams on this machine."
        )
    return found


def prepare(connection: apsw.Connection, place: str, backup: Path | None) -> None:
    """Create or upgrade the schema, in one transaction. An older file is copied to ``backup`` first."""
    if version(connection, place) == newest():
        return
    if backup is not None and version(connection, place) > 0 and not backup.exists():
        connection.execute(query("backup"), (str(backup),))
        backup.chmod(0o600)
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited for the lock.
        found = version(connection, place)
        if found == 0:
            connection.execute(schema())
        for step in migrations()[found:]:
            if found:
                connection.execute(step.script)
            connection.execute(query("add_migration"), (step.number, step.name, step.checksum))
        connection.pragma("application_id", APPLICATION)
        connection.pragma("user_version", newest())
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def drifted(connection: apsw.Connection) -> list[str]:
    """Names of the applied steps that differ from the shipped ones."""
    applied = {number: (name, checksum) for number, name, checksum in connection.execute(query("applied_migrations"))}
    return [step.name for step in migrations() if applied.get(step.number) != (step.name, step.checksum)]
