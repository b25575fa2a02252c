"""A language model that is merely slow, over real HTTP: everything is learned, nothing is asked twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import engrams
from engrams import MemoryEngine, Turn
from engrams.testing import ScriptedModel
from engrams.types import Kind

ANN = ("user", "ann")
SAIL = {"turn": 1, "text": "Ann sails.", "quote": "I sail", "subject": "user", "predicate": "does", "object": "sail"}


def chat(model: ScriptedModel, **more: Any) -> dict[str, Any]:
    """That model, asked at once and not twice."""
    fixed = {"chat__provider": "openai", "chat__model": "m", "chat__url": model.url, "chat__retries": 0, "write__debounce_seconds": 0.0}
    return {**fixed, "jobs__backoff_seconds": 0.05, **more}


def facts(memory: MemoryEngine) -> list[str]:
    return sorted(record.text for record in memory.list(scope=ANN, kinds=(Kind.FACT,)).records)


def eventually_learned(memory: MemoryEngine, wanted: list[str], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while facts(memory) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert facts(memory) == wanted


@contextmanager
def served(home: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`engrams serve` in a process of its own, killed at the end."""
    command = [sys.executable, "-m", "engrams.surfaces.cli.entry", "serve", "--port", "0", *options]
    environment = {**os.environ, "ENGRAMS_HOME": str(home)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "listens" in process.stdout.readline()
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def as_options(settings: dict[str, Any]) -> list[str]:
    return [part for name, value in settings.items() for part in ("--set", f"{name.replace('__', '.')}={value}")]


def test_a_lease_lives_as_long_as_its_work(home: Path) -> None:
    """A model that thinks three times as long as a lease is asked once: no second process takes the job over meanwhile."""
    with ScriptedModel() as model:
        model.when("Below are numbered messages", {"statements": [SAIL]}).fail("hang", seconds=1.2)
        given = chat(model, jobs__lease_seconds=0.4)
        with engrams.open(home=home, jobs__workers=1, **given) as memory, engrams.open(home=home, jobs__workers=1, **given) as other:
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
            other.observe(Turn("Hello there"), scope=("user", "bob"))
            eventually_learned(memory, ["Ann sails."])
            assert sum("I sail" in request.prompt for request in model.requests) == 1


def test_a_model_slower_than_its_time_out_gets_more_time(home: Path) -> None:
    """A time-out that was too short for this model is the last of its kind: the next process knows its pace."""
    with ScriptedModel() as model:
        model.when("Below are numbered messages", {"statements": [SAIL]}).fail("hang", times=9, seconds=0.5)
        given = chat(model, chat__timeout_seconds=0.3)
        with engrams.open(home=home, jobs__workers=1, jobs__max_attempts=1, **given) as memory:
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
            while not memory.status()["dead"]:
                time.sleep(0.02)
        with engrams.open(home=home, jobs__workers=1, jobs__max_attempts=1, **given) as memory:
            memory.retry()
            eventually_learned(memory, ["Ann sails."])


def test_a_fresh_process_goes_on_with_due_work(home: Path) -> None:
    """Without a write, a search or a request: an opened engine, and a served one, do what an earlier process left."""
    with ScriptedModel() as model:
        model.when("Below are numbered messages", {"statements": [SAIL]})
        given = chat(model)
        with engrams.open(home=home, jobs__workers=0, **given) as memory:
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
        with engrams.open(home=home, **given):
            assert model.wait(1, 10)
    with ScriptedModel() as model, engrams.open(home=home / "served", jobs__workers=0, **(given := chat(model))) as memory:
        model.when("Below are numbered messages", {"statements": [SAIL]})
        memory.observe(Turn("I sail on Sundays"), scope=ANN)
        with served(home / "served", *as_options(given)):
            eventually_learned(memory, ["Ann sails."])


def test_tokens_spent_never_fall(home: Path) -> None:
    """What a running call may still use is no part of what the day has spent."""
    with ScriptedModel() as model:
        model.fail("hang", seconds=0.3)
        with engrams.open(home=home, jobs__workers=1, **chat(model, chat__daily_tokens=100_000)) as memory:
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
            seen = []
            end = time.monotonic() + 10
            while time.monotonic() < end and not (seen and seen[-1]):
                seen.append(memory.status()["spent"]["tokens"])
                time.sleep(0.01)
            assert seen == sorted(seen)
            assert 0 < seen[-1] < 4000
