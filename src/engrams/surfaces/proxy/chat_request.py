"""Parse a chat request: whose it is, which question it asks, or that it is no conversation at all.

`parse_request` never raises. Clients also send tasks of their own (make a title, suggest a follow-up)
and checks of health: these are relayed, and memory is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engrams.core import (
    FOREIGN,
    OWN_WORDS,
    Json,
    Turn,
    content_hash,
    is_blank,
    name_speaker,
)
from engrams.core.process_peers import ProcessPeers
from engrams.errors import ScopeError
from engrams.settings import Settings
from engrams.surfaces.proxy.caller_identity import (
    ChatCaller,
    UnnamedCallerError,
    identify,
    opening_id,
    turn_id,
)
from engrams.surfaces.proxy.chat_protocols import CHAT, ChatDialect
from engrams.surfaces.proxy.json_splice import (
    INPUT,
    PROMPT,
    ParsedChatRequest,
    attachment_types,
    parse_envelope,
    text_of,
    texts_of,
)
from engrams.surfaces.proxy.privacy_options import UnclearPrivacyError
from engrams.text.foreign_parts import ANNOUNCED, awaits_foreign, choose_own_part
from engrams.text.system_texts import remove_system_texts

_TASK_HEADERS = ("x-engrams-task", "x-openwebui-task", "x-task")
# An answer of one token is a check of health or quota. A coding agent's helpers are told what to do
# by it, by no person.
_LENGTH_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_CHAT_NAMES = frozenset({"", "chat", "default", "none", "null", "{{task}}"})

# Open WebUI sends its tasks as a user message made of these sections.
_SECTIONED = re.compile(r"\s*#{2,} ?task:([^#]*)", re.IGNORECASE)
_OUTPUT = re.compile(r"## ?output:|<chat_history>", re.IGNORECASE)
_PRODUCT = re.compile(
    r"\b(titles?|tags?|emoji|follow[- ]?ups?|search quer(?:y|ies)|autocomplet\w+|image"
    r" (?:generation )?prompt)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(generat\w+|creat\w+|writ\w+|provid\w+|suggest\w*|produc\w+|return\w*|respond\w*|come up"
    r" with|summari[sz]\w+)\b[^.\n]{0,80}"
    r"\b(titles?|tags?|emoji|follow[- ]?ups?)\b",
    re.IGNORECASE,
)
_JSON = re.compile(r"\bjson\b|\{\s*\"(title|tags|emoji|follow_ups)\"", re.IGNORECASE)
_HEAD_CHARS = 600
"""Characters of a prompt in which a task says what it wants."""

_MAX_RESPONSES = 10_000
_ANNOUNCING = 40
"""Latest messages in which the user may have announced a text to work on."""


@dataclass(frozen=True, slots=True)
class ParsedProxyRequest:
    """Parsed chat request with its caller, question and dialect."""

    raw: bytes
    envelope: ParsedChatRequest | None
    """The request as JSON; None: it is none that a chat API knows."""

    caller: ChatCaller | None
    """Sender; None: neither the question nor the answer is stored."""

    skip_reason: str
    """Reason why no memory is put into it; empty: it gets memory."""

    question: Turn | None = None
    """Last message of the user; None: it brings no new one."""

    dialect: ChatDialect = CHAT
    threads: ResponseSessionMap | None = None
    refusal: str = ""
    """Error that the request is answered with; empty: it is not refused."""
    refusal_code: str = "owner_missing"
    """The error's machine-readable name."""

    @property
    def fields(self) -> Mapping[str, Json]:
        return self.envelope.fields if self.envelope else {}

    @property
    def wants_stream(self) -> bool:
        return self.dialect.wants_stream(self.fields)

    @property
    def model(self) -> str:
        model = self.fields.get("model")
        return model if isinstance(model, str) else ""

    def upstream_body(self, memory: str = "") -> bytes:
        """Render the request for the upstream, with ``memory`` if any."""
        return self.envelope.render(memory) if self.envelope else self.raw

    def contains_all(self, texts: Sequence[str]) -> bool:
        """Return True if each text is part of a message of this request."""
        messages = self.envelope.messages if texts and self.envelope else ()
        contents = [
            text_of(message.get("content")) for message in messages if isinstance(message, dict)
        ]
        return all(any(text in content for content in contents) for text in texts)

    @property
    def unknown_thread(self) -> str:
        """Response that the request goes on from, if nothing here knows it."""
        if self.envelope is None or self.caller is None or self.threads is None:
            return ""
        thread_id = self.envelope.thread_id
        return thread_id if self.caller.session == thread_id else ""

    def note_answer(self, id: str) -> bool:
        """Remember the answer's id; True: the next request may name it."""
        if not id or self.threads is None or self.caller is None:
            return False
        self.threads.note(id, self.caller.session)
        return self.envelope is not None and self.envelope.shape is INPUT

    def learn_thread(self, session: str) -> None:
        """Take the session of a response that was unknown here."""
        if self.threads is not None:
            self.threads.note(self.unknown_thread, session)

    @property
    def has_history(self) -> bool:
        """True if an id or the messages before tell the question from the same words said before."""
        if self.envelope is None or self.caller is None:
            return True
        before = self.envelope.messages[: self.envelope.last_user_index]
        is_alone = all(
            isinstance(message, dict) and message.get("role") == "system" for message in before
        )
        return bool(self.caller.message or self.envelope.thread_id) or not is_alone

    @property
    def last_answer(self) -> str | None:
        """Text of the assistant's message before the question; empty: there is none.

        None: the client sends no history.
        """
        if self.envelope is None or self.envelope.thread_id or self.envelope.shape is PROMPT:
            return None
        earlier = [
            message
            for message in self.envelope.messages[: self.envelope.last_user_index]
            if isinstance(message, dict) and message.get("role") in ("user", "assistant")
        ]
        for message in reversed(earlier):
            if message["role"] == "assistant":
                return text_of(message.get("content"))
        # A lone message of a named conversation may be its first, or one of a client that sends
        # each message alone.
        is_named = self.caller is not None and self.caller.session != opening_id(self.envelope)
        return None if is_named and not earlier else ""

    @property
    def first_message_hash(self) -> str:
        """Hash of the conversation's first message of a person, which tells chats without ids apart.

        Empty: the client sends no history, or the chat has no answer yet. A client without a history
        asks every question alone, so the same first message would join chats that have nothing in
        common.
        """
        if self.last_answer is None or self.envelope is None:
            return ""
        first = next(
            message
            for message in self.envelope.messages
            if isinstance(message, dict) and message.get("role") == "user"
        )
        return content_hash(text_of(first.get("content")))

    def at_time(self, label: str) -> ParsedProxyRequest:
        """Return the request with ids of its turns that hold for one time only."""
        if self.envelope is None or self.caller is None or self.question is None:
            return self
        caller = replace(self.caller, message=label)
        index = self.envelope.last_user_index
        external_id = turn_id(caller, self.envelope, index, self.question.text)
        return replace(
            self, caller=caller, question=replace(self.question, external_id=external_id)
        )

    def answer_turn(self, text: str, partial: bool = False) -> Turn:
        """Build the turn of the answer; ``partial``: it broke off."""
        assert self.envelope is not None
        assert self.caller is not None
        meta: dict[str, Json] = {}
        if self.model:
            meta["model"] = self.model
        if partial:
            meta["partial"] = True
        index = len(self.envelope.messages)
        return Turn(
            text=text,
            role="assistant",
            session=self.caller.session,
            external_id=turn_id(self.caller, self.envelope, index, text),
            meta=meta,
        )


