"""Identify the caller, scope and session of a chat request by token, headers and body.

`identify` is the entry. Clients name a person and a conversation in many ways; its docstring has the
order in which they count.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from engrams.core import Json, Scope, clock, to_conversation_name
from engrams.errors import ScopeError
from engrams.settings import Settings
from engrams.surfaces.proxy.json_splice import BLOCKS, ParsedChatRequest, text_of
from engrams.surfaces.proxy.privacy_options import SkipReason, read_skip_reason
from engrams.surfaces.proxy.user_tokens import SIGNED_USER_HEADER, verify_subject

_AGENT_ID = re.compile(r"user_[0-9a-f]+_account_[0-9a-f-]*_session_([0-9a-f-]+)")
"""``user_id`` of a coding agent: an account and a session, no person."""


@dataclass(frozen=True, slots=True)
class ChatCaller:
    """Caller of a chat request: scope, session and recall limits."""

    scope: Scope
    session: str
    """Groups the turns of one conversation."""

    top_k: int
    """Memories that are put into the request at most."""

    threshold: float = 0.0
    """Score (0..1) below which a memory is left out."""

    skip_reason: SkipReason = ""
    message: str = ""
    """The client's own id for the message."""


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
    owner: what is told there is found there only. The conversation ``global`` is the owner's own
    memory; a request that names none is of ``serve.conversation``. A session groups turns.

    ScopeError: an id that no scope can hold, nobody is named (UnnamedCallerError), or an invalid
    token.
    """
    fields = envelope.fields
    options = _to_mapping(fields.get("memory"))
    metadata = _to_mapping(fields.get("metadata"))
    skip_reason = read_skip_reason(fields.get("memory"), enabled=settings.enabled)
    agent_session = ""
    if envelope.shape is BLOCKS:
        body_user, agent_session = _read_user_id(metadata.get("user_id"))
    else:
        body_user = fields.get("user")
    user = _find_user(headers, options, body_user, settings.serve.jwt_secret)
    project = _first_text(options.get("project"), _read_header(headers, "x-engrams-project"))
    conversation = to_conversation_name(
        _first_text(
            options.get("conversation"),
            _read_header(headers, "x-engrams-conversation"),
            fields.get("memory_id"),
        )
    )
    session = _first_text(
        options.get("session"),
        _read_header(headers, "x-engrams-session"),
        headers.get("x-openwebui-chat-id"),
        headers.get("x-claude-code-session-id"),
        agent_session,
        *(metadata.get(name) for name in ("session_id", "conversation_id", "chat_id")),
        conversation,
        envelope.thread_id,
    )
    scope = _key_scope(headers.get("x-engrams-owner", ""), user)
    if scope is None and user:
        scope = Scope(("user", user))
    elif scope is None:
        is_named = bool(session or skip_reason)
        owner_session = session or opening_id(envelope)
        scope = Scope(_owner_labels(settings, owner_session, is_named=is_named))
    if project:
        scope = scope.within("project", project)
    memory_id = conversation or settings.serve.conversation
    if memory_id:
        scope = scope.within("conversation", memory_id)
    return ChatCaller(
        scope=scope,
        session=session or opening_id(envelope),
        top_k=_memory_count(options.get("top_k"), fields.get("memory_top_k"), settings),
        threshold=_score_threshold(fields.get("memory_score_threshold")),
        skip_reason=skip_reason,
        message=headers.get("x-openwebui-message-id", ""),
    )


def _read_user_id(value: Json) -> tuple[Json, str]:
    """Read Anthropic's ``user_id``: a user, or a coding agent's account and session."""
    if not isinstance(value, str):
        return value, ""
    # The account is the same person's as the setting `user`: a memory apart would know nothing of
    # the others.
    agent_id = _AGENT_ID.fullmatch(value)
    if agent_id is not None:
        return "", agent_id[1]
    try:
        account = json.loads(value) if value.startswith("{") else None
    except (ValueError, RecursionError):
        account = None
    session = account.get("session_id") if isinstance(account, dict) else None
    return ("", session) if isinstance(session, str) else (value, "")


def _key_scope(owner: str, user: str) -> Scope | None:
    """Return the scope of a key; its users are parts of it.

    The server sets that header; no client can send it.
    """
    if not owner:
        return None
    scope = Scope.parse(unquote(owner))
    return scope if user in ("", scope.labels[-1]) else scope.within("user", user)


def _owner_labels(settings: Settings, session: str, *, is_named: bool) -> tuple[str, str]:
    """Return the owner of a request that names no user.

    ``is_named``: the client named the session. UnnamedCallerError: it did not, and no setting names
    an owner, who is never guessed from the words of a conversation.
    """
    if not (is_named or settings.user) and settings.sessions.owner == "thread":
        raise UnnamedCallerError(
            "The owner of the memory is not named.",
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


def turn_id(caller: ChatCaller, envelope: ParsedChatRequest, index: int, text: str) -> str:
    """Compute an id for the turn at an index of the messages.

    The same for a request sent again, another for the same words said later. It covers the messages
    before, without system messages: clients put the time of day into those.
    """
    earlier = [
        f"{message.get('role')}\x1f{text_of(message.get('content'))}"
        for message in envelope.messages[:index]
        if isinstance(message, dict) and message.get("role") != "system"
    ]
    thread = [envelope.thread_id] if envelope.thread_id else []
    digest = _digest(caller.scope.key, caller.session, caller.message, *thread, *earlier, text)
    return f"proxy-{digest}"


def _find_user(
    headers: Mapping[str, str], options: Mapping[str, Json], body_user: Json, secret: str
) -> str:
    """Find the user; with a ``secret`` a signed token counts before all else."""
    if secret and SIGNED_USER_HEADER in headers:
        subject = verify_subject(headers[SIGNED_USER_HEADER], secret, clock.now().timestamp())
        if not subject:
            raise ScopeError(
                "The user's token is not valid.",
                hint="Give both servers the same secret, and check their clocks.",
            )
        return subject
    unsigned_id = "" if secret else headers.get("x-openwebui-user-id")
    return _first_text(
        options.get("user"), _read_header(headers, "x-engrams-user"), unsigned_id, body_user
    )


def _read_header(headers: Mapping[str, str], name: str) -> str:
    """Decode a header that holds UTF-8, raw or percent-encoded."""
    value = headers.get(name, "")
    try:
        return unquote(value.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return value


def _first_text(*values: Json) -> str:
    """Return the first value that is a text with something in it, or a number."""
    for value in values:
        if isinstance(value, (str, int)) and str(value).strip():
            return str(value).strip()
    return ""


def _to_mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _memory_count(option: Json, field: Json, settings: Settings) -> int:
    """Return how many memories a request wants: ``memory.top_k``, ``memory_top_k``, the setting."""
    for value in (option, field):
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return min(value, settings.limits.results)
    return settings.serve.top_k


def _score_threshold(value: Json) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 <= value <= 1 else 0.0


def _digest(*parts: str) -> str:
    joined = "\x1e".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=12).hexdigest()
