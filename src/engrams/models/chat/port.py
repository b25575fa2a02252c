"""Port of a chat server: one request, one answer.

To add a provider, write a class with the members of ``ChatServer`` and choose it in ``factory``. It
only speaks the server's protocol: retries, corrections, JSON checks, budgets and time-outs are the
business of ``retrying.RetryingServerChat``, which is the same for all. ``ollama`` is an example;
``wire`` has what most protocols share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from engrams.core import Json
from engrams.errors import ModelError
from engrams.ports import ChatMessage


class JsonMode(StrEnum):
    """Ways to ask a server for JSON, best first."""

    SCHEMA = "schema"
    """The server takes the schema and lets the model write nothing else."""
    OBJECT_SCHEMA = "object_schema"
    """The server takes ``json_object`` with a schema, as llama.cpp does. The schema stands in the
    prompt too, because some take it and ignore it."""
    TOOL = "tool"
    """The schema is that of the arguments of a tool, which the model must call."""
    OBJECT = "object"
    """The server lets the model write nothing but JSON; the schema stands in the prompt."""
    PROMPT = "prompt"
    """The schema stands in the prompt; nothing enforces it."""


SCHEMA_IN_PROMPT = frozenset({JsonMode.OBJECT_SCHEMA, JsonMode.OBJECT, JsonMode.PROMPT})
"""Modes in which the messages hold the schema."""


class RequestField(StrEnum):
    """Parts of a request that some servers refuse."""

    JSON = "json"
    """Whatever asks for JSON: ``response_format``, ``format`` or ``tools``."""
    LIMIT = "max_tokens"
    TEMPERATURE = "temperature"
    SYSTEM = "system"
    """The role ``system``."""
    THINK = "think"
    """Ollama's switch for a model's reasoning."""
    STREAM = "stream"


class LimitName(StrEnum):
    """Names of the parameter that bounds an answer, in the order in which they are tried."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"
    NONE = ""
    """Neither is sent."""


@dataclass(frozen=True, slots=True)
class RequestForm:
    """Form in which a server is asked; it begins with all that a server may take."""

    json_mode: JsonMode = JsonMode.SCHEMA
    limit: LimitName = LimitName.MAX_TOKENS
    temperature: bool = True
    """False: none is sent, and the server's default holds."""
    system: bool = True
    """False: the system message stands before the user's."""
    think: bool = True
    """False: nothing is said about reasoning."""
    stream: bool = False
    """True: the answer is asked for piece by piece, because the server gives no other."""


@dataclass(frozen=True, slots=True)
class ChatServerRequest:
    """One request to a server."""

    messages: tuple[ChatMessage, ...]
    """Messages to send; in the modes ``SCHEMA_IN_PROMPT`` they hold the schema already."""
    seconds: float
    """Time until the answer must be complete."""
    schema: Mapping[str, Json] | None = None
    """Schema of an object that the answer must be. None: free text."""
    form: RequestForm = RequestForm(json_mode=JsonMode.PROMPT)
    """Form to send it in; its JSON mode has no meaning without a schema."""
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
    version: str = ""
    """Version of the server, as far as it tells; another one may take other forms."""


@dataclass(frozen=True, slots=True)
class ChatServerRefusal:
    """Refusal of a request whose form may be the reason."""

    error: ModelError
    """Error to raise where no other form is left."""
    fields: frozenset[RequestField] = frozenset()
    """Fields that the server names. Empty: it failed by itself (500) and names none."""


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

    @property
    def address(self) -> str:
        """Address and model under which the forms it takes are stored; empty: they are not."""
        ...

    @property
    def json_modes(self) -> tuple[JsonMode, ...]:
        """Modes that its protocol has, best first; at least one."""
        ...

    def send(self, request: ChatServerRequest) -> ServerResult:
        """Send one request and wait for the whole answer.

        A refusal is returned where the server may answer another form of the request. ModelError:
        there is no answer; ``retryable`` says whether the same request may be answered later,
        ``retry_after`` how long the server wants to be left alone.
        """
        ...

    def probe(self, seconds: float, form: RequestForm) -> ChatServerProbe:
        """Ask for one word and for the size of the model's context, within ``seconds`` each.

        ``form``: what the server takes, as far as it is known. ModelError: there is no answer.
        """
        ...

    def close(self) -> None:
        """End running requests, which then raise ModelError, and close connections."""
        ...
