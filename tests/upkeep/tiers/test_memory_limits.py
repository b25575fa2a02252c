"""Caps: who goes when there is more, where to, and that nothing is erased."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import LAYER_OF, RULE_KINDS, Kind, Record, Scope, Status, Tier
from engrams.ports import NewRecord, WriteBatch
from engrams.settings import load
from engrams.testing import HashEmbedder, ScriptedModel, SettableClock, temp_engine
from engrams.upkeep.tiers.memory_limits import (
    score_worth,
    select_excess_facts,
    select_excess_recent,
    select_oldest,
)

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def opened(**fields: Any) -> Any:
    """An engine whose jobs run by hand."""
    return temp_engine(
        **{"jobs__workers": 0, "clock": SettableClock(START), "embedder": HashEmbedder()} | fields
    )


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    """The preset with tiers, and a tier of one item."""
    with opened(preset="cache", tiers__working_size=1) as made:
        yield made


def made(name: str, kind: Kind = Kind.FACT, days: float = 0.0, **fields: Any) -> Record:
    """A record so many days old."""
    return Record(
        name,
        OWNER,
        kind,
        f"{name} of {kind}",
        START - timedelta(days=days),
        layer=LAYER_OF[kind],
        **fields,
    )


def put(engine: MemoryEngine, *records: Record) -> None:
    """Store records as they are."""
    engine.store.commit(
        WriteBatch("test", "given", START, puts=tuple(NewRecord(record) for record in records))
    )


def active(engine: MemoryEngine, *kinds: Kind) -> list[str]:
    """Ids of the active ones, oldest first."""
    return [
        record.id
        for record in engine.list(scope=ANN, kinds=kinds, order="oldest", limit=1000).records
    ]


def ids(records: tuple[Record, ...]) -> list[str]:
    """Their ids."""
    return [record.id for record in records]


def fill(engine: MemoryEngine, number: int, start: int = 0) -> list[str]:
    """Turns about different things, a second apart."""
    ids_said = []
    for index in range(start, start + number):
        ids_said.append(
            engine.observe(Turn(f"parcel{index} stands in room{index} of house{index}"), scope=ANN)[
                0
            ].id
        )
        engine._clock.forward(1)  # type: ignore[attr-defined]
    return ids_said


@pytest.mark.covers("S0.20", "S0.50")
def test_the_cap_of_recent_items_is_looked_at_every_twentieth_turn(engine: MemoryEngine) -> None:
    """By a job of that scope's; until it runs there may be more than forty."""
    assert (engine.settings.tiers.recent_size, engine.settings.tiers.check_turns) == (40, 20)
    fill(engine, 59)
    assert engine.tiers.jobs().count("enforce-caps:user/ann") == 1
    assert engine.tiers.state(ANN)["recent"] == 58
    engine.drain()
    assert engine.tiers.state(ANN)["recent"] == 40
    assert "enforce-caps:user/ann" not in engine.tiers.jobs()
    fill(engine, 1, 59)
    assert "enforce-caps:user/ann" in engine.tiers.jobs()
    engine.drain()
    assert engine.tiers.state(ANN)["recent"] == 40
    fill(engine, 19, 60)
    engine.drain()
    assert engine.tiers.state(ANN)["recent"] == 59
    fill(engine, 1, 79)
    engine.drain()
    assert engine.tiers.state(ANN)["recent"] == 40


@pytest.mark.covers("S0.20")
def test_the_oldest_unimportant_ones_go_first() -> None:
    """Below the importance that is worth keeping first, the oldest of them first;
    then the oldest of the others.
    """
    records = [
        made("a", Kind.TURN, 5, importance=0.6),
        made("b", Kind.TURN, 4, importance=0.2),
        made("c", Kind.TURN, 3, importance=0.1),
        made("d", Kind.TURN, 2, importance=0.5),
    ]
    assert ids(select_excess_recent(records, 2, 0.5)) == ["b", "c"]
    assert ids(select_excess_recent(records, 1, 0.5)) == ["b", "c", "a"]
    assert select_excess_recent(records, 4, 0.5) == ()


