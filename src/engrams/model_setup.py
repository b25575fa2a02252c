"""Set-up of a chat model: find servers, try a model, and write it into config.toml.

This comes before an engine: surfaces use it to ask a person which model memory should have.
"""

from __future__ import annotations

import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from engrams.core.clock import now
from engrams.errors import EngramsError, SettingsError
from engrams.models.chat.factory import choose_chat
from engrams.models.server_discovery import (
    NO_CHAT,
    find_connection_problem,
    find_model_server_at,
    find_model_servers,
)
from engrams.ports import (
    ChatModel,
    ChatModelMeasurement,
    Clock,
    Closable,
    DiscoveredModelServer,
    Embedder,
    JudgeRequest,
    MeasurableChat,
    ModelUsageLedger,
)
from engrams.settings import ChatSettings, EmbedSettings, JudgeSettings, RerankSettings

if TYPE_CHECKING:
    from engrams.engine import MemoryEngine
    from engrams.models.chat.retrying import RetryingServerChat

__all__ = [
    "NO_CHAT",
    "ModelCheckResult",
    "ModelConnectionParameters",
    "ModelTrial",
    "check_embedder",
    "check_judge",
    "check_model",
    "check_reranker",
    "compare_embedder",
    "connect",
    "describe_destination",
    "find_chat_problem",
    "find_connection_problem",
    "find_model_server_at",
    "find_model_servers",
    "save_connection",
    "save_embedder",
    "save_reranker",
    "save_upstream",
]

_JUDGED_BY_OTHERS = "Until it answers, the chat model or rules decide."
_FEWEST_RERANKED = 10
"""Memories that a reranker must judge in its time to be worth it: a page of hits."""
_LEAST_SEPARATION_SHARE = 0.95
"""Share of the present embedder's separation that another one must reach to take its place. English
embedders reach 0.97 of the built-in table's at least on English chats, and 0.81 at most on Chinese.
"""
_EMBEDDER_SECONDS = 60.0
"""Seconds of a trial: a local server may have to load the model first."""
_MIN_CONTEXT_TOKENS = 8192
"""A prompt of extraction with its turns, known memories and answer may take as much."""


@dataclass(frozen=True, slots=True)
class ModelConnectionParameters:
    """Provider, address, model and key of a connection to a chat model."""

    provider: Literal["none", "openai", "ollama"]
    """The protocol that the server speaks; none: memory works by rules alone."""
    url: str = ""
    model: str = ""
    api_key: str | None = None
    """None: the key that is in the settings, if it is for this server. Empty: no key."""
    timeout_seconds: float | None = None
    """None: the time-out in the settings stays."""


@dataclass(frozen=True, slots=True)
class ModelCheckResult:
    """Result of asking a model."""

    state: Literal["ok", "info", "warn", "fail"]
    """``info``: it was not measured. ``warn``: it works, with a context that is too small."""
    detail: str
    hint: str = ""
    measured: ChatModelMeasurement | None = None
    """None: no answer came."""


def check_model(model: ChatModel) -> ModelCheckResult:
    """Ask a model twice, within its own time-out, and judge its answers."""
    if not isinstance(model, MeasurableChat):
        return ModelCheckResult("info", f"{model.name}, not measured")
    try:
        measured = model.measure()
    except EngramsError as problem:
        return ModelCheckResult(
            "fail", problem.message, problem.hint or "Check chat.url, chat.model and chat.api_key."
        )
    tokens = measured.context_tokens
    context = f", context {tokens:,} tokens" if tokens else ""
    first_word = (
        f"first word after {measured.first_seconds:.1f} s, " if measured.first_seconds else ""
    )
    speed = f"{model.name}: {first_word}a short answer in {measured.seconds:.1f} s, "
    if not measured.json:
        return ModelCheckResult(
            "fail",
            f"{speed}but no JSON{context}{_describe_refusals(measured)}",
            "Choose a larger model, or one that supports JSON schemas.",
            measured,
        )
    detail = f"{speed}JSON by {measured.json}{context}{_describe_refusals(measured)}"
    if 0 < tokens < _MIN_CONTEXT_TOKENS:
        hint = (
            f"Give it a context of at least {_MIN_CONTEXT_TOKENS:,} tokens, or lower"
            " write.batch_turns."
        )
        return ModelCheckResult("warn", detail, hint, measured)
    return ModelCheckResult("ok", detail, "", measured)


