"""The ports of models: embedder, chat model, reranker; and of the clock and the token counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


@runtime_checkable
class Closable(Protocol):
    """Port of an object that holds connections or threads."""

    def close(self) -> None: ...


@runtime_checkable
class ModelFollower(Protocol):
    """Chat model without a name of its own."""

    def follow(self, model: str) -> None:
        """Ask for this model from now on: the one that people chat with."""
        ...


class Clock(Protocol):
    """Port that returns the current time, UTC."""

    def __call__(self) -> datetime: ...


class TokenCounter(Protocol):
    """Port that counts tokens."""

    name: str

    def count(self, text: str) -> int:
        """Count the tokens of a text; 0 for an empty one."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderCard:
    """Facts about an embedding model."""

    id: str
    """Name of the model with all that changes its vectors; stored with each vector."""
    dimension: int
    """Numbers in a vector. 0: there are no vectors."""
    query_prefix: str = ""
    """Text that the model wants before a query."""
    document_prefix: str = ""
    """Text that the model wants before a document."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """Cosines that engrams itself goes by with this model, ``duplicate`` and ``related``, and the
    nearness below which a memory is not near, ``near``.
    """
    scale: tuple[float, ...] = ()
    """Eleven cosines of this model that mean what 0, 0.1 … 1 mean with all-MiniLM-L6-v2.

    They translate thresholds that were set for another model. Empty: not known.
    """
    is_english: bool = False
    """True: it was trained on English alone; of other scripts its cosines say nothing."""
    inline: bool = False
    """True: fast enough to run inside a write (less than 1 ms a text)."""


class Embedder(Protocol):
    """Port that turns texts into unit vectors."""

    @property
    def card(self) -> EmbedderCard:
        """Facts about the model."""
        ...

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> Floats:
        """Embed texts as float32 [len(texts), dimension].

        Rows have length 1, or 0 for a text with no known word. ModelError: the model failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """Message of a prompt."""

    role: str
    """system, user or assistant."""
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Question to a chat model."""

    messages: tuple[ChatMessage, ...]
    purpose: str
    """Such as extract or reconcile; for logs and figures."""
    schema: Mapping[str, Json] | None = None
    """JSON schema that the answer must satisfy. None: free text."""
    max_tokens: int = 1024
    """Largest number of tokens of the answer."""
    temperature: float | None = 0.0
    """None: the server's default."""
    timeout: float | None = None
    """Seconds for all of it, with retries and corrections.

    None: the model's own time-out for each answer.
    """
    key: str = ""
    """Name of the question, under which a job saves its answer. Empty: its messages."""
    about: tuple[str, ...] = ()
    """Ids of the memories that the messages show."""
    may_be_empty: bool = False
    """True: a whole answer without text says that there is nothing to tell."""
    keep_sound_items: bool = False
    """True: an answer is used without those of its list items that stay unusable."""


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """Answer of a chat model, and its cost."""

    text: str
    data: Json = None
    """Parsed JSON that satisfies the schema, where the request has one."""
    calls: int = 1
    """Calls that it took, with retries and corrections."""
    tokens: int = 0
    """Tokens of all prompts and answers."""
    model: str = ""
    """Name by which the server calls the model."""
    notes: tuple[str, ...] = ()
    """Faults of the answer that were repaired."""
    cut: bool = False
    """True: the answer was cut off; only its complete beginning is here."""


class ChatModel(Protocol):
    """Port of a language model."""

    @property
    def name(self) -> str:
        """Name of the model, for receipts and figures."""
        ...

    def ask(self, request: ChatRequest) -> ChatAnswer:
        """Answer a request.

        ModelError: the model failed, after all retries. BudgetError: the day's budget is spent.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatModelMeasurement:
    """Speed and abilities of a chat model, measured by two questions."""

    first_seconds: float
    """Seconds until the first word. 0: unknown."""
    seconds: float
    """Seconds that a short answer in JSON took."""
    json: str
    """Way by which it gives JSON: schema, object_schema, tool, object or prompt. Empty: it gives
    none."""
    context_tokens: int = 0
    """Size of its context, as the server reports it. 0: it does not."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """What the server said, by the name of the part of a request that it refused."""


@runtime_checkable
class MeasurableChat(Protocol):
    """Chat model that can be measured."""

    def measure(self) -> ChatModelMeasurement:
        """Measure the model's speed and abilities by two questions."""
        ...


@dataclass(frozen=True, slots=True)
class MediaRequest:
    """Picture or sound to tell of in words."""

    data: bytes
    """The file; of a picture its small copy without metadata."""
    media_type: str
    note: str = ""
    """Words of its owner about it."""


class MediaModel(Protocol):
    """Port of a model that tells what a picture shows, or what is said in a sound."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    def tell(self, request: MediaRequest) -> str:
        """Tell of a file in words, which are never empty.

        ModelError: the model failed, took too long, or answered without words.
        """
        ...


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """Statements about a text whose truth is asked for."""

    text: str
    statements: tuple[str, ...]
    """Sentences that are true or not."""
    seconds: float = 10.0
    """Time that it may take."""


class Judge(Protocol):
    """Port of a decision model: it answers by probabilities, and writes nothing."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    def judge(self, request: JudgeRequest) -> tuple[float | None, ...]:
        """Return the probability, 0..1, that each statement is true; None: it declined.

        ModelError: the model failed, or took too long.
        """
        ...


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """Query and texts to score."""

    query: str
    texts: tuple[str, ...]
    seconds: float = 1.0
    """Time that it may take."""
    session: str = ""
    """Conversation that the query is a turn of, unique over owners. Empty: of none."""
    ids: tuple[str, ...] = ()
    """Ids of the texts, for a query with a session."""
    topic_changed: bool = False
    """True: the turn changes the topic of its session."""


class Reranker(Protocol):
    """Port that scores texts by their relevance to a query."""

    @property
    def name(self) -> str: ...

    def rank(self, request: RerankRequest) -> tuple[float | None, ...]:
        """Return a score of 0..1 for each text; None: there was no time for it."""
        ...


@runtime_checkable
class JudgementCounter(Protocol):
    """Reranker that counts the outcomes of its judgements."""

    def counts(self) -> Mapping[str, int]:
        """Return outcome -> number, since it was made."""
        ...


@dataclass(frozen=True, slots=True)
class DiscoveredModelServer:
    """Model server that was found."""

    name: str
    provider: Literal["openai", "ollama"]
    """Protocol that it speaks."""
    url: str
    """Address, as for ``chat.url``."""
    models: tuple[str, ...] = ()
    """Names of its models that can chat."""
    embedders: tuple[str, ...] = ()
    """Names of its embedding models, the strongest first."""