@pytest.mark.covers("S0.21")
def test_what_matters_migrates_and_what_does_not_is_put_away(engine: MemoryEngine) -> None:
    """Victims of the cap with 0.5 or more go to the long term, with their partners;
    the others leave every read, and stay.
    """
    engine.store.commit(
        WriteBatch(
            "test",
            "given",
            START,
            puts=tuple(
                NewRecord(
                    made(
                        f"{index:02d}", Kind.TURN, 50 - index, importance=0.3 if index < 5 else 0.5
                    )
                )
                for index in range(50)
            ),
        )
    )
    counts = engine.tiers.enforce(ANN)
    assert counts["recent"] == 10
    assert [engine.get(f"{index:02d}", scope=OWNER).status for index in range(5)] == [
        Status.ARCHIVED
    ] * 5
    pairs = engine.list(scope=ANN, kinds=(Kind.EXCHANGE,), order="oldest").records
    assert [quote.source for pair in pairs for quote in pair.evidence] == [
        "05",
        "06",
        "07",
        "08",
        "09",
    ]
    assert len(active(engine, Kind.TURN)) == 40
    assert engine.tiers.enforce(ANN)["recent"] == 0


@pytest.mark.covers("S1.17")
def test_over_the_cap_the_least_sure_facts_go() -> None:
    """500 in the preset;
    the oldest of equals first; put away, so that it can be undone; corrections and preferences
    count too.
    """
    assert load({"preset": "engine"}, environ={}).settings.caps.facts == 500
    assert load({"preset": "engine", "caps.facts": 100}, environ={}).settings.caps.facts == 100
    records = [
        made("a", days=1, confidence=0.9),
        made("b", days=2, confidence=0.4),
        made("c", days=3, confidence=0.7),
        made("d", Kind.PREFERENCE, 4, confidence=0.7),
        made("e", Kind.CORRECTION, 1, confidence=0.95),
    ]
    assert ids(select_excess_facts(records, 3, "confidence", START)) == ["b", "d"]
    with opened(preset="engine", caps__facts=3) as engine:
        put(engine, *records)
        assert engine.tiers.enforce(ANN)["facts"] == 2
        archived = engine.get("b", scope=ANN)
        assert (archived.status, archived.superseded_by, archived.text) == (
            Status.ARCHIVED,
            "eviction",
            "b of fact",
        )
        assert sorted(active(engine, Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)) == [
            "a",
            "c",
            "e",
        ]
        assert engine.tiers.enforce(ANN)["facts"] == 0
        assert [entry.action for entry in engine.history("b", scope=ANN)] == ["add", "evict"]


@pytest.mark.covers("S1.17")
def test_the_cap_is_kept_by_itself(home: Path) -> None:
    """Every twentieth turn; and by the sweep, for processes that end before."""
    clock = SettableClock(START)
    fields: dict[str, Any] = {
        "home": home,
        "preset": "engine",
        "jobs__workers": 0,
        "caps__facts": 2,
        "clock": clock,
    }
    for _ in range(2):
        with engrams.open(**fields) as engine:
            put(
                engine,
                *(
                    made(f"{clock():%H%M}{index}", days=index, confidence=0.5 + index / 10)
                    for index in range(3)
                ),
            )
            engine.observe(Turn("Nothing to learn from here at all"), scope=ANN)
            engine.drain()
        clock.forward(minutes=6)
    with engrams.open(**fields) as engine:
        engine.drain()
        assert len(active(engine, Kind.FACT)) == 2


