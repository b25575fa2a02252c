"""Topics on a real store:
made, kept up, split, merged, abstracted from, and gone with what was purged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from tests.read.vectors import Angles

from engrams import MemoryEngine
from engrams.core import Edge, EdgeType, Kind, Record, Scope, Status, Tier, Vector
from engrams.ports import NewRecord, RecordQuery, WriteBatch
from engrams.ports import RecordChange as Edit
from engrams.read.request import visible_scopes
from engrams.testing import HashEmbedder, ScriptedModel, SettableClock, temp_engine
from engrams.upkeep.topics import MemoryTopics, TopicChangeCounts, TopicGroup
from engrams.upkeep.topics.topic_tags import infer_tag

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def angles() -> Angles:
    return Angles()


@pytest.fixture
def engine(angles: Angles) -> Iterator[MemoryEngine]:
    with temp_engine(
        jobs__workers=0, write__extract="off", clock=SettableClock(START), embedder=angles
    ) as opened:
        yield opened


def add(engine: MemoryEngine, *texts: str, scope: Sequence[str] = ANN) -> list[str]:
    return [engine.add(text, scope=scope).id for text in texts]


def told(groups: Sequence[TopicGroup]) -> dict[str, list[str]]:
    """Label to texts of the members."""
    return {group.topic.label: [record.text for record in group.members] for group in groups}


@pytest.mark.covers("S0.28")
def test_a_memory_joins_from_070_on_or_begins_a_topic(engine: MemoryEngine, angles: Angles) -> None:
    """The label of a new one is how its first memory begins:

    80 characters; the centre is the mean of the members.
    """
    long = angles.put(
        "The lighthouse keeper feeds the gulls every morning before the first ferry of the day"
        " arrives at the pier"
    )
    near = angles.put("near", 0.70)
    far = angles.put("far", 0.69, plane=1)
    angles.known["far"] = np.array([0.69, 0, math.sqrt(1 - 0.69**2), 0, 0, 0, 0, 0], np.float32)
    add(engine, long, near, far)
    counts = engine.topics.refresh(ANN)
    assert (counts.joined, counts.made) == (3, 2)
    groups = engine.topics.list(ANN)
    assert told(groups) == {long[:80].rstrip(): [long, near], "far": [far]}
    centre = np.frombuffer(groups[0].topic.centroid, np.float32)
    assert centre == pytest.approx((angles.known[long] + angles.known[near]) / 2, abs=1e-6)
    assert groups[0].topic.members == 2


@pytest.mark.covers("S3.32")
def test_topics_keep_their_ids_and_follow_their_members(
    engine: MemoryEngine, angles: Angles
) -> None:
    """A second refresh changes nothing;
    who is forgotten leaves, and centre and label are those of who is left.
    """
    first, second = add(engine, angles.put("one", 1.0), angles.put("two", 0.9))
    engine.topics.refresh(ANN)
    (before,) = engine.topics.list(ANN)
    assert engine.topics.refresh(ANN) == TopicChangeCounts()
    engine.forget(first, scope=ANN)
    (shown,) = engine.topics.list(ANN)
    assert shown.topic.label == "two", "a label never quotes what was forgotten"
    assert engine.topics.refresh(ANN).left == 1
    (after,) = engine.topics.list(ANN)
    assert (after.topic.id, after.topic.label, after.topic.members) == (before.topic.id, "two", 1)
    assert np.frombuffer(after.topic.centroid, np.float32) == pytest.approx(
        angles.known["two"], abs=1e-6
    )
    assert [edge.source for edge in engine.store.edges(OWNER, [after.topic.id])] == [second]


@pytest.mark.covers("S0.29")
def test_a_topic_of_more_than_twenty_is_split_where_it_falls_apart(
    engine: MemoryEngine, angles: Angles
) -> None:
    """Twenty-one around two directions become two new topics, every memory in one of them;
    the old one is gone.
    """
    left_ids = [angles.put(f"left {n}", 1.0) for n in range(11)]
    right = [angles.put(f"right {n}", 0.72) for n in range(9)]
    add(engine, *left_ids, *right)
    engine.topics.refresh(ANN)
    (whole,) = engine.topics.list(ANN)
    assert len(whole.members) == 20
    add(engine, angles.put("right 9", 0.72))
    assert engine.topics.refresh(ANN).split == 1
    groups = engine.topics.list(ANN)
    assert sorted(len(group.members) for group in groups) == [10, 11]
    assert whole.topic.id not in {group.topic.id for group in groups}
    assert engine.store.edges(OWNER, [whole.topic.id]) == ()


@pytest.mark.covers("S0.29")
def test_a_large_topic_that_holds_together_stays(engine: MemoryEngine, angles: Angles) -> None:
    """With one sub-cluster only nothing changes."""
    add(engine, *(angles.put(f"same {n}", 1.0) for n in range(25)))
    assert engine.topics.refresh(ANN).split == 0
    (group,) = engine.topics.list(ANN)
    assert len(group.members) == 25


@pytest.mark.covers("S0.30")
def test_memories_without_a_topic_are_listed_until_they_have_one(
    engine: MemoryEngine, angles: Angles
) -> None:
    """What was added since, and what has no vector, is an orphan."""
    add(engine, angles.put("grouped"))
    engine.topics.refresh(ANN)
    assert engine.topics.orphans(ANN) == ()
    add(engine, angles.put("later"), "no vector at all")
    assert [record.text for record in engine.topics.orphans(ANN)] == ["later", "no vector at all"]
    engine.topics.refresh(ANN)
    assert [record.text for record in engine.topics.orphans(ANN)] == ["no vector at all"]


@pytest.mark.covers("S0.33")
def test_grouping_makes_no_links_of_likeness(engine: MemoryEngine, angles: Angles) -> None:
    """Only who belongs to which topic is written."""
    ids = add(
        engine,
        *(angles.put(f"text {n}", 0.9 + n / 100) for n in range(5)),
        angles.put("else", plane=1),
    )
    engine.topics.refresh(ANN)
    topics = [group.topic.id for group in engine.topics.list(ANN)]
    assert {edge.type for edge in engine.store.edges(OWNER, [*ids, *topics])} == {EdgeType.IN_TOPIC}


@pytest.mark.covers("S0.35")
def test_topics_as_good_as_one_are_merged_with_their_links(
    engine: MemoryEngine, angles: Angles
) -> None:
    """From 0.93 on: members move, weights of links add up, nothing dangles; 0.92 stays apart."""
    first = add(engine, angles.put("a1", 1.0))
    engine.topics.refresh(ANN)
    (topic,) = engine.topics.list(ANN)
    second = add(
        engine, angles.put("b1", 0.93), angles.put("c1", plane=1), angles.put("d1", 0.92, plane=1)
    )
    tight = engine.settings.topics.model_copy(update={"join_cosine": 0.99})
    MemoryTopics(engine.store, angles, None, SettableClock(START), tight).refresh(ANN)
    by_label = {group.topic.label: group.topic.id for group in engine.topics.list(ANN)}
    assert set(by_label) == {"a1", "b1", "c1", "d1"}
    a, b, c, d = (by_label[name] for name in ("a1", "b1", "c1", "d1"))
    links = ((a, c, 3), (b, c, 2), (a, b, 9))
    edges = tuple(
        Edge(
            owner=OWNER,
            source=min(first, two),
            target=max(first, two),
            type=EdgeType.CO_OCCURS,
            weight=float(n),
            count=n,
        )
        for first, two, n in links
    )
    engine.store.commit(WriteBatch("test", "link", START, edges=edges))
    assert engine.topics.dedupe(ANN).merged == 1
    groups = {group.topic.id: group for group in engine.topics.list(ANN)}
    merged_id = ({a, b} - set(groups)).pop()
    stays = ({a, b} & set(groups)).pop()
    assert set(groups) == {stays, c, d}
    assert sorted(record.id for record in groups[stays].members) == sorted([*first, second[0]])
    assert engine.store.edges(OWNER, [merged_id]) == ()
    (link,) = engine.store.edges(OWNER, [stays], (EdgeType.CO_OCCURS,))
    assert {link.source, link.target} == {stays, c}
    assert (link.weight, link.count) == (5.0, 5)
    assert engine.topics.dedupe(ANN).merged == 0
    assert topic.topic.id in (stays, merged_id)


@pytest.mark.covers("S0.34")
def test_concepts_are_made_only_when_asked_with_the_models_names(angles: Angles) -> None:
    """Near topics get a concept over them with links to each, named by the model;
    no refresh ever makes one.
    """
    with (
        ScriptedModel() as model,
        temp_engine(
            jobs__workers=0,
            write__extract="off",
            embedder=angles,
            chat__provider="openai",
            chat__model="m",
            chat__url=model.url,
            topics__names="text",
            clock=SettableClock(START),
        ) as engine,
    ):
        add(engine, angles.put("tea", 1.0), angles.put("coffee", 0.6), angles.put("rail", plane=1))
        engine.topics.refresh(ANN)
        assert engine.topics.concepts(ANN) == ()
        assert model.requests == []
        model.say({"names": [{"id": 1, "name": "Hot drinks"}]})
        (concept,) = engine.topics.abstract(ANN)
        assert (concept.label, concept.members, concept.named) == ("Hot drinks", 2, True)
        by_label = {group.topic.label: group.topic.id for group in engine.topics.list(ANN)}
        ((found, below),) = engine.topics.concepts(ANN)
        assert found.id == concept.id
        assert set(below) == {by_label["tea"], by_label["coffee"]}
        edges = engine.store.edges(OWNER, [concept.id])
        assert {(edge.source, edge.type) for edge in edges} == {
            (concept.id, EdgeType.ABSTRACTED_FROM)
        }
        model.say({"names": [{"id": 1, "name": "Beverages of all kinds and sorts"}]})
        (again,) = engine.topics.abstract(ANN)
        assert (again.id, again.named) == (
            concept.id,
            False,
        ), "a name of more than four words will not do"


@pytest.mark.covers("S3.32")
def test_a_model_names_topics_in_two_to_four_words(angles: Angles) -> None:
    """One call for all that have no name yet;
    a name is asked for once; where the model fails the common tag stands in.
    """
    with (
        ScriptedModel() as model,
        temp_engine(
            jobs__workers=0,
            write__extract="off",
            embedder=angles,
            chat__provider="openai",
            chat__model="m",
            chat__url=model.url,
            chat__retries=0,
            clock=SettableClock(START),
        ) as engine,
    ):
        add(engine, *(angles.put(f"{kind} tea") for kind in ("green", "black", "white")))
        add(engine, angles.put("a train", plane=1), angles.put("a tram", 0.9, 1))
        model.say(
            {
                "names": [
                    {"id": 1, "name": "Kinds of tea"},
                    {"id": 2, "name": "Trains"},
                    {"id": 9, "name": "No such one"},
                ]
            }
        )
        assert engine.topics.refresh(ANN).named == 1
        labels = {group.topic.label for group in engine.topics.list(ANN)}
        assert labels == {"Kinds of tea", "a train"}, "one word is no name"
        trains = [
            record for record in engine.list(scope=ANN).records if record.text.startswith("a t")
        ]
        for record in trains:
            engine.edit(record.id, scope=ANN, fields={"tags": ("rails",)})
        model.fail("http_500", times=5)
        engine.topics.refresh(ANN)
        assert {group.topic.label for group in engine.topics.list(ANN)} == {"Kinds of tea", "rails"}


@pytest.mark.covers("S3.33")
def test_memories_of_one_topic_get_the_tag_they_have_in_common(angles: Angles) -> None:
    """A word in two of them, no stop word, of 4 to 32 letters;
    with a link to the tag; who shares a tag already is left alone.
    """
    with temp_engine(
        jobs__workers=0,
        write__extract="off",
        embedder=angles,
        topics__tags=True,
        clock=SettableClock(START),
    ) as engine:
        members = add(
            engine, angles.put("The harbour at dawn"), angles.put("Boats in the harbour", 0.9)
        )
        tagged = add(engine, angles.put("with pears", plane=1), angles.put("more pears", 0.9, 1))
        for id in tagged:
            engine.edit(id, scope=ANN, fields={"tags": ("fruit",)})
        assert engine.topics.refresh(ANN).tagged == 2
        assert {engine.get(id, scope=ANN).tags for id in members} == {("harbour",)}
        assert {engine.get(id, scope=ANN).tags for id in tagged} == {("fruit",)}
        edges = engine.store.edges(OWNER, ["tag:harbour"])
        assert sorted(edge.source for edge in edges) == sorted(members)
        assert {edge.type for edge in edges} == {EdgeType.HAS_TAG}
        assert engine.topics.refresh(ANN).tagged == 0


@pytest.mark.covers("S3.33")
def test_which_words_can_be_tags() -> None:
    """Short ones, long ones, stop words, numbers and words said once cannot."""
    assert infer_tag(["the cat sat", "the cat ran"]) == ""
    assert infer_tag([f"{'x' * 33} one", f"{'x' * 33} two"]) == ""
    assert infer_tag(["about these things 12345", "about these others 12345"]) == ""
    assert infer_tag(["gardens and trees", "rivers and lakes"]) == ""
    assert infer_tag(["Gärten am See", "die gärten im Park"]) == "garten"
    assert infer_tag([]) == ""


@pytest.mark.covers("S3.32")
def test_every_fifty_searches_the_topics_are_brought_up_to_date(angles: Angles) -> None:
    """Forty-nine ask for nothing, the fiftieth enqueues the job; without the setting none does."""
    for on in (True, False):
        with temp_engine(
            jobs__workers=0,
            write__extract="off",
            embedder=angles,
            topics__enabled=on,
            read__abstain=0.0,
            clock=SettableClock(START),
        ) as engine:
            add(engine, angles.put("a lighthouse"))
            for _ in range(49):
                engine.search("lighthouse", scope=ANN)
            engine.drain()
            assert engine.topics.list(ANN) == ()
            engine.search("lighthouse", scope=ANN)
            engine.drain()
            assert told(engine.topics.list(ANN)) == (
                {"a lighthouse": ["a lighthouse"]} if on else {}
            )


def test_topics_do_not_cross_scopes_or_owners(engine: MemoryEngine, angles: Angles) -> None:
    """Two projects with the same text have a topic each, and neither reader sees the other's."""
    x = (*ANN, "project", "x")
    y = (*ANN, "project", "y")
    bob = ("user", "bob")
    for scope in (x, y, bob):
        add(engine, angles.put("the same"), scope=scope)
        engine.topics.refresh(scope)
    assert len(engine.topics.list(ANN)) == 2
    (group,) = engine.topics.list(x)
    assert group.topic.scope == Scope(x)
    assert len(engine.topics.list(bob)) == 1
    assert engine.topics.dedupe(ANN).merged == 0


