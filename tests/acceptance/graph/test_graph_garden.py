"""The memory graph's document (003):
clusters, tags, extraction and the garden, by the engine with that preset and its command.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.acceptance.process import run
from tests.read.vectors import Angles

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Scope, Status
from engrams.errors import ModelError
from engrams.ports import EmbedderCard
from engrams.testing import HashEmbedder, ScriptedModel, SettableClock, temp_engine

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
HEARD = "Below are numbered messages"
GARDEN = "look after"
REPORT = {"report": {"summary": "Looked through it.", "next_minutes": 45}}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


def opened(
    home: Path, clock: SettableClock, model: ScriptedModel | None = None, **more: Any
) -> MemoryEngine:
    chat = (
        {}
        if model is None
        else {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
        }
    )
    fixed = {
        "home": home,
        "preset": "graph",
        "clock": clock,
        "jobs__workers": 0,
        "vault__enabled": False,
        "write__debounce_seconds": 0.0,
    }
    return engrams.open(**{**fixed, **chat, **more})


def add(engine: MemoryEngine, *texts: str, **fields: Any) -> list[str]:
    ids = [engine.add(Turn(text), scope=ANN, kind=Kind.FACT).id for text in texts]
    for id in ids if fields else ():
        engine.edit(id, scope=ANN, fields=fields)
    return ids


@pytest.mark.covers("S3.32", "S3.33")
def test_clusters_follow_their_members(home: Path, clock: SettableClock) -> None:
    """After fifty searches there are clusters with centre, links and the tag that their members
    have in common; ids last.
    """
    angles = Angles()
    texts = [
        angles.put("The harbour at dawn", 1.0),
        angles.put("Boats in the harbour", 0.9),
        angles.put("with pears", plane=1),
    ]
    with opened(home, clock, embedder=angles) as engine:
        ids = add(engine, *texts)
        for _ in range(49):
            engine.search("harbour", scope=ANN)
        engine.drain()
        assert not engine.topics.list(ANN)
        engine.search("harbour", scope=ANN)
        engine.drain()
        (cluster,) = [group for group in engine.topics.list(ANN) if len(group.members) == 2]
        mean = (angles.known[texts[0]] + angles.known[texts[1]]) / 2
        assert np.frombuffer(cluster.topic.centroid, np.float32) == pytest.approx(mean, abs=1e-6)
        edges = engine.inspect.edges(engine.scopes()[0], [cluster.topic.id], (EdgeType.IN_TOPIC,))
        assert sorted(edge.source for edge in edges) == sorted(ids[:2])
        assert [engine.get(id, scope=ANN).tags for id in ids] == [("harbour",), ("harbour",), ()]
        assert cluster.topic.label == "harbour dawn"
        engine.forget(ids[0], scope=ANN)
        engine.topics.refresh(ANN)
        (left,) = [group for group in engine.topics.list(ANN) if group.topic.id == cluster.topic.id]
        assert [record.id for record in left.members] == ids[1:2]
        assert np.frombuffer(left.topic.centroid, np.float32) == pytest.approx(
            angles.known[texts[1]], abs=1e-6
        )


@pytest.mark.covers("S3.32")
def test_a_model_names_clusters(home: Path, clock: SettableClock, model: ScriptedModel) -> None:
    """In two to four words;
    where it fails or says one word, the tag that the members share stands in.
    """
    angles = Angles()
    with opened(home, clock, model, embedder=angles) as engine:
        add(engine, *(angles.put(f"{kind} tea") for kind in ("green", "black", "white")))
        rails = add(
            engine, angles.put("a train", plane=1), angles.put("a tram", 0.9, 1), tags=("rails",)
        )
        model.when(
            "names", {"names": [{"id": 1, "name": "Kinds of tea"}, {"id": 2, "name": "Trains"}]}
        )
        engine.topics.refresh(ANN)
        labels = {group.topic.label for group in engine.topics.list(ANN)}
        assert labels == {"Kinds of tea", "rails"}
        assert len(rails) == 2


@pytest.mark.covers("S3.24", "S3.44")
@pytest.mark.parametrize(
    ("kind", "category", "expected"),
    [
        ("hobby", "", ("fact", "hobby")),
        ("Entity", None, ("fact", "entity")),
        ("Custom(bees)", "animals", ("fact", "animals")),
        (None, "zoology", ("fact", "zoology")),
        ("Preference", "preference", ("preference", "preference")),
    ],
)
def test_a_kind_of_the_models_own_is_a_fact(
    home: Path,
    clock: SettableClock,
    model: ScriptedModel,
    kind: str | None,
    category: str | None,
    expected: tuple[str, str],
) -> None:
    """A statement is kept whatever type a model gives it; its word for it becomes the category."""
    said = "I keep bees in Porto"
    row = {"turn": 1, "text": "The user keeps bees in Porto", "quote": said, "subject": "user"}
    model.when(HEARD, {"statements": [{**row, "kind": kind, "category": category}]})
    with opened(home, clock, model, sessions__min_chars=0, sessions__trigger="turn") as engine:
        engine.observe(Turn(said, session="s"), scope=ANN)
        clock.forward(minutes=2)
        engine.drain()
        kinds = (Kind.FACT, Kind.PREFERENCE)
        (stored,) = engine.list(scope=ANN, kinds=kinds).records
        assert (stored.kind, stored.category) == expected


@pytest.mark.covers("S3.44")
def test_extraction_is_bounded_and_forgiving(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """Forty messages, 24,000 characters and eighty known memories a call at most; a message of 3,000
    characters is read whole; malformed rows are skipped, an odd category is a fact.
    """

    def fill(place: int) -> str:
        if place == 5:
            return f"{'z' * 1500} in the middle {'z' * 1500}"
        return "y" * 900 if place >= 40 else ""

    said = {
        "turn": 1,
        "subject": "user",
        "predicate": "adores",
        "object": "Bach",
        "confidence": 0.9,
    }
    rows = [
        {**said, "text": "No quote"},
        {**said, "text": "Turn zero", "quote": "Bach", "turn": 0},
        {**said, "text": "Too long", "quote": "x" * 281},
        {**said, "text": "The user adores Bach", "quote": "adore Bach", "category": "opera"},
    ]
    with opened(home, clock, model, write__batch_turns=500, sessions__batch_turns=90) as engine:
        add(engine, *(f"Ann owns the stamp {chr(65 + n % 26)}{n}" for n in range(100)))
        model.when(HEARD, {"statements": rows})
        for place in range(90):
            engine.observe(
                Turn(f"{place}: I adore Bach {fill(place)}", session="s"),
                scope=ANN,
            )
        engine.drain()
        asked = [request.prompt for request in model.requests if HEARD in request.prompt]
        told = [re.findall(r"(?m)^\[\d+\] .*$", prompt) for prompt in asked]
        assert sum(map(len, told)) == 90
        assert "in the middle" in asked[0]
        assert max(map(len, told)) == 40
        assert len(told) == 3
        assert all(sum(map(len, messages)) <= 24_000 + 100 * len(messages) for messages in told)
        assert all(0 < len(re.findall(r"Ann owns the stamp", prompt)) <= 80 for prompt in asked)
        made = engine.list(scope=ANN, kinds=(Kind.FACT,), text="Bach").records
        assert {(record.text, record.kind) for record in made} == {
            ("The user adores Bach", Kind.FACT)
        }


class Likeness:
    """An embedder for texts that say how near they are to one without a number: ``… at 0.50``."""

    card = EmbedderCard("likeness", 64, inline=True)

    def embed(self, texts: Sequence[str], purpose: str = "document") -> Any:
        rows = np.zeros((len(texts), 64), np.float32)
        for row, text in zip(rows, texts, strict=True):
            cosine = float(text.partition(" at ")[2] or 1.0)
            row[0], row[1 + round(100 * cosine) % 63] = cosine, math.sqrt(1 - cosine * cosine)
        return rows


@pytest.mark.covers("S3.42")
def test_what_may_be_contradicted_is_near_and_of_the_same_category(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """The five nearest from 0.5 on, of its own category;
    where the model fails there is no contradiction.
    """
    new = {
        "turn": 1,
        "text": "Something new",
        "quote": "brand new",
        "subject": "user",
        "predicate": "p",
        "object": "brand new",
    }
    with opened(home, clock, model, embedder=Likeness()) as engine:
        add(
            engine,
            *(f"Known taste at {cosine:.2f}" for cosine in (0.55, 0.95, 0.6, 0.8, 0.49, 0.9, 0.7)),
            category="preference",
        )
        add(engine, "Known work at 0.98", category="context")
        model.when(
            HEARD,
            {"statements": [{**new, "category": "preference", "kind": "fact", "confidence": 0.9}]},
        )
        model.fail("http_400", times=99, when="New statements")
        engine.observe(Turn("This is brand new"), scope=ANN)
        engine.drain()
        asked = next(
            request.prompt
            for request in model.requests
            if "New statements" in request.prompt and "Something new" in request.prompt
        )
        known = asked.partition("Known statements:")[2].partition("New statements:")[0]
        assert re.findall(r"taste at (0\.\d\d)", known) == ["0.95", "0.90", "0.80", "0.70", "0.60"]
        assert "work" not in known
        records = engine.list(scope=ANN, kinds=(Kind.FACT,), limit=50).records
        assert len(records) == 9


@pytest.mark.covers("S3.42")
def test_what_is_given_may_contradict_every_category(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """A statement that is stored as it is is compared with the five nearest, whatever they are about;
    where the model fails it contradicts none.
    """
    with opened(home, clock, model, embedder=Likeness()) as engine:
        categories = ("preference", "context", "knowledge")
        nearness = (0.55, 0.95, 0.6, 0.8, 0.49, 0.9, 0.7)
        for number, cosine in enumerate(nearness):
            add(engine, f"Known at {cosine:.2f}", category=categories[number % len(categories)])
        engine.drain()
        model.fail("http_400", times=99, when="New statements")
        add(engine, "Something new")
        engine.drain()
        asked = model.requests[-1].prompt
        assert "Something new" in asked.partition("New statements:")[2]
        known = asked.partition("Known statements:")[2].partition("New statements:")[0]
        assert re.findall(r"Known at (0\.\d\d)", known) == ["0.95", "0.90", "0.80", "0.70", "0.60"]
        records = engine.list(scope=ANN, kinds=(Kind.FACT,), limit=50).records
        assert len(records) == len(nearness) + 1


@pytest.mark.covers("S3.58")
def test_the_backfill_finds_what_has_no_vector_and_goes_on(
    home: Path, clock: SettableClock
) -> None:
    """After a change of the embedder everything is found by words, then by meaning;
    a backfill cut short goes on where it was.
    """
    texts = [f"The kettle number {n} whistles" for n in range(7)]
    with opened(home, clock, embedder=HashEmbedder(32)) as engine:
        add(engine, *texts)

    class Frail(HashEmbedder):
        left = 4

        def embed(self, texts: Sequence[str], purpose: Any = "document") -> Any:
            if purpose == "document":
                self.left -= len(texts)
                if self.left < 0:
                    raise ModelError("The embedder is gone.", retryable=True)
            return super().embed(texts, purpose)

    with opened(home, clock, embedder=Frail(48), embed__batch_size=2) as engine:
        assert engine.search("kettle", scope=ANN).hits
        engine.drain()
        assert engine.stats(ANN)["model"][Frail(48).card.id] == 4
    clock.forward(hours=1)
    new = HashEmbedder(48)
    with opened(home, clock, embedder=new, embed__batch_size=2) as engine:
        engine.retry()
        engine.drain()
        assert engine.stats(ANN)["model"][new.card.id] == 7


@pytest.mark.covers("S3.59")
def test_a_fact_whose_file_is_gone_or_changed_is_doubted(
    home: Path, clock: SettableClock, tmp_path: Path
) -> None:
    """The garden halves its confidence, once for each change, and deletes nothing;
    files elsewhere are not looked at.
    """
    names = ("kept.py", "edited.py", "lost.py")
    for name in names:
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (clock().timestamp() - 60,) * 2)
    with opened(home, clock, garden__file_root=str(tmp_path)) as engine:
        outside = (Turn("secrets are elsewhere", meta={"files": ["/etc/passwd", "../gone"]}),)
        said = (*(Turn(f"{name} holds x", meta={"file": name}) for name in names), *outside)
        ids = [engine.add(turn, scope=ANN, kind=Kind.FACT).id for turn in said]
        clock.forward(hours=1)
        os.utime(tmp_path / "edited.py", (clock().timestamp(),) * 2)
        (tmp_path / "lost.py").unlink()
        for _ in range(2):
            engine.garden.run(ANN, ["verify"])
            assert [engine.get(id, scope=ANN).confidence for id in ids] == [1.0, 0.5, 0.5, 1.0]
        assert {engine.get(id, scope=ANN).status for id in ids} == {Status.ACTIVE}


@pytest.mark.covers("S3.59")
def test_a_fact_that_a_message_about_a_file_says_is_doubted_too(
    home: Path, clock: SettableClock, tmp_path: Path
) -> None:
    """It rests on the file of its message: without the file it is believed half as much."""
    (tmp_path / "billing.py").write_text("x")
    os.utime(tmp_path / "billing.py", (clock().timestamp() - 60,) * 2)
    with opened(home, clock, garden__file_root=str(tmp_path)) as engine:
        turn = Turn("The billing store runs on PostgreSQL.", meta={"file": "billing.py"})
        (derived,) = engine.add(turn, scope=ANN).derived
        believed = engine.get(derived.id, scope=ANN).confidence
        for expected in (believed, believed / 2):
            engine.garden.run(ANN, ["verify"])
            assert engine.get(derived.id, scope=ANN).confidence == pytest.approx(expected)
            (tmp_path / "billing.py").unlink(missing_ok=True)


@pytest.mark.covers("S3.60")
def test_a_session_that_nobody_ended_is_learned_from_once(home: Path, clock: SettableClock) -> None:
    """Turns that a process left unlearned are extracted from by the next garden run, and not again."""
    with opened(home, clock) as engine:
        texts = (
            "I live in Porto near the river mouth",
            "I play the cello in an orchestra",
            "My sister Ida keeps nine grey geese",
        )
        for text in (
            *texts,
            (
                "The geese of my sister eat barley and sleep in a barn that she painted red in the"
                " summer of last year"
            ),
        ):
            engine.observe(Turn(text, session="left"), scope=ANN)
    clock.forward(hours=5)
    with opened(home, clock) as engine:
        assert not engine.list(scope=ANN, kinds=(Kind.FACT,)).records
        engine.garden.run(ANN)
        engine.drain()
        found = [
            record.text
            for record in engine.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE)).records
        ]
        assert any("Porto" in text for text in found)
        engine.garden.run(ANN)
        engine.drain()
        assert [
            record.text
            for record in engine.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE)).records
        ] == found


@pytest.mark.covers("S3.67", "S3.69")
def test_a_cycle_by_model_reports_within_its_budget(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """It looks, acts and reports;
    without a report, after two empty answers, it is incomplete; the usage is kept for a day.
    """
    with opened(home, clock, model, chat__daily_tokens=100_000) as engine:
        add(
            engine,
            "Ann has a boat of oak",
            "Ann has a boat of oak.",
            predicate="has",
            object="boat of oak",
        )
        model.say(
            {
                "actions": [
                    {"do": "merge", "ids": [1, 2], "reason": "the same"},
                    {"do": "wake", "minutes": 60, "reason": "the boat"},
                ],
                **REPORT,
            }
        )
        report = engine.garden.run(ANN, ["agent"])
        assert (report.state, report.summary, report.next_minutes) == (
            "complete",
            "Looked through it.",
            45,
        )
        assert (report.modified, report.compactions) == (2, 1)
        assert 0 < report.tokens <= engine.settings.garden.model_tokens == 10_000
        assert [entry.why for entry in engine.garden.queue(ANN)] == ["the boat"]
        assert engine.garden.status(ANN)["usage"] == {"tokens": report.tokens, "calls": 1}
        model.say({"actions": []}, {})
        missed = engine.garden.run(ANN, ["agent"])
        assert missed.state == "incomplete"
        assert "the model gave no report" in missed.notes
        clock.forward(hours=25)
        assert engine.garden.status(ANN)["usage"]["calls"] == 0


@pytest.mark.covers("S3.69")
def test_the_garden_leaves_the_user_most_of_the_day(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """With little left of the day's tokens a cycle by model makes no call."""
    with opened(home, clock, model, chat__daily_tokens=500) as engine:
        add(engine, "Ann has a boat", "Ann sails on Sundays")
        report = engine.garden.run(ANN, ["agent"])
        assert report.calls == 0
        assert not [request for request in model.requests if "boat" in request.prompt]


