"""Errors of SQLite and the system as those of engrams."""

from __future__ import annotations

import errno
from json import JSONDecodeError

import apsw

from engrams.errors import ConflictError, EngramsError, InputError, StoreError
from engrams.store.sql.row_conversion import MEND

MAPPED_ERRORS = (
    apsw.Error,
    OSError,
    UnicodeEncodeError,
    JSONDecodeError,
    UnicodeDecodeError,
    OverflowError,
)
"""Errors of the driver, of the system and of values, which callers see as those of engrams."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
FULL = "Free some disk space and repeat; everything acknowledged before is safe."
READ_ONLY = (
    "Give this user write permission on the folder and its files, or choose another home"
    " (ENGRAMS_HOME)."
)
BUSY = "Another process is writing for long. Wait and repeat, or raise `store.busy_seconds`."


def is_short_read(problem: apsw.Error) -> bool:
    """True where a file ends before a page that it should hold."""
    return result_code(problem) == apsw.SQLITE_IOERR_SHORT_READ


def is_full(problem: apsw.Error) -> bool:
    """True where the disk has no room, also for a log's index."""
    return isinstance(problem, apsw.FullError) or result_code(problem) == apsw.SQLITE_IOERR_SHMSIZE


def to_engrams_error(problem: Exception, label: str) -> EngramsError:
    """Return StoreError, InputError or ConflictError for one of ``MAPPED_ERRORS``.

    ``label``: what messages call the database.
    """
    match problem:
        case UnicodeEncodeError():
            return InputError(
                "A text contains a lone surrogate, which is not a character.",
                hint="Decode the input as UTF-8.",
            )
        case JSONDecodeError():
            return StoreError(f"{label} is damaged: {problem}.", hint=MEND)
        case UnicodeDecodeError():
            return StoreError(f"{label} is damaged: {problem.reason}.", hint=MEND)
        case OverflowError():
            return InputError("A number does not fit into 64 bits.")
        case OSError():
            return StoreError(
                f"{label}: {problem.strerror or problem}.",
                hint=FULL if problem.errno in _NO_SPACE else READ_ONLY,
            )
        case _:
            return _driver_error(problem, label)


def _driver_error(problem: Exception, label: str) -> EngramsError:
    match problem:
        case apsw.Error() if is_full(problem):
            return StoreError(f"The disk that holds {label} is full.", hint=FULL)
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreError(f"{label} is read-only.", hint=READ_ONLY)
        case apsw.CantOpenError():
            return StoreError(f"{label} cannot be opened.", hint=READ_ONLY)
        case apsw.BusyError() | apsw.LockedError():
            return StoreError(f"{label} is busy.", hint=BUSY)
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError():
            return StoreError(f"{label} is damaged: {problem}.", hint=MEND)
        case apsw.IOError() if is_short_read(problem):
            return StoreError(f"{label} is damaged: its end is missing.", hint=MEND)
        case apsw.IOError():
            return StoreError(
                f"Reading or writing {label} failed: {problem}.",
                hint="Check the disk. No stored memory was lost.",
            )
        case apsw.NoMemError():
            return StoreError(
                "There is not enough memory for this.", hint="Ask for less at a time."
            )
        case apsw.TooBigError():
            return InputError(
                "A value is too large to be stored.", hint="The limit of one value is a gigabyte."
            )
        case apsw.ConstraintError():
            return _constraint_error(problem)
        case _:
            return StoreError(f"{label}: {type(problem).__name__}: {problem}", hint=MEND)


def result_code(problem: apsw.Error) -> int:
    """Return SQLite's extended result code; 0: it told none."""
    return int(getattr(problem, "extendedresult", 0))


def _constraint_error(problem: apsw.ConstraintError) -> EngramsError:
    if result_code(problem) in (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY):
        return ConflictError(f"It exists already: {problem}.")
    return InputError(
        f"A value has the wrong type: {problem}.",
        hint="Texts are str, numbers finite, times datetime.",
    )
