"""Whose memory a request is about. It comes from a header or the settings, never from a body."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Header, Query, Request

from engrams.memory import MemoryEngine
from engrams.types import Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """``scope`` lies in ``owner``; every call of the engine is given one of them."""

    engine: MemoryEngine
    owner: Scope
    scope: Scope


def caller(
    request: Request,
    project: Annotated[str, Query(description="Only this project's part of memory.")] = "",
    conversation: Annotated[str, Query(description="Only this conversation's part of memory.")] = "",
    x_engrams_user: Annotated[str, Header(description="Whose memory; without it that of the setting `user`.")] = "",
) -> Caller:
    """The dependency of every route: who asks, and for which part of their memory."""
    engine: MemoryEngine = request.app.state.engine
    owner = Scope(("user", _decoded(x_engrams_user).strip() or engine.settings.user or _login()))
    scope = owner.within("project", project) if project else owner
    return Caller(engine, owner, scope.within("conversation", conversation) if conversation else scope)


Asks = Annotated[Caller, Depends(caller)]


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
