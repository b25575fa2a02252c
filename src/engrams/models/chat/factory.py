"""Build a chat model from settings or a user's object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engrams.errors import SettingsError
from engrams.ports import ChatModel, Clock, ModelUsageLedger
from engrams.settings import ChatSettings, Settings

if TYPE_CHECKING:
    from engrams.models.chat.port import ChatServer
    from engrams.models.chat.retrying import RetryingServerChat
    from engrams.models.chat.upkeep_schedule import UpkeepSchedule


def adopt_upstream(settings: Settings) -> Settings:
    """Use the proxy's upstream as memory's chat model, where there is no other one."""
    serve = settings.serve
    chat = settings.chat
    host = urlsplit(serve.upstream).hostname or ""
    if chat.provider != "none" or not host or not serve.upstream_learns:
        return settings
    from engrams.models.http_client import is_local

    # Without a key of its own the upstream is asked with that of each client, which memory has not.
    if not (serve.upstream_key or is_local(f"{host}:0")):
        return settings
    adopted = chat.model_copy(
        update={"provider": "openai", "url": serve.upstream, "api_key": serve.upstream_key}
    )
    return settings.model_copy(update={"chat": adopted})


def adopt_chat_server(settings: Settings) -> Settings:
    """Chat with memory's chat model where there is no upstream, on a server for this machine alone.

    Whoever connects one model expects that the page's chat uses it. On an address that others reach
    the model is theirs only if `serve.upstream` says so.
    """
    serve = settings.serve
    chat = settings.chat
    from engrams.models.http_client import is_local

    has_upstream = bool(serve.upstream or serve.routes)
    if has_upstream or chat.provider == "none" or not chat.url or not is_local(f"{serve.host}:0"):
        return settings
    url = chat.url.rstrip("/")
    if chat.provider == "ollama" and not url.endswith("/v1"):
        url = f"{url}/v1"
    adopted = serve.model_copy(update={"upstream": url, "upstream_key": chat.api_key})
    return settings.model_copy(update={"serve": adopted})


def choose_chat(
    settings: ChatSettings,
    clock: Clock,
    ledger: ModelUsageLedger | None = None,
    upkeep: UpkeepSchedule | None = None,
) -> RetryingServerChat | None:
    """Build the configured model, None where there is none; calls nothing.

    ``ledger``: keeps the day's spending (default: in memory, so a restart begins a new budget).
    SettingsError: an address or name is missing or wrong.
    """
    if settings.provider == "none":
        return None
    if not settings.model and (settings.provider == "ollama" or not settings.url):
        raise SettingsError(
            "`chat.model` is not set.", hint="Name the model that the server should use."
        )
    from engrams.models.http_client import HttpTimeouts

    timeouts = HttpTimeouts(settings.connect_seconds, settings.silence_seconds)
    server: ChatServer
    if settings.provider == "ollama":
        from engrams.models.chat.ollama import OllamaChatServer

        server = OllamaChatServer(settings.model, clock, settings.url, settings.api_key, timeouts)
    else:
        from engrams.models.chat.openai import OpenAIChatServer

        server = OpenAIChatServer(settings.model, clock, settings.url, settings.api_key, timeouts)
    return _build_model(server, settings, clock, ledger, upkeep)


def inject(
    chat: Any,
    settings: ChatSettings,
    clock: Clock,
    ledger: ModelUsageLedger | None = None,
    upkeep: UpkeepSchedule | None = None,
) -> ChatModel:
    """Wrap a user's function or client as a chat model.

    An object with ``ask`` and ``name`` is taken as it is. A function from messages to text, or an
    ``openai.OpenAI`` client, gets the retries, checks, meter and budget of a configured model.
    SettingsError: it is none of these.
    """
    if callable(getattr(chat, "ask", None)):
        model: ChatModel = chat
        return model
    from engrams.models.chat.custom import wrap_model

    server = wrap_model(chat, clock, settings.model)
    return _build_model(server, settings, clock, ledger, upkeep)


def _build_model(
    server: ChatServer,
    settings: ChatSettings,
    clock: Clock,
    ledger: ModelUsageLedger | None,
    upkeep: UpkeepSchedule | None,
) -> RetryingServerChat:
    # Most processes ask no model, and need none of this.
    from engrams.models.chat.adaptive_timeout import ModelLatencyTracker
    from engrams.models.chat.budget import DailyModelBudget
    from engrams.models.chat.memory_ledger import InMemoryModelUsageLedger
    from engrams.models.chat.request_forms import RequestFormLadder
    from engrams.models.chat.retrying import ChatAnswerLimits, RetryingServerChat
    from engrams.models.retry import RetryPolicy

    ledger = ledger or InMemoryModelUsageLedger()
    return RetryingServerChat(
        server,
        DailyModelBudget(clock, settings.daily_calls, settings.daily_tokens, ledger),
        limits=ChatAnswerLimits(
            timeout=settings.timeout_seconds, retry=RetryPolicy(retries=settings.retries)
        ),
        forms=RequestFormLadder(server.json_modes, ledger, server.address, clock),
        pace=ModelLatencyTracker(ledger, server.name, settings.timeout_seconds),
        upkeep=upkeep,
    )
