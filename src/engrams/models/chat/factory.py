"""Build a chat model from settings or a user's object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engrams.errors import SettingsError
from engrams.frozen_data import dataclass
from engrams.ports import ChatModel, Clock, ModelUsageLedger
from engrams.settings import ChatSettings, Settings

if TYPE_CHECKING:
    from engrams.models.chat.port import ChatServer, JsonMode
    from engrams.models.chat.retrying import RetryingServerChat
    from engrams.models.chat.upkeep_schedule import UpkeepSchedule


def adopt_upstream(settings: Settings) -> Settings:
    """Use the proxy's upstream as memory's chat model, without another one."""
    serve = settings.serve
    chat = settings.chat
    host = urlsplit(serve.upstream).hostname or ""
    if chat.provider != "none" or not host or not serve.upstream_learns:
        return settings
    from engrams.models.http_client import is_local

    if not (serve.upstream_key or is_local(f"{host}:0")):
        return settings
    own = chat.model_copy(
        update={"provider": "openai", "url": serve.upstream, "api_key": serve.upstream_key}
    )
    return settings.model_copy(update={"chat": own})


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
    server: ChatServer
    if settings.provider == "none":
        return None
    if not settings.model and (settings.provider == "ollama" or not settings.url):
        raise SettingsError(
            "`chat.model` is not set.", hint="Name the model that the server should use."
        )
    from engrams.models.http_client import HttpTimeouts

    waits = HttpTimeouts(settings.connect_seconds, settings.silence_seconds)
    if settings.provider == "ollama":
        from engrams.models.chat.ollama import OllamaChatServer

        server = OllamaChatServer(settings.model, clock, settings.url, settings.api_key, waits)
    else:
        from engrams.models.chat.openai import OpenAIChatServer

        server = OpenAIChatServer(settings.model, clock, settings.url, settings.api_key, waits)
    return _make_model(server, settings, clock, _ModelParts(ledger, None, upkeep))


def inject(
    thing: Any,
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
    if callable(getattr(thing, "ask", None)):
        chat: ChatModel = thing
        return chat
    from engrams.models.chat.custom import CallableChatServer
    from engrams.models.chat.custom import wrap_model as wrap
    from engrams.models.chat.port import JsonMode

    server = wrap(thing, clock, settings.model)
    mode = JsonMode.PROMPT if isinstance(server, CallableChatServer) else JsonMode.SCHEMA
    return _make_model(server, settings, clock, _ModelParts(ledger, mode, upkeep))


@dataclass(frozen=True, slots=True)
class _ModelParts:
    """Parts of a model besides its server; ``mode`` None: asked."""

    ledger: ModelUsageLedger | None
    mode: JsonMode | None
    upkeep: UpkeepSchedule | None


def _make_model(
    server: ChatServer, settings: ChatSettings, clock: Clock, parts: _ModelParts
) -> RetryingServerChat:
    # Most processes ask no model, and need none of this.
    from engrams.models.chat.adaptive_timeout import ModelLatencyTracker
    from engrams.models.chat.retrying import ChatAnswerLimits, RetryingServerChat
    from engrams.models.chat.structured_output import JsonModeFallback
    from engrams.models.chat.usage_meter import DailyModelBudget, InMemoryModelUsageLedger
    from engrams.models.retry import RetryPolicy

    modes = JsonModeFallback() if parts.mode is None else JsonModeFallback(parts.mode)
    kept = parts.ledger or InMemoryModelUsageLedger()
    budget = DailyModelBudget(clock, settings.daily_calls, settings.daily_tokens, kept)
    pace = ModelLatencyTracker(kept, server.name, settings.timeout_seconds)
    limits = ChatAnswerLimits(
        timeout=settings.timeout_seconds, retry=RetryPolicy(retries=settings.retries)
    )
    return RetryingServerChat(
        server, budget, limits=limits, modes=modes, pace=pace, upkeep=parts.upkeep
    )
