"""Connection of a chat model: tried, described, and written into config.toml."""

from __future__ import annotations

import threading
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from engrams.core.clock import now
from engrams.errors import EngramsError, SettingsError
from engrams.frozen_data import dataclass
from engrams.models.chat.factory import choose_chat
from engrams.ports import ChatModel, ChatModelMeasurement, Clock, MeasurableChat, ModelUsageLedger
from engrams.settings import ChatSettings

if TYPE_CHECKING:
    from engrams.models.chat.retrying import RetryingServerChat

_CONTEXT = 8192


@dataclass(frozen=True, slots=True)
class ModelConnectionParameters:
    """Provider, address, model and key of a connection to a chat model.

    ``provider`` none: rules alone. ``api_key`` None: the known one, if it is for this server;
    empty: none. ``timeout_seconds`` None: as it was.
    """

    provider: Literal["none", "openai", "ollama"]
    url: str = ""
    model: str = ""
    api_key: str | None = None
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ModelCheckResult:
    """Result of asking a model; ``measured`` None: no answer came."""

    state: Literal["ok", "info", "warn", "fail"]
    detail: str
    hint: str = ""
    measured: ChatModelMeasurement | None = None


def check_model(model: ChatModel) -> ModelCheckResult:
    """Ask a model twice, within its own time-out, and judge its answers."""
    if not isinstance(model, MeasurableChat):
        return ModelCheckResult("info", f"{model.name}, not measured")
    try:
        found = model.measure()
    except EngramsError as problem:
        return ModelCheckResult(
            "fail", problem.message, problem.hint or "Check chat.url, chat.model and chat.api_key."
        )
    first = f"first word after {found.first_seconds:.1f} s, " if found.first_seconds else ""
    context = f", context {found.context_tokens:,} tokens" if found.context_tokens else ""
    told = f"{model.name}: {first}a short answer in {found.seconds:.1f} s, "
    if not found.json:
        return ModelCheckResult(
            "fail",
            f"{told}but no JSON{context}",
            "Choose a larger model, or one that supports JSON schemas.",
            found,
        )
    small = 0 < found.context_tokens < _CONTEXT
    hint = (
        f"Give it a context of at least {_CONTEXT:,} tokens, or lower write.batch_turns."
        if small
        else ""
    )
    return ModelCheckResult(
        "warn" if small else "ok", f"{told}JSON by {found.json}{context}", hint, found
    )


class ModelTrial:
    """Trial of a model not in use; a newer ends the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: RetryingServerChat | None = None

    def run(
        self, chat: ChatSettings, clock: Clock, ledger: ModelUsageLedger | None = None
    ) -> ModelCheckResult:
        """Ask the model that ``chat`` names.

        ``ledger``: knows its pace. SettingsError: an address or name is missing or wrong.
        """
        model = choose_chat(
            chat.model_copy(update={"retries": 0}), clock, ledger
        )  # somebody waits for what the first answer tells
        if model is None:
            return ModelCheckResult("info", "no language model is set; rules extract facts")
        with self._lock:
            last = self._running
            self._running = model
        if last is not None:
            last.close()
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

    A key that is known goes to its own server alone.
    """
    given: dict[str, Any] = {
        "provider": connection.provider,
        "url": connection.url,
        "model": connection.model,
    }
    if connection.timeout_seconds is not None:
        given["timeout_seconds"] = connection.timeout_seconds
    asked = chat.model_copy(update=given)
    key = connection.api_key
    if key is None:
        key = chat.api_key if _server_of(asked) == _server_of(chat) else ""
    return asked.model_copy(update={"api_key": key.strip()})


def save_connection(file: Path, connection: ModelConnectionParameters) -> None:
    """Write a connection into config.toml, and nothing else of it.

    Without a model the rest of [chat] stays as it was. SettingsError: the file cannot be parsed.
    """
    from engrams.settings.config_editor import set_values

    if connection.provider == "none":
        set_values(file, "chat", {"provider": "none"})
        return
    held = _read_chat(file)
    old = {
        name: held[name]
        for name in ("provider", "url", "api_key")
        if isinstance(held.get(name), str)
    }
    chat = connect(ChatSettings().model_copy(update=old), connection)
    key = {"api_key": chat.api_key} if chat.api_key or "api_key" in held else {}
    wait: dict[str, Any] = (
        {}
        if connection.timeout_seconds is None
        else {"timeout_seconds": connection.timeout_seconds}
    )
    set_values(
        file,
        "chat",
        {"provider": chat.provider, "url": chat.url, "model": chat.model, **key, **wait},
    )


def save_upstream(file: Path, url: str) -> None:
    """Write the proxy's upstream into config.toml, and nothing else of it."""
    from engrams.settings.config_editor import set_values

    set_values(file, "serve", {"upstream": url})


def describe_destination(chat: ChatSettings) -> str:
    """Say what memory sends to a model, and where that is."""
    if chat.provider == "none":
        return "Nothing is sent to a language model."
    scheme, host = _server_of(chat)
    from engrams.models.http_client import is_local

    machine = "which is this machine"
    if not is_local(host):
        machine = "which is another machine" + ("" if scheme == "https" else ", without encryption")
    return (
        f"What is learned from is sent to {scheme}://{host}, {machine}: messages, the turns around"
        " them, and the memories that they are compared with."
    )


def _server_of(chat: ChatSettings) -> tuple[str, str]:
    """Return scheme and host of the server that a key is for."""
    from engrams.models.chat import ollama, openai

    parts = urlsplit(
        chat.url.strip()
        or (ollama.DEFAULT_URL if chat.provider == "ollama" else openai.DEFAULT_URL)
    )
    return parts.scheme.lower(), parts.netloc.lower()


def _read_chat(file: Path) -> dict[str, Any]:
    try:
        held = tomllib.loads(file.read_text("utf-8")).get("chat", {}) if file.exists() else {}
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(
            f"{file} cannot be changed: {problem}", hint="Correct the file, then try again."
        ) from None
    return held if isinstance(held, dict) else {}
