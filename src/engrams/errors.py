"""Errors that engrams raises on purpose, each with a hint.

::

    EngramsError
    ├── InputError        the input cannot be used: empty, too long, malformed; also a ValueError
    ├── ScopeError        a scope is missing its owner or is malformed; also a ValueError
    ├── NotFoundError     an id that does not exist for this owner
    ├── ConflictError     the record changed since it was read, or exists already
    ├── RefusedError      understood and refused: a secret, a policy, a right, incognito
    ├── SettingsError     a setting is unknown, malformed or out of range
    ├── StoreError        the disk or database failed: full, read-only, busy, damaged
    ├── EncryptionError   the key of an encrypted home is missing or wrong; no sign of damage
    ├── ModelError        an embedding, chat or rerank model failed
    ├── BudgetError       a configured budget of calls, tokens or queue depth is used up
    ├── ClosedError       the engine was closed
    └── ExtraError        an optional dependency is not installed
"""

from __future__ import annotations

UNUSABLE_ANSWER = "the answers did not satisfy the schema"
"""Note of the errors of models that answered, but never usably."""


class EngramsError(Exception):
    """Something in engrams failed."""

    hint: str = ""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        """Set the message, and a ``hint`` that says what to do.

        A traceback shows both.
        """
        super().__init__(message or (self.__doc__ or "").strip())
        if hint:
            self.hint = hint
        if self.hint:
            self.add_note(f"hint: {self.hint}")

    @property
    def message(self) -> str:
        return str(self.args[0])


class InputError(EngramsError, ValueError):
    """The input cannot be used."""


class ScopeError(EngramsError, ValueError):
    """A scope needs an owner, for example ('user', 'alice')."""

    hint = (
        "Name the owner of the memory: a scope such as ('user', 'alice'), or --user alice on the"
        " command line."
    )


class NotFoundError(EngramsError):
    """There is no such thing in this owner's memory."""


class ConflictError(EngramsError):
    """It changed since it was read."""

    hint = "Read it again and repeat the change on the new version."


class RefusedError(EngramsError):
    """engrams refuses to do this."""


class SettingsError(EngramsError):
    """A setting is wrong."""

    hint = "`engrams config` shows every setting, its value and where it came from."


class StoreError(EngramsError):
    """The store failed."""


class AlteredError(StoreError):
    """A memory was changed by another program than engrams."""


class EncryptionError(EngramsError):
    """The key of this home is missing or wrong."""


class ModelError(EngramsError):
    """A model failed."""

    def __init__(
        self, message: str = "", *, hint: str = "", retryable: bool = True, retry_after: float = 0.0
    ) -> None:
        """Set the message, the hint, and the chance of a retry.

        ``retryable``: waiting can help (429, 500, time-out). ``retry_after``: seconds the server
        asked for.
        """
        super().__init__(message, hint=hint)
        self.retryable = retryable
        self.retry_after = retry_after


def is_unusable(error: ModelError) -> bool:
    """Return True where the model answered, but never usably."""
    return UNUSABLE_ANSWER in getattr(error, "__notes__", ())


class BudgetError(EngramsError):
    """A budget is used up."""

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 0.0) -> None:
        """Set the message and the hint.

        ``retry_after``: seconds until it is free again; 0: unknown, infinity: not by waiting.
        """
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ClosedError(EngramsError):
    """The engine is closed."""

    hint = "Open a new engine."


class ExtraError(EngramsError):
    """An optional part is not installed."""
