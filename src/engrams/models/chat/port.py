"""Port of a chat server: one request, one answer."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol, TypeAlias

from engrams.core import Json
from engrams.frozen_data import dataclass
from engrams.ports import ChatMessage

_CONTEXT_NAMES = frozenset(
    (
        "max_model_len",
        "context_length",
        "max_context_length",
        "n_ctx",
        "n_ctx_train",
        "context_window",
    )
)


class JsonMode(StrEnum):
    """Ways to ask for JSON, best first: enforced, by tool, in words."""

    SCHEMA = "schema"
    TOOL = "tool"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class ChatServerRequest:
    """One request.

    ``schema``: an object schema (None: free text). ``mode``: how it is asked for; in ``prompt`` the
    messages hold it already. ``seconds``: until there must be a complete answer.
    """

    messages: tuple[ChatMessage, ...]
    seconds: float
    schema: Mapping[str, Json] | None = None
    mode: JsonMode = JsonMode.PROMPT
    max_tokens: int = 1024
    temperature: float | None = 0.0


@dataclass(frozen=True, slots=True)
class ChatServerReply:
    """Answer; ``tokens`` 0: unknown; ``cut``: it stopped at the token limit."""

    text: str
    tokens: int = 0
    model: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class ChatServerRefusal:
    """Refusal of a ``mode``, or (None) of a parameter, dropped henceforth."""

    mode: JsonMode | None


@dataclass(frozen=True, slots=True)
class ChatServerProbe:
    """Seconds until the first word, and the context in tokens; 0: unknown."""

    first_seconds: float = 0.0
    context_tokens: int = 0


ServerResult: TypeAlias = ChatServerReply | ChatServerRefusal


class ChatServer(Protocol):
    """Port of anything that answers a ServerCall; threads share it."""

    @property
    def name(self) -> str: ...

    def send(self, call: ChatServerRequest) -> ServerResult:
        """Send one request. ModelError: there is no answer."""
        ...

    def probe(self, seconds: float) -> ChatServerProbe:
        """Ask for one word and for the model's context, within ``seconds`` each."""
        ...

    def close(self) -> None: ...


def mentions(body: bytes, *words: str) -> bool:
    """Return True where a refusal holds one of the words."""
    text = body[:20_000].decode("utf-8", "replace").lower()
    return any(word in text for word in words)


PROBE = ChatServerRequest((ChatMessage("user", "Answer with the word ok."),), 0.0, max_tokens=8)
"""Call that measures a model."""


def find_context(facts: Json) -> int:
    """Find the context's length in facts about a model.

    0: it is not told.
    """
    if isinstance(facts, Mapping):
        for name, value in facts.items():
            if name.rpartition(".")[2] in _CONTEXT_NAMES and isinstance(value, int):
                return value
        return max((find_context(value) for value in facts.values()), default=0)
    return (
        max((find_context(value) for value in facts), default=0) if isinstance(facts, list) else 0
    )


def to_messages(call: ChatServerRequest) -> list[dict[str, str]]:
    """Convert messages to JSON, without lone surrogates, which cannot be sent."""
    return [
        {
            "role": message.role,
            "content": message.content.encode("utf-8", "replace").decode("utf-8"),
        }
        for message in call.messages
    ]
