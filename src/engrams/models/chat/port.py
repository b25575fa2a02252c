"""Port of a chat server: one request, one answer.

To add a provider, write a class with the members of ``ChatServer`` and choose it in ``factory``. It
only speaks the server's protocol: retries, corrections, JSON checks, budgets and time-outs are the
business of ``retrying.RetryingServerChat``, which is the same for all. ``ollama`` is an example;
``wire`` has what most protocols share.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol, TypeAlias

from engrams.core import Json
from engrams.frozen_data import dataclass
from engrams.ports import ChatMessage


class JsonMode(StrEnum):
    """Ways to ask a server for JSON, best first."""

    SCHEMA = "schema"
    """The server takes the schema and lets the model write nothing else."""
    TOOL = "tool"
    """The schema is that of the arguments of a tool, which the model must call."""
    PROMPT = "prompt"
    """The schema stands in the prompt; nothing enforces it."""


@dataclass(frozen=True, slots=True)
class ChatServerRequest:
    """One request to a server."""

    messages: tuple[ChatMessage, ...]
    """Messages to send; in the mode ``PROMPT`` they hold the schema already."""
    seconds: float
    """Time until the answer must be complete."""
    schema: Mapping[str, Json] | None = None
    """Schema of an object that the answer must be. None: free text."""
    mode: JsonMode = JsonMode.PROMPT
    """How to ask for the schema; of no meaning without one."""
    max_tokens: int = 1024
    """Largest number of tokens of the answer."""
    temperature: float | None = 0.0
    """None: the server's default."""


@dataclass(frozen=True, slots=True)
class ChatServerReply:
    """Answer of a server."""

    text: str
    """The answer, with whatever stands around the JSON that was asked for."""
    tokens: int = 0
    """Tokens of prompt and answer, as the server counts them. 0: it does not tell."""
    model: str = ""
    """Name by which the server calls the model. Empty: it does not tell."""
    cut: bool = False
    """True: it stopped at the token limit."""


@dataclass(frozen=True, slots=True)
class ChatServerRefusal:
    """Refusal of the form of a request, which may be sent again in another form."""

    mode: JsonMode | None
    """Mode that the server does not take. None: a parameter, which is left out from now on."""


ServerResult: TypeAlias = ChatServerReply | ChatServerRefusal


@dataclass(frozen=True, slots=True)
class ChatServerProbe:
    """Facts about a model, measured by one short request."""

    first_seconds: float = 0.0
    """Seconds until the first word. 0: unknown."""
    context_tokens: int = 0
    """Size of its context. 0: the server does not tell."""


class ChatServer(Protocol):
    """Port of anything that answers a ``ChatServerRequest``; threads share it.

    A server that can be told later which model to ask is a ``ports.ModelFollower`` too.
    """

    @property
    def name(self) -> str:
        """Name of the model, for receipts and errors; calls nothing."""
        ...

    def send(self, request: ChatServerRequest) -> ServerResult:
        """Send one request and wait for the whole answer.

        A refusal is returned where the server does not know a mode or parameter, but would answer
        without it. ModelError: there is no answer; ``retryable`` says whether the same request may
        be answered later, ``retry_after`` how long the server wants to be left alone.
        """
        ...

    def probe(self, seconds: float) -> ChatServerProbe:
        """Ask for one word and for the size of the model's context, within ``seconds`` each.

        ModelError: there is no answer.
        """
        ...

    def close(self) -> None:
        """End running requests, which then raise ModelError, and close connections."""
        ...
