"""The clock, the token counter and the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from engrams.core import Json
from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float32]
    Integers: TypeAlias = npt.NDArray[np.int64]
    Flags: TypeAlias = npt.NDArray[np.bool_]


CHARGED_OWNER: ContextVar[str] = ContextVar("engrams_charged_owner", default="")
"""Key of the owner for whom the model is asked here; his quota pays. Empty: nobody's does."""


@runtime_checkable
class Closable(Protocol):
    """Port of something that holds connections or threads to close."""

    def close(self) -> None: ...


@runtime_checkable
class ModelFollower(Protocol):
    """Chat model that takes another's name where it has none."""

    def follow(self, model: str) -> None: ...


class Clock(Protocol):
    """Port that tells the time, UTC."""

    def __call__(self) -> datetime: ...


class TokenCounter(Protocol):
    """Number of tokens in a text; 0 for empty text."""

    name: str

    def count(self, text: str) -> int: ...


@dataclass(frozen=True, slots=True)
class EmbedderCard:
    """Facts about an embedding model: id, dimension, prefixes, floors, scale.

    ``floors``: cosines that engrams itself goes by with this model (``duplicate``, ``related``),
    and the nearness below which nothing is near (``near``). ``scale``: its cosines that mean what
    0, 0.1 … 1 mean with all-MiniLM-L6-v2 (empty: not known); thresholds set for another model are
    turned into this one's by it. ``inline``: fast enough to run inside a write (< 1 ms a text).
    """

    id: str
    dimension: int
    query_prefix: str = ""
    document_prefix: str = ""
    floors: Mapping[str, float] = field(default_factory=dict)
    scale: tuple[float, ...] = ()
    inline: bool = False


class Embedder(Protocol):
    """Port that turns texts into unit vectors. ModelError: it cannot."""

    @property
    def card(self) -> EmbedderCard: ...

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Floats:
        """Embed texts.

        float32 [len(texts), dimension]; rows have length 1, or 0 for a text with no known word.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Question to a chat model: messages, JSON schema, purpose, limits.

    ``schema``: a JSON schema its answer must satisfy (None: free text). ``timeout``: seconds for
    all of it, retries and corrections included (None: the model's own time-out for each answer).
    ``key``: a name for the question, by which its answer is kept (empty: its messages). ``about``:
    ids of the memories that it shows.
    """

    messages: tuple[ChatMessage, ...]
    purpose: str
    schema: Mapping[str, Json] | None = None
    max_tokens: int = 1024
    temperature: float | None = 0.0
    timeout: float | None = None
    key: str = ""
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """Answer of a chat model: text or checked JSON, and its cost.

    ``data``: the parsed, schema-checked JSON where a schema was asked for. ``notes``: faults of the
    answer that were repaired. ``cut``: only its complete beginning is here.
    """

    text: str
    data: Json = None
    calls: int = 1
    tokens: int = 0
    model: str = ""
    notes: tuple[str, ...] = ()
    cut: bool = False


class ChatModel(Protocol):
    """Port of a language model that answers a chat request.

    ModelError when it fails for good; BudgetError when the day's budget is spent.
    """

    @property
    def name(self) -> str: ...

    def ask(self, ask: ChatRequest) -> ChatAnswer: ...


@dataclass(frozen=True, slots=True)
class ChatModelMeasurement:
    """Abilities of a chat model, as found by asking it.

    ``first_seconds``: until the first word (0: unknown). ``seconds``: of an answer in JSON.
    ``json``: how it was got (schema, tool, prompt; empty: not at all). ``context_tokens``: what the
    server says (0: nothing).
    """

    first_seconds: float
    seconds: float
    json: str
    context_tokens: int = 0


@runtime_checkable
class MeasurableChat(Protocol):
    """Chat model that can be measured."""

    def measure(self) -> ChatModelMeasurement:
        """Measure the model's speed and abilities by two questions."""
        ...


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """Query and texts to score. ``seconds``: the time there is.

    Of a turn of a conversation also its ``session`` (unique over owners), the texts' ``ids``, and
    whether its topic changed.
    """

    query: str
    texts: tuple[str, ...]
    seconds: float = 1.0
    session: str = ""
    ids: tuple[str, ...] = ()
    topic_changed: bool = False


class Reranker(Protocol):
    """Port that scores texts by relevance to a query, 0 to 1.

    0..1, one per text; None for those there was no time for.
    """

    @property
    def name(self) -> str: ...

    def rank(self, rank: RerankRequest) -> tuple[float | None, ...]: ...


@runtime_checkable
class JudgementCounter(Protocol):
    """Reranker that counts what became of its judgements."""

    def counts(self) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True)
class DiscoveredModelServer:
    """Model server that was found, with the models it serves.

    ``url``: as in ``chat.url``; ``models``: names of those that may chat.
    """

    name: str
    provider: Literal["openai", "ollama"]
    url: str
    models: tuple[str, ...] = ()
