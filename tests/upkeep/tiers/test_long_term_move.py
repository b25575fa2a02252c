"""From the recent tier to the long term:
when, in which pairs, and what a fault in between costs (nothing).
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import EdgeType, Kind, Record, Scope, Status, Tier
from engrams.errors import StoreError
from engrams.ports import SWEEP, WriteBatch
from engrams.testing import HashEmbedder, SettableClock, temp_engine
from engrams.upkeep.tiers.exchanges import build_exchange, pair_turns
from engrams.upkeep.tiers.long_term_move import compute_cold_age, is_cold

ANN = ("user", "ann")
OWNER = Scope(ANN)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands still."""
    return SettableClock(START)


@pytest.fixture(params=[True, False], ids=["topics", "no topics"])
def engine(request: pytest.FixtureRequest, clock: SettableClock) -> Iterator[MemoryEngine]:
    """A tier of one item, so that what is said is recent soon; with topics and without."""
    topics = {
        "topics__enabled": request.param,
        "read__routing__mode": "tiers" if request.param else "all",
    }
    with temp_engine(
        preset="cache",
        jobs__workers=0,
        clock=clock,
        embedder=HashEmbedder(),
        tiers__working_size=1,
        **topics,
    ) as opened:
        yield opened


def talk(
    engine: MemoryEngine, clock: SettableClock, number: int, minutes: float = 60, start: int = 0
) -> list[str]:
    """Questions with answers ten seconds later, an hour apart; all of them recent in the end."""
    ids = []
    for index in range(start, start + number):
        ids.append(
            engine.observe(Turn(f"I look for parcel{index} of house{index}"), scope=ANN)[0].id
        )
        clock.forward(seconds=10)
        ids.append(
            engine.observe(
                Turn(f"It stands in room{index} of house{index}", role="assistant"), scope=ANN
            )[0].id
        )
        clock.forward(minutes=minutes)
    engine._components.working.release(OWNER)
    return ids


def rows(engine: MemoryEngine) -> list[Record]:
    """The exchanges, oldest first."""
    return list(engine.list(scope=ANN, kinds=(Kind.EXCHANGE,), order="oldest").records)


def said(name: str, minutes: float, role: str = "user", session: str = "") -> Record:
    """A turn so many minutes after the start."""
    return Record(
        id=name,
        scope=OWNER,
        kind=Kind.TURN,
        text=name,
        recorded_at=START + timedelta(minutes=minutes),
        role=role,
        session=session,
    )


@pytest.mark.covers("S0.23")
def test_cold_is_old_enough_by_both_measures() -> None:
    """Recency below 0.2, which for tau 7 days is 11.27 days, and five minutes;
    at either edge it stays.
    """
    day = timedelta(days=1)
    assert compute_cold_age(7, 0.2, 5) == timedelta(days=7 * math.log(5))
    assert round(7 * math.log(5), 2) == 11.27
    assert not is_cold(11.26 * day, 7, 0.2, 5)
    assert is_cold(11.28 * day, 7, 0.2, 5)
    assert not is_cold(day, 1.0, math.exp(-1), 5)
    assert not is_cold(timedelta(minutes=5), 1e-9, 0.2, 5)
    assert is_cold(timedelta(minutes=5, seconds=1), 1e-9, 0.2, 5)
    assert not is_cold(-day, 7, 0.2, 5)
    assert compute_cold_age(7, 0.0, 5) is None
    assert compute_cold_age(7, 1.0, 5) == timedelta(minutes=5)


