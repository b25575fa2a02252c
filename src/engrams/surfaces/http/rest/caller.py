"""Whose memory a request is about. It comes from a header or the settings, never from a body."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import unquote

from fastapi import Header, Query, Request

from engrams.memory import MemoryEngine
from engrams.settings import Settings
from engrams.types import Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """``scope`` lies in ``owner``; every call of the engine is given one of them."""

    engine: MemoryEngine
    owner: Scope
    scope: Scope


class Door:
    """The dependency of every route: who asks, and for which part of their memory."""

    def __init__(self, engine: MemoryEngine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings

    def __call__(
        self,
        request: Request,
        project: Annotated[str, Query(description="Only this project's part of memory.")] = "",
        conversation: Annotated[str, Query(description="Only this conversation's part of memory.")] = "",
        x_engrams_user: Annotated[str, Header(description="Whose memory; without it that of the setting `user`.")] = "",
    ) -> Caller:
        user = _decoded(x_engrams_user).strip() or self._settings.user or _login()
        owner = Scope(("user", user))
        scope = owner.within("project", project) if project else owner
        return Caller(self._engine, owner, scope.within("conversation", conversation) if conversation else scope)


def _decoded(value: str) -> str:
    """A header may hold UTF-8, as it is or percent-encoded."""
    try:
        return unquote(value.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return value


def _login() -> str:
    try:
        return getpass.getuser() or "me"
    except (OSError, KeyError, ImportError):
        return "me"
