"""Errors of SQLite and the system as those of engrams."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

import apsw

from engrams.errors import ConflictError, EngramsError, InputError, StoreError
from engrams.store.sql.rowconversion import MEND

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
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


def is_short_read(problem: apsw.Error) -> bool:
    """True where a file ends before a page that it should hold."""
    return bool(getattr(problem, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ)


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
        case apsw.IOError() if is_short_read(problem):
            return StoreError(f"{place} is damaged: its end is missing.", hint=MEND)
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
