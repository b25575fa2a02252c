"""A move between a file and Postgres: everything arrives, compared by hash, and a cut one goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.store import postgres
from tests.store.make import ALICE, BOB, START, add, at, change, found, get, record, turn, vector

import engrams
from engrams import build, clock
from engrams.errors import ConflictError
from engrams.ports import JobSpec, NewRecord, OwnerStateRow, RecordQuery, ScopeReach, Store
from engrams.types import Edge, EdgeType, Evidence, Status

pytestmark = [pytest.mark.postgres, pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING)]


def fill(store: Store) -> list[str]:
    ids = []
    for owner in (ALICE, BOB):
        said = turn(f"I like green tea, says {owner.key}", owner, external_id="m1")
        fact = record("likes tea \0 and coffee", owner, evidence=(Evidence("green tea", said.id),), meta={"x": ["\0", 1.5]})
        gone = record("Zanzibarquux", owner)
        add(store, NewRecord(said, vector=vector(said, 1, 0)), fact, gone, edges=(Edge(owner, fact.id, said.id, EdgeType.DERIVED_FROM),))
        change(store, fact, text="likes tea and milk", when=at(days=1))
        store.save_state(OwnerStateRow(owner, "garden", data={"n": 1}))
        store.purge(owner, [gone.id], START)
        ids += [said.id, fact.id, gone.id]
    store.enqueue([JobSpec("extract", "k", {"items": ids})], START)
    store.spend("2026-03-01", 2, 30)
    return ids


def tell(store: Store, ids: list[str]) -> Any:
    """What the ports say of everything."""
    owners = (ALICE, BOB)
    every = [store.find(RecordQuery(ScopeReach(owner, (owner,)), statuses=tuple(Status), order="oldest")).records for owner in owners]
    history = [store.history(owner, id) for owner in owners for id in ids]
    edges = [store.edges(owner, ids) for owner in owners]
    states = [store.load_state(owner, "garden") for owner in owners]
    vectors = [store.vectors(owner, ids, "tiny").tolist() for owner in owners]
    return every, history, edges, states, vectors, store.queue(), store.spend("2026-03-01", 0, 0), store.counts(None)


def test_there_and_back(home: Path, tmp_path: Path) -> None:
    """Memory is the same on Postgres and in the file that comes back, and is searched there; moving again changes nothing."""
    url, back = postgres.empty_database(), tmp_path / "back.db"
    here = engrams.settings.load({"home": str(home)}).settings
    there = engrams.settings.load({"home": str(home), "store.url": url}).settings
    store = build.store(here, clock.now)
    ids = fill(store)
    expected = tell(store, ids)
    for _ in range(2):
        counted = build.move_memory(here, url, clock.now, lambda *_: None)
        assert counted == {"owners": 2, "records": 6, "jobs": 1, "keys": 0, "events": 0}
    served = build.store(there, clock.now)
    assert tell(served, ids) == expected
    assert found(served, "milk") == {ids[1]} and found(served, "zanzibarquux") == set()
    build.move_memory(there, str(back), clock.now, lambda *_: None)
    again = build.store(engrams.settings.load({"home": str(home), "store.url": str(back)}).settings, clock.now)
    assert tell(again, ids) == expected and again.check(False)["ok"]
    assert found(again, "milk") == {ids[1]}
    change(served, get(served, get(store, record("", id=ids[1]))), text="something else")
    with pytest.raises(ConflictError):
        build.move_memory(here, url, clock.now, lambda *_: None)
    for one in (store, served, again):
        one.close()


def test_a_move_that_was_cut_goes_on(home: Path) -> None:
    """Killed after any owner, a move has whole owners there, and the next one brings the rest."""
    url = postgres.empty_database()
    here = engrams.settings.load({"home": str(home)}).settings
    store = build.store(here, clock.now)
    ids = fill(store)

    def cut(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build.move_memory(here, url, clock.now, cut)
    assert build.move_memory(here, url, clock.now, lambda *_: None)["owners"] == 2
    served = build.store(engrams.settings.load({"home": str(home), "store.url": url}).settings, clock.now)
    assert json.dumps(tell(served, ids), default=str) == json.dumps(tell(store, ids), default=str)
    store.close()
    served.close()
