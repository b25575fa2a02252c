"""Recent memories first, older ones by topic: the way of the cache preset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.read.vectors import Angles

from engrams import MemoryEngine
from engrams.core import Edge, EdgeType, Kind, Record, Scope, Status, Tier, Topic, Vector
from engrams.core.ids import new_id
from engrams.ports import NewRecord, RecordChange, WriteBatch
from engrams.read.decay import exponential_decay
from engrams.read.tier_routing import member_score, topic_cosines
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
ASKED = "what is asked"


@pytest.fixture
def angles() -> Angles:
    embedder = Angles()
    embedder.put(ASKED)
    return embedder


@pytest.fixture
def engine(angles: Angles) -> Iterator[MemoryEngine]:
    with temp_engine(
        preset="cache",
        jobs__workers=0,
        write__extract="off",
        clock=SettableClock(START),
        embedder=angles,
    ) as opened:
        yield opened


def add(engine: MemoryEngine, angles: Angles, text: str, cosine: float, plane: int = 0) -> str:
    return engine.add(angles.put(text, cosine, plane), scope=ANN).id


def old(engine: MemoryEngine, *ids: str, **fields: object) -> None:
    """These have moved to what is long known."""
    changes = tuple(
        RecordChange(OWNER, id, {"tier": Tier.LONGTERM, **fields}, "sweep") for id in ids
    )
    engine.store.commit(WriteBatch("test", "sweep", engine.now(), changes=changes))


def found(engine: MemoryEngine, **options: object) -> list[str]:
    return [hit.record.text for hit in engine.search(ASKED, scope=ANN, **options).hits]  # type: ignore[arg-type]


@pytest.mark.covers("S0.19")
def test_ten_recent_memories_are_looked_at_and_none_that_was_superseded(
    engine: MemoryEngine, angles: Angles
) -> None:
    """The ten nearest, each with its likeness and its embedding;
    who was superseded is not among them.
    """
    ids = [add(engine, angles, f"text {n}", 1 - n / 100) for n in range(13)]
    engine.store.commit(
        WriteBatch(
            "test",
            "replace",
            START,
            changes=(
                RecordChange(
                    OWNER, ids[0], {"status": Status.SUPERSEDED, "superseded_by": ids[1]}, "replace"
                ),
            ),
        )
    )
    result = engine.explain(ASKED, scope=ANN, limit=13)
    assert [hit.record.id for hit in result.hits] == ids[1:11]
    assert [hit.parts["cos"] for hit in result.hits] == pytest.approx(
        [0.6 * (1 - n / 100) for n in range(1, 11)], abs=1e-3
    )
    rows = engine.store.vectors(OWNER, [hit.record.id for hit in result.hits], angles.card.id)
    assert rows @ angles.known[ASKED] == pytest.approx(
        [1 - n / 100 for n in range(1, 11)], abs=1e-6
    )


@pytest.mark.covers("S0.40")
def test_topics_are_searched_only_where_fewer_than_six_recent_ones_are_near(
    engine: MemoryEngine, angles: Angles
) -> None:
    """With six at 0.6 or above no old memory is even a candidate;
    with five, and one at 0.59, it is.
    """
    old(engine, add(engine, angles, "long known", 1.0))
    engine.topics.refresh(ANN)
    for n in range(5):
        add(engine, angles, f"recent {n}", 0.6 + n / 100)
    add(engine, angles, "not near", 0.59)
    with_topics = engine.explain(ASKED, scope=ANN)
    assert "long known" in [row.text for row in with_topics.trace.rows]
    assert any("topics were searched" in note for note in with_topics.trace.notes)
    add(engine, angles, "the sixth", 0.6)
    without = engine.explain(ASKED, scope=ANN)
    assert "long known" not in [row.text for row in without.trace.rows]
    assert any("topics were not searched" in note for note in without.trace.notes)


@pytest.mark.covers("S0.30")
def test_an_old_memory_without_a_topic_is_not_found_by_meaning(
    engine: MemoryEngine, angles: Angles
) -> None:
    """Topics are the index of what is long known;
    the list of orphans tells what is missing from it.
    """
    old(engine, add(engine, angles, "long known", 1.0))
    assert found(engine) == []
    assert [record.text for record in engine.topics.orphans(ANN)] == ["long known"]
    engine.topics.refresh(ANN)
    assert found(engine) == ["long known"]


@pytest.mark.covers("S0.41")
def test_the_six_nearest_topics_are_looked_into(engine: MemoryEngine, angles: Angles) -> None:
    """Of seven topics that are all near enough the furthest is left out."""
    for plane in range(7):
        row = np.zeros(8, np.float32)
        row[0] = 0.8 - plane / 100
        row[plane + 1] = np.sqrt(1 - row[0] ** 2)
        angles.known[f"topic {plane}"] = row
    old(engine, *[engine.add(f"topic {plane}", scope=ANN).id for plane in range(7)])
    engine.topics.refresh(ANN)
    assert len(engine.topics.list(ANN)) == 7
    result = engine.explain(ASKED, scope=ANN, limit=10)
    assert [hit.record.text for hit in result.hits] == [f"topic {plane}" for plane in range(6)]
    assert "topic 6" not in [row.text for row in result.trace.rows]


@pytest.mark.covers("S0.41")
def test_topics_are_ranked_by_their_centres(engine: MemoryEngine) -> None:
    """By cosine to the question; centres of another model are compared with nothing."""
    dimension = 8
    rows = np.eye(dimension, dtype=np.float32)
    topics = [
        Topic(
            id=f"topic:{n}",
            scope=OWNER,
            label=f"t{n}",
            members=1,
            model="angles",
            centroid=rows[n].tobytes(),
            at=START,
        )
        for n in range(dimension)
    ]
    query = np.linspace(1.0, 0.3, dimension).astype(np.float32)
    query /= np.linalg.norm(query)
    engine.store.commit(WriteBatch("test", "topics", START, topics=tuple(topics)))
    every = topic_cosines(topics, query, "angles")
    assert sorted(every, key=lambda name: -every[name]) == [f"topic:{n}" for n in range(dimension)]
    assert topic_cosines(topics, query, "another model") == {}


@pytest.mark.covers("S0.41", "S0.47")
def test_neighbours_over_a_link_are_added_where_they_are_near_themselves(angles: Angles) -> None:
    """With one topic looked into, a linked one at 0.6 brings its memories, one at 0.59 does not, an
    unlinked one neither.
    """
    with temp_engine(
        preset="cache",
        jobs__workers=0,
        write__extract="off",
        clock=SettableClock(START),
        embedder=angles,
        read__routing__topics=1,
        read__min_scores__dense=0.0,
    ) as engine:
        texts = {"hit": 0.9, "linked": 0.6, "linked far": 0.59, "unlinked": 0.7}
        for plane, (text, cosine) in enumerate(texts.items()):
            row = np.zeros(8, np.float32)
            row[0], row[plane + 1] = cosine, np.sqrt(1 - cosine**2)
            angles.known[text] = row
        ids = {text: engine.add(text, scope=ANN).id for text in texts}
        old(engine, *ids.values())
        engine.topics.refresh(ANN)
        topic = {group.topic.label: group.topic.id for group in engine.topics.list(ANN)}
        assert len(topic) == 4
        assert found(engine) == ["hit"]
        ends = [(topic["hit"], topic[name]) for name in ("linked", "linked far")]
        edges = tuple(Edge(OWNER, min(pair), max(pair), EdgeType.CO_OCCURS) for pair in ends)
        engine.store.commit(WriteBatch("test", "link", START, edges=edges))
        assert found(engine) == ["hit", "linked"]


@pytest.mark.covers("S0.32", "S0.47")
def test_topics_near_the_same_question_are_linked(engine: MemoryEngine, angles: Angles) -> None:
    """Each search adds one to the link of every two topics at 0.6 or above; 0.59 is in none."""
    for plane, (text, cosine) in enumerate({"one": 0.75, "two": 0.6, "far": 0.59}.items()):
        row = np.zeros(8, np.float32)
        row[0], row[plane + 1] = cosine, np.sqrt(1 - cosine**2)
        angles.known[text] = row
        old(engine, engine.add(text, scope=ANN).id)
    engine.topics.refresh(ANN)
    topic = {group.topic.label: group.topic.id for group in engine.topics.list(ANN)}
    for _ in range(2):
        engine.search(ASKED, scope=ANN)
        engine.drain()
    (edge,) = engine.store.edges(OWNER, list(topic.values()), (EdgeType.CO_OCCURS,))
    assert (edge.source, edge.target) == tuple(sorted((topic["one"], topic["two"])))
    assert edge.weight == 2.0


@pytest.mark.covers("S0.45")
def test_the_first_six_different_ones_are_selected(engine: MemoryEngine, angles: Angles) -> None:
    """Of nine near ones, two of them the same text:
    six hits, the twin and the rest with their reasons.
    """
    for n in range(8):
        add(engine, angles, f"text {n}", 0.99 - n / 100)
    first = engine.search(ASKED, scope=ANN).hits[0].record
    # The gate takes no such twin in, but an earlier version did.
    twin_id = new_id(engine.now())
    values = angles.embed(["text 0"])[0]
    vector = Vector(twin_id, angles.card.id, values.size, values.tobytes())
    twin = NewRecord(replace(first, id=twin_id), vector=vector)
    engine.store.commit(WriteBatch("test", "add", engine.now(), puts=(twin,)))
    result = engine.explain(ASKED, scope=ANN)
    assert [hit.record.text for hit in result.hits] == [f"text {n}" for n in range(6)]
    reasons = [row.dropped for row in result.trace.rows if row.dropped]
    assert sum(reason.startswith("says what ") for reason in reasons) == 1
    assert reasons.count("not among the best 6") == 2


@pytest.mark.covers("S0.58")
def test_of_two_that_contradict_each_other_the_newer_ranks_higher(angles: Angles) -> None:
    """With reconciliation off both are kept and found;
    at the same likeness the newer one is first.
    """
    clock = SettableClock(START)
    with temp_engine(
        preset="cache",
        jobs__workers=0,
        write__extract="off",
        write__reconcile="off",
        clock=clock,
        embedder=angles,
    ) as engine:
        add(engine, angles, "I love pizza", 0.9)
        clock.forward(days=2)
        add(engine, angles, "I hate pizza", 0.9)
        assert found(engine) == ["I hate pizza", "I love pizza"]


@pytest.mark.covers("S0.42")
def test_two_members_of_a_topic_stand_for_it(engine: MemoryEngine, angles: Angles) -> None:
    """By 0.5 likeness + 0.3 recency + 0.2 importance:
    an important one goes before a likelier one.
    """
    record = Record(
        id="r",
        scope=OWNER,
        kind=Kind.NOTE,
        text="r",
        recorded_at=START - timedelta(days=30),
        importance=0.25,
    )
    assert member_score(0.8, record, START) == pytest.approx(
        0.5 * 0.8 + 0.3 * exponential_decay(30, 30) + 0.2 * 0.25
    )
    same = [add(engine, angles, f"same {n}", 1 - n / 1000) for n in range(4)]
    old(engine, *same[:3])
    old(engine, same[3], importance=1.0)
    engine.topics.refresh(ANN)
    assert sorted(found(engine)) == ["same 0", "same 3"]


def test_the_past_and_history_are_read_without_a_detour(
    engine: MemoryEngine, angles: Angles
) -> None:
    """As of a time, or with history, everything in reach is seen, topics or not."""
    old(engine, add(engine, angles, "long known", 1.0))
    assert found(engine) == []
    assert found(engine, history=True) == ["long known"]
    assert found(engine, as_of=START + timedelta(days=1)) == ["long known"]


def test_without_a_vector_words_find_everything(angles: Angles) -> None:
    """A question that the embedder cannot place is answered by words, whatever the tiers."""
    with temp_engine(
        preset="cache",
        jobs__workers=0,
        write__extract="off",
        clock=SettableClock(START),
        embedder=angles,
    ) as engine:
        id = engine.add("a word that is nowhere else: xylophone", scope=ANN).id
        old(engine, id)
        assert [hit.record.id for hit in engine.search("xylophone", scope=ANN).hits] == [id]