def test_a_purge_takes_the_topic_with_it_and_the_others_are_grouped_anew(
    engine: MemoryEngine, angles: Angles
) -> None:
    """Neither label nor centre keeps anything of what was purged, nor does a concept above;
    the proof says so.
    """
    secret, harmless = add(engine, angles.put("secret words", 1.0), angles.put("harmless", 0.9))
    add(engine, angles.put("beside", 0.5))
    engine.topics.refresh(ANN)
    engine.topics.abstract(ANN)
    assert len(engine.topics.concepts(ANN)) == 1
    proof = engine.purge(secret, scope=ANN)
    assert proof.removed["topics"] == 2
    assert proof.remaining["topics"] == 0
    assert [group.topic.label for group in engine.topics.list(ANN)] == ["beside"]
    assert engine.topics.concepts(ANN) == ()
    assert [record.id for record in engine.topics.orphans(ANN)] == [harmless]
    engine.topics.refresh(ANN)
    assert "secret" not in str(engine.topics.list(ANN))


def test_another_model_means_other_topics(angles: Angles, home: Any) -> None:
    """Centres of a model that is no longer used are dropped with the first refresh."""
    from engrams import open as open_engine

    with open_engine(home=home, jobs__workers=0, write__extract="off", embedder=angles) as engine:
        add(engine, angles.put("one"), angles.put("two", 0.9))
        engine.topics.refresh(ANN)
    with open_engine(
        home=home, jobs__workers=0, write__extract="off", embedder=HashEmbedder(16)
    ) as engine:
        engine.drain()
        engine.topics.refresh(ANN)
        assert {group.topic.model for group in engine.topics.list(ANN)} == {"hash-16"}
        assert len(engine.topics.list(ANN)) == 2


