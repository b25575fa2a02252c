"""Schema of a Postgres store: made, brought up to date, and checked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import errors

from engrams.errors import StoreError
from engrams.store.postgres.database import KEEP_ALIVE
from engrams.store.postgres.error_mapping import SCHEMA as HINT
from engrams.store.postgres.error_mapping import map_errors, name_database
from engrams.store.postgres.owner_connection import FLEET, SCHEMA
from engrams.store.postgres.stored_seals import seal_all
from engrams.store.postgres.stored_terms import update_terms
from engrams.store.sql.migration_files import load_migrations
from engrams.store.sql.row_seals import RowSeals
from engrams.text.terms import TERM_SCHEME

_SEALS = "seals"
"""Name of the step after which the rows that are there are sealed, once."""
_LOCK = 0x656E6772
"""Key of the advisory lock of migrations: "engr"."""
_OLDEST_SERVER = 160_000
_LOCK_MILLISECONDS = 1_000
"""Longest wait for a table in one attempt."""
_PAUSE_SECONDS = 2.0
_MAX_ATTEMPTS = 200
"""With waits and pauses about ten minutes."""
_RIGHTS = (
    "Migrate as a superuser, or as a user that may make schemas in the database, and roles. Where"
    " another user made the roles: GRANT engrams_service, engrams_fleet TO … WITH ADMIN OPTION."
)
_TABLE = """CREATE TABLE IF NOT EXISTS migrations (
    number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, terms integer NOT NULL)"""
_HAS_SCHEMA = """SELECT (SELECT count(*) FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid WHERE c.relnamespace = n.oid
        AND c.relname = 'migrations' AND attname IN ('number', 'name', 'checksum', 'terms')) = 4,
    EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = n.oid) OR EXISTS (SELECT 1 FROM pg_proc WHERE pronamespace = n.oid)
    FROM pg_namespace AS n WHERE nspname = %s"""
_OWN_DATABASE = (
    "Give engrams a database of its own (CREATE DATABASE …), and name that one in `store.url`."
)
_DUMP_RIGHTS = """SELECT current_user, rolsuper OR rolbypassrls, (SELECT bool_and(has_table_privilege(oid, 'SELECT')) FROM pg_class
    WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'S')) FROM pg_roles WHERE rolname = current_user"""
APPLIED = f"SELECT number, name, checksum, terms FROM {SCHEMA}.migrations ORDER BY number"  # noqa: S608 - our own names


def migrate(url: str, seals: RowSeals | None = None) -> tuple[str, ...]:
    """Bring the schema up to date; names of the steps taken.

    One process at a time. The user of ``url`` may make schemas and roles; the service's need not.
    No step waits long for a table: others would wait behind it. StoreError: something held a table
    for minutes, the server is too old, its texts are no Unicode, or its schema is that of a newer
    engrams or of another program. SettingsError: ``url`` is no address.
    """
    label = name_database(url)
    with map_errors(label), psycopg.connect(url, autocommit=True, **KEEP_ALIVE) as connection:
        if connection.info.server_version < _OLDEST_SERVER:
            raise StoreError("The server is older than PostgreSQL 16.", hint="Upgrade the server.")
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(
                f"The encoding of the database is {encoding}.",
                hint="Create a database for all characters: CREATE DATABASE … ENCODING 'UTF8'.",
            )
        steps: list[str] = []
        for _ in range(_MAX_ATTEMPTS):
            try:
                while step := _take_step(connection, label):
                    steps.append(step)
            except errors.LockNotAvailable:
                time.sleep(_PAUSE_SECONDS)
            except errors.InsufficientPrivilege as problem:
                raise StoreError(
                    f"Tables cannot be created: {str(problem).splitlines()[0]}.", hint=_RIGHTS
                ) from problem
            else:
                if _SEALS in steps:
                    seal_all(url, seals or RowSeals())
                return (*steps, *_take_terms(connection, url))
    raise StoreError(
        "Another transaction locks a table for a long time.",
        hint="End it (`pg_stat_activity` shows it: a backup?), and migrate again.",
    )


def find_dump_problem(url: str) -> str:
    """Say why `pg_dump` by this user would fail; empty: it would not."""
    with (
        map_errors("the database"),
        psycopg.connect(url, autocommit=True, **KEEP_ALIVE) as connection,
    ):
        user, sees_all_rows, may_read = connection.execute(_DUMP_RIGHTS, (SCHEMA,)).fetchall()[0]
    if sees_all_rows and may_read:
        return ""
    missing = "BYPASSRLS" if not sees_all_rows else "the right to read all"
    return f"The user {user} cannot back up memory by pg_dump: it lacks {missing}."


def _take_step(connection: psycopg.Connection[tuple[Any, ...]], label: str) -> str:
    """Take the next step in its own transaction; name, if any.

    StoreError: the schema is that of a newer engrams, or another program's.
    """
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout = {_LOCK_MILLISECONDS}")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        _has_tables(connection, label)
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute(f"SET LOCAL search_path = {SCHEMA}")
        connection.execute(_TABLE)
        rows = connection.execute(APPLIED).fetchall()
        applied = {number for number, *_ in rows}
        migrations = load_migrations(__package__)
        is_newer = bool(applied - {step.number for step in migrations})
        if is_newer or any(terms > TERM_SCHEME for *_, terms in rows):
            raise _make_newer_error(label)
        step = next((step for step in migrations if step.number not in applied), None)
        if step is None:
            return ""
        connection.execute(step.script.encode())
        row = (step.number, step.name, step.checksum, TERM_SCHEME)
        connection.execute("INSERT INTO migrations VALUES (%s, %s, %s, %s)", row)
        return step.name


def _has_tables(connection: psycopg.Connection[tuple[Any, ...]], label: str) -> bool:
    """Tell whether memory's tables are there.

    StoreError: what is there in their schema is another program's.
    """
    rows = connection.execute(_HAS_SCHEMA, (SCHEMA,)).fetchall()
    is_ours, is_used = rows[0] if rows else (False, False)
    if is_used and not is_ours:
        raise StoreError(
            f"{label} has a schema {SCHEMA} that belongs to another program.", hint=_OWN_DATABASE
        )
    return bool(is_ours)


def _make_newer_error(label: str) -> StoreError:
    return StoreError(
        f"{label} was migrated by a newer engrams.", hint="Upgrade engrams on this machine."
    )


def _take_terms(connection: psycopg.Connection[tuple[Any, ...]], url: str) -> tuple[str, ...]:
    """Split texts into this version's terms, where they are older."""
    if _read_scheme(connection.execute(APPLIED).fetchall()) >= TERM_SCHEME:
        return ()
    # From here on processes of the older words write nothing, and those of the newer ones wait
    # until all are split.
    last = f"UPDATE {SCHEMA}.migrations SET terms = %s WHERE number = (SELECT max(number) FROM {SCHEMA}.migrations)"  # noqa: S608
    connection.execute(last.encode(), (TERM_SCHEME,))
    update_terms(url)
    connection.execute(f"UPDATE {SCHEMA}.migrations SET terms = %s", (TERM_SCHEME,))  # noqa: S608 - our own name
    return ("terms",)