@pytest.mark.covers("S0.24")
def test_a_message_and_the_answer_that_follows_it_are_a_pair() -> None:
    """Of one session and within the minutes, with nothing said between them;
    who finds nobody stands alone.
    """

    def pair(*turns: Record, left_ids: Sequence[str] = ()) -> list[tuple[str, ...]]:
        pairs = pair_turns([turn for turn in turns if turn.id not in left_ids], turns, 10)
        return [tuple(half.id for half in turn_pair.halves) for turn_pair in pairs]

    two = (said("u1", 0), said("a1", 1, "assistant"), said("u2", 1.5), said("a2", 2, "assistant"))
    assert pair(*two, said("u3", 60)) == [("u1", "a1"), ("u2", "a2"), ("u3",)]
    assert pair(*two, left_ids=("u1", "a2")) == [
        ("a1",),
        ("u2",),
    ], "no answer is given to a message that it is none to"
    assert pair(*two, left_ids=("a1", "u2")) == [("u1",), ("a2",)]
    assert pair(said("u1", 0), said("u2", 1), said("u3", 0.9, "assistant")) == [
        ("u1", "u3"),
        ("u2",),
    ]
    assert pair(said("a", 0, "assistant"), said("u", 1)) == [
        ("a",),
        ("u",),
    ], "an older answer is to something else"
    assert pair(said("u", 0), said("a", 11, "assistant"), said("b", 1, "assistant", "other")) == [
        ("u",),
        ("b",),
        ("a",),
    ]
    assert pair(said("u1", 0), said("u2", 0), said("u3", 0, "assistant")) == [("u1",), ("u2", "u3")]
    assert pair(said("u", 0), said("t", 1, "tool"), said("u1", 2, "assistant")) == [
        ("u", "u1"),
        ("t",),
    ]
    assert pair() == []


@pytest.mark.covers("S0.24")
def test_a_missing_half_is_empty() -> None:
    """A question without an answer, and an answer without a question, are exchanges too."""
    (question_pair,), (answer_pair,) = (
        pair_turns([turn], [turn], 10) for turn in (said("u", 0), said("a", 0, "assistant"))
    )
    assert build_exchange(question_pair).text == "User: u\nAgent:"
    assert build_exchange(answer_pair).text == "User: \nAgent: a"


@pytest.mark.covers("S0.25")
def test_an_exchange_holds_both_texts_and_what_was_known_of_them(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """One row, one float32 vector of both, the higher importance, both times, all uses;
    reads find it instead of the turns.
    """
    user, agent = talk(engine, clock, 1)
    engine.edit(agent, scope=ANN, fields={"importance": 0.8})
    engine.used([user], scope=ANN)
    engine.tiers.consolidate(ANN)
    (row,) = rows(engine)
    text = "User: I look for parcel0 of house0\nAgent: It stands in room0 of house0"
    assert (row.text, row.tier, row.importance, row.access_count) == (text, Tier.LONGTERM, 0.8, 1)
    assert (row.recorded_at, row.meta["said"]) == (
        START,
        [START.isoformat(), (START + timedelta(seconds=10)).isoformat()],
    )
    assert [quote.source for quote in row.evidence] == [user, agent]
    vectors = engine.store.vectors(OWNER, [row.id], engine.embedder.card.id)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, engine.embedder.embed([text]))
    halves = [engine.get(id, scope=ANN) for id in (user, agent)]
    assert [(half.status, half.superseded_by, half.text != "") for half in halves] == [
        (Status.ARCHIVED, row.id, True)
    ] * 2
    assert [hit.record.id for hit in engine.search("parcel0 room0 house0", scope=ANN).hits] == [
        row.id
    ]
    if engine.settings.topics.enabled:
        assert [
            edge.type for edge in engine.store.edges(OWNER, [row.id], (EdgeType.IN_TOPIC,))
        ] == [EdgeType.IN_TOPIC]