@pytest.mark.covers("S3.66")
def test_a_day_without_tokens_for_an_answer_is_waited_out(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """Where the garden's share of what is left is too small for an answer, the pause is the longest;
    the cycle is no failure.
    """
    limits = {"garden__enabled": True, "chat__daily_tokens": 1200}
    with opened(home, clock, model, **limits) as engine:
        add(engine, "Ann has a boat", "Ann sails on Sundays")
        engine.garden.wake(ANN, clock(), why="now")
        clock.forward(hours=1)
        engine.drain()
        (report,) = engine.garden.reports(ANN)
        assert (report.state, report.calls) == ("complete", 0)
        (following,) = [entry for entry in engine.garden.queue(ANN) if entry.name == "next"]
        assert following.at - clock() == timedelta(minutes=120)


@pytest.mark.covers("S3.68", "S3.65")
@pytest.mark.slow
def test_the_gardens_queue_and_state_are_seen(home: Path) -> None:
    """Entries outlast the process, by priority and then by time, and go by id;
    disabled, scheduled and paused are told.
    """

    def garden(*arguments: str) -> Any:
        return json.loads(
            run(home, arguments=("garden", *arguments, "--preset", "graph", "--json"))
        )

    run(home, "--preset", "graph", arguments=("add", "The cellar is dry"))
    assert garden("status")["state"] == "disabled"
    late, soon, first = (
        garden("wake", *when)["id"] for when in (("90",), ("30",), ("60", "--priority", "5"))
    )
    assert [entry["id"] for entry in garden("status")["queue"]] == [first, soon, late]
    assert garden("cancel", soon) == {"cancelled": 1}
    assert [entry["id"] for entry in garden("status")["queue"]] == [first, late]
    assert garden("pause")["state"] == "paused"
    assert garden("resume")["state"] == "scheduled"


@pytest.mark.covers("S3.65")
def test_an_overdue_wake_still_runs(home: Path, clock: SettableClock) -> None:
    """What was to begin while nobody was there begins with the next process, once, the more urgent
    first.
    """
    with opened(home, clock) as engine:
        add(engine, "The cellar is dry")
        engine.garden.wake(ANN, clock(), why="plain")
        engine.garden.wake(ANN, clock(), priority=5, why="urgent")
    clock.forward(hours=30)
    with opened(home, clock) as engine:
        engine.drain()
        for _ in range(3):
            clock.forward(hours=3)
            engine.drain()
        assert [report.why for report in engine.garden.reports(ANN)] == ["urgent", "plain"]
        assert engine.garden.queue(ANN) == ()


@pytest.mark.covers("S3.30", "S3.33", "S3.61")
def test_a_memory_and_its_own_fact_are_one_statement() -> None:
    """However often both are found, they are no pair to link, and share no context to tag."""
    with temp_engine(preset="graph") as engine:
        given = engine.add("Bread is baked on Sundays", scope=ANN)
        pair = {given.id, *(derived.id for derived in given.derived)}
        assert len(pair) == 2
        for _ in range(51):
            engine.search("When is bread baked?", scope=ANN)
        engine.used(sorted(pair), scope=ANN)
        engine.drain()
        engine.garden.run(ANN)
        links = engine.inspect.edges(Scope(ANN), sorted(pair))
        assert EdgeType.IN_TOPIC in {link.type for link in links}
        assert [link.type for link in links if {link.source, link.target} == pair] == [
            EdgeType.DERIVED_FROM
        ]
        assert engine.links.tags(ANN) == {}
