"""Requests about memory while memory is slow: no "done" for what was not done, and no late change."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import PATIENCE, Harness, completion, eventually
from tests.surfaces.proxy.raw import Raw, raw_upstream, reply
from tests.surfaces.proxy.test_faults import Gated, locked
from tests.surfaces.proxy.test_memory_commands import Conversation

from engrams.core import Kind, Status
from engrams.surfaces.http.app import create_app
from engrams.surfaces.proxy import memory_deadlines
from engrams.surfaces.proxy.mount import ProxyMount
from engrams.testing import temp_engine

CELLO = "I play the cello."
FALSE_CLAIM = "Done, I have forgotten it."
"""Answer of a model that is asked to forget something."""
MODEL_ANSWERS = {
    "chat": completion(FALSE_CLAIM),
    "anthropic": json.dumps({"content": [{"type": "text", "text": FALSE_CLAIM}]}).encode(),
    "ollama": json.dumps({"message": {"role": "assistant", "content": FALSE_CLAIM}}).encode(),
}
"""That answer in each protocol."""
HURRY = replace(PATIENCE, lookup=0.05, command=0.3)


@pytest.fixture
def raw() -> Iterator[Raw]:
    with raw_upstream() as raw:
        raw.says(reply(completion(FALSE_CLAIM)))
        yield raw


class SlowMemory:
    """A proxy whose memory answers no lookup while ``gate`` is shut."""

    def __init__(self, bench: Harness, gate: threading.Event) -> None:
        self.bench = bench
        self.gate = gate

    @property
    def status(self) -> Status:
        """What became of the statement."""
        records = self.bench.engine.list(scope=("user", "ann"), statuses=tuple(Status)).records
        return next(record.status for record in records if record.text == CELLO)

    def occupy_readers(self) -> None:
        """Leave a lookup behind in each thread that reads memory."""
        self.gate.clear()
        for _ in range(memory_deadlines._READERS):
            self.bench.ask("What is the capital of Peru?")
        self.bench.raw.heard.clear()

    def open_and_settle(self) -> None:
        """Let all lookups end that were left behind."""
        self.gate.set()
        self.bench.engine.drain()
        eventually(lambda: self.bench.client.get("/health").status_code == 200)
        # Lookups run in order: a last one ends behind all that were left behind.
        self.bench.ask("What is the capital of Chile?")


@pytest.fixture
def slow_memory(raw: Raw) -> Iterator[SlowMemory]:
    embedder = Gated()
    embedder.gate.set()
    with temp_engine(
        user="ann", serve__upstream=raw.url + "/v1", serve__upstream_learns=False, embedder=embedder
    ) as engine:
        engine.add(CELLO, scope=("user", "ann"), kind=Kind.TURN)
        app = create_app(engine, engine.settings, [ProxyMount(engine, engine.settings, HURRY)])
        with running(app) as url, httpx2.Client(base_url=url, timeout=30) as client:
            yield SlowMemory(Harness(url, engine, raw, client, "ann"), embedder.gate)
            embedder.gate.set()


@pytest.mark.parametrize("protocol", ["chat", "anthropic", "ollama"])
def test_a_late_question_is_never_asked(slow_memory: SlowMemory, protocol: str) -> None:
    """A lookup that is too late says that nothing was changed, and its question is dropped: a yes
    to it forgets nothing and does not reach the model, which would claim that it did.
    """
    talk = Conversation(slow_memory.bench, protocol)
    slow_memory.gate.clear()
    assert "Nothing was changed" in talk.say("Forget that I play the cello.")
    slow_memory.open_and_settle()
    slow_memory.bench.raw.heard.clear()
    assert "Please say in a sentence" in talk.say("yes")
    assert slow_memory.status is Status.ACTIVE
    assert not slow_memory.bench.raw.heard
    assert "cello" in talk.say("Forget that I play the cello.")
    assert "Forgotten" in talk.say("yes")
    assert slow_memory.status is Status.FORGOTTEN


@pytest.mark.parametrize("answer", ["yes", "ok", "1", "all"])
def test_a_late_yes_is_given_up(slow_memory: SlowMemory, answer: str) -> None:
    """A yes that memory cannot take in time changes nothing, then or later, and the person is told."""
    talk = Conversation(slow_memory.bench)
    assert "Shall I forget" in talk.say("Forget that I play the cello.")
    slow_memory.occupy_readers()
    assert "Nothing was changed" in talk.say(answer)
    assert not slow_memory.bench.raw.heard
    slow_memory.open_and_settle()
    assert slow_memory.status is Status.ACTIVE


def test_a_change_that_has_begun_is_not_denied(slow_memory: SlowMemory) -> None:
    """While another process holds the database nobody can say that a yes changes nothing."""
    talk = Conversation(slow_memory.bench)
    talk.say("Forget that I play the cello.")
    other = locked(slow_memory.bench.engine)
    answer = talk.say("yes")
    other.execute("ROLLBACK")
    other.close()
    assert "not done yet" in answer
    eventually(lambda: slow_memory.status is Status.FORGOTTEN)


@pytest.mark.parametrize("protocol", MODEL_ANSWERS)
def test_the_model_is_told_what_was_not_done(slow_memory: SlowMemory, protocol: str) -> None:
    """A request that goes on is left to the model, with the notice that nothing was changed."""
    slow_memory.bench.raw.says(reply(MODEL_ANSWERS[protocol]))
    talk = Conversation(slow_memory.bench, protocol)
    talk.say("Forget that I play the cello, and what is the capital of Peru?")
    assert "changed nothing in memory" in json.dumps(slow_memory.bench.sent())


def test_the_model_is_told_where_memory_was_late(slow_memory: SlowMemory) -> None:
    """Words that may be meant for the model reach it while memory is slow, with the same notice."""
    slow_memory.gate.clear()
    assert Conversation(slow_memory.bench).say("forget my cello") == FALSE_CLAIM
    assert "changed nothing in memory" in json.dumps(slow_memory.bench.sent())


def test_a_reply_to_memory_that_is_not_understood_is_no_yes(slow_memory: SlowMemory) -> None:
    """The model that answers it sees memory's question, and is told that nothing was forgotten."""
    talk = Conversation(slow_memory.bench)
    talk.say("Forget that I play the cello.")
    talk.say("I am not so sure about that any more, what would you do?")
    assert "changed nothing in memory" in json.dumps(slow_memory.bench.sent())
    talk.say("What is the capital of Peru?")
    assert "changed nothing in memory" not in json.dumps(slow_memory.bench.sent())