@pytest.mark.covers("S0.22", "S0.23")
def test_a_timer_sweeps_what_went_cold(engine: MemoryEngine, clock: SettableClock) -> None:
    """Every 300 seconds, as a job;
    never within a write or a search; what is not cold stays, with the partner of what is.
    """
    assert engine.settings.tiers.sweep_seconds == 300
    old = talk(engine, clock, 2)
    engine.drain()
    (job,) = [job for job in engine.store.queue(("waiting",)) if job.kind == SWEEP]
    assert 0 <= (job.due - clock()).total_seconds() <= 300
    clock.set(START + timedelta(days=7 * math.log(5), seconds=5))
    new = talk(engine, clock, 1, minutes=1, start=2)
    engine.search("parcel0 room0 house0", scope=ANN)
    assert rows(engine) == []
    engine.drain()
    assert [quote.source for row in rows(engine) for quote in row.evidence] == old[:2]
    assert [engine.get(id, scope=ANN).tier for id in (*old[2:], *new)] == [Tier.RECENT] * 4
    (job,) = [job for job in engine.store.queue(("waiting",)) if job.kind == SWEEP]
    assert (job.due - clock()).total_seconds() == 300
    clock.forward(days=30)
    engine.drain()
    assert len(rows(engine)) == 3
    assert engine.tiers.state(ANN)["recent"] == 0


@pytest.mark.covers("S0.27")
def test_consolidating_moves_everything_now(engine: MemoryEngine, clock: SettableClock) -> None:
    """The working and the recent tier, whatever the age;
    what was judged small is put away on the way, as ever.
    """
    ids = talk(engine, clock, 2, minutes=0.1)
    fresh = engine.observe(Turn("Felix the cat hates thunder"), scope=ANN)[0].id
    assert engine.tiers.consolidate(ANN) == {"left": 1, "moved": 5}
    assert {quote.source for row in rows(engine) for quote in row.evidence} == {*ids, fresh}
    state = engine.tiers.state(ANN)
    assert (state["working"], state["recent"], state["longterm"]) == (0, 0, 3)
    assert engine.tiers.consolidate(ANN) == {"left": 0, "moved": 0}
    small = engine.observe(Turn("Haha what lovely weather"), scope=ANN)[0].id
    engine.edit(small, scope=ANN, fields={"importance": 0.2})
    engine.tiers.consolidate(ANN)
    assert (len(rows(engine)), engine.get(small, scope=ANN).status) == (3, Status.ARCHIVED)


def test_a_note_moves_as_it_is(engine: MemoryEngine, clock: SettableClock) -> None:
    """What somebody asked to remember is nobody's half."""
    note = engine.add("The spare key is under the blue pot", scope=ANN)
    engine.tiers.consolidate(ANN)
    record = engine.get(note.id, scope=ANN)
    assert (record.kind, record.tier, record.status) == (Kind.NOTE, Tier.LONGTERM, Status.ACTIVE)
    assert engine.search("spare key blue pot", scope=ANN).hits[0].record.id == note.id


class Faulty:
    """A store's commit that fails at its n-th call, before it or right after it."""

    def __init__(self, engine: MemoryEngine, number: int, after: bool) -> None:
        self.real = engine.store.commit
        self.number = number
        self.after = after
        self.calls = 0

    def __call__(self, batch: WriteBatch) -> Any:
        self.calls += 1
        if self.calls != self.number:
            return self.real(batch)
        if self.after:
            self.real(batch)
        raise StoreError("The power went.")


