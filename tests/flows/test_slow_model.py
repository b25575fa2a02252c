"""A language model that is merely slow, over real HTTP:
everything is learned, nothing is asked twice.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind
from engrams.testing import ReceivedModelRequest, ScriptedModel, SettableClock

ANN = ("user", "ann")
SAIL = {
    "turn": 1,
    "text": "Ann sails.",
    "quote": "I sail",
    "subject": "user",
    "predicate": "does",
    "object": "sail",
}


def chat(model: ScriptedModel, **more: Any) -> dict[str, Any]:
    """That model, asked at once and not twice."""
    fixed = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": model.url,
        "chat__retries": 0,
        "write__debounce_seconds": 0.0,
    }
    return {**fixed, "jobs__backoff_seconds": 0.05, **more}


def facts(memory: MemoryEngine) -> list[str]:
    return sorted(
        record.text for record in memory.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE)).records
    )


def eventually_learned(memory: MemoryEngine, wanted: list[str], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while facts(memory) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert facts(memory) == wanted


@contextmanager
def served(home: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """`engrams serve` in a process of its own, killed at the end."""
    command = [sys.executable, "-m", "engrams.program.entry", "serve", "--port", "0", *options]
    environment = {**os.environ, "ENGRAMS_HOME": str(home)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "listens" in process.stdout.readline()
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def as_options(settings: dict[str, Any]) -> list[str]:
    return [
        part
        for name, value in settings.items()
        for part in ("--set", f"{name.replace('__', '.')}={value}")
    ]


def test_a_lease_lives_as_long_as_its_work(home: Path) -> None:
    """A model that thinks three times as long as a lease is asked once:
    no second process takes the job over meanwhile.
    """
    with ScriptedModel() as model:
        model.when("Below are numbered messages", {"statements": [SAIL]}).fail("hang", seconds=1.2)
        given = chat(model, jobs__lease_seconds=0.4)
        with (
            engrams.open(home=home, jobs__workers=1, **given) as memory,
            engrams.open(home=home, jobs__workers=1, **given) as other,
        ):
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
            other.observe(Turn("Hello there"), scope=("user", "bob"))
            eventually_learned(memory, ["Ann sails."])
            assert sum("I sail" in request.prompt for request in model.requests) == 1


def test_a_model_slower_than_its_time_out_gets_more_time(home: Path) -> None:
    """A time-out that was too short for this model is the last of its kind:
    the next process knows its pace.
    """
    with ScriptedModel() as model:
        model.when("Below are numbered messages", {"statements": [SAIL]}).fail(
            "hang", times=9, seconds=0.8
        )
        given = chat(model, chat__timeout_seconds=0.7)
        with engrams.open(home=home, jobs__workers=1, jobs__max_attempts=1, **given) as memory:
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
            while not memory.status()["dead"]:
                time.sleep(0.02)
        with engrams.open(home=home, jobs__workers=1, jobs__max_attempts=1, **given) as memory:
            memory.retry()
            eventually_learned(memory, ["Ann sails."])


def test_a_fresh_process_goes_on_with_due_work(home: Path) -> None:
    """Without a write, a search or a request:
    an opened engine, and a served one, do what an earlier process left.
    """
    with ScriptedModel() as model:
        model.when("Below are numbered messages", {"statements": [SAIL]})
        given = chat(model)
        with engrams.open(home=home, jobs__workers=0, **given) as memory:
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
        with engrams.open(home=home, **given):
            assert model.wait(1, 10)
    with (
        ScriptedModel() as model,
        engrams.open(home=home / "served", jobs__workers=0, **(given := chat(model))) as memory,
    ):
        model.when("Below are numbered messages", {"statements": [SAIL]})
        memory.observe(Turn("I sail on Sundays"), scope=ANN)
        with served(home / "served", *as_options(given)):
            eventually_learned(memory, ["Ann sails."])


@pytest.mark.slow
def test_a_server_tells_its_backlog(home: Path) -> None:
    """On standard error: what was left at the start, what is done now, and that it is done."""
    with (
        ScriptedModel() as model,
        engrams.open(home=home, jobs__workers=0, **(given := chat(model))) as memory,
    ):
        model.when("Below are numbered messages", {"statements": [SAIL]}).fail("hang", seconds=3)
        memory.observe(Turn("I sail on Sundays"), scope=ANN)
        with served(home, *as_options(given), "--set", "serve.backlog_seconds=0.2") as process:
            eventually_learned(memory, ["Ann sails."])
            time.sleep(1)
            process.terminate()
            assert process.stderr is not None
            lines = [
                line
                for line in process.stderr.read().splitlines()
                if line.startswith("background work")
            ]
        assert "extract 1, oldest" in lines[0]
        assert any("now extracting 1 turns, attempt 1" in line for line in lines)
        assert lines[-1] == "background work: done"


def test_a_server_tells_what_its_model_gets_wrong(home: Path) -> None:
    """On standard error:
    how many statements were dropped or mended and why, without a word of them.
    """
    invented = {**SAIL, "quote": "I sail round the Horn", "text": "Ann sailed round the Horn."}
    with (
        ScriptedModel() as model,
        engrams.open(home=home, jobs__workers=0, **(given := chat(model))) as memory,
    ):
        model.when(
            "Below are numbered messages",
            {"statements": [SAIL, SAIL, invented, {**SAIL, "subject": "the assistant"}]},
        ).fail("prose")
        memory.observe(Turn("I sail on Sundays"), scope=ANN)
        with served(home, *as_options(given)) as process:
            eventually_learned(memory, ["Ann sails."])
            process.terminate()
            assert process.stderr is not None
            (told,) = [
                line
                for line in process.stderr.read().splitlines()
                if "answers of the model" in line
            ]
    for reason in (
        "its quote is not in the message",
        "said twice in one answer",
        "it is about the assistant",
        "the JSON stood among other text",
    ):
        assert f"1 × {reason}" in told
    assert "Horn" not in told


def test_sleep_of_the_machine_is_noticed(home: Path) -> None:
    """After hours of sleep a frozen worker keeps its job, and what became due meanwhile is done at
    once.
    """
    clock = SettableClock("2026-03-01T09:00")
    with ScriptedModel() as model:
        model.when("Below are numbered messages", {"statements": [SAIL]}).fail("hang", seconds=1.5)
        given = chat(model, jobs__lease_seconds=600.0)
        with engrams.open(home=home, clock=clock, jobs__workers=2, **given) as memory:
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
            assert model.wait(1)
            clock.forward(hours=8)
            memory.observe(Turn("Hello there"), scope=("user", "bob"))
            eventually_learned(memory, ["Ann sails."])
            assert sum("I sail" in request.prompt for request in model.requests) == 1


def test_tokens_spent_never_fall(home: Path) -> None:
    """What a running call may still use is no part of what the day has spent."""
    with ScriptedModel() as model:
        model.fail("hang", seconds=0.3)
        with engrams.open(
            home=home, jobs__workers=1, **chat(model, chat__daily_tokens=100_000)
        ) as memory:
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
            seen = []
            end = time.monotonic() + 10
            while time.monotonic() < end and not (seen and seen[-1]):
                seen.append(memory.status()["spent"]["tokens"])
                time.sleep(0.01)
            assert seen == sorted(seen)
            assert 0 < seen[-1] < 4000


EXTRACT = "Below are numbered messages"
MEETS = "how it meets what is known"
TOPICS = (
    "Bach",
    "Brahms",
    "Liszt",
    "chess",
    "rowing",
    "tea",
    "rye",
    "Oslo",
    "Lima",
    "jazz",
    "yoga",
    "cats",
)


def told(request: ReceivedModelRequest) -> dict[str, Any]:
    """A model that takes one statement from each numbered message, and lets all of them stand."""
    if MEETS in request.prompt:
        return {"decisions": []}
    lines = re.findall(
        r"^\[(\d+)\] .*?: \"(.*)\"$", request.prompt.split("The messages:")[-1], re.MULTILINE
    )
    return {
        "statements": [
            {
                "turn": int(number),
                "quote": text,
                "text": text.replace("I like", "Ann likes"),
                "predicate": "likes",
                "object": text[7:],
            }
            for number, text in lines
        ]
    }


def asked(model: ScriptedModel, words: str) -> int:
    return sum(words in request.prompt for request in model.requests)


@pytest.mark.parametrize(
    "model_seconds", [pytest.param(0.17), pytest.param(17, marks=pytest.mark.slow)]
)
def test_twelve_turns_need_two_calls(home: Path, model_seconds: float) -> None:
    """A conversation of twelve turns beside twenty known facts:
    one extraction, one reconciliation, however slow the model.
    """
    with ScriptedModel(answer=told) as model:
        with engrams.open(home=home, jobs__workers=0) as memory:
            for number in range(20):
                memory.add(f"I like dish number {number}", scope=ANN)
            known = len(facts(memory))
        model.fail("hang", times=99, seconds=model_seconds)
        turns = [Turn(f"I like {topic} a lot", session="s1") for topic in TOPICS]
        answers = [Turn(f"Noted: {topic}", role="assistant", session="s1") for topic in TOPICS]
        with engrams.open(home=home, **chat(model)) as memory:
            memory.observe(
                [turn for pair in zip(turns, answers, strict=True) for turn in pair], scope=ANN
            )
            eventually_count(memory, known + 12, 90)
        assert len(model.requests) <= 2


def test_talk_at_a_persons_pace_needs_two_calls(home: Path) -> None:
    """A turn every two minutes is learned from once it pauses, not turn by turn:
    as few calls as for turns that come at once.
    """
    clock = SettableClock("2026-03-01T09:00")
    with ScriptedModel(answer=told) as model:
        given = {"chat__provider": "openai", "chat__model": "m", "chat__url": model.url}
        with engrams.open(home=home, clock=clock, jobs__workers=0, **given) as memory:
            for topic in TOPICS:
                memory.observe(Turn(f"I like {topic} a lot", session="s1"), scope=ANN)
                clock.forward(minutes=2)
                assert memory.drain()
            clock.forward(minutes=3)
            assert memory.drain()
            assert len(facts(memory)) == 12
        assert len(model.requests) <= 2


def eventually_count(memory: MemoryEngine, number: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while len(facts(memory)) < number and time.monotonic() < end:
        time.sleep(0.02)
    assert len(facts(memory)) == number


@pytest.mark.slow
@pytest.mark.parametrize(("model_seconds", "kills"), [(17, 0), (90, 0), (90, 2)])
def test_a_served_conversation_is_learned_by_a_slow_model(
    home: Path, model_seconds: float, kills: int
) -> None:
    """`engrams serve`, twelve turns beside twenty known facts:
    two answers teach all, also where the server is killed during each.
    """
    with ScriptedModel(answer=told) as model:
        with engrams.open(home=home, jobs__workers=0) as memory:
            for number in range(20):
                memory.add(f"I like dish number {number}", scope=ANN)
            known = len(facts(memory))
        model.fail("hang", times=99, seconds=model_seconds)
        given = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "jobs__lease_seconds": 10,
        }
        with engrams.open(home=home, jobs__workers=0, write__debounce_seconds=0, **given) as memory:
            memory.observe(
                [Turn(f"I like {topic} a lot", session="s1") for topic in TOPICS], scope=ANN
            )
            for number in range(kills):
                with served(home, *as_options(given)):
                    assert eventually(lambda: len(model.requests) > 2 * number, 300)  # noqa: B023 - called at once
                    time.sleep(model_seconds / 3)
            with served(home, *as_options(given)):
                eventually_count(memory, known + 12, 90 if model_seconds < 30 else 600)
        prompts = Counter(request.prompt for request in model.requests if request.route == "chat")
        assert sorted(prompts.values()) == ([2, 2] if kills else [1, 1])


def test_a_model_that_is_cut_off_asks_nothing_again(home: Path) -> None:
    """A process that ends while the model thinks about a reconciliation has kept the extraction for
    the next one.
    """
    with ScriptedModel(answer=told) as model:
        given = chat(model, sessions__shutdown_seconds=0.1)
        with engrams.open(home=home, jobs__workers=1, **given) as memory:
            memory.add("I like tea a lot", scope=ANN)
            eventually_count(memory, 1, 20)
            model.requests.clear()
            model.fail("hang", when=MEETS)
            memory.observe(
                [Turn(f"I like {topic} a lot", session="s1") for topic in TOPICS[:3]], scope=ANN
            )
            assert eventually(lambda: asked(model, MEETS) == 1)
        model.heal()
        with engrams.open(home=home, **given) as memory:
            eventually_count(memory, 4, 20)
        assert (asked(model, EXTRACT), asked(model, MEETS)) == (1, 2)


def eventually(holds: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


def test_the_done_part_of_a_batch_survives(home: Path) -> None:
    """Where the second call fails for good, the first part is stored;
    a retry asks for the second part only.
    """
    with ScriptedModel(answer=told) as model:
        with engrams.open(
            home=home, jobs__workers=0, write__batch_turns=2, jobs__max_attempts=1, **chat(model)
        ) as memory:
            memory.observe(
                [Turn(f"I like {topic} a lot", session="s1") for topic in TOPICS[:4]], scope=ANN
            )
            model.fail("http_400", when="chess")
            memory.drain(20)
            assert facts(memory) == ["Ann likes Bach a lot", "Ann likes Brahms a lot"]
            (dead,) = memory.status()["dead"]
            assert "400" in dead["error"]
            memory.retry()
            memory.drain(20)
            assert len(facts(memory)) == 4
        assert (
            sum(bool(re.search(r"\[1\] .*Bach", request.prompt)) for request in model.requests) == 1
        )


def test_a_purge_reaches_kept_answers(home: Path) -> None:
    """An answer that waits for its reconciliation quotes its messages:
    with one of them purged it is gone, and asked for anew.
    """
    with (
        ScriptedModel(answer=told) as model,
        engrams.open(home=home, jobs__workers=0, **chat(model)) as memory,
    ):
        memory.add("I like tea", scope=ANN)
        memory.drain(20)
        first, _ = memory.observe(
            [Turn(f"I like {topic} a lot", session="s1") for topic in ("Xanadu", "Bach")], scope=ANN
        )
        model.fail("hang", when=MEETS)
        worker = threading.Thread(target=memory.work.run_job)
        worker.start()
        assert eventually(lambda: asked(model, MEETS) == 1)
        (job,) = memory.store.queue(("running",))
        assert "Xanadu" in str(job.payload)
        erased = memory.purge(first.id, scope=ANN)
        assert not any(erased.remaining.values())
        assert "Xanadu" not in str([one.payload for one in memory.store.queue()])
        model.stop()
        worker.join(20)
        model.heal().start()
        memory.drain(20)
        assert not [text for text in facts(memory) if "Xanadu" in text]
        assert [text for text in facts(memory) if "Bach" in text]


@pytest.mark.slow
def test_an_upstream_does_the_memory_work(home: Path) -> None:
    """A proxy without a model of its own learns by its upstream's;
    a setting forbids it, and rules do the work.
    """
    with ScriptedModel(answer=told, models=("nomic-embed", "big")) as model:
        options = ["--upstream", f"{model.url}/v1", "--set", "write.debounce_seconds=0"]
        with engrams.open(home=home, jobs__workers=0, **chat(model)) as memory:
            memory.observe(Turn("I like tea a lot", session="s1"), scope=ANN)
            with served(home, *options, "--set", "serve.upstream_learns=false"):
                assert eventually(lambda: any("tea" in text for text in facts(memory)))
            assert asked(model, EXTRACT) == 0
            memory.observe(Turn("I like Bach a lot", session="s2"), scope=ANN)
            with served(home, *options):
                assert eventually(lambda: "Ann likes Bach a lot" in facts(memory))
        assert {request.model for request in model.requests if EXTRACT in request.prompt} == {"big"}
