"""Identify the caller by key, header or settings, never by the body.

Routes take one of `ScopedCaller`, `PersonCaller` and `AnyCaller` as a parameter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

from fastapi import Depends, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from engrams.core import GLOBAL, Scope, Turn, to_conversation_name
from engrams.engine import MemoryEngine
from engrams.errors import EngramsError, InputError, ScopeError
from engrams.ports import ScopeReach
from engrams.settings import Settings
from engrams.spaces.speakers import sign_turn

if TYPE_CHECKING:
    from engrams.api_keys import ApiKey

KEY = "engrams.key"
"""Entry of the ASGI scope: the key of the request, if it has one."""
OWNER = "engrams.owner"
"""Entry of the ASGI scope: the owner that the request concerns, as a scope's key."""
RELAY = "engrams.relay"
"""Entry of the ASGI scope: True where the request may go to the upstream."""
RIGHT = "engrams.right"
"""Entry of the ASGI scope: the right that the request takes."""
REFUSED_KEY = "engrams.refused"
"""Entry of the ASGI scope: there where the request's key opens nothing."""
_NOBODY = Scope(("session", "nobody"))
"""Scope of requests that concern no one person."""

GitParam = Annotated[
    bool, Query(description="Also from the git history of the files, which is rewritten.")
]
User = Annotated[
    str,
    Header(
        description="Owner of the memory. Default: the owner of the key, or the setting `user`."
    ),
]


@dataclass(frozen=True, slots=True)
class IdentifiedCaller:
    """Sender of a request, and the part of memory that it concerns.

    Every engine call is given the owner or the scope.
    """

    engine: MemoryEngine
    owner: Scope
    scope: Scope
    """The owner itself, or a part of it."""

    key: ApiKey | None = None
    """The key of the request, if it had one."""

    is_named: bool = True
    """False where the request concerns no one person."""
    member: str = ""
    """Name of whoever asks in the space that the request concerns; empty: it concerns none."""

    @property
    def logged_owner(self) -> str:
        """Return the scope's key for a log; empty where nobody is named."""
        return self.scope.key if self.is_named else ""

    @property
    def is_admin(self) -> bool:
        """Return True for callers who may see everybody's data."""
        return self.key is None or self.key.allows("admin")

    def owner_filter(self, own: Scope, everyone: bool, subject: str) -> str:
        """Return the owner a log query is limited to; empty: everybody.

        ``subject``: the log in words. HTTPException (403): everybody's without the right `admin`.
        """
        if everyone and not self.is_admin:
            raise HTTPException(
                403,
                f"Everybody's {subject} takes the right `admin`; leave `everyone` out for this"
                " person's own.",
            )
        return "" if everyone else own.key

    def sign(self, turn: Turn) -> Turn:
        """Name the member who says a turn in a space; any other turn stays as it is."""
        return sign_turn(turn, self.member) if self.member else turn

    @property
    def reach(self) -> ScopeReach:
        """Scopes a read sees: all of an owner, or a scope's chain."""
        if self.scope.is_owner:
            return ScopeReach(self.owner, (self.scope,), tree=True)
        return ScopeReach(self.owner, self.scope.chain())

    def is_incognito(self, session: str) -> bool:
        """Return True for an incognito session of this process.

        False where memory cannot tell.
        """
        try:
            return bool(self.engine.sessions.get(session, scope=self.scope).mode == "incognito")
        except EngramsError:
            return False


