"""What a chat server is to the rest of this package: something that sends one request and reads one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from engrams.ports import Message
from engrams.types import Json


class JsonMode(StrEnum):
    """How JSON is asked for, best first: the server enforces a schema, the model calls a tool, the prompt says so."""

    SCHEMA = "schema"
    TOOL = "tool"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class ServerCall:
    """One request. ``schema``: an object schema (None: free text). ``way`` says what to do with it; for ``prompt`` the
    messages hold it already. ``seconds``: until there must be a complete answer."""

    messages: tuple[Message, ...]
    seconds: float
    schema: Mapping[str, Json] | None = None
    mode: JsonMode = JsonMode.PROMPT
    max_tokens: int = 1024
    temperature: float | None = 0.0


@dataclass(frozen=True, slots=True)
class ServerReply:
    """``tokens``: 0 where the server does not say. ``cut``: it stopped at the token limit."""

    text: str
    tokens: int = 0
    model: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class ServerRefusal:
    """The server cannot do what was asked: that ``way``, or (None) some parameter that is left out from now on."""

    mode: JsonMode | None


ServerResult: TypeAlias = ServerReply | ServerRefusal


class ChatServer(Protocol):
    """Anything that can answer a Call. Threads share it."""

    @property
    def name(self) -> str: ...

    def send(self, call: ServerCall) -> ServerResult:
        """ModelError when there is no answer."""
        ...

    def close(self) -> None: ...


def mentions(body: bytes, *words: str) -> bool:
    """Whether a refusal speaks of one of these."""
    text = body[:20_000].decode("utf-8", "replace").lower()
    return any(word in text for word in words)


def to_messages(call: ServerCall) -> list[dict[str, str]]:
    """The messages as every protocol writes them, without lone surrogates, which no client can send."""
    return [{"role": message.role, "content": message.content.encode("utf-8", "replace").decode("utf-8")} for message in call.messages]
