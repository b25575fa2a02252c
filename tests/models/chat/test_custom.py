"""Models that the user brings along, and models from settings."""

from __future__ import annotations

import threading
from typing import Any

import openai
import pytest

from engrams.errors import BudgetError, ModelError, SettingsError
from engrams.models.chat.factory import choose_chat, inject
from engrams.ports import ChatAnswer, ChatRequest
from engrams.settings import ChatSettings
from engrams.testing import SettableClock

CLOCK = SettableClock()


def settings(**values: Any) -> ChatSettings:
    return ChatSettings(**{"retries": 0, "timeout_seconds": 5.0, "model": "m", **values})


def test_a_function_is_a_model(ask, facts) -> None:
    """A function from messages to text is asked for JSON in words, corrected like any other,
    metered and budgeted.
    """
    seen: list[list[dict[str, str]]] = []

    def reply(messages: list[dict[str, str]]) -> str:
        seen.append(messages)
        return "no idea" if len(seen) == 1 else '```json\n{"facts": ["a"]}\n```'

    chat = inject(reply, settings(daily_calls=3), CLOCK)
    answer = chat.ask(ask(schema=facts))
    assert (answer.data, answer.calls, chat.name) == ({"facts": ["a"]}, 2, "reply")
    assert "JSON schema" in seen[0][0]["content"]
    assert seen[1][-1]["role"] == "user"
    assert chat.ask(ask()).text
    with pytest.raises(BudgetError):
        chat.ask(ask())


def test_what_a_function_raises_or_returns_becomes_a_model_error(ask) -> None:
    """An exception, a wrong type or no answer in time is a ModelError that names the function but
    not its message.
    """

    def broken(messages: Any) -> str:
        raise ValueError("about Alice's salary")

    def wrong(messages: Any) -> Any:
        return 42

    ended = threading.Event()

    def stuck(messages: Any) -> str:
        ended.wait(30)
        return "late"

    with pytest.raises(ModelError, match=r"broken failed \(ValueError\)") as caught:
        inject(broken, settings(), CLOCK).ask(ask())
    assert "salary" not in caught.value.message
    with pytest.raises(ModelError, match="returned int instead of text"):
        inject(wrong, settings(), CLOCK).ask(ask())
    with pytest.raises(ModelError, match="no answer within"):
        inject(stuck, settings(timeout_seconds=0.05), CLOCK).ask(ask())
    ended.set()


def test_a_model_error_of_a_function_keeps_its_meaning(ask) -> None:
    """A function that knows our errors may raise them."""

    def busy(messages: Any) -> str:
        raise ModelError("busy", retryable=True, retry_after=99)

    with pytest.raises(ModelError, match="busy") as caught:
        inject(busy, settings(retries=3), CLOCK).ask(ask())
    assert caught.value.retry_after == 99


def test_an_openai_client_is_a_model(ask, facts, server) -> None:
    """The real client works as it is, with every way of asking for JSON and the same errors."""
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        chat = inject(client, settings(retries=2), CLOCK)
        server.when("JSON|schema|know", {"facts": ["a"]})
        server.lacks.add("schema")
        answer = chat.ask(ask(schema=facts))
        assert (answer.data, answer.calls, answer.model) == ({"facts": ["a"]}, 3, "m")
        assert answer.tokens > 0
        assert chat.ask(ask("lone \ud800 \0")).text
        assert server.requests[-1].text == "lone ? \0"
        server.fail("http_401")
        with pytest.raises(ModelError, match=r"401 \(invalid_api_key\)") as caught:
            chat.ask(ask())
        assert not caught.value.retryable
        server.fail("http_429", seconds=0)
        assert chat.ask(ask()).calls == 2
        server.fail("http_429", seconds=500)
        with pytest.raises(ModelError) as caught:
            chat.ask(ask())
        assert caught.value.retry_after == 500
        server.fail("hang", times=1)
        with pytest.raises(ModelError):
            inject(client, settings(timeout_seconds=0.1), CLOCK).ask(ask())
        with server.down(), pytest.raises(ModelError, match="APIConnectionError"):
            inject(client, settings(), CLOCK).ask(ask())


def test_an_object_with_ask_is_taken_as_it_is() -> None:
    """Whatever satisfies the port is used unchanged."""

    class Own:
        name = "own"

        def ask(self, request: ChatRequest) -> ChatAnswer:
            return ChatAnswer("x")

    own = Own()
    assert inject(own, settings(), CLOCK) is own


def test_what_cannot_be_a_model_is_refused() -> None:
    """Asynchronous models, clients without a model's name and other objects are settings errors
    that say what to give.
    """

    async def later(messages: Any) -> str:
        return "x"

    with openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9") as client:
        for thing, values in (
            (later, {}),
            (openai.AsyncOpenAI(api_key="k"), {}),
            (client, {"model": ""}),
            (42, {}),
            (None, {}),
        ):
            with pytest.raises(SettingsError) as caught:
                inject(thing, settings(**values), CLOCK)
            assert caught.value.hint


def test_settings_choose_the_model(ask, server) -> None:
    """The provider decides the protocol; no provider is no model."""
    assert choose_chat(settings(provider="none"), CLOCK) is None
    for provider, path in (("openai", "/v1/chat/completions"), ("ollama", "/api/chat")):
        for suffix in ("", "/", "/v1", "/v1/"):
            model = choose_chat(
                settings(provider=provider, url=server.url + suffix, api_key=" k "), CLOCK
            )
            assert model is not None
            assert model.ask(ask()).text
            model.close()
            assert server.requests[-1].path == path
            assert server.requests[-1].headers["authorization"] == "Bearer k"
    model = choose_chat(
        settings(provider="openai", url=f"{server.url}/gateway/v2", model=""), CLOCK
    )
    assert model is not None
    assert model.ask(ask()).text
    assert server.requests[-1].path == "/gateway/v2/chat/completions"
    assert server.requests[-1].body["model"] == "scripted"
    model.close()


@pytest.mark.parametrize(
    "values",
    [
        {"provider": "ollama", "model": ""},
        {"provider": "openai", "model": ""},
        {"provider": "openai", "url": "not a url"},
    ],
)
def test_settings_that_cannot_work_are_named(values: dict[str, Any]) -> None:
    """A missing model or an unusable address is a settings error before any call."""
    with pytest.raises(SettingsError) as caught:
        choose_chat(settings(**values), CLOCK)
    assert caught.value.hint