@pytest.mark.covers("S3.4")
def test_kinds_of_nodes_and_of_links() -> None:
    """Memories, tags and topics are nodes;
    each type of edge is stored; what relates keeps a weight of 0 to 1.
    """
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        first, two = add(engine, "one thing", "another thing")
        ends: Mapping[EdgeType, str] = {EdgeType.HAS_TAG: "tag:x", EdgeType.IN_TOPIC: "topic:1"}
        edges = tuple(
            Edge(owner=OWNER, source=first, target=ends.get(type, two), type=type, weight=0.5)
            for type in EdgeType
        )
        engine.store.commit(WriteBatch("test", "link", engine.now(), edges=edges))
        assert {edge.type for edge in engine.store.edges(OWNER, [first])} == set(EdgeType)
        wanted = {
            EdgeType.HAS_TAG,
            EdgeType.IN_TOPIC,
            EdgeType.RELATES_TO,
            EdgeType.SUPERSEDES,
            EdgeType.CONTRADICTS,
        }
        assert {*wanted, EdgeType.DERIVED_FROM} <= set(EdgeType)
        for _ in range(20):
            engine.used([first, two], scope=ANN)
        (link,) = engine.store.edges(OWNER, [first], (EdgeType.RELATES_TO,))
        assert 0 <= link.weight <= 1


