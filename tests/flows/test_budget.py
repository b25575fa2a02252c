"""The day's model budget, in every process on one home."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine
from engrams.errors import BudgetError
from engrams.ports import ChatMessage, ChatRequest
from engrams.settings import load
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
HELLO = ChatRequest((ChatMessage("user", "hello"),), "test")


def opened(home: Path, model: ScriptedModel, clock: SettableClock, **more: object) -> MemoryEngine:
    """An engine on that home with the scripted model."""
    named = {
        "chat.provider": "openai",
        "chat.model": "m",
        "chat.url": f"{model.url}/v1",
        "jobs.workers": 0,
        **more,
    }
    return engrams.open(load({"home": str(home), **named}, environ={}).settings, clock=clock)


def test_a_restart_does_not_begin_a_new_budget(home: Path) -> None:
    """Calls of an engine that was closed, and of another that is open, count;
    the next day begins anew.
    """
    clock = SettableClock(START)
    with ScriptedModel() as model:
        with opened(home, model, clock, **{"chat.daily_calls": 3}) as engine:
            assert engine.chat_model is not None
            engine.chat_model.ask(HELLO)
        with (
            opened(home, model, clock, **{"chat.daily_calls": 3}) as one,
            opened(home, model, clock, **{"chat.daily_calls": 3}) as two,
        ):
            assert one.chat_model is not None and two.chat_model is not None
            one.chat_model.ask(HELLO)
            two.chat_model.ask(HELLO)
            for engine in (one, two):
                with pytest.raises(BudgetError, match="used up"):
                    engine.chat_model.ask(HELLO)  # type: ignore[union-attr]
            assert len(model.requests) == 3
            clock.forward(days=1)
            one.chat_model.ask(HELLO)
            assert two.status()["spent"]["calls"] == 1


def test_status_and_stats_tell_what_was_spent(home: Path) -> None:
    """Calls and tokens of today, and the limits, in the process that did not spend them too."""
    clock = SettableClock(START)
    with ScriptedModel() as model, opened(home, model, clock) as one:
        assert one.stats()["spent"] == {
            "calls": 0,
            "tokens": 0,
            "daily_calls": 0,
            "daily_tokens": 0,
        }
        assert not home.exists()
        assert one.chat_model is not None
        answer = one.chat_model.ask(HELLO)
        with opened(home, model, clock, **{"chat.daily_tokens": 900}) as other:
            told = other.stats(ANN)["spent"]
            assert told == {
                "calls": 1,
                "tokens": answer.tokens,
                "daily_calls": 0,
                "daily_tokens": 900,
            }
            assert other.status()["spent"] == told


def test_incognito_spends_without_a_trace(home: Path) -> None:
    """The budget of an incognito engine is kept in its own memory."""
    with (
        ScriptedModel() as model,
        opened(
            home, model, SettableClock(START), incognito=True, **{"chat.daily_calls": 1}
        ) as engine,
    ):
        assert engine.chat_model is not None
        engine.chat_model.ask(HELLO)
        with pytest.raises(BudgetError):
            engine.chat_model.ask(HELLO)
        assert not home.exists()
