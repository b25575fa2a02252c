"""Killed in the middle of anything, again and again: what was acknowledged is there, once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import timedelta
from pathlib import Path

import pytest

import engrams
from engrams.core import Kind, Record, Scope, Status
from engrams.core.clock import now
from engrams.ports import SWEEP, ScopeReach

STORM = Path(__file__).with_name("storm.py")
OWNER = ("user", "storm")

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")


def storm(home: Path, kills: int, seed: int) -> list[dict[str, str]]:
    acks = home.parent / "acks.jsonl"
    subprocess.run(
        [sys.executable, str(STORM), str(home), str(acks), str(kills), str(seed)],
        check=True,
        timeout=kills * 5 + 60,
    )
    rows = [json.loads(line) for line in acks.read_text("utf-8").splitlines()]
    assert not [row for row in rows if row["does"] == "failed"]
    return rows


def everything(memory: engrams.MemoryEngine) -> list[Record]:
    found: list[Record] = []
    after = ""
    while True:
        page = memory.list(
            scope=OWNER, statuses=tuple(Status), order="oldest", after=after, limit=500
        )
        found += page.records
        if not (after := page.next):
            return found


def twice(names: Iterable[Hashable]) -> list[Hashable]:
    return [name for name, times in Counter(names).items() if times > 1]


def check(home: Path, acknowledged: list[dict[str, str]]) -> None:
    """Every acknowledged turn is there once, in the state acknowledged;
    nothing is doubled; every session ended once; no job is left.
    """
    # An hour later: what the dead held has run out, what they put off is due, and sessions that
    # nobody ended are over.
    with engrams.open(
        home=home, clock=lambda: now() + timedelta(hours=1), jobs__max_attempts=20, jobs__workers=0
    ) as memory:
        settled(memory)
        records = everything(memory)
        check_turns(
            memory,
            acknowledged,
            [record for record in records if record.external_id and record.kind is Kind.TURN],
        )
        check_learned(records)
        check_sessions(memory, acknowledged, records)
        assert memory.check()["ok"]


def settled(memory: engrams.MemoryEngine) -> None:
    """All work is done:
    a job that was in hand at five deaths is put aside, in plain view, and can be done again.
    """
    assert memory.drain(timeout=240)
    dead = memory.status()["dead"]
    assert [job for job in dead if "went silent" not in job["error"]] == []
    assert memory.retry() == len(dead)
    assert memory.drain(timeout=240)
    jobs = memory.status()["jobs"]
    # The sweep of the tiers always waits for its next turn.
    left = [
        (kind, state)
        for kind, states in jobs.items()
        for state, count in states.items()
        if state != "done" and count and kind != SWEEP
    ]
    assert left == []


def check_turns(
    memory: engrams.MemoryEngine, acknowledged: list[dict[str, str]], turns: list[Record]
) -> None:
    stored = {row["key"]: row["id"] for row in acknowledged if row["does"] == "stored"}
    forgotten = {row["key"] for row in acknowledged if row["does"] == "forgotten"}
    by_key = {turn.external_id: turn for turn in turns}
    assert twice(turn.external_id for turn in turns) == []
    assert [key for key in stored if key not in by_key] == []
    assert [key for key, name in stored.items() if by_key[key].id != name] == []
    assert [key for key in forgotten if by_key[key].status is not Status.FORGOTTEN] == []
    # What was being forgotten when the kill came may be forgotten without having been acknowledged.
    parcels = [key for key in stored if by_key[key].text.startswith("Parcel")]
    for key in parcels[:: max(1, len(parcels) // 60)]:
        found = memory.search(f"Where is parcel {key}?", scope=OWNER, limit=10)
        assert (stored[key] in [hit.record.id for hit in found.hits]) == (
            by_key[key].status is Status.ACTIVE
        ), key


def check_learned(records: list[Record]) -> None:
    facts = [
        record
        for record in records
        if record.status is Status.ACTIVE and record.kind in (Kind.FACT, Kind.PREFERENCE)
    ]
    assert twice((fact.kind, fact.hash, fact.valid_from) for fact in facts) == []
    assert len([fact for fact in facts if fact.predicate == "lives_in"]) <= 1
    quoted = {quote.source for record in records for quote in record.evidence}
    quoted |= {
        item.get("source") for record in records for item in record.meta.get("reinforcements", ())
    }
    moves = [
        record
        for record in records
        if record.kind is Kind.TURN
        and record.text.startswith("I moved")
        and record.status is Status.ACTIVE
    ]
    assert [turn.external_id for turn in moves if turn.id not in quoted] == []


def check_sessions(
    memory: engrams.MemoryEngine, acknowledged: list[dict[str, str]], records: list[Record]
) -> None:
    """Every session is over, and has one account if enough was said in it."""
    rows = {
        row.id: row
        for row in memory.store.sessions(
            ScopeReach(Scope(OWNER), (Scope(OWNER),), tree=True), 100_000
        )
    }
    assert [row.id for row in rows.values() if row.state != "closed"] == []
    assert [
        row["key"] for row in acknowledged if row["does"] == "ended" and row["key"] not in rows
    ] == []
    accounts = [record for record in records if record.kind is Kind.EPISODE]
    assert twice(record.session for record in accounts) == []
    said = Counter(
        record.session
        for record in records
        if record.kind is Kind.TURN and record.session and record.status is Status.ACTIVE
    )
    enough = [
        session for session, turns in said.items() if turns >= memory.settings.sessions.min_turns
    ]
    told = {record.session for record in accounts}
    assert [session for session in enough if session not in told] == []


@pytest.mark.slow
def test_a_storm_of_kills_loses_nothing(home: Path) -> None:
    """After 60 SIGKILLs before, after and in the middle of any write, nothing acknowledged is lost,
    nothing is twice, no job is stuck.
    """
    acknowledged = storm(home, kills=60, seed=1)
    assert {row["does"] for row in acknowledged} == {"stored", "forgotten", "ended"}
    assert len(acknowledged) > 60
    check(home, acknowledged)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_a_long_storm_of_kills_loses_nothing(home: Path, seed: int) -> None:
    """After 260 SIGKILLs on one home (1,040 over all seeds) the same holds."""
    check(home, storm(home, kills=260, seed=seed))


@pytest.mark.slow
def test_repeating_what_may_have_been_lost_stores_it_once(home: Path) -> None:
    """A sender that repeats its last writes after a crash, with its own ids, leaves one record of
    each.
    """
    acknowledged = storm(home, kills=8, seed=6)
    keys = [row["key"] for row in acknowledged if row["does"] == "stored"]
    with engrams.open(home=home, jobs__lease_seconds=1.0) as memory:
        again = [
            memory.add(engrams.Turn("The same once more.", external_id=key), scope=OWNER)
            for key in keys[-10:]
        ]
        assert {receipt.outcome for receipt in again} == {"duplicate"}
        assert len([record for record in everything(memory) if record.external_id in keys]) == len(
            keys
        )
