"""Errors of Postgres as those of engrams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from typing import Any

import psycopg
import psycopg_pool
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from engrams.errors import ConflictError, EngramsError, InputError, SettingsError, StoreError

BUSY = "Wait and repeat, or raise `store.busy_seconds` and `store.connections`."
AWAY = (
    "Check `store.url`, and that the server runs and takes connections; nothing acknowledged was"
    " lost."
)
POOLER = (
    "The connection pooler does not support prepared statements: PgBouncer needs 1.22 or newer with"
    " `max_prepared_statements` above 0, or engrams `store.prepare=false`."
)
LATE = "Raise `statement_timeout` of the user of `store.url`, or remove it."
READ_ONLY = (
    "Let `store.url` name the primary (`?target_session_attrs=read-write`), and a user who may"
    " write."
)
LONG = "Names, tags and ids have at most 2,000 bytes."
SCHEMA = "Bring its schema up to date: `engrams migrate`."
_BUSY = (
    errors.LockNotAvailable,
    errors.TooManyConnections,
    errors.DeadlockDetected,
    errors.SerializationFailure,
)
_SCHEMA = (
    errors.UndefinedTable,
    errors.UndefinedColumn,
    errors.UndefinedFunction,
    errors.UndefinedObject,
    errors.InvalidSchemaName,
)
_POOLED = (errors.DuplicatePreparedStatement, errors.InvalidSqlStatementName)
_VALUES = (
    psycopg.DataError,
    errors.CheckViolation,
    errors.NotNullViolation,
    errors.DatatypeMismatch,
)

_FORM = (
    "postgresql://USER:PASSWORD@HOST/NAME; in a name or password write %40 for @, %3A for :, %2F"
    " for / and %25 for %."
)


def read_address(url: str) -> dict[str, Any]:
    """Split an address into its parts. SettingsError: it is none."""
    try:
        address = conninfo_to_dict(url)
    except psycopg.ProgrammingError as problem:
        # What it says of a wrong % quotes the password.
        reason = "" if "%" in url else f": {str(problem).strip()}"
        raise SettingsError(
            f"The address of the database cannot be read{reason}.", hint=f"Write it as {_FORM}"
        ) from None
    if "@" in str(address.get("host", "")):
        raise SettingsError(
            "The address of the database has two @ before its host.", hint=f"Write it as {_FORM}"
        )
    return address


def name_database(url: str) -> str:
    """Name an address' database, without secrets. SettingsError: it is none."""
    address = read_address(url)
    return f"the database {address.get('dbname', '')} at {address.get('host', 'localhost')}"


@contextmanager
def map_errors(label: str) -> Iterator[None]:
    """Raise errors of the driver as StoreError, InputError or ConflictError.

    ``label``: what their messages call the database.
    """
    try:
        yield
    except (psycopg.Error, psycopg_pool.PoolTimeout) as problem:
        raise to_engrams_error(problem, label) from problem
    except UnicodeEncodeError as problem:
        raise InputError(
            "A text contains a lone surrogate, which is not a character.",
            hint="Decode the input as UTF-8.",
        ) from problem
    except JSONDecodeError as problem:
        raise StoreError(
            f"{label} is damaged: {problem}.", hint="Restore a backup of the database."
        ) from problem


def to_engrams_error(problem: Exception, label: str) -> EngramsError:
    """Return the engrams error for one of the driver; ``label``: what it calls the database."""
    reason = str(problem).strip().split("\n")[0].rstrip(".")
    match problem:
        case errors.UniqueViolation():
            return ConflictError(f"It exists already: {reason}.")
        case _ if isinstance(problem, _VALUES):
            return InputError(
                f"A value cannot be stored: {reason}.",
                hint="Texts are str, numbers finite, times datetime.",
            )
        case errors.ProgramLimitExceeded():
            return InputError(f"A value is too long: {reason}.", hint=LONG)
        case errors.QueryCanceled():
            return StoreError(f"{label}: {reason}.", hint=LATE)
        case errors.ReadOnlySqlTransaction():
            return StoreError(f"{label}: {reason}.", hint=READ_ONLY)
        case _ if isinstance(problem, _POOLED):
            return StoreError(f"{label}: {reason}.", hint=POOLER)
        case psycopg_pool.PoolTimeout():
            return StoreError(f"{label} gave no connection in time.", hint=BUSY)
        case errors.DiskFull():
            return StoreError(
                f"The disk that holds {label} is full.",
                hint="Free some disk space and repeat. Stored memories are safe.",
            )
        case _ if isinstance(problem, _BUSY):
            return StoreError(f"{label} is busy: {reason}.", hint=BUSY)
        case errors.InsufficientPrivilege():
            return StoreError(
                f"{label}: {reason}.",
                hint=(
                    "Grant the roles engrams_service and engrams_fleet to the user of `store.url`."
                ),
            )
        case _ if isinstance(problem, _SCHEMA):
            return StoreError(f"{label}: {reason}.", hint=SCHEMA)
        case _:
            return StoreError(f"{label}: {reason}.", hint=AWAY)
