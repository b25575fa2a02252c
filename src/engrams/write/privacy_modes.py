"""Privacy modes (local, synced, incognito), and the sessions that are incognito here.

Calls may only lower the configured mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from threading import Lock

from engrams.core import Scope
from engrams.errors import InputError, RefusedError

_silent: ContextVar[bool] = ContextVar("engrams_incognito", default=False)


class PrivacyMode(StrEnum):
    """Privacy mode; incognito stores and finds nothing, in synced a server exchanges memory."""

    LOCAL = "local"
    SYNCED = "synced"
    INCOGNITO = "incognito"


_ALIASES = {"guest": PrivacyMode.INCOGNITO}


def parse_mode(value: str) -> PrivacyMode:
    """Parse a mode name; ``guest`` means incognito. InputError: unknown name."""
    name = value.strip().lower() if isinstance(value, str) else ""
    if name in _ALIASES:
        return _ALIASES[name]
    try:
        return PrivacyMode(name)
    except ValueError:
        raise InputError(
            f"There is no memory mode {value!r}.",
            hint="The modes are local, synced and incognito (guest).",
        ) from None


def resolve_mode(configured: PrivacyMode, requested: str | None) -> PrivacyMode:
    """Return the effective mode: incognito where either side asks for it."""
    requested_mode = configured if requested is None else parse_mode(requested)
    is_incognito = PrivacyMode.INCOGNITO in (configured, requested_mode)
    return PrivacyMode.INCOGNITO if is_incognito else configured


def require_incognito(component: object) -> None:
    """Raise RefusedError unless the component's class declares ``incognito = True``.

    Neither a base class, nor the instance, nor a merely truthy value counts.
    """
    if vars(type(component)).get("incognito") is not True:
        raise RefusedError(
            f"{type(component).__name__} does not declare that it stores nothing.",
            hint="Set `incognito = True` in its class.",
        )


@contextmanager
def incognito() -> Iterator[None]:
    """Run this thread's calls, and tasks it starts, without traces."""
    before = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(before)


class IncognitoSessions:
    """Incognito sessions of this process. Thread safe."""

    def __init__(self, *, are_all: bool = False) -> None:
        """``are_all``: every session is incognito, as ``sessions.mode`` says."""
        self._are_all = are_all
        self._lock = Lock()
        self._sessions: set[tuple[str, str]] = set()

    def is_silent(self, scope: Scope, session: str = "") -> bool:
        """Return whether a call in this session must leave no trace."""
        if self._are_all or _silent.get():
            return True
        return bool(session) and (scope.owner.key, session) in self._sessions

    def mark_incognito(self, scope: Scope, session: str) -> None:
        """Make a session incognito until it ends."""
        with self._lock:
            self._sessions.add((scope.owner.key, session))

    def end(self, scope: Scope, session: str) -> bool:
        """Remove an ended session; returns whether it was incognito."""
        with self._lock:
            was_incognito = (scope.owner.key, session) in self._sessions
            self._sessions.discard((scope.owner.key, session))
            return was_incognito
