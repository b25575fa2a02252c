"""Where memory may be kept: local, synced or nowhere. A call or a session may ask for less than what is set, never for more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from threading import Lock

from engrams.errors import InputError, RefusedError
from engrams.types import Scope


class PrivacyMode(StrEnum):
    """incognito: nothing is kept and nothing is found. synced: as local, today."""

    LOCAL = "local"
    SYNCED = "synced"
    INCOGNITO = "incognito"


_ALIASES = {"guest": PrivacyMode.INCOGNITO}
_silent: ContextVar[bool] = ContextVar("engrams_incognito", default=False)


def parse_mode(value: str) -> PrivacyMode:
    """A mode by its name; ``guest`` is incognito. InputError: there is none of that name. Nothing is guessed: a mode misspelt must
    not be one that keeps things."""
    name = value.strip().lower() if isinstance(value, str) else ""
    if name in _ALIASES:
        return _ALIASES[name]
    try:
        return PrivacyMode(name)
    except ValueError:
        raise InputError(f"There is no memory mode {value!r}.", hint="The modes are local, synced and incognito (guest).") from None


def resolve_mode(configured: PrivacyMode, asked: str | None) -> PrivacyMode:
    """The mode of a call: what is configured, or incognito where that is asked for. Nothing that is asked for raises it."""
    wanted = configured if asked is None else parse_mode(asked)
    return PrivacyMode.INCOGNITO if PrivacyMode.INCOGNITO in (configured, wanted) else configured


def require_incognito(component: object) -> None:
    """RefusedError unless the class of ``component`` says itself, with ``incognito = True``, that it keeps nothing of what it sees.

    A base class cannot say so for it, nor can the object, nor will anything do that is merely true.
    """
    if vars(type(component)).get("incognito") is not True:
        raise RefusedError(
            f"{type(component).__name__} does not say that it keeps nothing.", hint="Its class must say so itself: `incognito = True`."
        )


@contextmanager
def incognito() -> Iterator[None]:
    """Calls within leave no trace and find nothing: of this thread, and of the tasks and ``to_thread`` calls it starts."""
    before = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(before)


class IncognitoSessions:
    """Which sessions are incognito: known to this process only, for as long as it runs. Thread safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._quiet: set[tuple[str, str]] = set()

    def is_silent(self, scope: Scope, session: str = "") -> bool:
        """Whether what is said now must leave no trace."""
        return _silent.get() or (bool(self._quiet) and bool(session) and (scope.owner.key, session) in self._quiet)

    def mark_incognito(self, scope: Scope, session: str) -> None:
        """From now on nothing of this session is kept."""
        with self._lock:
            self._quiet.add((scope.owner.key, session))

    def end(self, scope: Scope, session: str) -> bool:
        """The session is over; whether it was incognito."""
        with self._lock:
            known = (scope.owner.key, session) in self._quiet
            self._quiet.discard((scope.owner.key, session))
            return known
