"""The tiered cache's document (000): what is hot, what is searched, what leaves and what stays, by
the engine with that preset and an embedder of set cosines.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.read.vectors import Angles

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Scope, Tier
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
ASKED = "what is asked"


@pytest.fixture
def angles() -> Angles:
    made = Angles()
    made.put(ASKED)
    return made


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


def opened(home: Path, clock: SettableClock, **more: Any) -> MemoryEngine:
    return engrams.open(home=home, preset="cache", clock=clock, jobs__workers=0, **more)


def point(angles: Angles, cosines: Mapping[str, float]) -> list[str]:
    """Give each text its cosine to the question, in a direction of its own."""
    for axis, (text, cosine) in enumerate(cosines.items(), 1):
        row = np.zeros(8, np.float32)
        row[0], row[axis] = cosine, sqrt(1 - cosine**2)
        angles.known[text] = row
    return list(cosines)


def move(engine: MemoryEngine, *texts: str) -> dict[str, str]:
    """Add memories and move them to the long term; their ids."""
    ids = {text: engine.add(text, scope=ANN).id for text in texts}
    engine.tiers.consolidate(ANN)
    engine.topics.refresh(ANN)
    return ids


def hit_texts(engine: MemoryEngine, query: str = ASKED) -> list[str]:
    return [hit.record.text for hit in engine.search(query, scope=ANN).hits]


def hot_texts(engine: MemoryEngine, query: str) -> list[str]:
    rows = engine.explain(query, scope=ANN).trace.rows
    return [row.text for row in rows if "sub_sim" in row.parts]


@pytest.mark.covers("S0.10", "S0.46")
def test_a_recalled_copy_that_is_pushed_out_changes_nothing(
    home: Path, clock: SettableClock
) -> None:
    """A selected memory of the long term has a copy in the working tier; it stays what it was when
    later turns push the copy out.
    """
    with opened(home, clock, tiers__working_size=2) as engine:
        seal = "The garden pump needs a new rubber seal"
        (seal_id,) = move(engine, seal).values()
        assert hit_texts(engine, "Which seal does the garden pump need?") == [seal]
        engine.drain()
        assert [item["source"] for item in engine.tiers.working(ANN)] == ["promoted_l2"]
        before = engine.get(seal_id, scope=ANN)
        assert before.access_count == 1
        for text in ("The parcel stands in the hall", "My bike is blue", "Ida sings on Mondays"):
            engine.observe(Turn(text), scope=ANN)
        assert [item["source"] for item in engine.tiers.working(ANN)] == ["user", "user"]
        assert engine.get(seal_id, scope=ANN) == before
        assert before.tier is Tier.LONGTERM
        assert engine.tiers.state(ANN)["recent"] == 1, "only what was said goes to the recent tier"


@pytest.mark.covers("S0.37", "S0.48")
def test_the_hot_cache_holds_as_many_as_set_and_loses_the_least_used(
    home: Path, clock: SettableClock, angles: Angles
) -> None:
    """Of three memories that were recalled one after the other, the first is no longer hot; one
    that was recalled again stays. Looking by ``explain`` makes nothing hot.
    """
    texts = [angles.put(f"pump {plane}", plane=plane) for plane in range(4)]
    with opened(home, clock, embedder=angles, tiers__hot_size=2) as engine:
        move(engine, *texts)
        for text in texts[:3]:
            engine.search(text, scope=ANN)
            engine.drain()
        assert engine.tiers.state(ANN)["hot"] == 2
        assert [hot_texts(engine, text) for text in texts[:3]] == [[], texts[1:2], texts[2:3]]
        assert hot_texts(engine, texts[0]) == []
        engine.drain()
        assert hot_texts(engine, texts[0]) == []
        for text in (texts[1], texts[3]):
            engine.search(text, scope=ANN)
            engine.drain()
        assert [hot_texts(engine, text) for text in texts[1:]] == [texts[1:2], [], texts[3:]]
    with opened(home, clock, embedder=angles) as engine:
        assert engine.tiers.state(ANN)["hot"] == 0, "it is of this process only"
        assert engine.settings.tiers.hot_size == 20


@pytest.mark.covers("S0.38", "S0.36")
def test_what_is_hot_takes_no_place_from_the_rest_of_its_topic(
    home: Path, clock: SettableClock, angles: Angles
) -> None:
    """Two rows of a topic are fetched at a time; once they are hot, the next question brings the
    two behind them as well.
    """
    texts = [angles.put(f"pump {number}", 0.99 - number / 100) for number in range(4)]
    with opened(home, clock, embedder=angles) as engine:
        move(engine, *texts)
        assert hit_texts(engine) == texts[:2]
        engine.drain()
        assert sorted(hit_texts(engine)) == texts
        assert sorted(hot_texts(engine, ASKED)) == texts[:2]


@pytest.mark.covers("S0.40", "S0.41")
@pytest.mark.parametrize(("near_count", "is_searched"), [(5, True), (6, False)])
def test_topics_are_searched_where_few_recent_memories_are_near(
    home: Path, clock: SettableClock, angles: Angles, near_count: int, is_searched: bool
) -> None:
    """Six recent ones at the floor or above are enough; with five, the long term is looked into."""
    (old, *near) = point(
        angles, {"long known": 0.95, **{f"near {number}": 0.6 for number in range(near_count)}}
    )
    with opened(home, clock, embedder=angles, tiers__working_size=1) as engine:
        move(engine, old)
        for text in near:
            engine.observe(Turn(text), scope=ANN)
        engine.observe(Turn("The parcel stands in the hall"), scope=ANN)
        assert engine.tiers.state(ANN)["recent"] == near_count
        engine_hits = hit_texts(engine)
        assert (old in engine_hits) is is_searched
        assert set(near) & set(engine_hits)


@pytest.mark.covers("S0.41")
def test_six_topics_are_looked_into(home: Path, clock: SettableClock, angles: Angles) -> None:
    """The six nearest to the question, and no other where nothing links to it."""
    cosines = {f"topic {number}": 0.82 - number / 50 for number in range(7)}
    texts = point(angles, cosines)
    with opened(home, clock, embedder=angles, read__limit=10) as engine:
        move(engine, *texts)
        assert hit_texts(engine) == texts[:6]


@pytest.mark.covers("S0.42")
def test_two_rows_of_a_topic_by_likeness_age_and_importance(
    home: Path, clock: SettableClock, angles: Angles
) -> None:
    """Half likeness, three tenths recency, two tenths importance: an important row comes before one
    that is nearer, and a third is left out.
    """
    for text, cosine in {"near": 0.85, "nearest": 0.95, "important": 0.75}.items():
        angles.put(text, cosine)
    with opened(home, clock, embedder=angles) as engine:
        ids = {text: engine.add(text, scope=ANN).id for text in ("near", "nearest", "important")}
        engine.edit(ids["important"], scope=ANN, fields={"importance": 1.0})
        engine.tiers.consolidate(ANN)
        engine.topics.refresh(ANN)
        assert len(engine.topics.list(ANN)) == 1
        assert sorted(hit_texts(engine)) == ["important", "nearest"]


@pytest.mark.covers("S0.20", "S0.21")
def test_the_cap_of_the_recent_tier_is_looked_at_every_twenty_turns(
    home: Path, clock: SettableClock
) -> None:
    """Between two looks it may be exceeded; then what is important goes to the long term, and what
    is not is archived.
    """
    with opened(home, clock, tiers__recent_size=4) as engine:
        assert engine.settings.tiers.check_turns == 20
        for number in range(19):
            engine.add(f"Shelf {number} holds paint of colour {number}", scope=ANN, kind=Kind.FACT)
        engine.drain()
        assert engine.tiers.state(ANN)["recent"] == 19
        engine.add("Shelf 19 holds paint of colour 19", scope=ANN, kind=Kind.FACT)
        engine.drain()
        state = engine.tiers.state(ANN)
        assert (state["recent"], state["longterm"]) == (4, 16), "nothing vanishes"
        records = engine.list(scope=ANN, kinds=(Kind.FACT,), limit=100).records
        left = sorted(record.text for record in records if record.tier is Tier.RECENT)
        assert left == [
            f"Shelf {number} holds paint of colour {number}" for number in range(16, 20)
        ]


@pytest.mark.covers("S0.22", "S0.23")
def test_the_sweep_comes_by_itself_every_five_minutes(home: Path, clock: SettableClock) -> None:
    """It is a job on a timer: what goes cold is moved by the next one, 300 seconds after the last,
    and a turn moves nothing.
    """
    cold_age = timedelta(days=7 * log(5))
    with opened(home, clock) as engine:
        for number in range(2):
            engine.add(f"The lamp of hall {number} is broken", scope=ANN, kind=Kind.FACT)
            clock.forward(seconds=cold_age.total_seconds() - 200)
            engine.drain()
            assert engine.tiers.state(ANN)["longterm"] == number
            clock.forward(seconds=299)
            engine.observe(Turn("The bus was late again"), scope=ANN)
            assert engine.tiers.state(ANN)["longterm"] == number
            clock.forward(seconds=1)
            engine.drain()
            assert engine.tiers.state(ANN)["longterm"] == number + 1


@pytest.mark.covers("S0.36")
def test_what_is_hot_is_near_from_the_floor_on(
    home: Path, clock: SettableClock, angles: Angles
) -> None:
    """A question at 0.6 finds the hot memory, with its cosine; one at 0.59 does not."""
    angles.put("hot one")
    angles.put("near", 0.6)
    angles.put("far", 0.59)
    with opened(home, clock, embedder=angles) as engine:
        move(engine, "hot one")
        engine.search("hot one", scope=ANN)
        engine.drain()
        assert hot_texts(engine, "near") == ["hot one"]
        assert hot_texts(engine, "far") == []


@pytest.mark.covers("S0.45")
def test_six_candidates_are_selected(home: Path, clock: SettableClock, angles: Angles) -> None:
    """The best six, and the seventh is in the trace only; of two equal texts one is a candidate."""
    texts = point(angles, {f"near {number}": 0.8 - number / 50 for number in range(7)})
    with opened(home, clock, embedder=angles, tiers__working_size=1) as engine:
        for text in texts:
            engine.observe(Turn(text), scope=ANN)
        engine.observe(Turn("The parcel stands in the hall"), scope=ANN)
        found = engine.explain(ASKED, scope=ANN)
        assert [hit.record.text for hit in found.hits] == texts[:6]
        assert {row.text: row.dropped for row in found.trace.rows}[texts[6]]


@pytest.mark.covers("S0.58", "S0.43")
def test_of_two_equally_near_the_newer_comes_first(
    home: Path, clock: SettableClock, angles: Angles
) -> None:
    """Both are kept; three tenths of the score are recency, which falls to 1/e in seven days."""
    texts = point(angles, {"newer": 0.8, "older": 0.8})
    with opened(home, clock, embedder=angles) as engine:
        for text in reversed(texts):
            engine.add(text, scope=ANN, kind=Kind.FACT)
            clock.forward(days=7)
        hits = engine.search(ASKED, scope=ANN).hits
        assert [hit.record.text for hit in hits] == texts
        assert [hit.parts["recency"] for hit in hits] == pytest.approx(
            [0.3 * exp(-1), 0.3 * exp(-2)], abs=1e-3
        )


@pytest.mark.covers("S0.33", "S0.34", "S0.35")
def test_concepts_and_merges_are_made_when_asked(
    home: Path, clock: SettableClock, angles: Angles
) -> None:
    """Moving memories links no topics and makes no concept; a request merges topics from 0.93 on,
    with their members, and another makes concepts with the model's names.
    """
    texts = point(angles, {"base": 1.0, "near": 0.94, "apart": 0.92})
    with ScriptedModel(
        answer=lambda _request: {"names": [{"id": 1, "name": "paint and pumps"}]}
    ) as model:
        chat = {"chat__provider": "openai", "chat__model": "m", "chat__url": model.url}
        with opened(
            home, clock, embedder=angles, topics__join_cosine=0.99, write__extract="off", **chat
        ) as engine:
            move(engine, *texts)
            topics = {group.topic.label: group.topic.id for group in engine.topics.list(ANN)}
            assert sorted(topics) == sorted(texts)
            assert engine.topics.concepts(ANN) == ()
            edges = engine.inspect.edges(Scope(ANN), list(topics.values()))
            assert {edge.type for edge in edges} == {EdgeType.IN_TOPIC}
            assert engine.topics.dedupe(ANN).merged == 1
            sizes = sorted(len(group.members) for group in engine.topics.list(ANN))
            assert sizes == [1, 2]
            assert engine.topics.dedupe(ANN).merged == 0
            engine.topics.abstract(ANN)
            ((concept, members),) = engine.topics.concepts(ANN)
            assert concept.label == "paint and pumps"
            assert set(members) == {group.topic.id for group in engine.topics.list(ANN)}