def check_judge(section: JudgeSettings, clock: Clock) -> ModelCheckResult:
    """Ask a decision model one question; ``section`` names one."""
    from engrams.models.judge.decisions import DecisionServerJudge

    start = time.perf_counter()
    request = JudgeRequest("It is raining.", ("The text is about the weather.",), section.seconds)
    try:
        judge = DecisionServerJudge(section.model, clock, section.url, section.api_key)
        with closing(judge):
            (probability,) = judge.judge(request)
    except EngramsError as problem:
        return ModelCheckResult("warn", f"{problem.message} {_JUDGED_BY_OTHERS}", problem.hint)
    seconds = time.perf_counter() - start
    if probability is None:
        return ModelCheckResult(
            "warn",
            f"{judge.name} declined an easy question. {_JUDGED_BY_OTHERS}",
            "Choose another judge.model.",
        )
    return ModelCheckResult("ok", f"{judge.name}: a decision in {seconds:.1f} s")


def _describe_refusals(measured: ChatModelMeasurement) -> str:
    """Say which parts of a request the server refuses, and in which words."""
    return "".join(
        f"\n      it refuses {name}, which is not sent: {words}"
        for name, words in measured.refusals.items()
    )


class ModelTrial:
    """Trial of a model that is not in use yet; a newer trial ends the one before it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: RetryingServerChat | None = None

    def run(
        self, chat: ChatSettings, clock: Clock, ledger: ModelUsageLedger | None = None
    ) -> ModelCheckResult:
        """Ask the model that ``chat`` names.

        ``ledger``: knows its pace. SettingsError: an address or name is missing or wrong.
        """
        # No retries: a person waits for the first answer.
        model = choose_chat(chat.model_copy(update={"retries": 0}), clock, ledger)
        if model is None:
            return ModelCheckResult("info", "no language model is set; rules extract facts")
        with self._lock:
            earlier_model = self._running
            self._running = model
        if earlier_model is not None:
            earlier_model.close()
        try:
            return check_model(model)
        finally:
            model.close()


def find_chat_problem(chat: ChatSettings) -> SettingsError | None:
    """Return the problem of chat settings, if any; calls nothing."""
    try:
        model = choose_chat(chat, now)
    except SettingsError as problem:
        return problem
    if model is not None:
        model.close()
    return None


def connect(chat: ChatSettings, connection: ModelConnectionParameters) -> ChatSettings:
    """Put a connection into settings.

    The key that is in the settings is kept only where the connection is to the same server.
    """
    changes: dict[str, Any] = {
        "provider": connection.provider,
        "url": connection.url,
        "model": connection.model,
    }
    if connection.timeout_seconds is not None:
        changes["timeout_seconds"] = connection.timeout_seconds
    connected = chat.model_copy(update=changes)
    key = connection.api_key
    if key is None:
        key = chat.api_key if _get_server(connected) == _get_server(chat) else ""
    return connected.model_copy(update={"api_key": key.strip()})


def save_connection(file: Path, connection: ModelConnectionParameters) -> None:
    """Write a connection into config.toml, and nothing else of it.

    Without a model the rest of [chat] stays as it was. SettingsError: the file cannot be parsed.
    """
    from engrams.settings.config_editor import set_values

    if connection.provider == "none":
        set_values(file, "chat", {"provider": "none"})
        return
    section = _read_chat_section(file)
    saved = {
        name: section[name]
        for name in ("provider", "url", "api_key")
        if isinstance(section.get(name), str)
    }
    chat = connect(ChatSettings().model_copy(update=saved), connection)
    values: dict[str, Any] = {"provider": chat.provider, "url": chat.url, "model": chat.model}
    if chat.api_key or "api_key" in section:
        values["api_key"] = chat.api_key
    if connection.timeout_seconds is not None:
        values["timeout_seconds"] = connection.timeout_seconds
    set_values(file, "chat", values)


def save_preset(file: Path, preset: str) -> None:
    """Write the preset into config.toml, and nothing else of it."""
    from engrams.settings.config_editor import set_values

    set_values(file, "", {"preset": preset})


def save_upstream(file: Path, url: str) -> None:
    """Write the proxy's upstream into config.toml, and nothing else of it."""
    from engrams.settings.config_editor import set_values

    set_values(file, "serve", {"upstream": url})


def save_embedder(file: Path, server: DiscoveredModelServer, model: str, api_key: str) -> None:
    """Write an embedding model of a server into config.toml, and nothing else of it."""
    from engrams.settings.config_editor import set_values

    values = {"provider": server.provider, "url": server.url, "model": model}
    if api_key:
        values["api_key"] = api_key
    set_values(file, "embed", values)


