"""From settings to a chat model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engrams.errors import SettingsError
from engrams.ports import Chat, Clock, Ledger
from engrams.settings import ChatSettings

if TYPE_CHECKING:
    from engrams.models.chat.meter import Meter
    from engrams.models.chat.model import Model
    from engrams.models.chat.protocol import Server, Way


def choose(settings: ChatSettings, clock: Clock, *, ledger: Ledger | None = None, meter: Meter | None = None) -> Model | None:
    """The configured model, None where there is none. Calls nothing. SettingsError: an address or name is missing or wrong.

    ``ledger``: where the day's spending is kept (default: in memory, so a restart begins a new budget).
    """
    server: Server
    if settings.provider == "none":
        return None
    if not settings.model and (settings.provider == "ollama" or not settings.url):
        raise SettingsError("`chat.model` is not set.", hint="Name the model that the server should use.")
    if settings.provider == "ollama":
        from engrams.models.chat.ollama import Ollama

        server = Ollama(settings.model, clock, settings.url, settings.api_key)
    else:
        from engrams.models.chat.openai import OpenAI

        server = OpenAI(settings.model, clock, settings.url, settings.api_key)
    return _model(server, settings, clock, ledger, None, meter)


def inject(thing: Any, settings: ChatSettings, clock: Clock, *, ledger: Ledger | None = None, meter: Meter | None = None) -> Chat:
    """A chat model that the user brings: an object with ``ask`` and ``name`` as it is; a function from messages to text, or an
    ``openai.OpenAI`` client, with the same retries, checks, meter and budget as a configured one. SettingsError: neither."""
    if callable(getattr(thing, "ask", None)):
        chat: Chat = thing
        return chat
    from engrams.models.chat.custom import Function
    from engrams.models.chat.custom import server as wrap
    from engrams.models.chat.protocol import Way

    server = wrap(thing, clock, settings.model)
    return _model(server, settings, clock, ledger, Way.PROMPT if isinstance(server, Function) else Way.SCHEMA, meter)


def _model(server: Server, settings: ChatSettings, clock: Clock, ledger: Ledger | None, way: Way | None, meter: Meter | None) -> Model:
    """``way``: how it is asked for JSON; None: found out."""
    # Most processes ask no model, and need none of this.
    from engrams.models.chat.budget import Budget
    from engrams.models.chat.model import Limits, Model
    from engrams.models.chat.structured import Ways
    from engrams.models.retry import Retry

    ways = Ways() if way is None else Ways(way)
    budget = Budget(clock, settings.daily_calls, settings.daily_tokens, ledger)
    limits = Limits(timeout=settings.timeout_seconds, retry=Retry(tries=settings.retries))
    return Model(server, budget, limits=limits, ways=ways, meter=meter)
