"""Errors as the command line tells them: an exit code, a message and a hint."""

from __future__ import annotations

import json

from engrams.errors import (
    BudgetError,
    EncryptionError,
    EngramsError,
    ModelError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from engrams.surfaces.cli.output import note

CODES: tuple[tuple[type[EngramsError], int], ...] = (
    (NotFoundError, 3),
    (RefusedError, 4),
    (StoreError, 5),
    (EncryptionError, 5),
    (ModelError, 6),
    (BudgetError, 6),
    (EngramsError, 1),
)


def exit_code(problem: EngramsError) -> int:
    """Return the exit code of an error."""
    return next(code for kind, code in CODES if isinstance(problem, kind))


def describe_failure(problem: OSError) -> EngramsError:
    """Turn a failure of the system into an error to print."""
    return EngramsError(f"{problem.strerror or problem}: {problem.filename or ''}".rstrip(": "))


def print_error(problem: EngramsError, *, as_json: bool) -> None:
    """Print an error to standard error."""
    if as_json:
        data = {
            "error": {
                "type": type(problem).__name__,
                "message": problem.message,
                "hint": problem.hint,
            }
        }
        note(json.dumps(data, ensure_ascii=False))
    else:
        note(f"error: {problem.message}")
        if problem.hint:
            note(f"hint: {problem.hint}")
