"""The thresholds of documents 000 and 003 with the embedder that ships:
what was set for another model means the same with ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path

import pytest
from tests.acceptance.process import run

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Scope
from engrams.ports import EmbedderCard
from engrams.settings import load, preset_cosines, presets
from engrams.testing import HashEmbedder

ANN = ("user", "ann")
POTTERY = (
    "I signed up for a pottery class on Tuesday evenings",
    "The pottery class I signed up for starts this week",
    "My pottery teacher says my bowls are getting better in class",
)
WEDDING = (
    "My sister's wedding is in June and I'm the maid of honour",
    "I am maid of honour at my sister's wedding this summer",
    "Shopping for my dress for my sister's wedding was chaos",
)
APART = (
    "The car needs new winter tyres",
    "Grandma puts nutmeg in her lasagne",
    "The library is closed on Mondays",
)


class NamedEmbedder(HashEmbedder):
    """An embedder that says what its cosines mean, or does not."""

    def __init__(self, scale: tuple[float, ...] = ()) -> None:
        super().__init__()
        self.card = EmbedderCard("named", 256, scale=scale, inline=True)


@pytest.fixture
def engine(home: Path) -> Iterator[MemoryEngine]:
    with engrams.open(home=home, preset="cache", jobs__workers=0, write__extract="off") as made:
        yield made


def remember(engine: MemoryEngine, *texts: str) -> None:
    for text in texts:
        engine.add(text, scope=ANN)
    engine.tiers.consolidate(ANN)
    engine.topics.refresh(ANN)


@pytest.mark.covers("S0.28", "S0.29")
def test_what_is_about_one_thing_joins_one_topic(engine: MemoryEngine) -> None:
    """In other words too; what is about something else begins a topic of its own."""
    remember(engine, *(text for row in zip_longest(POTTERY, WEDDING, APART) for text in row))
    groups = {
        frozenset(record.text for record in group.members) for group in engine.topics.list(ANN)
    }
    assert groups == {
        frozenset(POTTERY),
        frozenset(WEDDING),
        *(frozenset({text}) for text in APART),
    }


@pytest.mark.covers("S0.28")
@pytest.mark.parametrize(
    "other", ["when do we use MongoDB", "can I use MongoDB for session caching"]
)
def test_related_questions_stay_apart(engine: MemoryEngine, other: str) -> None:
    """The document's own examples: both are about databases, and each has a topic of its own."""
    remember(engine, "we use Redis for session caching", other)
    assert [len(group.members) for group in engine.topics.list(ANN)] == [1, 1]


@pytest.mark.covers("S0.44", "S0.47", "S0.40")
def test_what_means_the_same_passes_the_floor_and_what_does_not_is_left_out(
    engine: MemoryEngine,
) -> None:
    """Without a word in common; of a question about nothing that was said, nothing comes near."""
    remember(engine, *APART, "I'm learning the cello with an old teacher")
    assert [
        hit.record.text
        for hit in engine.search("What is wrong with the vehicle's wheels?", scope=ANN).hits
    ] == [APART[0]]
    assert [
        hit.record.text for hit in engine.search("How does granny season pasta?", scope=ANN).hits
    ] == [APART[1]]
    assert engine.search("Which river flows through Vienna?", scope=ANN).hits == ()


@pytest.mark.covers("S0.32", "S0.31")
def test_topics_about_what_is_asked_are_linked(engine: MemoryEngine) -> None:
    """Two that are both near the question are; one that is about something else is not."""
    remember(
        engine,
        "We adopted a puppy from the animal shelter",
        "Our cats get along with the rabbits",
        "The car needs new winter tyres",
    )
    engine.search("Which pets live with us?", scope=ANN)
    engine.drain()
    named = {group.topic.label: group.topic.id for group in engine.topics.list(ANN)}
    edges = engine.inspect.edges(Scope(ANN), list(named.values()), (EdgeType.CO_OCCURS,))
    linked = {
        frozenset(name for name, id in named.items() if id in (edge.source, edge.target))
        for edge in edges
    }
    assert linked == {
        frozenset(
            {"We adopted a puppy from the animal shelter", "Our cats get along with the rabbits"}
        )
    }


