"""Upkeep keeps to its hours and budget, and pauses while somebody waits for the same model."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.flows.test_slow_model import as_options, eventually, served
from typer.testing import CliRunner

import engrams
from engrams import MemoryEngine
from engrams.models.chat.upkeep_schedule import find_opening
from engrams.ports import ChatMessage, ChatRequest, JobSpec
from engrams.program.main import app
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")


def settings(model: ScriptedModel, **more: Any) -> dict[str, Any]:
    fixed = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": model.url,
        "chat__retries": 0,
        "write__extract": "rules",
    }
    return {**fixed, "upkeep__quiet_seconds": 0.0, **more}


def plan_cycle(memory: MemoryEngine) -> None:
    """A garden cycle by a model that is due now, as a trigger plans it."""
    memory.store.enqueue(
        [
            JobSpec(
                "garden", "", {"items": [["user/ann", "something was learned", ["agent"], False]]}
            )
        ],
        memory.now(),
    )


def state_of(memory: MemoryEngine) -> str:
    return next(job.state for job in memory.store.queue() if job.kind == "garden")


def report(_: object) -> dict[str, Any]:
    return {"actions": [], "report": {"summary": "All is well.", "next_minutes": 60}}


@pytest.mark.parametrize(
    ("hours", "now", "opens"),
    [
        ("", "12:00", None),
        ("22:00-06:00", "21:59", "22:00"),
        ("22:00-06:00", "05:59", None),
        ("22:00-06:00", "06:00", "22:00"),
        ("01:00-02:00, 12:30-13:00", "12:29", "12:30"),
        ("01:00-02:00,12:30-13:00", "13:00", "01:00"),
        ("00:00-00:00", "09:00", None),
    ],
)
def test_hours_of_the_day(hours: str, now: str, opens: str | None) -> None:
    """Spans begin with their first minute, end before their last, and may pass midnight."""
    found = find_opening(hours, datetime.fromisoformat(f"2026-03-01T{now}:30+00:00"))
    assert (found and f"{found:%H:%M}") == opens


def test_upkeep_waits_for_its_hours(home: Path) -> None:
    """By day a due cycle waits and `engrams status` says for which hour;
    what a person starts runs at once; at night it runs.
    """
    clock = SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with ScriptedModel(answer=report) as model:
        given = settings(model, upkeep__hours="22:00-06:00")
        with engrams.open(home=home, clock=clock, jobs__workers=0, **given) as memory:
            memory.add("I like tea", scope=ANN)
            plan_cycle(memory)
            assert memory.drain(5)
            assert state_of(memory) == "waiting"
            assert not model.requests
            told = memory.status()["upkeep"]
            assert told["waiting"] == {"garden": 1}
            assert told["until"] == datetime(2026, 3, 1, 22, tzinfo=UTC)
            memory.garden.run(ANN, ["agent"])
            assert len(model.requests) == 1
            plan_cycle(memory)
            clock.set("2026-03-01T22:00")
            assert memory.drain(5)
            assert state_of(memory) == "done"
            assert len(model.requests) == 2


def test_status_tells_which_hour(home: Path) -> None:
    """The command names the hour, the jobs and the setting."""
    minute = datetime.now(UTC).minute
    hour = (datetime.now(UTC).hour + 12) % 24
    with engrams.open(home=home, jobs__workers=0) as memory:
        plan_cycle(memory)
    options = [
        "--set",
        "jobs.workers=0",
        "--set",
        f"upkeep.hours={hour:02}:{minute:02}-{hour:02}:{(minute + 1) % 60:02}",
    ]
    if minute < 59:
        told = CliRunner().invoke(app, ["status", *options], env={"ENGRAMS_HOME": str(home)}).output
        assert f"{hour:02}:{minute:02} UTC: garden 1 (upkeep.hours is" in told


def test_upkeep_has_a_budget_of_its_own(home: Path) -> None:
    """After its calls of the day a cycle waits for tomorrow, while other work goes on asking;
    a restart does not forget.
    """
    clock = SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with ScriptedModel(answer=report) as model:
        given = settings(model, upkeep__daily_calls=1)
        with engrams.open(home=home, clock=clock, jobs__workers=0, **given) as memory:
            memory.add("I like tea", scope=ANN)
            plan_cycle(memory)
            assert memory.drain(5)
            assert memory.status()["upkeep"]["calls"] == 1
        with engrams.open(home=home, clock=clock, jobs__workers=0, **given) as memory:
            plan_cycle(memory)
            assert memory.drain(5)
            told = memory.status()["upkeep"]
            assert told["waiting"] == {"garden": 1}
            assert told["reason"] == "today's 1 calls of upkeep.daily_calls are used up"
            memory.garden.run(ANN, ["agent"])
            clock.set("2026-03-02T00:00")
            plan_cycle(memory)
            assert memory.drain(5)
            assert len(model.requests) == 3


def waits(check: Callable[[], bool], seconds: float = 0.6) -> bool:
    """Whether it does not happen for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not check():
        time.sleep(0.02)
    return not check()


def test_upkeep_pauses_while_somebody_chats(home: Path) -> None:
    """While an engine elsewhere on this home waits for an answer of the model, no cycle of this one
    asks it.
    """
    with ScriptedModel(
        answer=lambda request: report(request) if "garden" in request.prompt.lower() else "Hello."
    ) as model:
        given = settings(model)
        with (
            engrams.open(home=home, jobs__workers=1, **given) as memory,
            engrams.open(home=home, jobs__workers=0, **given) as other,
        ):
            memory.add("I like tea", scope=ANN)
            model.fail("hang", seconds=1.5)
            assert other.chat_model is not None
            asked = ChatRequest((ChatMessage("user", "Hello there"),), "chat")
            person = threading.Thread(target=other.chat_model.ask, args=(asked,))
            person.start()
            assert model.wait(1)
            plan_cycle(memory)
            memory.work.wake()
            assert waits(lambda: len(model.requests) > 1)
            assert memory.status()["upkeep"]["reason"] == "somebody waits for the model"
            person.join()
            assert eventually(lambda: state_of(memory) == "done")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.slow
def test_upkeep_pauses_during_a_relayed_turn(home: Path, stream: bool) -> None:
    """In a served proxy whose upstream does the memory work, a cycle waits until the turn has been
    answered.
    """
    with ScriptedModel(
        answer=lambda request: report(request) if "garden" in request.prompt.lower() else "Hello."
    ) as model:
        given = settings(model, serve__upstream=f"{model.url}/v1", serve__upstream_learns=False)
        with engrams.open(home=home, jobs__workers=0, **given) as memory:
            memory.add("I like tea", scope=ANN)
            with served(home, *as_options(given)):
                assert eventually((home / "serve.json").exists)
                address = json.loads((home / "serve.json").read_text())["url"]
                model.fail("hang", seconds=2.5, only="chat")
                body = {
                    "model": "m",
                    "messages": [{"role": "user", "content": "Hello there"}],
                    "stream": stream,
                }
                answers: list[httpx2.Response] = []
                person = threading.Thread(
                    target=lambda: answers.append(
                        httpx2.post(f"{address}/v1/chat/completions", json=body, timeout=20)
                    )
                )
                person.start()
                assert model.wait(1)
                plan_cycle(memory)
                assert waits(lambda: len(model.requests) > 1, 1.8)
                person.join()
                assert answers[0].status_code == 200
                assert eventually(lambda: state_of(memory) == "done")
