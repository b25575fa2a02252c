"""Killed in the middle of anything, again and again: what was acknowledged is there, once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import engrams
from engrams.clock import now
from engrams.types import Kind, Record, Status

STORM = Path(__file__).with_name("storm.py")
OWNER = ("user", "storm")

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")


def storm(home: Path, rounds: int, seed: int) -> list[dict[str, str]]:
    acks = home.parent / "acks.jsonl"
    subprocess.run([sys.executable, str(STORM), str(home), str(acks), str(rounds), str(seed)], check=True, timeout=rounds * 5 + 60)
    rows = [json.loads(line) for line in acks.read_text("utf-8").splitlines()]
    assert not [row for row in rows if row["does"] == "failed"]
    return rows


def everything(memory: engrams.MemoryEngine) -> Iterator[Record]:
    after = ""
    while True:
        page = memory.list(scope=OWNER, statuses=tuple(Status), order="oldest", after=after, limit=500)
        yield from page.records
        if not (after := page.next):
            return


def check(home: Path, acknowledged: list[dict[str, str]]) -> None:
    """Every acknowledged turn is there once, in the state acknowledged; nothing is doubled; no job is left over."""
    stored = {row["key"]: row["id"] for row in acknowledged if row["does"] == "stored"}
    forgotten = {row["key"] for row in acknowledged if row["does"] == "forgotten"}
    # A minute later: what the dead held has run out, and what they put off is due.
    with engrams.open(home=home, clock=lambda: now() + timedelta(minutes=1)) as memory:
        assert memory.drain(timeout=120)
        # A job that was in hand at five deaths is put aside, in plain view, and can be done again: not lost.
        dead = memory.status()["dead"]
        assert [job for job in dead if "went silent" not in job["error"]] == []
        assert memory.retry() == len(dead)
        assert memory.drain(timeout=120)
        records = list(everything(memory))
        turns = [record for record in records if record.external_id]
        assert [key for key, times in Counter(turn.external_id for turn in turns).items() if times > 1] == []
        by_key = {turn.external_id: turn for turn in turns}
        assert [key for key in stored if key not in by_key] == []
        assert [key for key, name in stored.items() if by_key[key].id != name] == []
        assert [key for key in forgotten if by_key[key].status is not Status.FORGOTTEN] == []
        facts = Counter((r.kind, r.hash, r.valid_from) for r in records if r.status is Status.ACTIVE and r.kind is not Kind.TURN)
        assert [fact for fact, times in facts.items() if times > 1] == []
        quoted = {quote.source for record in records for quote in record.evidence}
        moves = [turn for turn in turns if turn.text.startswith("I moved") and turn.status is Status.ACTIVE]
        assert [turn.external_id for turn in moves if turn.id not in quoted] == []
        # What was being forgotten when the kill came may be forgotten without having been acknowledged.
        parcels = [key for key in stored if by_key[key].text.startswith("Parcel")]
        for key in parcels[:: max(1, len(parcels) // 60)]:
            found = memory.search(f"Where is parcel {key}?", scope=OWNER, limit=10)
            assert (stored[key] in [hit.record.id for hit in found.hits]) == (by_key[key].status is Status.ACTIVE), key
        jobs = memory.status()["jobs"]
        assert not [(kind, state) for kind, states in jobs.items() for state, count in states.items() if state != "done" and count]
        assert memory.check()["ok"]


def test_a_storm_of_kills_loses_nothing(home: Path) -> None:
    """After 25 SIGKILLs at random moments every acknowledged write is found, none twice, and no job is stuck."""
    acknowledged = storm(home, rounds=25, seed=1)
    assert len(acknowledged) > 25
    check(home, acknowledged)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_a_long_storm_of_kills_loses_nothing(home: Path, seed: int) -> None:
    """After 200 SIGKILLs on one home (400 over both seeds) the same holds."""
    check(home, storm(home, rounds=200, seed=seed))


def test_repeating_what_may_have_been_lost_stores_it_once(home: Path) -> None:
    """A sender that repeats its last writes after a crash, with its own ids, leaves one record of each."""
    acknowledged = storm(home, rounds=8, seed=4)
    keys = [row["key"] for row in acknowledged if row["does"] == "stored"]
    with engrams.open(home=home, jobs__lease=1.0) as memory:
        again = [memory.add(engrams.Turn("The same once more.", external_id=key), scope=OWNER) for key in keys[-10:]]
        assert {receipt.outcome for receipt in again} == {"duplicate"}
        assert len([record for record in everything(memory) if record.external_id in keys]) == len(keys)
