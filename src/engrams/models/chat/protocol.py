"""Port of a chat server: one request, one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from engrams.ports import Message
from engrams.types import Json


class JsonMode(StrEnum):
    """Ways to ask for JSON, best first: enforced, by tool, in words."""

    SCHEMA = "schema"
    TOOL = "tool"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class ServerCall:
    """One request.

    ``schema``: an object schema (None: free text). ``mode``: how it is asked for; in ``prompt`` the messages hold it already. ``seconds``:
    until there must be a complete answer."""

    messages: tuple[Message, ...]
    seconds: float
    schema: Mapping[str, Json] | None = None
    mode: JsonMode = JsonMode.PROMPT
    max_tokens: int = 1024
    temperature: float | None = 0.0


@dataclass(frozen=True, slots=True)
class ServerReply:
    """Answer; ``tokens`` 0: unknown; ``cut``: it stopped at the token limit."""

    text: str
    tokens: int = 0
    model: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class ServerRefusal:
    """Refusal of a ``mode``, or (None) of a parameter, dropped henceforth."""

    mode: JsonMode | None


ServerResult: TypeAlias = ServerReply | ServerRefusal


class ChatServer(Protocol):
    """Port of anything that answers a ServerCall; threads share it."""

    @property
    def name(self) -> str: ...

    def send(self, call: ServerCall) -> ServerResult:
        """Send one request. ModelError: there is no answer."""
        ...

    def close(self) -> None: ...


def mentions(body: bytes, *words: str) -> bool:
    """Return True where a refusal holds one of the words."""
    text = body[:20_000].decode("utf-8", "replace").lower()
    return any(word in text for word in words)


def to_messages(call: ServerCall) -> list[dict[str, str]]:
    """Convert messages to JSON, without lone surrogates, which cannot be sent."""
    return [{"role": message.role, "content": message.content.encode("utf-8", "replace").decode("utf-8")} for message in call.messages]
