"""Named queries, schema and migrations from SQL files; mapping of errors."""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from json import JSONDecodeError
from typing import Any

import apsw

from engrams.errors import ConflictError, EngramsError, InputError, StoreError

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """Step of the schema; ``number``: the ``user_version`` after it."""

    number: int
    name: str
    script: str

    @property
    def checksum(self) -> str:
        return hashlib.blake2b(self.script.encode(), digest_size=16).hexdigest()


@cache
def load_queries() -> dict[str, str]:
    """Load the queries of ``queries.sql`` by name."""
    _, *parts = _NAME.split(_read_text("queries.sql"))
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


def query(name: str) -> str:
    """Text of a named query; KeyError for an unknown name."""
    return load_queries()[name]


def fetch_all(connection: apsw.Connection, name: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a named query; all rows."""
    return connection.execute(query(name), values).fetchall()


def fetch_composed(connection: apsw.Connection, text: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run a composed statement; all rows."""
    return connection.execute(text, values).fetchall()


def stream_rows(connection: apsw.Connection, name: str, *values: Any) -> Iterator[Any]:
    """Run a named query; rows one by one."""
    return connection.execute(query(name), values)


def fetch_first(connection: apsw.Connection, name: str, *values: Any) -> tuple[Any, ...] | None:
    """Run a named query; the first row, if any."""
    found = fetch_all(connection, name, *values)
    return found[0] if found else None


def fetch_one(connection: apsw.Connection, name: str, *values: Any) -> tuple[Any, ...]:
    """Run a named query; its only row."""
    (row,) = fetch_all(connection, name, *values)
    return row


def execute(connection: apsw.Connection, name: str, *values: Any) -> int:
    """Run a named statement; number of rows changed."""
    connection.execute(query(name), values)
    return connection.changes()


def load_schema() -> str:
    return _read_text("schema.sql")


@cache
def load_migrations() -> tuple[Migration, ...]:
    """Load all migrations in order."""
    folder = resources.files(__package__) / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(Migration(int(file.name[:4]), file.name[5:-4], file.read_text("utf-8")) for file in files)


def _read_text(name: str) -> str:
    return (resources.files(__package__) / name).read_text("utf-8")


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
MEND = "`engrams doctor --repair` rescues what is readable and keeps the damaged file beside it."
FULL = "Free some disk space and repeat; everything acknowledged before is safe."
READ_ONLY = "Give this user write permission on the folder and its files, or choose another home (ENGRAMS_HOME)."
BUSY = "Another process is writing for long. Wait and repeat, or raise `store.busy_seconds`."


@contextmanager
def map_errors(place: str) -> Iterator[None]:
    """Raise SQLite and system errors as StoreError, InputError or ConflictError."""
    try:
        yield
    except (apsw.Error, OSError) as problem:
        raise to_engrams_error(problem, place) from problem
    except UnicodeEncodeError as problem:
        raise InputError("A text holds a lone surrogate, which is no character.", hint="Decode the input as UTF-8.") from problem
    except JSONDecodeError as problem:
        raise StoreError(f"{place} is damaged: {problem}.", hint=MEND) from problem
    except UnicodeDecodeError as problem:
        raise StoreError(f"{place} is damaged: {problem.reason}.", hint=MEND) from problem
    except OverflowError as problem:
        raise InputError("A number does not fit into 64 bits.") from problem


def to_engrams_error(problem: apsw.Error | OSError, place: str) -> EngramsError:
    """Engrams error for one of SQLite or the operating system."""
    match problem:
        case OSError():
            return StoreError(f"{place}: {problem.strerror or problem}.", hint=FULL if problem.errno in _NO_SPACE else READ_ONLY)
        case apsw.FullError():
            return StoreError(f"The disk that holds {place} is full.", hint=FULL)
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreError(f"{place} is read-only.", hint=READ_ONLY)
        case apsw.CantOpenError():
            return StoreError(f"{place} cannot be opened.", hint=READ_ONLY)
        case apsw.BusyError() | apsw.LockedError():
            return StoreError(f"{place} is busy.", hint=BUSY)
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError():
            return StoreError(f"{place} is damaged: {problem}.", hint=MEND)
        case apsw.IOError():
            return StoreError(f"Reading or writing {place} failed: {problem}.", hint="Look at the disk; nothing acknowledged was lost.")
        case apsw.NoMemError():
            return StoreError("There is not enough memory for this.", hint="Ask for less at a time.")
        case apsw.TooBigError():
            return InputError("A value is too large to be stored.", hint="The limit of one value is a gigabyte.")
        case apsw.ConstraintError():
            return _constraint_error(problem)
        case _:
            return StoreError(f"{place}: {type(problem).__name__}: {problem}", hint=MEND)


def result_code(problem: apsw.Error) -> int:
    """SQLite's extended result code."""
    return int(getattr(problem, "extendedresult", 0))


def _constraint_error(problem: apsw.ConstraintError) -> EngramsError:
    if result_code(problem) in (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY):
        return ConflictError(f"It exists already: {problem}.")
    return InputError(f"A value has the wrong type: {problem}.", hint="Texts are str, numbers finite, times datetime.")
