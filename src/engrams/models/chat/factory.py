"""From settings to a chat model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engrams.errors import SettingsError
from engrams.ports import Chat, Clock, Ledger
from engrams.settings import ChatSettings

if TYPE_CHECKING:
    from engrams.models.chat.meter import UsageMeter
    from engrams.models.chat.model import ServedChat
    from engrams.models.chat.protocol import ChatServer, JsonMode


def choose_chat(
    settings: ChatSettings, clock: Clock, *, ledger: Ledger | None = None, meter: UsageMeter | None = None
) -> ServedChat | None:
    """The configured model, None where there is none. Calls nothing. SettingsError: an address or name is missing or wrong.

    ``ledger``: where the day's spending is kept (default: in memory, so a restart begins a new budget).
    """
    server: ChatServer
    if settings.provider == "none":
        return None
    if not settings.model and (settings.provider == "ollama" or not settings.url):
        raise SettingsError("`chat.model` is not set.", hint="Name the model that the server should use.")
    if settings.provider == "ollama":
        from engrams.models.chat.ollama import OllamaChat

        server = OllamaChat(settings.model, clock, settings.url, settings.api_key)
    else:
        from engrams.models.chat.openai import OpenAIChat

        server = OpenAIChat(settings.model, clock, settings.url, settings.api_key)
    return _make_model(server, settings, clock, ledger, None, meter)


def inject(thing: Any, settings: ChatSettings, clock: Clock, *, ledger: Ledger | None = None, meter: UsageMeter | None = None) -> Chat:
    """A chat model that the user brings: an object with ``ask`` and ``name`` as it is; a function from messages to text, or an
    ``openai.OpenAI`` client, with the same retries, checks, meter and budget as a configured one. SettingsError: neither."""
    if callable(getattr(thing, "ask", None)):
        chat: Chat = thing
        return chat
    from engrams.models.chat.custom import CallableChat
    from engrams.models.chat.custom import wrap_model as wrap
    from engrams.models.chat.protocol import JsonMode

    server = wrap(thing, clock, settings.model)
    return _make_model(server, settings, clock, ledger, JsonMode.PROMPT if isinstance(server, CallableChat) else JsonMode.SCHEMA, meter)


def _make_model(
    server: ChatServer, settings: ChatSettings, clock: Clock, ledger: Ledger | None, way: JsonMode | None, meter: UsageMeter | None
) -> ServedChat:
    """``way``: how it is asked for JSON; None: found out."""
    # Most processes ask no model, and need none of this.
    from engrams.models.chat.budget import ModelBudget
    from engrams.models.chat.model import RequestLimits, ServedChat
    from engrams.models.chat.structured import JsonModeLadder
    from engrams.models.retry import RetryPolicy

    ways = JsonModeLadder() if way is None else JsonModeLadder(way)
    budget = ModelBudget(clock, settings.daily_calls, settings.daily_tokens, ledger)
    limits = RequestLimits(timeout=settings.timeout_seconds, retry=RetryPolicy(retries=settings.retries))
    return ServedChat(server, budget, limits=limits, ways=ways, meter=meter)
