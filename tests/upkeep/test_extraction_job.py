"""Learning from what was said while others write:
no lock is held while a model thinks, and two at once neither lose nor double.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Record, Scope, Status
from engrams.errors import ConflictError
from engrams.ports import EXTRACT, LEARNED, JobClaim, JobFailure
from engrams.testing import HashEmbedder, ReceivedModelRequest, ScriptedModel
from engrams.write import digest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ANN = ("user", "ann")
STAGES = {
    "extract": "Below are numbered messages",
    "policy": "You decide what an assistant may remember",
    "reconcile": "how it meets what is known",
}
SAID = {
    "Oslo": "I was born in Oslo by the sea",
    "Berlin": "I moved to Berlin in the spring",
    "Lima": "My sister lives in Lima now",
}


def answer(request: ReceivedModelRequest) -> dict[str, Any]:
    """A model that takes one statement from each message it knows, and lets all of them stand."""
    prompt = request.prompt
    if STAGES["policy"] in prompt:
        return {"rulings": [{"id": 1, "action": "commit_now", "reason": "plainly stated"}]}
    if STAGES["reconcile"] in prompt:
        return {"decisions": [{"new": 1, "verdict": "add", "reason": "new"}]}
    told = prompt.split("The messages:")[-1]
    rows = [
        {
            "turn": 1,
            "text": f"{city} is where it is.",
            "quote": quote,
            "subject": "user",
            "predicate": f"knows_{city}",
            "object": city,
        }
        for city, quote in SAID.items()
        if quote in told
    ]
    return {"statements": rows}


class Thinking:
    """A model that stops to think where the prompt holds both words, until it is let go."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, request: ReceivedModelRequest) -> dict[str, Any]:
        if all(word in request.prompt for word in self.words):
            self.begun.set()
            self.go.wait(20)
        return answer(request)


def settings(model: ScriptedModel) -> dict[str, Any]:
    """That model, asked at once; no worker but those of the test."""
    chat = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": model.url,
        "chat__retries": 0,
        "chat__timeout_seconds": 20.0,
    }
    return {"jobs__workers": 0, "write__debounce_seconds": 0.0, "write__policy": "llm", **chat}


@pytest.mark.parametrize("stage", STAGES)
def test_nobody_waits_for_a_model_that_thinks(home: Path, stage: str) -> None:
    """While a digest waits for its model, the same owner adds, observes, forgets, searches and
    learns elsewhere; then it is done.
    """
    thinking = Thinking(STAGES[stage], "Berlin")
    with (
        ScriptedModel(answer=thinking) as model,
        engrams.open(home=home, embedder=HashEmbedder(), **settings(model)) as engine,
    ):
        first = engine.add("The spare key is under the blue pot", scope=ANN)
        engine.observe(Turn(SAID["Oslo"], session="s0"), scope=ANN)
        engine.drain(20)
        engine.observe(Turn(SAID["Berlin"], session="s1"), scope=ANN)
        stuck = threading.Thread(target=engine.work.run_job)
        stuck.start()
        try:
            assert thinking.begun.wait(10)
            engine.add("The parcel is in the hall", scope=ANN)
            assert engine.search("parcel hall", scope=ANN).hits
            assert engine.forget(first.id, scope=ANN).status is Status.FORGOTTEN
            engine.observe(Turn(SAID["Lima"], session="s2"), scope=ANN)
            while engine.work.run_job() is not None:
                pass
            assert "Lima is where it is." in facts(engine)
            assert "Berlin is where it is." not in facts(engine)
        finally:
            thinking.go.set()
            stuck.join(20)
        assert engine.drain(20)
        assert {"Lima is where it is.", "Berlin is where it is."} <= set(facts(engine))
        assert engine.status()["dead"] == []


class Gate(HashEmbedder):
    """An embedder at which the first two callers with a statement about a home wait for each other."""

    def __init__(self) -> None:
        super().__init__()
        self._barrier = threading.Barrier(2)
        self._left = 2
        self._guard = threading.Lock()

    def embed(
        self, texts: Sequence[str], purpose: Literal["query", "document"] = "document"
    ) -> npt.NDArray[np.float32]:
        if any("lives in" in text for text in texts):
            with self._guard:
                self._left -= 1
                waits = self._left >= 0
            if waits:
                self._barrier.wait(10)
        return super().embed(texts, purpose)


@pytest.fixture
def both(home: Path) -> Iterator[tuple[MemoryEngine, MemoryEngine]]:
    """Two engines on one home, as two processes have, that decide what a statement comes to at the
    same moment.
    """
    gate = Gate()
    with (
        engrams.open(home=home, embedder=gate, jobs__workers=0) as one,
        engrams.open(home=home, embedder=gate, jobs__workers=0) as other,
    ):
        yield one, other