@pytest.mark.covers("S0.3")
@pytest.mark.parametrize(
    ("again", "outcome"),
    [
        ("We're planning a surprise party for my sister at the lake house", "duplicate"),
        ("We're planning a quiet weekend for my parents at the lake house", "stored"),
    ],
)
def test_near_duplicates_are_one_and_what_differs_is_not(
    home: Path, again: str, outcome: str
) -> None:
    """Of a recent memory: other spelling is the same, other content is news."""
    with engrams.open(home=home, preset="cache", jobs__workers=0, tiers__working_size=1) as engine:
        engine.observe(
            Turn("We are planning a surprise party for my sister at the lake house"), scope=ANN
        )
        engine.observe(Turn("The parcel stands in the hall"), scope=ANN)
        (receipt,) = engine.observe(Turn(again), scope=ANN)
        assert receipt.outcome == outcome


@pytest.mark.covers("S3.39", "S3.10")
def test_the_graphs_numbers_mean_with_ours_what_they_meant(home: Path) -> None:
    """What is said again is one memory, what only sounds alike is another, and a likeness of
    meaning is found without a shared word.
    """
    with engrams.open(home=home, preset="graph", jobs__workers=0) as engine:
        for text in (
            "I enjoy watching old detective films in the evening",
            "I enjoy watching old detective movies in the evenings",
            "I enjoy listening to old jazz records in the evening",
        ):
            engine.add(text, scope=ANN)
        known = engine.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE)).records
        assert sorted(record.strength for record in known) == [1, 2]
        engine.add("The car needs new winter tyres", scope=ANN)
        found = engine.search("What is wrong with the vehicle's wheels?", scope=ANN).hits
        assert "The car needs new winter tyres" in [hit.record.text for hit in found]


@pytest.mark.covers("S0.56", "S0.44")
@pytest.mark.parametrize("preset", presets())
def test_every_cosine_of_a_preset_goes_by_the_card(home: Path, preset: str) -> None:
    """All are turned into those of a model with a scale, hold as they are with one without, and
    nothing else changes.
    """
    given = preset_cosines(load({"preset": preset}, environ={}).settings)
    steep = (*(place / 20 for place in range(10)), 1.0)
    for scale, changed in ((steep, True), ((), False)):
        with engrams.open(
            home=home, preset=preset, embedder=NamedEmbedder(scale), background=False
        ) as engine:
            used = {name: attrgetter(name)(engine.settings) for name in given}
            assert all((used[name] < value) is changed for name, value in given.items())
            with engrams.open(
                engine.settings, embedder=NamedEmbedder(scale), background=False
            ) as again:
                assert again.settings == engine.settings, "what is turned once is not turned again"
    with engrams.open(home=home, preset=preset, embed__cosine_model="", background=False) as engine:
        assert {name: attrgetter(name)(engine.settings) for name in given} == given


def test_a_cosine_of_ones_own_holds_as_it_is(home: Path) -> None:
    """What is set otherwise than the preset has it is for the model in use;
    the rest follows the card.
    """
    with engrams.open(home=home, preset="cache", topics__join_cosine=0.66) as engine:
        assert engine.settings.topics.join_cosine == 0.66
        assert engine.settings.topics.split_cosine < 0.75


def test_the_commands_say_what_is_used(home: Path) -> None:
    """``config`` shows the preset's number and the one in use;
    ``doctor`` says for which model the numbers were.
    """
    shown = json.loads(run(home, arguments=("config", "topics", "--preset", "cache", "--json")))
    assert shown["topics.join_cosine"]["value"] == 0.7
    assert 0.5 < shown["topics.join_cosine"]["used"] < 0.65
    assert "used" not in shown["topics.max_members"]
    assert "0.7 (here 0.6" in run(
        home, arguments=("config", "topics.join_cosine", "--preset", "cache")
    )
    assert "for bge-large-en-v1.5, converted for builtin" in run(
        home, arguments=("doctor", "--preset", "cache", "--offline")
    )
    server = ("--set", "embed.provider=ollama", "--set", "embed.model=a-model-of-ours")
    assert "not converted" in run(
        home, *server, arguments=("doctor", "--preset", "cache", "--offline")
    )