def parse_request(
    headers: Mapping[str, str],
    raw: bytes,
    settings: Settings,
    dialect: ChatDialect = CHAT,
    threads: ResponseSessionMap | None = None,
) -> ParsedProxyRequest:
    """Parse a request; never raises.

    A request that memory cannot use goes upstream as it is.
    """
    envelope = parse_envelope(raw, dialect.shape)
    if envelope is None:
        return ParsedProxyRequest(raw, None, None, "request", dialect=dialect)
    try:
        caller = identify(headers, envelope, settings)
    except UnnamedCallerError as error:
        if is_client_task(headers, envelope) or _is_completion(envelope):
            return ParsedProxyRequest(raw, envelope, None, "task", dialect=dialect)
        return ParsedProxyRequest(
            raw,
            envelope,
            None,
            "identity",
            dialect=dialect,
            refusal=f"{error.message} {error.hint}",
        )
    except UnclearPrivacyError as error:
        return ParsedProxyRequest(
            raw,
            envelope,
            None,
            "privacy",
            dialect=dialect,
            refusal=f"{error.message} {error.hint}",
            refusal_code="memory_option_unclear",
        )
    except ScopeError:
        return ParsedProxyRequest(raw, envelope, None, "identity", dialect=dialect)
    if caller.skip_reason:
        return ParsedProxyRequest(raw, envelope, None, caller.skip_reason, dialect=dialect)
    if is_client_task(headers, envelope) or _is_completion(envelope):
        return ParsedProxyRequest(raw, envelope, None, "task", dialect=dialect)
    if threads is not None and envelope.thread_id and caller.session == envelope.thread_id:
        session = threads.session(envelope.thread_id)
        caller = replace(caller, session=session, message=caller.message or threads.latest(session))
    question = _question_turn(caller, envelope)
    if not caller.top_k:
        skip_reason = "top_k"
    else:
        skip_reason = "" if question else "no_question"
    return ParsedProxyRequest(
        raw=raw,
        envelope=envelope,
        caller=caller,
        skip_reason=skip_reason,
        question=question,
        dialect=dialect,
        threads=threads,
    )


