"""Whose memory a request is about. It comes from its key, a header or the settings, never from a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

from fastapi import Depends, Header, Query, Request

from engrams.engine import MemoryEngine
from engrams.errors import EngramsError, RefusedError
from engrams.ports import Reach
from engrams.types import Scope

if TYPE_CHECKING:
    from engrams.apikeys import Key

KEY = "engrams.key"
OWNER = "engrams.owner"
"""Where a request's scope (ASGI's word) holds the key that opened it, and whose memory it turned out to be about."""


@dataclass(frozen=True, slots=True)
class Caller:
    """``scope`` lies in ``owner``; every call of the engine is given one of them. ``key``: what opened it, if one did."""

    engine: MemoryEngine
    owner: Scope
    scope: Scope
    key: Key | None = None

    @property
    def all(self) -> bool:
        """Whether they may see what is everybody's."""
        return self.key is None or self.key.may("admin")

    def whose(self, own: Scope, everyone: bool, what: str) -> str:
        """The scope whose ``what`` is listed, or nobody's in particular. RefusedError: everybody's, without the right to it."""
        if everyone and not self.all:
            raise RefusedError(f"Everybody's {what} takes the right `admin`.", hint="Leave `everyone` out for this person's own.")
        return "" if everyone else own.key

    @property
    def reach(self) -> Reach:
        """What a read sees: an owner everything of theirs, a deeper scope itself and those above it."""
        return Reach(self.owner, (self.scope,), tree=True) if self.scope.is_owner else Reach(self.owner, self.scope.chain())

    def hushed(self, session: str) -> bool:
        """Whether this is an incognito session of this process. Where memory cannot say so, it is none that it leads."""
        try:
            return bool(self.engine.sessions.get(session, scope=self.scope).mode == "incognito")
        except EngramsError:
            return False


User = Annotated[str, Header(description="Whose memory; without it the key's, or that of the setting `user`.")]


def caller(
    request: Request,
    project: Annotated[str, Query(description="Only this project's part of memory.")] = "",
    conversation: Annotated[str, Query(description="Only this conversation's part of memory.")] = "",
    x_engrams_user: User = "",
) -> Caller:
    """The dependency of every route: who asks, and for which part of their memory."""
    found = named(request, decoded(x_engrams_user).strip())
    scope = found.scope.within("project", project) if project else found.scope
    return Caller(found.engine, found.owner, scope.within("conversation", conversation) if conversation else scope, found.key)


def person(request: Request, x_engrams_user: User = "") -> Caller:
    """The dependency of routes that are about a person, and no part of their memory."""
    return named(request, decoded(x_engrams_user).strip())


def named(request: Request, user: str) -> Caller:
    """The caller for a user. A key never leaves its owner: another user's name is a part of that owner's memory."""
    engine: MemoryEngine = request.app.state.engine
    key: Key | None = request.scope.get(KEY)
    owner = Scope(("user", user or engine.settings.owner)) if key is None else key.owner
    request.scope[OWNER] = owner.key
    scope = owner if key is None else below(owner, user)
    return Caller(engine, owner, scope, key)


def below(owner: Scope, user: str) -> Scope:
    """The scope of a user for whom an owner's key speaks: the owner itself, or a part that is named after them."""
    return owner if user in ("", owner.labels[-1]) else owner.within("user", user)


Asks = Annotated[Caller, Depends(caller)]
Speaks = Annotated[Caller, Depends(person)]


def decoded(value: str) -> str:
    """A header may hold UTF-8, as it is or percent-encoded."""
    try:
        return unquote(value.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return value
