"""Identify caller, scope and session by token, headers and body."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Literal, TypeGuard
from urllib.parse import unquote

from engrams.core import Json, Scope, clock
from engrams.errors import ScopeError
from engrams.frozen_data import dataclass
from engrams.settings import Settings
from engrams.surfaces.proxy.json_splice import BLOCKS, ParsedChatRequest, text_of

_AGENT_ID = re.compile(r"user_[0-9a-f]+_account_[0-9a-f-]*_session_([0-9a-f-]+)")


HEADER = "x-openwebui-user-jwt"

_ISSUER = "open-webui"
_LEEWAY = 30.0
"""Seconds by which two clocks may differ."""


@dataclass(frozen=True, slots=True)
class ChatCaller:
    """Caller of a chat request: scope, session and recall limits.

    ``session`` groups the turns of one conversation. ``top_k``: memories wanted. ``threshold``:
    score (0..1) below which a memory is left out. ``skip_reason``: set where memory is not used.
    ``message``: the client's own id for the message.
    """

    scope: Scope
    session: str
    top_k: int
    threshold: float = 0.0
    skip_reason: Literal["", "disabled", "off", "incognito"] = ""
    message: str = ""


class UnnamedCallerError(ScopeError):
    """A chat request names neither user nor conversation."""


def identify(
    headers: Mapping[str, str], envelope: ParsedChatRequest, settings: Settings
) -> ChatCaller:
    """Identify owner, scope and session of a chat request.

    The owner is the first of: the subject of a signed token, ``memory.user``, ``X-Engrams-User``,
    ``X-OpenWebUI-User-Id`` (not where tokens are expected), the body's ``user`` (Anthropic's
    ``metadata.user_id``), the setting ``user``, the login name (with ``sessions.owner`` thread: the
    session itself). A project or conversation (also ``memory_id``) is a scope of its own below the
    owner: what is told there is found there only. A session groups turns.

    ScopeError: an id that no scope can hold, nobody is named (UnnamedCallerError), or an invalid
    token.
    """
    fields = envelope.fields
    ours = _to_mapping(fields.get("memory"))
    metadata = _to_mapping(fields.get("metadata"))
    skip = _find_skip_reason(ours, settings)
    named, thread = (
        _read_user_id(metadata.get("user_id"))
        if envelope.shape is BLOCKS
        else (fields.get("user"), "")
    )
    user = _find_user(headers, ours, named, settings.serve.jwt_secret)
    project = _first_text(ours.get("project"), _read_header(headers, "x-engrams-project"))
    conversation = _first_text(
        ours.get("conversation"),
        _read_header(headers, "x-engrams-conversation"),
        fields.get("memory_id"),
    )
    session = _first_text(
        ours.get("session"),
        _read_header(headers, "x-engrams-session"),
        headers.get("x-openwebui-chat-id"),
        headers.get("x-claude-code-session-id"),
        thread,
        *(metadata.get(name) for name in ("session_id", "conversation_id", "chat_id")),
        conversation,
        envelope.thread_id,
    )
    scope = _key_scope(headers.get("x-engrams-owner", ""), user) or Scope(
        ("user", user)
        if user
        else _owner_labels(settings, session or opening_id(envelope), named=bool(session or skip))
    )
    scope = scope.within("project", project) if project else scope
    scope = scope.within("conversation", conversation) if conversation else scope
    return ChatCaller(
        scope=scope,
        session=session or opening_id(envelope),
        top_k=_memory_count(ours.get("top_k"), fields.get("memory_top_k"), settings),
        threshold=_score_threshold(fields.get("memory_score_threshold")),
        skip_reason=skip,
        message=headers.get("x-openwebui-message-id", ""),
    )


def _read_user_id(value: Json) -> tuple[Json, str]:
    """Read Anthropic's ``user_id``: a user, or a coding agent's account and session."""
    if not isinstance(value, str):
        return value, ""
    if found := _AGENT_ID.fullmatch(value):
        return "", found[1]
    try:
        parts = json.loads(value) if value.startswith("{") else None
    except (ValueError, RecursionError):
        parts = None
    session = parts.get("session_id") if isinstance(parts, dict) else None
    # The account is the same person's as the setting `user`: a memory apart would know nothing of
    # the others.
    return ("", session) if isinstance(session, str) else (value, "")


def _key_scope(owner: str, user: str) -> Scope | None:
    """Return the scope of a key; its users are parts of it.

    The server sets that header; no client can send it.
    """
    if not owner:
        return None
    scope = Scope.parse(unquote(owner))
    return scope if user in ("", scope.labels[-1]) else scope.within("user", user)


def _owner_labels(settings: Settings, session: str, *, named: bool) -> tuple[str, str]:
    """Return the owner of a request that names no user.

    UnnamedCallerError: nor is a session ``named``; an owner is never guessed from what was said.
    """
    if not (named or settings.user) and settings.sessions.owner == "thread":
        raise UnnamedCallerError(
            "Nobody says whose memory this is.",
            hint=(
                "Name the user (header X-Engrams-User, or `user` in the body) or the conversation"
                " (header X-Engrams-Session)."
            ),
        )
    return settings.owner_labels(session)


def opening_id(envelope: ParsedChatRequest) -> str:
    """Identify a conversation without an id by its first user message."""
    for message in envelope.messages:
        if isinstance(message, dict) and message.get("role") == "user":
            return "chat-" + _digest(text_of(message.get("content")))
    return ""


def turn_id(caller: ChatCaller, envelope: ParsedChatRequest, place: int, text: str) -> str:
    """Compute an id for the turn at index ``place``.

    The same for a request sent again, another for the same words said later. It covers the messages
    before, without system messages: clients put the time of day into those.
    """
    before = [message for message in envelope.messages[:place] if isinstance(message, dict)]
    said = [
        f"{message.get('role')}\x1f{text_of(message.get('content'))}"
        for message in before
        if message.get("role") != "system"
    ]
    thread = [envelope.thread_id] if envelope.thread_id else []
    return "proxy-" + _digest(
        caller.scope.key, caller.session, caller.message, *thread, *said, text
    )


def _find_user(
    headers: Mapping[str, str], ours: Mapping[str, Json], plain: Json, secret: str
) -> str:
    if secret and HEADER in headers:
        found = verify_subject(headers[HEADER], secret, clock.now().timestamp())
        if not found:
            raise ScopeError(
                "The user's token does not hold.",
                hint="Give both servers the same secret, and look at their clocks.",
            )
        return found
    web = "" if secret else headers.get("x-openwebui-user-id")
    return _first_text(ours.get("user"), _read_header(headers, "x-engrams-user"), web, plain)


def _read_header(headers: Mapping[str, str], name: str) -> str:
    """Decode a header that holds UTF-8, raw or percent-encoded."""
    value = headers.get(name, "")
    try:
        return unquote(value.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return value


def _first_text(*values: Json) -> str:
    return next(
        (
            str(value).strip()
            for value in values
            if isinstance(value, (str, int)) and str(value).strip()
        ),
        "",
    )


def _to_mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _memory_count(ours: Json, theirs: Json, settings: Settings) -> int:
    for value in (ours, theirs):
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return min(value, settings.limits.results)
    return settings.serve.top_k


def _score_threshold(value: Json) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 <= value <= 1 else 0.0


def _find_skip_reason(
    ours: Mapping[str, Json], settings: Settings
) -> Literal["", "disabled", "off", "incognito"]:
    if not settings.enabled:
        return "disabled"
    if ours.get("incognito") is True:
        return "incognito"
    return "off" if ours.get("off") is True else ""


def _digest(*parts: str) -> str:
    joined = "\x1e".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=12).hexdigest()


def verify_subject(token: str, secret: str, now: float) -> str:
    """Return the subject of a valid token, else an empty text.

    Invalid: wrong signature, issuer or time. ``now``: seconds since 1970.
    """
    claims = _verify_claims(token, secret)
    if claims is None or claims.get("iss") != _ISSUER:
        return ""
    begins = claims.get("nbf", 0)
    ends = claims.get("exp")
    if not (_is_number(begins) and _is_number(ends) and begins - _LEEWAY <= now <= ends + _LEEWAY):
        return ""
    name = claims.get("sub")
    return name.strip() if isinstance(name, str) else ""


def _verify_claims(token: str, secret: str) -> dict[str, Json] | None:
    try:
        signed, _, signature = token.strip().encode("ascii").rpartition(b".")
        head, _, body = signed.partition(b".")
        expected = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
        if not hmac.compare_digest(expected, _decode(signature)):
            return None
        # Only HS256 is accepted: a token with "none" is invalid.
        kind = json.loads(_decode(head))
        claims = json.loads(_decode(body))
    except (ValueError, RecursionError, binascii.Error):
        return None
    return (
        claims
        if isinstance(kind, dict) and kind.get("alg") == "HS256" and isinstance(claims, dict)
        else None
    )


def _decode(part: bytes) -> bytes:
    return base64.b64decode(part + b"=" * (-len(part) % 4), altchars=b"-_", validate=True)


def _is_number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