def _is_completion(envelope: ParsedChatRequest) -> bool:
    """Detect completions of text or code, which are no conversation."""
    return envelope.shape is PROMPT and bool(
        envelope.fields.get("raw") or envelope.fields.get("suffix")
    )


def _read_name(message: Mapping[str, Json]) -> str:
    name = message.get("name")
    return name if isinstance(name, str) else ""


def _question_turn(caller: ChatCaller, envelope: ParsedChatRequest) -> Turn | None:
    """Build the turn of the last user message, the only new one."""
    index = envelope.last_user_index
    if index < 0:
        return None
    message = envelope.messages[index]
    text = text_of(message.get("content"))
    if is_blank(text):
        return None
    kinds = attachment_types(message.get("content"))
    meta: dict[str, Json] = {"attachments": list(kinds)} if kinds else {}
    own_texts = [part for part in texts_of(message.get("content")) if remove_system_texts(part)]
    if len(own_texts) > 1:
        # A client adds pages and files as further parts: only one of them is the user's.
        meta[OWN_WORDS] = choose_own_part(own_texts)
    if awaits_foreign(_read_latest(envelope.messages[:index])):
        # Its answer may still be on the way into memory, and nobody stores a message without one.
        meta[FOREIGN] = ANNOUNCED
    names = [_read_name(sent) for sent in envelope.messages if sent.get("role") == "user"]
    return Turn(
        text=text,
        speaker=name_speaker(_read_name(message), names, caller.scope.owner.labels[-1]),
        session=caller.session,
        external_id=turn_id(caller, envelope, index, text),
        meta=meta,
    )


def _read_latest(messages: Sequence[Json]) -> list[tuple[str, str]]:
    """Read roles and texts of the latest messages of the user and the assistant."""
    return [
        (str(message["role"]), text_of(message.get("content")))
        for message in messages[-_ANNOUNCING:]
        if isinstance(message, dict) and message.get("role") in ("user", "assistant")
    ]


def is_client_task(headers: Mapping[str, str], envelope: ParsedChatRequest) -> bool:
    """Detect a client task by header, metadata, length or prompt."""
    if "x-claude-code-agent-id" in headers:
        return True
    if any(envelope.fields.get(name) == 1 for name in _LENGTH_FIELDS):
        return True
    metadata = envelope.fields.get("metadata")
    task_names = [
        *(headers.get(name) for name in _TASK_HEADERS),
        metadata.get("task") if isinstance(metadata, dict) else None,
    ]
    for task_name in task_names:
        if isinstance(task_name, str) and task_name.strip().casefold() not in _CHAT_NAMES:
            return True
    instructions = [
        {"role": "system", "content": envelope.fields.get(name)}
        for name in ("instructions", "system")
    ]
    return any(
        _is_task_prompt(message, is_last=index == envelope.last_user_index)
        for index, message in enumerate([*envelope.messages, *instructions])
    )


def _is_task_prompt(message: Json, *, is_last: bool) -> bool:
    """Detect the order of a task in a system message, or in the last user message."""
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ("system", "developer") and not (role == "user" and is_last):
        return False
    text = text_of(message.get("content"))
    head = text[:_HEAD_CHARS]
    match role:
        case "user":
            task = _SECTIONED.match(head)
            return bool(task and _PRODUCT.search(task[1]) and _OUTPUT.search(text))
        case _:
            return bool(_ORDER.search(head) and _JSON.search(text))


class ResponseSessionMap:
    """Sessions by response id, the latest ten thousand; shared by the processes of a server."""

    def __init__(self, peers: ProcessPeers, path: str) -> None:
        self._sessions = peers.table(f"threads {path}", _MAX_RESPONSES)
        self._latest = peers.table(f"latest {path}", _MAX_RESPONSES)

    def session(self, thread_id: str) -> str:
        """Return the session of a conversation or response, else its own id."""
        return str(self._sessions.get(thread_id, thread_id))

    def latest(self, session: str) -> str:
        """Return the latest response of a session.

        It tells two equal messages apart.
        """
        return str(self._latest.get(session, ""))

    def note(self, response_id: str, session: str) -> None:
        """Remember a new response of a session."""
        self._sessions.put(response_id, session)
        self._latest.put(session, response_id)