def _read_scheme(rows: Sequence[tuple[Any, ...]]) -> int:
    """Read the scheme of the terms of all records: the oldest noted."""
    return min((int(terms) for *_, terms in rows), default=TERM_SCHEME)


def require_schema(url: str, label: str) -> None:
    """Raise StoreError unless the database has exactly the schema of this version.

    It may have no schema, an older or a newer one, or be out of reach.
    """
    with map_errors(label), psycopg.connect(url, **KEEP_ALIVE) as connection:
        if not _has_tables(connection, label):
            raise StoreError(
                f"{label} contains no memory yet.",
                hint="Create its tables first: `engrams migrate`.",
            )
        # The user of the address may have no rights of its own: only the roles that transactions take
        # have them.
        connection.execute("SELECT set_config('role', %s, true)", (FLEET,))
        compare_schema(connection.execute(APPLIED).fetchall(), label)


def compare_schema(rows: Sequence[tuple[Any, ...]], label: str, *, newer: bool = False) -> None:
    """Compare the steps that were applied with those of this version.

    ``newer``: later ones are allowed, but for terms, which all must split alike. StoreError: they
    differ.
    """
    applied = {number: (name, checksum) for number, name, checksum, _ in rows}
    shipped = {step.number: (step.name, step.checksum) for step in load_migrations(__package__)}
    oldest_terms = _read_scheme(rows)
    # A split that was begun counts: processes of the older words write nothing more.
    newest_terms = max((int(terms) for *_, terms in rows), default=TERM_SCHEME)
    if (applied.keys() - shipped.keys() and not newer) or newest_terms > TERM_SCHEME:
        raise _make_newer_error(label)
    if shipped.keys() - applied.keys() or oldest_terms < TERM_SCHEME:
        raise StoreError(f"{label} has the schema of an older engrams.", hint=HINT)
    if wrong := [
        name for number, (name, checksum) in shipped.items() if applied[number] != (name, checksum)
    ]:
        raise StoreError(
            f"{label} was migrated in another form: {', '.join(wrong)}.",
            hint="Use the engrams that migrated it.",
        )