@contextmanager
def _open_embedder(server: DiscoveredModelServer, model: str, api_key: str) -> Iterator[Embedder]:
    """Connect to an embedding model for a trial."""
    from engrams.models.embed.factory import choose_embedder

    embedder = choose_embedder(
        EmbedSettings(
            provider=server.provider,
            url=server.url,
            model=model,
            api_key=api_key,
            timeout_seconds=_EMBEDDER_SECONDS,
        )
    )
    try:
        yield embedder
    finally:
        if isinstance(embedder, Closable):
            embedder.close()


def check_embedder(server: DiscoveredModelServer, model: str, api_key: str) -> str:
    """Try an embedding model, and say how long the vector of a question takes.

    ModelError: it gave none.
    """
    with _open_embedder(server, model, api_key) as embedder:
        embedder.embed(["A sentence to load it."], "query")
        start = time.perf_counter()
        embedder.embed(["Another sentence to try it."], "query")
        milliseconds = 1000 * (time.perf_counter() - start)
        return f"{model}: {embedder.card.dimension} dimensions, {milliseconds:.0f} ms a question"


@dataclass(frozen=True, slots=True)
class EmbedderComparisonResult:
    """Result of trying an embedding model on a person's own messages."""

    is_worse: bool
    """It tells messages apart less well than the embedder in use."""
    detail: str


def compare_embedder(
    engine: MemoryEngine,
    scope: tuple[str, ...],
    server: DiscoveredModelServer,
    model: str,
    api_key: str,
) -> EmbedderComparisonResult | None:
    """Try an embedding model on an owner's newest messages, beside the embedder in use.

    None: there are too few messages. ModelError: the model gave no vectors.
    """
    with _open_embedder(server, model, api_key) as embedder:
        if embedder.card.id == engine.embedder.card.id:
            return None
        compared = engine.inspect.compare_embedder(scope, embedder)
    if compared is None:
        return None
    return EmbedderComparisonResult(
        compared.candidate < _LEAST_SEPARATION_SHARE * compared.stored,
        f"{model} tells your last {compared.turns} messages apart by {compared.candidate:.2f} standard"
        f" deviations, {engine.embedder.card.id} by {compared.stored:.2f}",
    )


@dataclass(frozen=True, slots=True)
class RerankerCheckResult:
    """Result of trying a local reranker."""

    milliseconds: float
    """Time of one memory."""
    fitting: int
    """Memories that it judges within ``rerank.seconds``, of ``rerank.candidates`` at most."""
    is_fast: bool
    """They are enough to be worth the time."""
    detail: str


def check_reranker(model: str, rerank: RerankSettings) -> RerankerCheckResult:
    """Try a local reranker, and say what it costs.

    ExtraError: the extra ``local`` is not installed. ModelError: the model cannot be loaded.
    """
    from engrams.models.rerank.local import measure_pair_seconds

    pair_seconds = measure_pair_seconds(model)
    fitting = min(int(rerank.seconds / max(pair_seconds, 1e-6)), rerank.candidates)
    milliseconds = 1000 * pair_seconds
    return RerankerCheckResult(
        milliseconds,
        fitting,
        fitting >= _FEWEST_RERANKED,
        f"{milliseconds:.0f} ms a memory: {fitting} of the best {rerank.candidates} are judged"
        f" within rerank.seconds ({rerank.seconds:g}), {fitting * pair_seconds:.1f} s a search",
    )


def save_reranker(file: Path, model: str) -> None:
    """Write a local reranker into config.toml, and nothing else of it."""
    from engrams.settings.config_editor import set_values

    set_values(file, "rerank", {"provider": "local", "model": model})


def describe_destination(chat: ChatSettings) -> str:
    """Say what memory sends to a model, and where that is."""
    if chat.provider == "none":
        return "Nothing is sent to a language model."
    scheme, host = _get_server(chat)
    from engrams.models.http_client import is_local

    machine = "which is this machine"
    if not is_local(host):
        machine = "which is another machine" + ("" if scheme == "https" else ", without encryption")
    return (
        f"To extract facts, these are sent to {scheme}://{host}, {machine}: messages, the turns"
        " around them, and the memories that they are compared with."
    )


def _get_server(chat: ChatSettings) -> tuple[str, str]:
    """Return scheme and host of the server that a key is for."""
    from engrams.models.chat import ollama, openai

    parts = urlsplit(
        chat.url.strip()
        or (ollama.DEFAULT_URL if chat.provider == "ollama" else openai.DEFAULT_URL)
    )
    return parts.scheme.lower(), parts.netloc.lower()


def _read_chat_section(file: Path) -> dict[str, Any]:
    try:
        section = tomllib.loads(file.read_text("utf-8")).get("chat", {}) if file.exists() else {}
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(
            f"{file} cannot be changed: {problem}", hint="Correct the file, then try again."
        ) from None
    return section if isinstance(section, dict) else {}