@pytest.mark.covers("S0.26")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_fault_between_any_two_writes_costs_nothing(
    engine: MemoryEngine, clock: SettableClock, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever write of a move fails:
    everything said is found meanwhile, and moving again makes each exchange once.
    """
    number = moved_count = 0
    while True:
        number += 1
        ids = talk(engine, clock, 3, start=moved_count)
        moved_count += 3
        faulty = Faulty(engine, number, after)
        monkeypatch.setattr(engine.store, "commit", faulty)
        try:
            engine.tiers.consolidate(ANN)
        except StoreError:
            monkeypatch.setattr(engine.store, "commit", faulty.real)
            for id in ids:
                hits = engine.search(engine.get(id, scope=ANN).text, scope=ANN).hits
                assert [
                    hit
                    for hit in hits
                    if id in (hit.record.id, *(quote.source for quote in hit.record.evidence))
                ]
            held = {quote.source for row in rows(engine) for quote in row.evidence}
            assert all(
                engine.get(id, scope=ANN).status is Status.ACTIVE or id in held for id in ids
            )
            engine.tiers.consolidate(ANN)
        monkeypatch.setattr(engine.store, "commit", faulty.real)
        sources = [quote.source for row in rows(engine) for quote in row.evidence]
        assert (len(rows(engine)), len(sources), len(set(sources))) == (
            moved_count,
            2 * moved_count,
            2 * moved_count,
        )
        assert {engine.get(id, scope=ANN).status for id in ids} == {Status.ARCHIVED}
        if faulty.calls < number:
            break
    assert number > 1


@pytest.mark.covers("S0.27")
@pytest.mark.parametrize("position", [1, 2])
def test_a_judgement_that_comes_in_between_stops_no_move(
    engine: MemoryEngine, clock: SettableClock, monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    """Whichever write of a move it comes before, everything is moved, and each exchange made once."""
    ids = talk(engine, clock, 1)
    commit = engine.store.commit
    batches: list[WriteBatch] = []

    def judge_and_commit(batch: WriteBatch) -> Any:
        batches.append(batch)
        if len(batches) == position:
            monkeypatch.setattr(engine.store, "commit", commit)
            engine.edit(ids[0], scope=ANN, fields={"importance": 0.9})
        return commit(batch)

    monkeypatch.setattr(engine.store, "commit", judge_and_commit)
    engine.tiers.consolidate(ANN)
    assert {engine.get(id, scope=ANN).status for id in ids} == {Status.ARCHIVED}
    assert len(rows(engine)) == 1


DYING = """
import os, sys
from datetime import UTC, datetime
import engrams
from engrams.testing import HashEmbedder, SettableClock
clock = SettableClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
engine = engrams.open(home=sys.argv[1], preset="cache", jobs__workers=0, clock=clock, embedder=HashEmbedder(), tiers__working_size=1)
real, calls = engine.store.commit, 0
def commit(batch):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os._exit(9)
    return real(batch)
engine.store.commit = commit
engine.tiers.consolidate(("user", "ann"))
os._exit(0)
"""


@pytest.mark.covers("S0.26")
def test_a_process_that_dies_in_the_middle_of_a_move_loses_nothing(
    home: Path, clock: SettableClock
) -> None:
    """Killed before any of its writes, again and again; the next one ends what it began."""
    fields: dict[str, Any] = {
        "home": home,
        "preset": "cache",
        "jobs__workers": 0,
        "tiers__working_size": 1,
    }
    with engrams.open(clock=clock, embedder=HashEmbedder(), **fields) as engine:
        ids = talk(engine, clock, 2)
    codes = [
        subprocess.run(
            [sys.executable, "-c", DYING, str(home), str(number)],
            check=False,
            env={**os.environ},
            timeout=60,
        ).returncode
        for number in (2, 1)
    ]
    assert codes[0] == 9
    with engrams.open(clock=clock, embedder=HashEmbedder(), **fields) as engine:
        engine.tiers.consolidate(ANN)
        assert sorted(quote.source for row in rows(engine) for quote in row.evidence) == sorted(ids)
        assert len(rows(engine)) == 2
        assert {engine.get(id, scope=ANN).status for id in ids} == {Status.ARCHIVED}


def test_one_scope_in_trouble_does_not_stop_the_others(
    engine: MemoryEngine, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is swept;
    the failure is seen as a job that is tried again; and the timer goes on.
    """
    bob = ("user", "bob")
    for scope in (ANN, bob):
        engine.write_turns(
            [Turn("An old thing said long ago", at=START - timedelta(days=100))],
            Scope(scope),
            Kind.TURN,
            "import",
        )
    real = engine.store.commit

    def commit(batch: WriteBatch) -> Any:
        if any(put.record.scope == OWNER for put in batch.puts):
            raise StoreError("Damaged page.")
        return real(batch)

    monkeypatch.setattr(engine.store, "commit", commit)
    engine.drain()
    clock.forward(minutes=6)
    engine.drain()
    assert rows(engine) == []
    assert len(engine.list(scope=bob, kinds=(Kind.EXCHANGE,)).records) == 1
    (job,) = [job for job in engine.store.queue(("waiting",)) if job.kind == SWEEP]
    assert job.error == "Damaged page."
    monkeypatch.setattr(engine.store, "commit", real)
    clock.forward(minutes=6)
    engine.drain()
    assert len(rows(engine)) == 1


def test_what_was_forgotten_takes_its_exchange_along(
    engine: MemoryEngine, clock: SettableClock
) -> None:
    """Forgetting or purging a turn, or an exchange, leaves none of the words in any read."""
    ids = talk(engine, clock, 3)
    engine.tiers.consolidate(ANN)
    first, second, third = rows(engine)
    engine.forget(first.id, scope=ANN)
    assert engine.get(ids[0], scope=ANN).status is Status.FORGOTTEN
    engine.restore(first.id, scope=ANN)
    assert [engine.get(id, scope=ANN).status for id in (first.id, ids[0])] == [
        Status.ACTIVE,
        Status.ARCHIVED,
    ]
    engine.purge(second.id, scope=ANN)
    assert {engine.get(id, scope=ANN).text for id in (second.id, *ids[2:4])} == {""}
    engine.purge(ids[4], scope=ANN)
    assert {engine.get(id, scope=ANN).text for id in (third.id, ids[4])} == {""}
    assert engine.get(ids[5], scope=ANN).text != ""


def test_extraction_still_sees_what_has_moved(clock: SettableClock) -> None:
    """Learning that comes later than the move finds the turn."""
    with temp_engine(
        preset="cache", jobs__workers=0, clock=clock, embedder=HashEmbedder()
    ) as engine:
        engine.observe(Turn("I live in Paris and my cat is called Felix"), scope=ANN)
        engine.tiers.consolidate(ANN)
        engine.drain()
        assert [
            record.object
            for record in engine.list(scope=ANN, kinds=(Kind.FACT,)).records
            if record.predicate == "lives_in"
        ]


def test_a_large_import_is_swept_in_steps(clock: SettableClock) -> None:
    """Hundreds of old turns become exchanges, each transaction a piece of them."""
    with temp_engine(
        preset="cache", jobs__workers=0, clock=clock, embedder=HashEmbedder(), write__extract="off"
    ) as engine:
        old = START - timedelta(days=60)
        turns = [
            Turn(
                f"thing{index} of room{index}",
                role="assistant" if index % 2 else "user",
                at=old + timedelta(minutes=index),
            )
            for index in range(500)
        ]
        engine.write_turns(turns, OWNER, Kind.TURN, "import")
        assert engine.tiers.sweep(ANN)["moved"] == 500
        assert engine.stats(ANN)["kind"] == {"turn": 500, "exchange": 250}


def test_sweeps_side_by_side_move_each_item_once(clock: SettableClock) -> None:
    """A sweep that is asked for while others run fails for nothing that they moved first."""
    with temp_engine(
        preset="cache", jobs__workers=0, clock=clock, embedder=HashEmbedder(), write__extract="off"
    ) as engine:
        for number in range(30):
            engine.observe(Turn(f"thing{number} of room{number}"), scope=ANN)
        engine.tiers.drain(ANN)
        clock.forward(days=20)
        start = Barrier(3)

        def sweep(_number: int) -> int:
            start.wait()
            return engine.tiers.sweep(ANN)["moved"]

        with ThreadPoolExecutor(3) as threads:
            moved = list(threads.map(sweep, range(3)))
        assert sum(moved) == engine.tiers.state(ANN)["longterm"] == 30