async def get_caller(
    request: Request,
    project: Annotated[str, Query(description="Only this project's part of memory.")] = "",
    conversation: Annotated[
        str, Query(description="Only this conversation's part of memory.")
    ] = "",
    space: Annotated[
        str, Query(description="A space that the user is a member of, instead of their own memory.")
    ] = "",
    x_engrams_user: User = "",
) -> IdentifiedCaller:
    """Identify the caller and the part of memory asked for (dependency).

    The headers X-Engrams-Conversation and X-Engrams-Space stand for ``?conversation=`` and
    ``?space=``. A member's role in the space must allow what the operation does.
    """
    space = space or _read_space_header(request)
    header = decode_header(request.headers.get("x-engrams-conversation", "")).strip()
    conversation = to_conversation_name(conversation or header)
    thread = conversation if conversation != GLOBAL else ""
    person = find_caller(request, decode_header(x_engrams_user).strip(), thread)
    owner, scope = person.owner, person.scope
    member = ""
    if space:
        writes = request.scope.get(RIGHT) != "read"
        entered = await run_in_threadpool(
            person.engine.spaces.get, space, scope=person.scope, writes=writes
        )
        member = entered.own_name
        owner = scope = entered.scope
    if project:
        scope = scope.within("project", project)
    if conversation:
        scope = scope.within("conversation", conversation)
    return IdentifiedCaller(person.engine, owner, scope, person.key, member=member)


async def get_person(request: Request, x_engrams_user: User = "") -> IdentifiedCaller:
    """Identify the caller without a part of memory (dependency)."""
    _refuse_space(request)
    return find_caller(request, decode_header(x_engrams_user).strip())


async def get_anyone(request: Request, x_engrams_user: User = "") -> IdentifiedCaller:
    """Identify the caller of what concerns no one person (dependency)."""
    _refuse_space(request)
    user = decode_header(x_engrams_user).strip()
    engine: MemoryEngine = request.app.state.engine
    settings = engine.settings
    has_owner = settings.user or settings.sessions.owner == "person"
    if user or has_owner or request.scope.get(KEY) is not None:
        return find_caller(request, user)
    return IdentifiedCaller(engine, _NOBODY, _NOBODY, is_named=False)


def _read_space_header(request: Request) -> str:
    return decode_header(request.headers.get("x-engrams-space", "")).strip()


def _refuse_space(request: Request) -> None:
    """Refuse a space where it would be passed over, and the person's own memory be taken.

    InputError: the request names one.
    """
    if request.query_params.get("space") or _read_space_header(request):
        raise InputError(
            "This operation takes no space.",
            hint="Leave `space` and X-Engrams-Space out. Operations on memories take them.",
        )


def find_caller(request: Request, user: str, conversation: str = "") -> IdentifiedCaller:
    """Find the caller for a user name.

    A key never leaves its owner: another user's name is a part of that owner's memory. Where the
    conversation owns its memory (``sessions.owner``), the header X-Engrams-Session names it too.
    ScopeError: nobody is named.
    """
    engine: MemoryEngine = request.app.state.engine
    key: ApiKey | None = request.scope.get(KEY)
    if key is not None:
        owner = key.owner
    elif user:
        owner = Scope(("user", user))
    else:
        owner = _default_owner(request, engine.settings, conversation)
    request.scope[OWNER] = owner.key
    scope = owner if key is None else user_scope(owner, user)
    return IdentifiedCaller(engine, owner, scope, key)


def _default_owner(request: Request, settings: Settings, conversation: str) -> Scope:
    if not conversation:
        conversation = decode_header(request.headers.get("x-engrams-session", "")).strip()
    try:
        return Scope(settings.owner_labels(conversation))
    except ScopeError as error:
        raise ScopeError(
            error.message,
            hint=(
                "Name the user (header X-Engrams-User) or the conversation (`?conversation=`, or"
                " header X-Engrams-Session)."
            ),
        ) from None


def user_scope(owner: Scope, user: str) -> Scope:
    """Return the owner itself, or its part named after the user."""
    return owner if user in ("", owner.labels[-1]) else owner.within("user", user)


ScopedCaller = Annotated[IdentifiedCaller, Depends(get_caller)]
AnyCaller = Annotated[IdentifiedCaller, Depends(get_anyone)]
PersonCaller = Annotated[IdentifiedCaller, Depends(get_person)]


def decode_header(value: str) -> str:
    """Decode a header value that holds UTF-8, raw or percent-encoded."""
    try:
        return unquote(value.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return value