@pytest.mark.covers("S1.18")
def test_worth_is_confidence_recency_and_use() -> None:
    """0.65, 0.25 halved every 90 days and 0.1 halved every 30 days without use."""
    assert score_worth(made("a", confidence=1.0), START) == pytest.approx(0.65 + 0.25)
    assert score_worth(made("a", days=90, confidence=0.5), START) == pytest.approx(0.325 + 0.125)
    used = made("a", days=90, confidence=0.5, last_accessed=START - timedelta(days=30))
    assert score_worth(used, START) == pytest.approx(0.325 + 0.125 + 0.05)
    assert score_worth(made("a", days=-5, confidence=1.0), START) == pytest.approx(0.9)
    old_and_sure = made("a", days=400, confidence=0.8)
    new_and_used = made("b", confidence=0.7, last_accessed=START)
    assert ids(select_excess_facts([old_and_sure, new_and_used], 1, "confidence", START)) == ["b"]
    assert ids(select_excess_facts([old_and_sure, new_and_used], 1, "hybrid", START)) == ["a"]


@pytest.mark.covers("S1.18")
def test_a_tenth_is_kept_for_corrections() -> None:
    """Ten at least, the worthiest of them, however unsure; beyond, they compete like the others."""
    facts = [made(f"f{index:03d}", confidence=0.9) for index in range(150)]
    corrections = [
        made(f"c{index:02d}", Kind.CORRECTION, confidence=0.01 * index) for index in range(20)
    ]
    excess_ids = ids(select_excess_facts([*facts, *corrections], 150, "hybrid", START))
    assert len(excess_ids) == 20
    assert sorted(excess_ids)[:5] == ["c00", "c01", "c02", "c03", "c04"]
    assert len([name for name in excess_ids if name.startswith("c")]) == 20 - 15
    few = ids(select_excess_facts([*facts[:20], *corrections], 20, "hybrid", START))
    assert len([name for name in few if name.startswith("c")]) == 10
    tiny = ids(select_excess_facts([*facts[:5], *corrections], 5, "hybrid", START))
    assert len(tiny) == 20


@pytest.mark.covers("S4.30")
def test_the_oldest_rules_are_archived() -> None:
    """Twenty active ones; those that go say so and are still there."""
    assert load({"preset": "layers"}, environ={}).settings.caps.rules == 20
    with opened(preset="layers") as engine:
        put(
            engine,
            *(
                made(
                    f"r{index:02d}",
                    (Kind.RULE, Kind.PROCEDURE, Kind.NEGATIVE)[index % 3],
                    days=30 - index,
                )
                for index in range(23)
            ),
        )
        assert engine.tiers.enforce(ANN)["rules"] == 3
        archived = engine.list(scope=ANN, statuses=(Status.ARCHIVED,), order="oldest").records
        assert [(record.id, record.superseded_by) for record in archived] == [
            (f"r{index:02d}", "eviction") for index in range(3)
        ]
        assert len(active(engine, Kind.RULE, Kind.PROCEDURE, Kind.NEGATIVE)) == 20
        assert engine.tiers.enforce(ANN)["rules"] == 0


@pytest.mark.covers("S4.30")
def test_a_replaced_rule_names_what_replaced_it() -> None:
    """It is put away with the new one's id, and stays."""
    old = "Always answer in English."
    new = "From now on always answer in German."
    with ScriptedModel() as model:
        chat = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
        }
        statuses = {
            "write__extract": "llm",
            "write__reconcile": "llm",
            "write__policy": "off",
            "write__debounce_seconds": 0.0,
        }
        with opened(caps__rules=20, **chat, **statuses) as engine:
            for text in (old, new):
                rule = {
                    "turn": 1,
                    "text": text,
                    "quote": text,
                    "subject": "user",
                    "predicate": "instructs",
                    "object": text,
                    "kind": "rule",
                }
                model.say({"statements": [{**rule, "confidence": 0.9, "importance": 0.9}]})
                if text is new:
                    model.say(
                        {
                            "decisions": [
                                {
                                    "new": 1,
                                    "verdict": "replace",
                                    "known": [1],
                                    "reason": "another language",
                                }
                            ]
                        }
                    )
                engine.observe(Turn(text), scope=ANN)
                engine.drain()
            (kept,) = engine.list(scope=ANN, kinds=RULE_KINDS).records
            (archived,) = engine.list(
                scope=ANN, kinds=RULE_KINDS, statuses=(Status.SUPERSEDED, Status.ARCHIVED)
            ).records
            assert (kept.text, archived.text, archived.superseded_by) == (new, old, kept.id)


