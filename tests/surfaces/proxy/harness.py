"""The proxy between a client and an upstream, and what the upstream says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from fastapi import FastAPI
from tests.surfaces.proxy.raw import Raw

from engrams.core import Kind, Record, Scope, Status
from engrams.engine import MemoryEngine
from engrams.program.registry import create_mounts
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy.caller_identity import ChatCaller
from engrams.surfaces.proxy.chat_protocols import CHAT, ChatDialect, sse_event
from engrams.surfaces.proxy.chat_request import ParsedProxyRequest
from engrams.surfaces.proxy.memory_deadlines import MemoryDeadlines
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.surfaces.proxy.relay import StreamedAnswerRecorder

PATIENCE = MemoryDeadlines(lookup=30, journal=30)
"""What a request may wait for memory here, where other work shares the machine: what is tested is
what it finds.
"""


def patient(engine: MemoryEngine) -> FastAPI:
    """The whole server, in which the proxy is as patient."""
    *others, _ = create_mounts(engine, engine.settings)
    return create_app(
        engine, engine.settings, [*others, ProxyMount(engine, engine.settings, PATIENCE)]
    )


@dataclass
class Harness:
    """The proxy at ``url``, its engine, what is behind it, and a client."""

    url: str
    engine: MemoryEngine
    raw: Raw
    client: httpx2.Client
    user: str = ""

    def ask(
        self, messages: Sequence[Any] | str, headers: dict[str, str] | None = None, **fields: Any
    ) -> httpx2.Response:
        """A chat request of this test's user."""
        return self.client.post(
            "/v1/chat/completions",
            content=self.body(messages, **fields),
            headers=self.headers(headers),
        )

    def body(self, messages: Sequence[Any] | str, **fields: Any) -> bytes:
        said = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        return json.dumps({"model": "m", "messages": said, **fields}).encode()

    def headers(self, more: dict[str, str] | None = None) -> dict[str, str]:
        return {"content-type": "application/json", "x-engrams-user": self.user, **(more or {})}

    def sent(self) -> Any:
        """The last request as the upstream got it."""
        return json.loads(self.raw.last.body)

    def turns(self, user: str = "") -> tuple[Record, ...]:
        """What is stored of the user's turns, oldest first."""
        log = (Status.ACTIVE, Status.ARCHIVED)
        return self.engine.list(
            scope=("user", user or self.user), kinds=(Kind.TURN,), statuses=log, order="oldest"
        ).records

    def told(self) -> list[tuple[str, str]]:
        return [(record.role, record.text) for record in self.turns()]


def completion(text: str | None = "Noted.", **message: Any) -> bytes:
    """The body of a chat completion, oddly written, as no JSON library would write it again."""
    content = json.dumps({"role": "assistant", "content": text, **message})
    return (
        b'{ "id":"c1", "object":"chat.completion","odd": 1.50,'
        b' "choices":[{"index":0,"message":%s,"finish_reason":"stop"}] }' % content.encode()
    )


DONE = b"data: [DONE]\n\n"


def chunk(text: str | None, **more: Any) -> bytes:
    return sse_event(
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None, **more}],
        }
    )


ANSWER = [
    chunk("Hello "),
    b": keep-alive\n\n",
    chunk("Wörld 東").replace(b"\\u00f6", "ö".encode()),
    chunk("京!", finish_reason="stop"),
    sse_event({"choices": [], "usage": {"total_tokens": 3}}),
    DONE,
]


def observer(limit: int, dialect: ChatDialect = CHAT) -> StreamedAnswerRecorder:
    """An observer of a stream that nobody asked for: it reads, and has nothing to store."""
    memory: Any = None
    caller = ChatCaller(Scope(("user", "ann")), "s", 0)
    return StreamedAnswerRecorder(
        memory, ParsedProxyRequest(b"", None, caller, "no_question", dialect=dialect), limit
    )


def eventually(what: Callable[[], bool]) -> None:
    """Background work has no other sign of its end here than what it leaves."""
    for _ in range(1000):
        if what():
            return
        time.sleep(0.01)
    assert what()
