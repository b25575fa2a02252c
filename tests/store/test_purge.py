"""Purging: nothing of a record is left anywhere, and the store proves it."""

from __future__ import annotations

import pytest
from tests.store.make import (
    ALICE,
    BOB,
    START,
    add,
    at,
    batch,
    change,
    found,
    get,
    reach,
    record,
    seek,
    texts,
    turn,
    vector,
)

from engrams.core import Edge, EdgeType, Evidence, Status
from engrams.errors import ConflictError, InputError, NotFoundError
from engrams.ports import JobClaim, JobSpec, NewRecord, RecordQuery, Store

SECRET = "Zanzibarquux is my password"


def test_every_trace_goes(store: Store) -> None:
    """Text, vectors, index terms, words, edges, history, jobs and outbox entries of a purged record
    are gone, with proof.
    """
    secret = record(
        SECRET,
        caption="captionword",
        tags=("t",),
        meta={"m": SECRET},
        summary=SECRET,
        evidence=(Evidence(SECRET, "01src"),),
    )
    add(
        store,
        NewRecord(secret, vector=vector(secret, 1, 0)),
        edges=(
            Edge(ALICE, secret.id, "tag:t", EdgeType.HAS_TAG),
            Edge(ALICE, "01x", secret.id, EdgeType.RELATES_TO),
        ),
        jobs=(JobSpec("extract", "s1", {"items": [secret.id]}),),
        outbox=(("file", ALICE, secret.id, {"text": SECRET}),),
    )
    change(store, secret, text=SECRET + " still")
    add(store, vectors=((ALICE, vector(secret, 1, 0)),))
    erased = store.purge(ALICE, [secret.id], at(days=1))
    assert set(erased.remaining.values()) == {0}
    for purge_place in (
        "records",
        "vectors",
        "terms",
        "words",
        "edges",
        "history",
        "jobs",
        "outbox",
    ):
        assert erased.removed[purge_place] > 0, purge_place
    tomb = get(store, secret)
    assert (
        tomb.status,
        tomb.text,
        tomb.caption,
        tomb.summary,
        tomb.meta,
        tomb.tags,
        tomb.evidence,
    ) == (
        Status.PURGED,
        "",
        "",
        "",
        {},
        (),
        (),
    )
    assert [
        (entry.action, entry.before, entry.after, entry.reason)
        for entry in store.history(ALICE, secret.id)
    ] == [
        ("add", {}, {}, ""),
        ("edit", {}, {}, ""),
        ("purge", {}, {}, ""),
    ]
    assert seek(store, "zanzibarquux", [1, 0]) == {}
    assert store.edges(ALICE, [secret.id, "tag:t", "01x"]) == ()
    assert store.queue() == store.outbox(10) == ()
    assert not store.vectors(ALICE, [secret.id], "tiny").any()
    assert texts(store, statuses=()) == texts(store, sources=("01src",)) == []
    assert store.check(False)["ok"]


def test_a_tombstone_remembers_what_was_said(store: Store) -> None:
    """The empty tombstone keeps its id and the hash of the text, so that the same text can be
    recognised and refused.
    """
    secret = record(SECRET)
    add(store, secret)
    store.purge(ALICE, [secret.id], START)
    (tomb,) = store.find(
        RecordQuery(reach(), hashes=(secret.hash,), statuses=(Status.PURGED,))
    ).records
    assert (tomb.id, tomb.status) == (secret.id, Status.PURGED)


def test_a_purge_is_final(store: Store) -> None:
    """A purged record can be neither changed nor restored nor purged again, and its words can be
    used anew.
    """
    secret = record(SECRET)
    add(store, secret)
    store.purge(ALICE, [secret.id], START)
    with pytest.raises((NotFoundError, InputError)):
        change(store, secret, status=Status.ACTIVE)
    assert set(store.purge(ALICE, [secret.id], START).removed.values()) <= {0, 1}
    assert store.purge(ALICE, [secret.id], START).removed["records"] == 0
    again = record(SECRET)
    add(store, again)
    assert found(store, "zanzibarquux") == {again.id}


@pytest.mark.covers("S1.62")
def test_only_the_owner_purges(store: Store) -> None:
    """Another owner's purge of the same id touches nothing."""
    secret = record(SECRET)
    add(store, secret)
    erased = store.purge(BOB, [secret.id, "nobody"], START)
    assert erased.removed["records"] == 0
    assert get(store, secret) == secret


