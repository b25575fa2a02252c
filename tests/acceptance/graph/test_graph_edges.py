"""The memory graph's document (003): what links lend, what a turn is told, what fades, what the
garden makes of it, at the edges of each number, by the engine with that preset.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import eventually
from tests.read.vectors import Angles

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Scope, Status, find_basis
from engrams.testing import ReceivedModelRequest, ScriptedModel, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
JUDGE = "Someone is talking with an assistant that has long-term memory"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


def opened(home: Path, clock: SettableClock, **more: Any) -> MemoryEngine:
    fixed = {"home": home, "preset": "graph", "clock": clock, "jobs__workers": 0}
    return engrams.open(**{**fixed, "vault__enabled": False, **more})


@pytest.fixture
def engine(home: Path, clock: SettableClock) -> Iterator[MemoryEngine]:
    with opened(home, clock) as made:
        yield made


def add(engine: MemoryEngine, *texts: str, **fields: Any) -> list[str]:
    ids = [engine.add(Turn(text), scope=ANN, kind=Kind.FACT).id for text in texts]
    for record_id in ids if fields else ():
        engine.edit(record_id, scope=ANN, fields=fields)
    return ids


def related(engine: MemoryEngine, record_id: str) -> dict[str, float]:
    return {each.record.id: each.score for each in engine.links.related(record_id, scope=ANN)}


@pytest.mark.covers("S3.5", "S3.7")
def test_each_kind_of_link_keeps_its_share(engine: MemoryEngine) -> None:
    """A tag 0.8, a successor 0.9, a source 0.7, a contradiction 0.3, a relation its own weight; each
    step 0.7 of a score, the second 0.49.
    """
    start, *others = add(engine, *(f"Memory number {n} of nine" for n in range(5)))
    tagged, successor, source, contrary = others
    engine.links.tag(start, "nine", scope=ANN)
    engine.links.tag(tagged, "nine", scope=ANN)
    engine.links.link(start, source, scope=ANN, type="derived_from")
    engine.links.link(start, contrary, scope=ANN, type="contradicts")
    engine.links.link(successor, start, scope=ANN, type="supersedes")
    scores = related(engine, start)
    assert scores[tagged] == pytest.approx(0.8 * 0.7 * 0.8 * 0.49)
    assert scores[successor] == pytest.approx(0.9 * 0.7)
    assert scores[source] == pytest.approx(0.7 * 0.7)
    assert scores[contrary] == pytest.approx(0.3 * 0.7)


@pytest.mark.covers("S3.8", "S3.32")
def test_a_cluster_leads_to_its_other_members(home: Path, clock: SettableClock) -> None:
    """Over the cluster, 0.6 of a score each way, in what is related and in a search."""
    angles = Angles()
    texts = [angles.put("dawn in port"), angles.put("gulls", 0.8), angles.put("pears", plane=1)]
    angles.put("what is asked", plane=2)
    with opened(home, clock, embedder=angles) as engine:
        first, second, third = add(engine, *texts)
        engine.topics.refresh(ANN)
        scores = related(engine, first)
        assert scores[second] == pytest.approx(0.6 * 0.7 * 0.6 * 0.49)
        assert third not in scores
        found = [hit.record.id for hit in engine.search("dawn", scope=ANN).hits]
        assert found == [first, second]


@pytest.mark.covers("S3.32")
def test_facts_of_a_theme_are_a_cluster(engine: MemoryEngine) -> None:
    """With the embedder that ships: facts about a cat are one, facts about a car another."""
    cat = (
        "The user's cat is called Miso",
        "Miso the cat sleeps in the sun",
        "The cat Miso eats tuna",
    )
    car = ("The car needs new tyres", "The tyres of the car are worn", "The car was bought in Graz")
    add(engine, *(text for pair in zip(cat, car, strict=True) for text in pair))
    engine.topics.refresh(ANN)
    groups = {
        frozenset(record.text for record in group.members) for group in engine.topics.list(ANN)
    }
    assert groups == {frozenset(cat), frozenset(car)}
    labels = {group.topic.label for group in engine.topics.list(ANN)}
    assert labels == {"cat Miso", "car tyres"}, "without a model: words that members share"


@pytest.mark.covers("S3.13")
def test_what_is_far_behind_the_best_is_cut(home: Path, clock: SettableClock) -> None:
    """A hit below nine tenths of the best, or behind a step of more than a twentieth, is none; the
    best always is one.
    """
    angles = Angles()
    angles.put("what is asked")
    with opened(home, clock, embedder=angles) as engine:
        add(engine, angles.put("best", 0.99), angles.put("far", 0.45))
        for number in range(12):
            add(engine, angles.put(f"between {number}", 0.8 - number / 50))
        found = engine.search("what is asked", scope=ANN, limit=50)
        assert found.hits[0].record.text == "best"
        dropped = {row.text: row.dropped for row in found.trace.rows}
        assert "gap in the scores" in dropped["far"]
        assert found.hits[-1].score >= 0.9 * found.hits[0].score - 1e-6


@pytest.mark.covers("S3.20")
@pytest.mark.parametrize(("seconds", "is_delivered"), [(119, True), (121, False)])
def test_a_result_of_two_minutes_ago_is_dropped(
    engine: MemoryEngine, clock: SettableClock, seconds: int, is_delivered: bool
) -> None:
    """What waits for the next turn longer than 120 seconds is not told to it."""
    add(engine, "The harbour master in Genoa is Ida")
    assert not engine.deliver("Who is the harbour master?", scope=ANN, session="s").hits
    eventually(lambda: not engine._components.delivery._pending._working)
    clock.forward(seconds=seconds)
    told = engine.deliver("zxqv", scope=ANN, session="s")
    assert bool(told.hits) is is_delivered


@pytest.mark.covers("S3.25")
def test_confidence_has_the_documents_formula(engine: MemoryEngine, clock: SettableClock) -> None:
    """Initial value, exp(-age / H), a tenth of ln(accesses + 1) and trust, by kind and category."""
    (fact,) = add(engine, "Ann rows a green boat", confidence=0.8)
    (entity,) = add(engine, "Genoa is a port", category="entity", confidence=0.8)
    (custom,) = add(engine, "Staging runs in Turin", category="deployment", confidence=0.8)
    clock.forward(days=30)
    engine.used(fact, scope=ANN)
    engine.used(fact, scope=ANN, helpful=False)
    clock.forward(days=30)

    def share(query: str, record_id: str) -> float:
        (row,) = [row for row in engine.explain(query, scope=ANN).trace.rows if row.id == record_id]
        return row.score / (row.score - row.parts["age"])

    confidence = engine.get(fact, scope=ANN).confidence
    trust = engine.get(fact, scope=ANN).trust
    used = confidence * exp(-2) * (1 + 0.1 * log(3)) * trust * (1 + 0.5 * exp(-30))
    assert share("green boat", fact) == pytest.approx(used, abs=2e-3)
    assert share("Genoa port", entity) == pytest.approx(0.8 * exp(-1) * trust, abs=2e-3)
    assert share("staging Turin", custom) == pytest.approx(0.8 * exp(-60 / 45) * trust, abs=2e-3)


def judge_none(request: ReceivedModelRequest) -> Any:
    """A model that finds nothing helpful."""
    if JUDGE in request.prompt:
        return {"ids": []}
    return {"statements": [], "decisions": [], "names": []}


@pytest.mark.covers("S3.31")
@pytest.mark.parametrize("minutes", [45.0, 0.0])
def test_a_question_without_an_answer_is_a_gap(
    home: Path, clock: SettableClock, minutes: float
) -> None:
    """Where there are hits and the judge passes none, the question is kept with time and session,
    also where a conversation may be shown a memory again at once.
    """
    with ScriptedModel(answer=judge_none) as model:
        chat = {"chat__provider": "openai", "chat__model": "m", "chat__url": model.url}
        with opened(home, clock, **chat, delivery__shown_minutes=minutes) as engine:
            add(engine, "The harbour master in Genoa is Ida")
            engine.deliver("Who repairs the boats of the harbour?", scope=ANN, session="s")

            def gaps() -> Any:
                engine.drain()
                return engine.list(
                    scope=ANN, kinds=(Kind.GAP,), statuses=(Status.CANDIDATE,)
                ).records

            (gap,) = eventually(gaps)
            assert gap.text == "Who repairs the boats of the harbour?"
            assert (gap.session, gap.recorded_at) == ("s", START)
            (vector,) = engine.inspect.vectors(Scope(ANN), [gap.id], engine.status()["embedder"])
            assert vector @ vector == pytest.approx(1.0, abs=1e-3)


@pytest.mark.covers("S3.43")
def test_the_end_of_a_session_teaches(engine: MemoryEngine) -> None:
    """Four turns are no twelve: nothing is learned; at the session's end they are learned from,
    having more than 200 characters.
    """
    for text in (
        "I live in Porto near the river mouth",
        "I play the cello in an orchestra of forty people on Mondays",
        "My sister Ida keeps nine grey geese in a barn",
        "The geese of my sister eat barley and sleep on the straw of last summer",
    ):
        engine.observe(Turn(text, session="s"), scope=ANN)
    engine.drain()
    assert not engine.list(scope=ANN, kinds=(Kind.FACT,)).records
    engine.sessions.end("s", scope=ANN)
    engine.drain()
    texts = " ".join(record.text for record in engine.list(scope=ANN, kinds=(Kind.FACT,)).records)
    assert "Porto" in texts


@pytest.mark.covers("S3.45")
def test_recall_has_three_modes(engine: MemoryEngine, clock: SettableClock) -> None:
    """The newest; what a search finds; and that with what it is linked with."""
    boat, dog, cat = add(engine, "Ann rows a green boat", "Rex barks at night", "Tom naps")
    engine.links.link(boat, dog, scope=ANN, weight=1.0)

    def recalled(query: str, mode: Any) -> list[str]:
        return [each.record.id for each in engine.links.recall(query, scope=ANN, mode=mode)]

    assert recalled("", "recent") == [cat, dog, boat]
    assert cat not in recalled("green boat", "semantic")
    assert recalled("green boat", "cascade")[:2] == [boat, dog]
    assert len(engine.links.recall("", scope=ANN, mode="recent", limit=2)) == 2


@pytest.mark.covers("S3.6", "S3.45")
def test_a_cascade_goes_two_steps_from_what_was_found(engine: MemoryEngine) -> None:
    """What is three links away is not recalled, though a search of this preset follows links
    itself; recall by meaning follows none; a memory and its statement come once.
    """
    engine.add("Ann rows a green boat", scope=ANN)
    boat = engine.search("green boat", scope=ANN).hits[0].record.id
    dog, cat, jar = add(engine, "Rex barks at night", "Tom naps", "Quince jam")
    for first, second in ((boat, dog), (dog, cat), (cat, jar)):
        engine.links.link(first, second, scope=ANN, weight=1.0)

    def recalled(mode: Any) -> list[str]:
        return [
            each.record.text for each in engine.links.recall("green boat", scope=ANN, mode=mode)
        ]

    assert recalled("cascade") == ["Ann rows a green boat", "Rex barks at night", "Tom naps"]
    assert recalled("semantic") == ["Ann rows a green boat"]


@pytest.mark.covers("S3.55", "S3.63")
def test_the_garden_makes_one_of_two(home: Path, clock: SettableClock) -> None:
    """From 0.95 on, with the links, strength and evidence of both; the plan changes nothing, and an
    undo brings both back.
    """
    angles = Angles()
    angles.put("The big lamp in the hall of our house is red")
    angles.put("The big lamp in the hall of our house is quite red", 0.96)
    angles.put("The big lamp in the hall of our house is rather red", 0.5)
    with opened(
        home, clock, embedder=angles, write__dedup_cosine=0.0, write__reconcile="off"
    ) as engine:
        ids = [
            engine.add(Turn(text), scope=ANN, kind=Kind.FACT).id
            for text in angles.known
            if text.startswith("The big")
        ]
        assert len(set(ids)) == 3
        (dog,) = add(engine, "Rex barks at night")
        engine.links.link(ids[1], dog, scope=ANN, weight=0.9)

        def active() -> list[str]:
            rows = [engine.get(record_id, scope=ANN) for record_id in ids]
            return [row.id for row in rows if row.status is Status.ACTIVE]

        plan = engine.garden.plan(ANN, ["merge"])
        assert len([step for step in plan.steps if step.verb == "merge"]) == 1
        assert len(active()) == 3
        engine.garden.run(ANN, ["merge"])
        survivor = next(record_id for record_id in active() if record_id != ids[2])
        assert len(active()) == 2
        assert engine.get(survivor, scope=ANN).strength == 2
        edges = engine.inspect.edges(Scope(ANN), [survivor], (EdgeType.RELATES_TO,))
        assert [edge.weight for edge in edges] == [0.9]
        engine.garden.undo(ANN)
        assert len(active()) == 3


@pytest.mark.covers("S3.56", "S3.24")
def test_what_a_person_wrote_is_pruned_last(home: Path, clock: SettableClock) -> None:
    """Where more is weak than a cycle may change, what was heard elsewhere goes first."""
    with opened(home, clock, garden__max_changes=1) as engine:
        (stated,) = add(engine, "Rumour of Ann", confidence=0.01)
        told = engine.add(Turn("Rumour of the agent", "assistant"), scope=ANN, kind=Kind.FACT).id
        engine.edit(told, scope=ANN, fields={"confidence": 0.02, "meta": {"hearsay": True}})
        assert find_basis(engine.get(told, scope=ANN)) == "inferred"
        assert find_basis(engine.get(stated, scope=ANN)) == "user_stated"
        clock.forward(hours=25)
        engine.garden.run(ANN, ["prune"])
        assert engine.get(stated, scope=ANN).status is Status.ACTIVE
        assert engine.get(told, scope=ANN).status is Status.ARCHIVED


@pytest.mark.covers("S3.66")
@pytest.mark.parametrize(
    ("wish", "pause"), [(1, 5), (45, 45), (500, 120), (None, 30)], ids=["short", "as", "long", "no"]
)
def test_the_next_cycle_comes_within_its_bounds(
    home: Path, clock: SettableClock, wish: int | None, pause: int
) -> None:
    """Between five minutes and two hours, thirty minutes where the model names none."""
    report = {"report": {"summary": "Done.", "modified": 0, "next_minutes": wish}}
    if wish is None:
        del report["report"]["next_minutes"]
    with ScriptedModel() as model:
        chat = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
            "chat__daily_tokens": 100_000,
        }
        with opened(home, clock, garden__enabled=True, **chat) as engine:
            add(engine, "Ann has a boat of oak")
            model.when("garden", {"actions": [], **report})
            model.say({"actions": [], **report})
            engine.garden.wake(ANN, clock(), why="now")
            clock.forward(hours=1)
            engine.drain()
            (done,) = engine.garden.reports(ANN)
            assert done.state == "complete"
            (following,) = [each for each in engine.garden.queue(ANN) if each.name == "next"]
            assert following.at - clock() == timedelta(minutes=pause)


@pytest.mark.covers("S3.66", "S3.67")
@pytest.mark.parametrize("is_down", [False, True])
def test_a_cycle_without_a_report_doubles_the_pause(
    home: Path, clock: SettableClock, is_down: bool
) -> None:
    """Thirty minutes become sixty, and a hundred and twenty after the second; so where the model
    does not answer at all.
    """
    with ScriptedModel(answer=lambda _request: {"actions": []}) as model:
        if is_down:
            model.fail("http_500", times=9)
        chat = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
            "chat__daily_tokens": 100_000,
        }
        with opened(home, clock, garden__enabled=True, **chat) as engine:
            add(engine, "Ann has a boat of oak")
            engine.garden.wake(ANN, clock(), why="now")
            clock.forward(hours=1)
            for pause in (60, 120):
                engine.drain()
                assert engine.garden.reports(ANN)[0].state == "incomplete"
                (following,) = [each for each in engine.garden.queue(ANN) if each.name == "next"]
                assert following.at - clock() == timedelta(minutes=pause)
                clock.set(following.at)
