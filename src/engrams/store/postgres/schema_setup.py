"""Schema of a Postgres store: made, brought up to date, and checked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import errors

from engrams.errors import StoreError
from engrams.store.postgres.database import FLEET, KEEP_ALIVE, SCHEMA
from engrams.store.postgres.error_mapping import SCHEMA as HINT
from engrams.store.postgres.error_mapping import map_errors, name_place
from engrams.store.postgres.stored_terms import update_terms
from engrams.store.sql.migration_files import load_migrations
from engrams.text.terms import TERM_SCHEME

_LOCK = 0x656E6772
"""Key of the advisory lock of migrations: "engr"."""
_OLDEST_SERVER = 160_000
_LOCK_MILLISECONDS = 1_000
_PAUSE_SECONDS = 2.0
_TRIES = 200
"""Longest wait for a table, the pause before the next attempt, and attempts: about ten minutes."""
_RIGHTS = (
    "Migrate as a superuser, or as a user that may make schemas in the database, and roles. Where"
    " another user made the roles: GRANT engrams_service, engrams_fleet TO … WITH ADMIN OPTION."
)
_TABLE = """CREATE TABLE IF NOT EXISTS migrations (
    number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, terms integer NOT NULL)"""
_THERE = """SELECT (SELECT count(*) FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid WHERE c.relnamespace = n.oid
        AND c.relname = 'migrations' AND attname IN ('number', 'name', 'checksum', 'terms')) = 4,
    EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = n.oid) OR EXISTS (SELECT 1 FROM pg_proc WHERE pronamespace = n.oid)
    FROM pg_namespace AS n WHERE nspname = %s"""
_OWN_DATABASE = (
    "Give engrams a database of its own (CREATE DATABASE …), and name that one in `store.url`."
)
_DUMPS = """SELECT current_user, rolsuper OR rolbypassrls, (SELECT bool_and(has_table_privilege(oid, 'SELECT')) FROM pg_class
    WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'S')) FROM pg_roles WHERE rolname = current_user"""
APPLIED = f"SELECT number, name, checksum, terms FROM {SCHEMA}.migrations ORDER BY number"  # noqa: S608 - our own names


def migrate(url: str) -> tuple[str, ...]:
    """Bring the schema up to date; names of the steps taken.

    One process at a time. The user of ``url`` may make schemas and roles; the service's need not.
    No step waits long for a table: others would wait behind it. StoreError: something held a table
    for minutes, the server is too old, its texts are no Unicode, or its schema is that of a newer
    engrams or of another program. SettingsError: ``url`` is no address.
    """
    place = name_place(url)
    with map_errors(place), psycopg.connect(url, autocommit=True, **KEEP_ALIVE) as connection:
        if connection.info.server_version < _OLDEST_SERVER:
            raise StoreError("The server is older than PostgreSQL 16.", hint="Upgrade the server.")
        if (held := connection.info.parameter_status("server_encoding")) != "UTF8":
            raise StoreError(
                f"The database holds texts as {held}.",
                hint="Make one that holds all: CREATE DATABASE … ENCODING 'UTF8'.",
            )
        steps: list[str] = []
        for _ in range(_TRIES):
            try:
                while step := _take_step(connection, place):
                    steps.append(step)
            except errors.LockNotAvailable:
                time.sleep(_PAUSE_SECONDS)
            except errors.InsufficientPrivilege as problem:
                raise StoreError(
                    f"Tables cannot be made: {str(problem).splitlines()[0]}.", hint=_RIGHTS
                ) from problem
            else:
                return (*steps, *_take_terms(connection, url))
    raise StoreError(
        "Something holds a table for long.",
        hint="End it (`pg_stat_activity` shows it: a backup?), and migrate again.",
    )


def find_dump_problem(url: str) -> str:
    """Say why `pg_dump` by this user would fail; empty: it would not."""
    with (
        map_errors("the database"),
        psycopg.connect(url, autocommit=True, **KEEP_ALIVE) as connection,
    ):
        name, sees, reads = connection.execute(_DUMPS, (SCHEMA,)).fetchall()[0]
    if sees and reads:
        return ""
    lacks = "BYPASSRLS" if not sees else "the right to read all"
    return f"The user {name} cannot back up memory by pg_dump: it lacks {lacks}."


def _take_step(connection: psycopg.Connection[tuple[Any, ...]], place: str) -> str:
    """Take the next step in its own transaction; name, if any.

    StoreError: the schema is that of a newer engrams, or another program's.
    """
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout = {_LOCK_MILLISECONDS}")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        _has_tables(connection, place)
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute(f"SET LOCAL search_path = {SCHEMA}")
        connection.execute(_TABLE)
        rows = connection.execute(APPLIED).fetchall()
        applied = {number for number, *_ in rows}
        known = load_migrations(__package__)
        if applied - {step.number for step in known} or any(
            terms > TERM_SCHEME for *_, terms in rows
        ):
            raise _make_newer_error(place)
        step = next((step for step in known if step.number not in applied), None)
        if step is None:
            return ""
        connection.execute(step.script.encode())
        given = (step.number, step.name, step.checksum, TERM_SCHEME)
        connection.execute("INSERT INTO migrations VALUES (%s, %s, %s, %s)", given)
        return step.name


def _has_tables(connection: psycopg.Connection[tuple[Any, ...]], place: str) -> bool:
    """Tell whether memory's tables are there.

    StoreError: what is there in their schema is another program's.
    """
    found = connection.execute(_THERE, (SCHEMA,)).fetchall()
    ours, used = found[0] if found else (False, False)
    if used and not ours:
        raise StoreError(
            f"{place} has a schema {SCHEMA} that is another program's.", hint=_OWN_DATABASE
        )
    return bool(ours)


def _make_newer_error(place: str) -> StoreError:
    return StoreError(
        f"{place} was migrated by a newer engrams.", hint="Upgrade engrams on this machine."
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


def require_schema(url: str, place: str) -> None:
    """Refuse a database whose schema this version does not know.

    StoreError: it has none, an older or a newer one, or cannot be reached.
    """
    with map_errors(place), psycopg.connect(url, **KEEP_ALIVE) as connection:
        if not _has_tables(connection, place):
            raise StoreError(
                f"{place} holds no memory yet.", hint="Make its tables first: `engrams migrate`."
            )
        # A user may have rights only in the roles of transactions.
        connection.execute("SELECT set_config('role', %s, true)", (FLEET,))
        compare_schema(connection.execute(APPLIED).fetchall(), place)


def compare_schema(rows: Sequence[tuple[Any, ...]], place: str, *, newer: bool = False) -> None:
    """Compare the steps that were applied with those of this version.

    ``newer``: later ones are allowed, but for terms, which all must split alike. StoreError: they
    differ.
    """
    applied = {number: (name, checksum) for number, name, checksum, _ in rows}
    known = {step.number: (step.name, step.checksum) for step in load_migrations(__package__)}
    terms, begun = _read_scheme(rows), max((int(terms) for *_, terms in rows), default=TERM_SCHEME)
    if (applied.keys() - known.keys() and not newer) or begun > TERM_SCHEME:
        raise _make_newer_error(place)
    if known.keys() - applied.keys() or terms < TERM_SCHEME:
        raise StoreError(f"{place} has the schema of an older engrams.", hint=HINT)
    if wrong := [
        name for number, (name, checksum) in known.items() if applied[number] != (name, checksum)
    ]:
        raise StoreError(
            f"{place} was migrated in another form: {', '.join(wrong)}.",
            hint="Use the engrams that migrated it.",
        )
