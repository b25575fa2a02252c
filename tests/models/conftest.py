"""A scripted server, and models that speak to it without long waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC
from typing import Any, Protocol

import pytest

from engrams.models.chat.budget import DailyModelBudget
from engrams.models.chat.ollama import OllamaChatServer
from engrams.models.chat.openai import OpenAIChatServer
from engrams.models.chat.retrying import ChatAnswerLimits, RetryingServerChat
from engrams.models.retry import RetryPolicy
from engrams.ports import ChatMessage, ChatRequest, Clock
from engrams.testing import ScriptedModel, SettableClock

FACTS = {
    "type": "object",
    "properties": {
        "facts": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 9}
    },
    "required": ["facts"],
    "additionalProperties": False,
}


def spent_today(budget: DailyModelBudget) -> tuple[int, int]:
    """Return the calls and tokens of today."""
    return budget._ledger.spend(budget._clock().astimezone(UTC).date().isoformat(), 0, 0)


class Connect(Protocol):
    def __call__(
        self, server: ScriptedModel, provider: str = "openai", **options: Any
    ) -> RetryingServerChat: ...


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model
    assert not model.problems


@pytest.fixture
def connect() -> Iterator[Connect]:
    made: list[RetryingServerChat] = []

    def connect(
        server: ScriptedModel, provider: str = "openai", **options: Any
    ) -> RetryingServerChat:
        clock: Clock = options.pop("clock", SettableClock())
        kind: Callable[..., Any] = OllamaChatServer if provider == "ollama" else OpenAIChatServer
        limits = ChatAnswerLimits(
            timeout=options.pop("timeout", 5.0),
            corrections=options.pop("corrections", 3),
            retry=RetryPolicy(
                retries=options.pop("retries", 3), first_wait=options.pop("first", 0.005)
            ),
        )
        ledger = options.pop("ledger", None)
        budget = DailyModelBudget(
            clock, options.pop("daily_calls", 0), options.pop("daily_tokens", 0), ledger
        )
        model = RetryingServerChat(
            kind("m", clock, server.url, options.pop("key", "")), budget, limits=limits, **options
        )
        made.append(model)
        return model

    yield connect
    for model in made:
        model.close()


@pytest.fixture
def ask() -> Callable[..., ChatRequest]:
    def ask(text: str = "What do you know?", schema: Any = None, **options: Any) -> ChatRequest:
        return ChatRequest(
            (ChatMessage("system", "You are brief."), ChatMessage("user", text)),
            "test",
            schema,
            **{"timeout": 10.0, **options},
        )

    return ask


@pytest.fixture
def facts() -> dict[str, Any]:
    return FACTS