def say(engines: tuple[MemoryEngine, MemoryEngine], *texts: str) -> None:
    """Each says one of the texts, and both learn from it at once."""
    for number, (engine, text) in enumerate(zip(engines, texts, strict=True)):
        engine.observe(Turn(text, session=f"s{number}"), scope=ANN)
    threads = [threading.Thread(target=engine.work.run_job) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert engines[0].drain(20)


def facts(engine: MemoryEngine) -> list[str]:
    return [record.text for record in stated(engine)]


def stated(engine: MemoryEngine, *statuses: Status) -> list[Record]:
    kinds = (Kind.FACT, Kind.PREFERENCE)
    return list(
        engine.list(
            scope=ANN, kinds=kinds, statuses=statuses or (Status.ACTIVE,), order="oldest"
        ).records
    )


def test_two_that_learn_the_same_at_once_store_it_once(
    both: tuple[MemoryEngine, MemoryEngine],
) -> None:
    """One of them finds that it is known by then, and strengthens it:
    one fact, said twice, with both quotes.
    """
    say(both, "I live in Paris.", "I live in Paris.")
    (fact,) = stated(both[0])
    assert fact.strength == 2
    assert len({quote.source for quote in fact.evidence}) == 2
    assert both[0].status()["dead"] == []


def test_of_two_homes_learned_at_once_one_stands(both: tuple[MemoryEngine, MemoryEngine]) -> None:
    """A slot of one value has one value afterwards; the other one is history, not lost."""
    say(both, "I live in Paris.", "I live in Oslo.")
    (stands,) = stated(both[0])
    (gone,) = stated(both[0], Status.SUPERSEDED)
    assert {stands.object, gone.object} == {"Paris", "Oslo"}
    assert gone.superseded_by == stands.id


def test_a_job_that_was_taken_over_stores_nothing(home: Path) -> None:
    """Whoever finds that somebody else has the job drops what they made of it;
    the other's counts, once.
    """
    with engrams.open(home=home, jobs__workers=0) as engine:
        engine.observe(Turn("I live in Paris.", session="s1"), scope=ANN)
        (waiting,) = engine.store.queue(("waiting",))
        job = engine.store.claim(
            JobClaim(
                worker="other",
                now=engine.now(),
                lease_seconds=60.0,
                kinds=(EXTRACT,),
                id=waiting.id,
            )
        )
        assert job is not None
        engine.store.fail(JobFailure(job.lease, "went away", engine.now(), engine.now()))
        engine.drain(20)
        with pytest.raises(ConflictError):
            engine._components.extraction.run(job)
        assert len(stated(engine)) == 1
        assert stated(engine)[0].strength == 1


def test_what_an_add_left_undone_is_learned_later(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a process dies between the write and the learning that takes a job, that is taken over
    when the lease ends.
    """
    with engrams.open(home=home, jobs__workers=0) as engine:
        monkeypatch.setattr(digest, "learn_ahead", lambda *_: None)
        monkeypatch.setattr(engine.work, "run_leased", lambda job, work: None)
        receipt = engine.add("I live in Paris.", scope=ANN)
        assert EXTRACT in receipt.pending and not stated(engine)
        (job,) = engine.store.queue(("running",))
        assert engine.store.claim(JobClaim("other", engine.now(), 60.0)) is None
        later = engine.now() + timedelta(seconds=engine.settings.jobs.lease_seconds + 1)
        taken = engine.store.claim(JobClaim("other", later, 60.0))
        assert taken is not None and (taken.id, taken.attempt) == (job.id, 2)
        engine._components.extraction.run(taken)
        assert [record.object for record in stated(engine)] == ["Paris"] and not engine.store.queue(
            ("running", "waiting")
        )


def test_an_add_of_what_is_known_leaves_no_work(home: Path) -> None:
    """A repeated statement is a duplicate: nothing is learned from it again, now or later."""
    with engrams.open(home=home, jobs__workers=0) as engine:
        first = engine.add("I live in Paris.", scope=ANN)
        again = engine.add("I live in Paris.", scope=ANN)
        assert (again.outcome, again.id, again.pending) == ("duplicate", first.id, ())
        assert not engine.store.queue(("running", "waiting")) and len(stated(engine)) == 1


@pytest.mark.parametrize("name", [":learned", ":garden", " :profile "])
def test_states_of_an_owner_are_no_sessions(home: Path, name: str) -> None:
    """Learning opens no session, and a session of any name leaves the owner's states alone."""
    with engrams.open(home=home, jobs__workers=0) as engine:
        engine.add("I live in Paris.", scope=ANN)
        before = engine.store.load_state(Scope(ANN), LEARNED)
        assert before.token == 1 and engine.sessions.list(scope=ANN) == ()
        engine.observe(Turn("Nice weather today.", session=name), scope=ANN)
        assert [session.id for session in engine.sessions.list(scope=ANN)] == [name.strip()]
        assert engine.store.load_state(Scope(ANN), LEARNED) == before


def test_a_job_asks_nothing_twice_where_others_came_before(home: Path) -> None:
    """What was heard is not asked for again because somebody else learned something meanwhile."""
    thinking = Thinking(STAGES["extract"], "Berlin")
    with (
        ScriptedModel(answer=thinking) as model,
        engrams.open(home=home, embedder=HashEmbedder(), **settings(model)) as engine,
    ):
        engine.observe(Turn(SAID["Berlin"], session="s1"), scope=ANN)
        stuck = threading.Thread(target=engine.work.run_job)
        stuck.start()
        assert thinking.begun.wait(10)
        engine.observe(Turn(SAID["Lima"], session="s2"), scope=ANN)
        while engine.work.run_job() is not None:
            pass
        thinking.go.set()
        stuck.join(20)
        asked = [
            request
            for request in model.requests
            if STAGES["extract"] in request.prompt and "Berlin in the spring" in request.prompt
        ]
        assert len(asked) == 1
        assert len(facts(engine)) == 2
