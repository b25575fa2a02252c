"""Parse a request for memory: conversation, session or client task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from engrams.core import Json, Turn, is_blank
from engrams.core.process_peers import ProcessPeers
from engrams.errors import ScopeError
from engrams.frozen_data import dataclass
from engrams.settings import Settings
from engrams.surfaces.proxy.caller_identity import ChatCaller, UnnamedCallerError, identify, turn_id
from engrams.surfaces.proxy.chat_protocols import CHAT, ChatDialect
from engrams.surfaces.proxy.json_splice import (
    INPUT,
    PROMPT,
    ParsedChatRequest,
    attachment_types,
    parse_envelope,
    text_of,
)

_HEADERS = ("x-engrams-task", "x-openwebui-task", "x-task")
# An answer of one token is a check of health or quota. A coding agent's helpers are told what to do
# by it, by no person.
_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
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
_HEAD = 600


_MOST = 10_000


@dataclass(frozen=True, slots=True)
class ParsedProxyRequest:
    """Parsed chat request with its caller, question and dialect.

    ``skip_reason`` says why; with a caller its turns are stored.
    """

    raw: bytes
    envelope: ParsedChatRequest | None
    caller: ChatCaller | None
    skip_reason: str
    question: Turn | None = None
    dialect: ChatDialect = CHAT
    threads: ResponseSessionMap | None = None
    refusal: str = ""

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
        """Return True if messages of this request hold every text."""
        messages = self.envelope.messages if texts and self.envelope else ()
        said = [
            text_of(message.get("content")) for message in messages if isinstance(message, dict)
        ]
        return all(any(text in each for each in said) for text in texts)

    @property
    def unknown_thread(self) -> str:
        """Response that the request goes on from, if nothing here knows it."""
        named = self.envelope.thread_id if self.envelope and self.caller else ""
        return (
            named
            if self.caller and self.caller.session == named and self.threads is not None
            else ""
        )

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

    def answer_turn(self, text: str, partial: bool = False) -> Turn:
        """Build the turn of the answer; ``partial``: it broke off."""
        assert self.envelope is not None
        assert self.caller is not None
        meta: dict[str, Json] = {"model": self.model} if self.model else {}
        place = len(self.envelope.messages)
        return Turn(
            text=text,
            role="assistant",
            session=self.caller.session,
            external_id=turn_id(self.caller, self.envelope, place, text),
            meta={**meta, "partial": True} if partial else meta,
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
    except UnnamedCallerError as problem:
        if is_client_task(headers, envelope) or _is_completion(envelope):
            return ParsedProxyRequest(raw, envelope, None, "task", dialect=dialect)
        return ParsedProxyRequest(
            raw,
            envelope,
            None,
            "identity",
            dialect=dialect,
            refusal=f"{problem.message} {problem.hint}",
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
    said = _question_turn(caller, envelope)
    skip = "" if said else "no_question"
    return ParsedProxyRequest(
        raw=raw,
        envelope=envelope,
        caller=caller,
        skip_reason=skip if caller.top_k else "top_k",
        question=said,
        dialect=dialect,
        threads=threads,
    )


def _is_completion(envelope: ParsedChatRequest) -> bool:
    """Detect completions of text or code, which are no conversation."""
    return envelope.shape is PROMPT and bool(
        envelope.fields.get("raw") or envelope.fields.get("suffix")
    )


def _question_turn(caller: ChatCaller, envelope: ParsedChatRequest) -> Turn | None:
    """Build the turn of the last user message, the only new one."""
    place = envelope.last_user_index
    if place < 0:
        return None
    message = envelope.messages[place]
    text = text_of(message.get("content"))
    if is_blank(text):
        return None
    kinds = attachment_types(message.get("content"))
    name = message.get("name")
    return Turn(
        text=text,
        speaker=name if isinstance(name, str) else "",
        session=caller.session,
        external_id=turn_id(caller, envelope, place, text),
        meta={"attachments": list(kinds)} if kinds else {},
    )


def is_client_task(headers: Mapping[str, str], envelope: ParsedChatRequest) -> bool:
    """Detect a client task by header, metadata, length or prompt."""
    if "x-claude-code-agent-id" in headers or any(
        envelope.fields.get(name) == 1 for name in _LENGTHS
    ):
        return True
    metadata = envelope.fields.get("metadata")
    named = [
        *(headers.get(name) for name in _HEADERS),
        metadata.get("task") if isinstance(metadata, dict) else None,
    ]
    if any(isinstance(name, str) and name.strip().casefold() not in _CHAT_NAMES for name in named):
        return True
    orders = [
        {"role": "system", "content": envelope.fields.get(name)}
        for name in ("instructions", "system")
    ]
    said = [*envelope.messages, *orders]
    return any(
        _is_task_prompt(message, place == envelope.last_user_index)
        for place, message in enumerate(said)
    )


def _is_task_prompt(message: Json, last: bool) -> bool:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ("system", "developer") and not (role == "user" and last):
        return False
    text = text_of(message.get("content"))
    head = text[:_HEAD]
    match role:
        case "user":
            task = _SECTIONED.match(head)
            return bool(task and _PRODUCT.search(task[1]) and _OUTPUT.search(text))
        case _:
            return bool(_ORDER.search(head) and _JSON.search(text))


class ResponseSessionMap:
    """Sessions by response id; the latest ten thousand."""

    def __init__(self, peers: ProcessPeers, path: str) -> None:
        self._sessions = peers.table(f"threads {path}", _MOST)
        self._latest = peers.table(f"latest {path}", _MOST)

    def session(self, name: str) -> str:
        """Return the session of a conversation or response, else ``name``."""
        return str(self._sessions.get(name, name))

    def latest(self, session: str) -> str:
        """Return the latest response of a session.

        It tells two equal messages apart.
        """
        return str(self._latest.get(session, ""))

    def note(self, response: str, session: str) -> None:
        """Remember a new response of a session."""
        self._sessions.put(response, session)
        self._latest.put(session, response)
