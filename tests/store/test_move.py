"""A move between a file and Postgres:
everything arrives, compared by hash, and a cut one goes on.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.store import postgres
from tests.store.make import ALICE, BOB, START, add, at, change, found, get, record, turn, vector

import engrams
from engrams import admin
from engrams.core import Edge, EdgeType, Evidence, Status, clock
from engrams.errors import ConflictError
from engrams.ports import (
    JobSpec,
    NewRecord,
    OwnerStateRow,
    RecordQuery,
    ScopeReach,
    Store,
)
from engrams.settings import Settings
from engrams.store.store_factory import choose_store

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]


def fill(store: Store) -> list[str]:
    ids = []
    for owner in (ALICE, BOB):
        message = turn(f"I like green tea, says {owner.key}", owner, external_id="m1")
        fact = record(
            "likes tea \0 and coffee",
            owner,
            evidence=(Evidence("green tea", message.id),),
            meta={"x": ["\0", 1.5]},
        )
        purged = record("Zanzibarquux", owner)
        add(
            store,
            NewRecord(message, vector=vector(message, 1, 0)),
            fact,
            purged,
            edges=(Edge(owner, fact.id, message.id, EdgeType.DERIVED_FROM),),
        )
        change(store, fact, text="likes tea and milk", when=at(days=1))
        store.save_state(OwnerStateRow(owner, "garden", data={"n": 1}))
        store.purge(owner, [purged.id], START)
        ids += [message.id, fact.id, purged.id]
    store.enqueue([JobSpec("extract", "k", {"items": ids})], START)
    store.spend("2026-03-01", 2, 30)
    return ids


def tell(store: Store, ids: list[str]) -> Any:
    """What the ports say of everything."""
    owners = (ALICE, BOB)
    every = [
        store.find(
            RecordQuery(ScopeReach(owner, (owner,)), statuses=tuple(Status), order="oldest")
        ).records
        for owner in owners
    ]
    history = [store.history(owner, id) for owner in owners for id in ids]
    edges = [store.edges(owner, ids) for owner in owners]
    states = [store.load_state(owner, "garden") for owner in owners]
    vectors = [store.vectors(owner, ids, "tiny").tolist() for owner in owners]
    return (
        every,
        history,
        edges,
        states,
        vectors,
        store.queue(),
        store.spend("2026-03-01", 0, 0),
        store.counts(None),
    )


def test_there_and_back(home: Path, tmp_path: Path) -> None:
    """Memory is the same on Postgres and in the file that comes back, and is searched there;
    moving again changes nothing.
    """
    url = postgres.empty_database()
    back = tmp_path / "back.db"
    home_settings = engrams.settings.load({"home": str(home)}).settings
    served_settings = engrams.settings.load({"home": str(home), "store.url": url}).settings
    store = choose_store(home_settings, clock.now)
    ids = fill(store)
    expected = tell(store, ids)
    for _ in range(2):
        counted = admin.move_memory(home_settings, url, clock.now, lambda *_: None)
        assert counted == {
            "owners": 2,
            "records": 6,
            "jobs": 1,
            "keys": 0,
            "events": 0,
            "log_records": 0,
            "files": 0,
        }
    served = choose_store(served_settings, clock.now)
    assert tell(served, ids) == expected
    assert found(served, "milk") == {ids[1]} and found(served, "zanzibarquux") == set()
    admin.move_memory(served_settings, str(back), clock.now, lambda *_: None)
    again = choose_store(
        engrams.settings.load({"home": str(home), "store.url": str(back)}).settings, clock.now
    )
    assert tell(again, ids) == expected and again.check(False)["ok"]
    assert found(again, "milk") == {ids[1]}
    change(served, get(served, get(store, record("", id=ids[1]))), text="something else")
    with pytest.raises(ConflictError, match=f"1 memories differ .{ids[1]}"):
        admin.move_memory(home_settings, url, clock.now, lambda *_: None)
    for opened_store in (store, served, again):
        opened_store.close()


def test_keys_and_events_go_along(home: Path) -> None:
    """Keys open the same on Postgres and back in the home, revoked ones stay so on both sides, and
    each event is there once, also when a move is repeated or both sides went on.
    """
    url = postgres.empty_database()
    owner = ALICE
    rights = ("read", "write")
    home_settings = engrams.settings.load({"home": str(home)}).settings
    served_settings = engrams.settings.load({"home": str(home), "store.url": url}).settings
    with (
        closing(admin.open_keys(home_settings)) as keys,
        closing(admin.open_audit_log(home_settings)) as log,
    ):
        (kept, secret), (ended, old), (gone, late) = (
            keys.add(name, owner, rights, clock.now(), 0, (5, 9)) for name in "abc"
        )
        keys.revoke(ended.id, clock.now())
        for number in range(3):
            log.note(
                "memory.add",
                owner=owner.key,
                target="same" if number else "\ud800",
                number=number // 2,
            )
        expected = keys.list()
    for _ in range(2):
        assert (
            admin.move_memory(home_settings, url, clock.now, lambda *_: None).items()
            >= {"keys": 3, "events": 3}.items()
        )
    with (
        closing(admin.open_keys(served_settings)) as keys,
        closing(admin.open_audit_log(served_settings)) as log,
    ):
        assert keys.list() == expected
        assert keys.find(secret, clock.now()) == kept and keys.find(old, clock.now()) is None
        assert sorted((entry.target, entry.number) for entry in log.entries()) == [
            ("?", 0),
            ("same", 0),
            ("same", 1),
        ]
        revoked = keys.revoke(gone.id, clock.now())
        log.note("key.revoke", target=gone.id)
    for _ in range(2):
        admin.move_memory(served_settings, str(home / "memory.db"), clock.now, lambda *_: None)
        admin.move_memory(home_settings, url, clock.now, lambda *_: None)
    for settings in (home_settings, served_settings):
        with (
            closing(admin.open_keys(settings)) as keys,
            closing(admin.open_audit_log(settings)) as log,
        ):
            assert keys.find(secret, clock.now()) == kept
            assert keys.find(late, clock.now()) is None and revoked in keys.list()
            assert [entry.action for entry in log.entries()] == ["key.revoke", *["memory.add"] * 3]


def test_a_move_that_was_cut_goes_on(home: Path) -> None:
    """Killed after any owner, a move has whole owners there, and the next one brings the rest."""
    url = postgres.empty_database()
    home_settings = engrams.settings.load({"home": str(home)}).settings
    store = choose_store(home_settings, clock.now)
    ids = fill(store)

    def cut(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        admin.move_memory(home_settings, url, clock.now, cut)
    assert admin.move_memory(home_settings, url, clock.now, lambda *_: None)["owners"] == 2
    served = choose_store(
        engrams.settings.load({"home": str(home), "store.url": url}).settings, clock.now
    )
    assert json.dumps(tell(served, ids), default=str) == json.dumps(tell(store, ids), default=str)
    store.close()
    served.close()


def test_a_move_to_where_others_have_jobs(home: Path) -> None:
    """Jobs, use of models and pace of others stay as they are, what waits for the same is joined,
    and a second move adds nothing.
    """
    url = postgres.empty_database()
    home_settings = engrams.settings.load({"home": str(home)}).settings
    store = choose_store(home_settings, clock.now)
    fill(store)
    store.enqueue([JobSpec("topics", "shared", {"items": ["mine"]})], START)
    served = choose_store(
        engrams.settings.load({"home": str(home), "store.url": url}).settings, clock.now
    )
    served.enqueue(
        [
            JobSpec("topics", "shared", {"items": ["theirs"]}),
            JobSpec("extract", "others", {"items": ["x"]}),
        ],
        START,
    )
    served.spend("2026-03-01", 7, 5)
    theirs = served.queue()
    for _ in range(2):
        assert admin.move_memory(home_settings, url, clock.now, lambda *_: None)["jobs"] == 2
        held = {job.key: job for job in served.queue()}
        assert held.keys() == {"k", "shared", "others"}
        assert held["others"] in theirs
        assert held["k"] in store.queue()
        assert set(held["shared"].payload["items"]) == {"mine", "theirs"}
        assert served.spend("2026-03-01", 0, 0) == (7, 30)
    for opened_store in (store, served):
        opened_store.close()


def test_logs_move_with_their_key(home: Path, tmp_path: Path) -> None:
    """Feedback and crises are found by their session on Postgres and in the home they come back to,
    once each, however often they move; into a place whose records have another key nothing moves.
    """
    url = postgres.empty_database()
    home_settings = {"home": str(home)}
    served_settings = {"home": str(home), "store.url": url}
    again = {"home": str(tmp_path / "again")}
    other_home = {"home": str(tmp_path / "other")}
    loaded = [
        engrams.settings.load(options).settings
        for options in (home_settings, served_settings, again, other_home)
    ]

    def note(settings: Settings) -> tuple[str, str | None]:
        with (
            closing(admin.open_safety_log(settings)) as safety,
            closing(admin.open_feedback_log(settings)) as feedback,
        ):
            crisis = safety.append_once(
                "s1", classifier="rules", severity="low", owner="user/ann", id="c1"
            )
            return crisis, feedback.add("s1", "skip", id="f1")

    def tell(settings: Settings) -> Any:
        with (
            closing(admin.open_safety_log(settings)) as safety,
            closing(admin.open_feedback_log(settings)) as feedback,
        ):
            return safety.list(session="s1", owner="user/ann"), feedback.list(session="s1")

    assert note(loaded[0]) == ("stored", "stored")
    expected = tell(loaded[0])
    assert [len(rows) for rows in expected] == [1, 1]
    for _ in range(2):
        assert admin.move_memory(loaded[0], url, clock.now, lambda *_: None)["log_records"] == 2
    assert tell(loaded[1]) == expected and note(loaded[1]) == ("known", "known")
    back = engrams.settings.load({**again, "store.url": url}).settings
    for _ in range(2):
        assert (
            admin.move_memory(
                back, str(tmp_path / "again" / "memory.db"), clock.now, lambda *_: None
            )["log_records"]
            == 2
        )
    assert tell(loaded[2]) == expected and note(loaded[2]) == ("known", "known")
    assert note(loaded[3]) == ("stored", "stored")
    with pytest.raises(ConflictError, match="another memory"):
        admin.move_memory(loaded[3], url, clock.now, lambda *_: None)
    assert tell(loaded[1]) == expected