def test_others_keep_their_words(store: Store) -> None:
    """Words that another record uses stay findable there."""
    tea = record("Zanzibarquux and tea")
    two = record("tea without sugar")
    add(store, tea, two)
    erased = store.purge(ALICE, [tea.id], START)
    assert (erased.removed["terms"], erased.removed["words"]) == (2, 1)
    assert found(store, "tea") == {two.id}
    assert found(store, "zanzibarquux") == set()
    assert store.check(False)["ok"]


def test_quotes_of_it_go_from_others(store: Store) -> None:
    """What another record quotes of it, now or before, leaves that record's evidence and history,
    one version up.
    """
    message = turn(SECRET)
    kept = turn("other")
    fact = record(
        "Alice has a password", evidence=(Evidence(SECRET, message.id), Evidence("other", kept.id))
    )
    former = record("Alice once had one", evidence=(Evidence(SECRET, message.id),))
    add(store, message, kept, fact, former)
    change(store, former, evidence=())
    erased = store.purge(ALICE, [message.id], START)
    assert (erased.removed["quotes"], erased.remaining["quotes"]) == (2, 0)
    assert get(store, fact).evidence == (Evidence("other", kept.id),)
    assert get(store, fact).version == 2
    told = [
        (entry.before, entry.after)
        for stored in (fact, former)
        for entry in store.history(ALICE, stored.id)
    ]
    assert SECRET not in str(told)
    assert texts(store, sources=(kept.id,)) == ["Alice has a password"]


def test_jobs_that_name_it(store: Store) -> None:
    """A purged record leaves shared jobs;
    a job that is about it alone goes; other jobs are untouched.
    """
    first = record("one")
    second = record("two")
    add(
        store,
        first,
        second,
        jobs=(
            JobSpec(
                "extract", "shared", {"items": [first.id, second.id, {"deep": [first.id]}], "n": 1}
            ),
            JobSpec("extract", "alone", {"items": [first.id]}),
            JobSpec("embed", f"alice/{first.id}", {}),
            JobSpec("embed", "note", {"record": first.id}),
            JobSpec("embed", "near", {"items": [first.id + "0"]}),
            JobSpec("sweep", "all", {}),
        ),
    )
    erased = store.purge(ALICE, [first.id], START)
    assert (erased.removed["jobs"], erased.remaining["jobs"]) == (4, 0)
    left = {job.key: job.payload for job in store.queue()}
    assert left == {
        "shared": {"items": [second.id], "n": 1},
        "near": {"items": [first.id + "0"]},
        "all": {},
    }


def test_a_running_job_cannot_bring_it_back(store: Store) -> None:
    """A worker that was busy with a purged record loses its lease, so that what it learned is not
    stored.
    """
    secret = turn(SECRET)
    two = turn("two")
    add(store, secret, two, jobs=(JobSpec("extract", "s1", {"items": [secret.id, two.id]}),))
    job = store.claim(JobClaim("w", START))
    assert job is not None
    store.purge(ALICE, [secret.id], START)
    learned = record("Alice's password is Zanzibarquux")
    with pytest.raises(ConflictError):
        store.commit(batch(learned, finish=(job.lease,)))
    assert store.get(ALICE, [learned.id]) == ()
    again = store.claim(JobClaim("w", START))
    assert again is not None
    assert again.payload == {"items": [two.id]}


def test_purging_nothing(store: Store) -> None:
    """A purge of no ids, or on an empty store, is answered with zeros."""
    assert set(store.purge(ALICE, [], START).remaining.values()) == {0}
    add(store, record("x"))
    assert store.purge(ALICE, [], START).removed["records"] == 0


def test_many_at_once(store: Store) -> None:
    """A whole scope is purged in one go, and the same id named twice counts once."""
    many = [record(f"fact {number} shared words") for number in range(50)]
    add(store, *(NewRecord(stored, vector=vector(stored, 1, 0)) for stored in many))
    erased = store.purge(ALICE, [stored.id for stored in many] * 2, START)
    assert (erased.removed["records"], erased.removed["vectors"]) == (50, 50)
    assert set(erased.remaining.values()) == {0}
    assert store.counts(None)["status"] == {"purged": 50}
