"""The tiered cache's document (000):
repetition, judgement and topics, by the engine with that preset and an embedder of set cosines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.read.vectors import Angles

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Scope, Status, Tier
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
ASKED = "what is asked"
MEETING = "The meeting about the garden fence is at 10 in the blue room"


@pytest.fixture
def angles() -> Angles:
    made = Angles()
    made.put(ASKED)
    return made


def opened(home: Path, **more: Any) -> MemoryEngine:
    return engrams.open(
        home=home, preset="cache", clock=SettableClock(START), jobs__workers=0, **more
    )


@pytest.fixture
def engine(home: Path, angles: Angles) -> Iterator[MemoryEngine]:
    with opened(home, embedder=angles) as made:
        yield made


def put(engine: MemoryEngine, angles: Angles, cosines: dict[str, float]) -> dict[str, str]:
    """Long known texts, each at its cosine to the question and in a direction of its own;
    their ids.
    """
    for plane, (text, cosine) in enumerate(cosines.items(), 1):
        row = np.zeros(8, np.float32)
        row[0], row[plane] = cosine, sqrt(1 - cosine**2)
        angles.known[text] = row
    ids = {text: engine.add(text, scope=ANN).id for text in cosines}
    engine.tiers.consolidate(ANN)
    engine.topics.refresh(ANN)
    return ids


def topics(engine: MemoryEngine) -> dict[str, str]:
    return {group.topic.label: group.topic.id for group in engine.topics.list(ANN)}


def together(engine: MemoryEngine) -> list[tuple[str, str, float]]:
    """Topics that were found together, with the weight of the link."""
    edges = engine.inspect.edges(OWNER, list(topics(engine).values()), (EdgeType.CO_OCCURS,))
    return [(edge.source, edge.target, edge.weight) for edge in edges]


@pytest.mark.covers("S0.3")
def test_what_repeats_a_recent_memory_is_not_kept_twice(home: Path) -> None:
    """From the embedder's cosine of a repetition on, nothing enters and the recent one is used once
    more; another number is news.
    """
    with opened(home, tiers__working_size=1) as engine:
        (first,) = engine.observe(Turn(MEETING), scope=ANN)
        engine.observe(Turn("The parcel stands in the hall"), scope=ANN)
        before = engine.tiers.state(ANN)["recent"]
        (again,) = engine.observe(Turn(f"{MEETING.lower()}!"), scope=ANN)
        assert (again.outcome, again.id) == ("duplicate", first.id)
        assert [decision.reason for decision in again.decisions] == ["repeats a recent memory"]
        assert engine.tiers.state(ANN)["recent"] == before
        known = engine.get(first.id, scope=ANN)
        assert (known.access_count, known.last_accessed) == (1, START)
        assert engine.observe(Turn(MEETING.replace("10", "11")), scope=ANN)[0].outcome == "stored"


@pytest.mark.covers("S0.3")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        (
            "We deploy the billing service on Fridays from the Lund office",
            "On Fridays we deploy the billing service from the Lund office",
        ),
        (
            "My sister Ines keeps her cello in the attic of the old mill",
            "In the attic of the old mill my sister Ines keeps her cello",
        ),
    ],
)
@pytest.mark.parametrize("is_given", [True, False], ids=["given", "said"])
def test_a_repetition_adds_no_fact_to_the_recent_tier(
    home: Path, known: str, said: str, is_given: bool
) -> None:
    """From a message that repeats a recent memory in other words nothing new becomes recent,
    whether that memory was given or said.
    """
    with opened(home, tiers__working_size=1) as engine:
        if is_given:
            engine.add(known, scope=ANN, kind=Kind.FACT)
        else:
            engine.observe(Turn(known), scope=ANN)
            engine.observe(Turn("The parcel stands in the hall"), scope=ANN)
        engine.drain()
        before = engine.tiers.state(ANN)["recent"]
        (again,) = engine.observe(Turn(said), scope=ANN)
        engine.drain()
        assert again.outcome == "duplicate"
        assert engine.tiers.state(ANN)["recent"] == before


def test_what_may_be_over_is_learned_again_when_it_is_said_again(home: Path) -> None:
    """A message that repeats one which later news may have ended is no repetition for the facts:
    what it says holds now.
    """
    clock = SettableClock(START)
    with engrams.open(
        home=home, preset="cache", clock=clock, jobs__workers=0, tiers__working_size=1
    ) as engine:
        known = "My sister Ines keeps her cello in the attic of the old mill"
        (first,) = engine.observe(Turn(known), scope=ANN)
        (news,) = engine.observe(Turn("The old mill was sold to a brewer"), scope=ANN)
        engine.drain()
        engine.links.link(news.id, first.id, scope=ANN, type=EdgeType.MAY_OUTDATE, weight=0.9)
        clock.forward(hours=1)
        said = "In the attic of the old mill my sister Ines keeps her cello"
        engine.observe(Turn(said), scope=ANN)
        engine.drain()
        found = engine.explain("Who keeps a cello in the attic?", scope=ANN)
        marks = {hit.record.text: hit.outdated for hit in found.hits if "cello" in hit.record.text}
        assert None in marks.values(), marks


class WatchedClock(SettableClock):
    """A clock that does something once, as soon as a condition holds when the time is read."""

    def __init__(self) -> None:
        super().__init__(START)
        self.watch: tuple[Callable[[], bool], Callable[[], object]] | None = None

    def __call__(self) -> datetime:
        watch, self.watch = self.watch, None
        if watch is not None:
            condition, action = watch
            if condition():
                action()
            else:
                self.watch = watch
        return super().__call__()


@pytest.mark.covers("S0.3")
def test_a_repetition_that_is_judged_meanwhile_leaves_the_tier_all_the_same(
    home: Path,
) -> None:
    """The judge writes its number while a message is compared by its late vector; the message is
    compared again and leaves.
    """
    late = Angles(inline=False)
    late.put(MEETING)
    said = late.put(f"{MEETING.lower()}!", 0.95)
    clock = WatchedClock()
    with engrams.open(
        home=home, preset="cache", clock=clock, jobs__workers=0, embedder=late, write__extract="off"
    ) as engine:
        given = engine.add(MEETING, scope=ANN)
        engine.drain()
        (receipt,) = engine.observe(Turn(said), scope=ANN)

        def has_vector() -> bool:
            return bool(engine.store.vectors(OWNER, [receipt.id], late.card.id).any())

        def judge() -> object:
            return engine.edit(receipt.id, scope=ANN, fields={"importance": 0.8})

        clock.watch = (has_vector, judge)
        engine.drain()
        assert clock.watch is None
        assert engine.tiers.working(ANN) == ()
        assert engine.get(receipt.id, scope=ANN).superseded_by == given.id


@pytest.mark.covers("S0.16", "S0.17")
@pytest.mark.parametrize(
    ("judged", "importance"),
    [
        ("0.8", 0.8),
        ("-3", 0.0),
        ("7", 1.0),
        ("no idea", 0.5),
        ("", 0.5),
        ("About 70 %, I would say.", 0.7),
        ("8/10", 0.8),
        ("3/0", 0.5),
    ],
    ids=["plain", "below", "above", "words", "none", "percentage", "share", "no share"],
)
def test_a_judgement_that_is_no_number_changes_nothing(
    home: Path, judged: str, importance: float
) -> None:
    """Numbers are brought into 0 to 1, anything else leaves 0.5;
    what enters the recent tier gets its one sentence, by a job.
    """
    with ScriptedModel() as model:
        model.when("How much will it matter", judged).when(
            "one short sentence", "The key is under the pot."
        ).when("statements", {"statements": []})
        chat = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
        }
        with opened(home, tiers__working_size=1, **chat) as engine:
            (said,) = engine.observe(
                Turn("Well, the spare key is of course under the pot by the door"), scope=ANN
            )
            engine.drain()
            assert engine.get(said.id, scope=ANN).importance == importance
            engine.observe(Turn("The parcel stands in the hall"), scope=ANN)
            engine.drain()
            kept = engine.get(said.id, scope=ANN)
            assert kept.summary == ("" if importance < 0.5 else "The key is under the pot.")
            assert (kept.status is Status.ACTIVE) is (importance >= 0.5)


@pytest.mark.covers("S0.16", "S0.17")
def test_a_judge_that_fails_changes_nothing(home: Path) -> None:
    """Importance stays 0.5, the summary stays empty, the whole text is there, and the failed jobs
    are seen.
    """
    with ScriptedModel() as model:
        model.fail("http_400", times=50)
        chat = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
        }
        with opened(home, tiers__working_size=1, write__extract="rules", **chat) as engine:
            ids = [
                engine.observe(Turn(text), scope=ANN)[0].id
                for text in ("The spare key hangs left", "The parcel stands in the hall")
            ]
            engine.drain()
            kept = engine.get(ids[0], scope=ANN)
            assert (kept.importance, kept.summary, kept.tier) == (0.5, "", Tier.RECENT)
            assert kept.text == "The spare key hangs left"
            assert {"importance-judge", "l1-finalize"} <= {
                job["kind"] for job in engine.status()["dead"]
            }


@pytest.mark.covers("S0.29")
@pytest.mark.parametrize(("other", "sizes"), [(0.72, [10, 11]), (1.0, [21])])
def test_a_topic_of_more_than_twenty_is_split_where_it_falls_apart(
    engine: MemoryEngine, angles: Angles, other: float, sizes: list[int]
) -> None:
    """Twenty-one around two directions become two new topics and the old one is gone;
    around one, nothing changes.
    """
    said = [angles.put(f"left {n}", 1.0) for n in range(11)] + [
        angles.put(f"right {n}", other) for n in range(9)
    ]
    for text in said:
        engine.add(text, scope=ANN)
    engine.tiers.consolidate(ANN)
    engine.topics.refresh(ANN)
    (whole,) = engine.topics.list(ANN)
    assert len(whole.members) == 20
    engine.add(angles.put("right 9", other), scope=ANN)
    engine.tiers.consolidate(ANN)
    engine.topics.refresh(ANN)
    groups = engine.topics.list(ANN)
    assert sorted(len(group.members) for group in groups) == sizes
    assert (whole.topic.id in {group.topic.id for group in groups}) is (len(sizes) == 1)


@pytest.mark.covers("S0.30")
def test_a_memory_without_a_topic_is_listed_and_not_found(home: Path, angles: Angles) -> None:
    """What was embedded by nobody yet has no topic:
    no search by meaning finds it, and the list of orphans names it.
    """
    with opened(home, embed__provider="null") as engine:
        engine.add("long known", scope=ANN)
        engine.tiers.consolidate(ANN)
        engine.topics.refresh(ANN)
        assert engine.topics.list(ANN) == ()
        assert [record.text for record in engine.topics.orphans(ANN)] == ["long known"]
    with opened(home, embedder=angles) as engine:
        angles.put("long known")
        assert not engine.search(ASKED, scope=ANN).hits
        engine.drain()
        engine.topics.refresh(ANN)
        assert engine.topics.orphans(ANN) == ()
        assert [hit.record.text for hit in engine.search(ASKED, scope=ANN).hits] == ["long known"]


@pytest.mark.covers("S0.31", "S0.32")
def test_topics_near_the_same_question_are_linked_once(
    engine: MemoryEngine, angles: Angles
) -> None:
    """Every two at 0.6 or above, selected or not:
    one row in the order of ids, one more with each search; 0.59 is in none.
    """
    put(engine, angles, {"one": 0.75, "two": 0.6, "far": 0.59})
    named = topics(engine)
    for weight in (1.0, 2.0):
        engine.search(ASKED, scope=ANN, limit=1)
        engine.drain()
        assert together(engine) == [(*sorted((named["one"], named["two"])), weight)]


@pytest.mark.covers("S0.35")
def test_topics_as_good_as_one_are_merged_with_their_links(home: Path, angles: Angles) -> None:
    """On request, from a cosine of 0.93 on: the members of both are in one, the weights of their
    links to a third add up, and no link leads to the one that is gone.
    """
    turned = 0.94
    side = sqrt(1 - 0.8**2)
    with opened(home, embedder=angles, topics__join_cosine=0.99) as engine:
        for text, row in (
            ("boiler", (0.8, side, 0.0, 0.0)),
            ("heater", (0.8, (turned - 0.64) / side, 0.0, 0.0)),
            ("garden", (0.7, 0.0, 0.0, sqrt(1 - 0.49))),
        ):
            vector = np.zeros(8, np.float32)
            vector[: len(row)] = row
            vector[2] = sqrt(max(0.0, 1 - float(vector @ vector)))
            angles.known[text] = vector
            engine.add(text, scope=ANN)
        engine.tiers.consolidate(ANN)
        engine.topics.refresh(ANN)
        for _ in range(2):
            engine.search(ASKED, scope=ANN)
            engine.drain()
        before = topics(engine)
        assert [weight for *_, weight in together(engine)] == [2.0, 2.0, 2.0]
        assert engine.topics.dedupe(ANN).merged == 1
        sizes = {group.topic.id: len(group.members) for group in engine.topics.list(ANN)}
        assert sorted(sizes.values()) == [1, 2]
        gone = set(before.values()) - sizes.keys()
        edges = engine.inspect.edges(OWNER, list(before.values()))
        assert not gone & {end for edge in edges for end in (edge.source, edge.target)}
        ((first, second, weight),) = together(engine)
        assert ({first, second}, weight) == (set(sizes), 4.0)


@pytest.mark.covers("S0.47")
def test_a_linked_topic_comes_with_the_one_that_was_hit(home: Path, angles: Angles) -> None:
    """Of the topics beside the one looked into, the one that was found with it is fetched at 0.6;
    what no link leads to is not.
    """
    with opened(home, embedder=angles) as engine:
        put(engine, angles, {"hit": 0.9, "linked": 0.6, "linked far": 0.59})
        engine.search(ASKED, scope=ANN)
        engine.drain()
        assert len(together(engine)) == 1
    with opened(home, embedder=angles, read__routing__topics=1) as engine:
        put(engine, angles, {"hit": 0.9, "linked": 0.6, "linked far": 0.59, "unlinked": 0.7})
        assert sorted({hit.record.text for hit in engine.search(ASKED, scope=ANN).hits}) == [
            "hit",
            "linked",
        ]


@pytest.mark.covers("S0.44")
def test_the_floor_is_absolute(engine: MemoryEngine, angles: Angles) -> None:
    """0.6 passes; 0.59 is never injected, whatever its importance adds to its score."""
    for plane, (text, cosine) in enumerate({"passes": 0.6, "important": 0.59}.items(), 1):
        row = np.zeros(8, np.float32)
        row[0], row[plane] = cosine, sqrt(1 - cosine**2)
        angles.known[text] = row
    ids = {text: engine.add(text, scope=ANN).id for text in ("passes", "important")}
    engine.edit(ids["important"], scope=ANN, fields={"importance": 1.0})
    found = engine.explain(ASKED, scope=ANN)
    rows = {row.id: row for row in found.trace.rows}
    assert rows[ids["important"]].score > rows[ids["passes"]].score
    assert rows[ids["important"]].dropped.startswith("below the floor")
    assert [hit.record.id for hit in found.hits] == [ids["passes"]]