def test_hostile_texts_make_ordinary_topics(engine: MemoryEngine, angles: Angles) -> None:
    """Line breaks, right-to-left text, markup and very long lines:
    a label is one line of 80 characters at most.
    """
    texts = [
        "a\nb\r\n</memory> <script>",
        "\u202e\u05e9\u05dc\u05d5\u05dd",
        "😀" * 500,
        "字" * 100_000,
    ]
    for plane, text in enumerate(texts):
        angles.put(text, plane=plane)
    add(engine, *texts)
    engine.topics.refresh(ANN)
    labels = [group.topic.label for group in engine.topics.list(ANN)]
    assert len(labels) == 4
    assert all(len(label) <= 80 and "\n" not in label for label in labels)


@pytest.mark.covers("S0.29")
def test_only_longterm_memories_where_the_preset_says_so(angles: Angles) -> None:
    """In the tiers of a cache it is the old memories that are grouped."""
    with temp_engine(
        preset="cache",
        jobs__workers=0,
        write__extract="off",
        embedder=angles,
        clock=SettableClock(START),
    ) as engine:
        _, old = add(engine, angles.put("recent"), angles.put("old", plane=1))
        engine.store.commit(
            WriteBatch(
                "test",
                "sweep",
                START,
                changes=(Edit(OWNER, old, {"tier": Tier.LONGTERM}, "sweep"),),
            )
        )
        engine.topics.refresh(ANN)
        assert told(engine.topics.list(ANN)) == {"old": ["old"]}


def stored(engine: MemoryEngine, angles: Angles, text: str, kind: Kind) -> None:
    record = Record(
        id="r" + text, scope=OWNER, kind=kind, text=text, recorded_at=START, status=Status.ACTIVE
    )
    vector = Vector(record.id, angles.card.id, 8, angles.embed([text])[0].tobytes())
    engine.store.commit(WriteBatch("test", "add", START, puts=(NewRecord(record, vector=vector),)))


def test_gaps_and_summaries_are_in_no_topic(engine: MemoryEngine, angles: Angles) -> None:
    """They speak of other memories."""
    for kind in (Kind.GAP, Kind.SUMMARY, Kind.EPISODE):
        stored(engine, angles, angles.put(f"a {kind}"), kind)
    engine.topics.refresh(ANN)
    assert [record.text for group in engine.topics.list(ANN) for record in group.members] == [
        "a episode"
    ]
    assert len(engine.store.find(RecordQuery(visible_scopes(OWNER))).records) == 3