@pytest.mark.covers("S2.47")
def test_the_oldest_entries_of_a_conversation_go() -> None:
    """500 turns and facts in the preset;
    the oldest first, until within the cap; summaries do not count; 0 or less: no cap.
    """
    assert load({"preset": "proxy"}, environ={}).settings.caps.entries == 500
    with opened(caps__entries=4) as engine:
        put(engine, *(made(f"t{index}", Kind.TURN, 9 - index) for index in range(4)))
        put(
            engine,
            made("s", Kind.SUMMARY, 99),
            made("e", Kind.EPISODE, 98),
            made("f0", days=20),
            made("f1", days=1),
        )
        assert engine.tiers.enforce(ANN)["entries"] == 2
        assert active(engine) == ["s", "e", "t1", "t2", "t3", "f1"]
        archived = engine.get("f0", scope=ANN)
        assert (archived.status, archived.text) == (Status.FORGOTTEN, "f0 of fact")
        assert engine.restore("f0", scope=ANN).status is Status.ACTIVE
    for cap in (0, -1):
        with opened(caps__entries=cap) as engine:
            put(engine, *(made(f"t{index}", Kind.TURN, 9 - index) for index in range(9)))
            engine.drain()
            assert engine.tiers.enforce(ANN)["entries"] == 0


@pytest.mark.covers("S2.47")
def test_files_of_evicted_entries_are_deleted_softly(home: Path) -> None:
    """They are in the folder of deleted files, and can be brought back."""
    with engrams.open(
        home=home, preset="proxy", caps__entries=2, vault__git=False, jobs__workers=0
    ) as engine:
        for index in range(3):
            engine.observe(Turn(f"parcel{index} stands in room{index}"), scope=ANN)
        engine.drain()
        engine.tiers.enforce(ANN)
        engine.drain()
        deleted_paths = [path for path in (home / "vault").rglob("*.md") if "deleted" in path.parts]
        assert len(deleted_paths) == 1
        assert "parcel0" in deleted_paths[0].read_text("utf-8")


def test_caps_know_their_own_scope_only() -> None:
    """Another scope's records, and another owner's, neither count nor go."""
    with opened(caps__facts=1) as engine:
        project = Scope((*ANN, "project", "x"))
        procedures = [made("p0", days=3), made("p1", days=2)]
        engine.store.commit(
            WriteBatch(
                "test",
                "given",
                START,
                puts=tuple(
                    NewRecord(
                        Record(
                            id=r.id,
                            scope=project,
                            kind=r.kind,
                            text=r.text,
                            recorded_at=r.recorded_at,
                            layer=r.layer,
                        )
                    )
                    for r in procedures
                ),
            )
        )
        put(engine, made("a", days=1))
        assert engine.tiers.enforce(ANN)["facts"] == 0
        assert engine.tiers.enforce(project)["facts"] == 1
        assert engine.tiers.enforce(("user", "bob"))["facts"] == 0


def test_oldest_of_equals_is_decided_by_id() -> None:
    """The same ones each time."""
    records = [made("b"), made("a"), made("c")]
    assert ids(select_oldest(records, 1)) == ["a", "b"]
    assert select_oldest(records, 3) == ()


def test_a_tier_is_not_changed_by_a_cap_of_facts() -> None:
    """Without tiers, turns stay recent however many there are."""
    with opened(caps__facts=1) as engine:
        fill(engine, 45)
        engine.drain()
        assert {record.tier for record in engine.list(scope=ANN, kinds=(Kind.TURN,)).records} == {
            Tier.RECENT
        }
