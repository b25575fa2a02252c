"""Jobs: coalescing, leases, retries, the dead-letter list."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from tests.store.make import ALICE, START, add, at, batch, record

from engrams.errors import ConflictError, InputError
from engrams.ports import (
    Job,
    JobClaim,
    JobFailure,
    JobLease,
    JobSpec,
    NewRecord,
    Store,
    WriteBatch,
)


def enqueue(store: Store, key: str = "k", when: datetime = START, **arguments: Any) -> str:
    (job_id,) = store.enqueue([JobSpec(**{"kind": "extract", "key": key, **arguments})], when)
    return job_id


def claim(store: Store, when: datetime = START, *kinds: str) -> Job | None:
    return store.claim(JobClaim("worker", when, 60, kinds))


def must(store: Store, when: datetime = START, *kinds: str) -> Job:
    job = claim(store, when, *kinds)
    assert job is not None
    return job


def states(store: Store) -> dict[str, str]:
    return {job.key: job.state for job in store.queue()}


def test_what_waits_is_found_by_its_key(store: Store) -> None:
    """Of one kind, whose keys begin so;
    not what runs, and nobody else's whose name begins alike.
    """
    for key in ("user/ann|a", "user/ann|b", "user/anna|a", "user/bob|a"):
        enqueue(store, key)
    enqueue(store, "user/ann|a", kind="embed")
    assert sorted(job.key for job in store.waiting("extract", "user/ann|")) == [
        "user/ann|a",
        "user/ann|b",
    ]
    running = must(store, START, "extract")
    assert running.key not in {job.key for job in store.waiting("extract", "user/")}
    assert store.waiting("extract", "user/carl|") == ()


def test_jobs_of_crowded_owners_are_passed_over(store: Store) -> None:
    """Also those of their projects;
    an owner whose name begins alike is another one, and who asks for one job by its id gets it.
    """
    made = [
        enqueue(store, key)
        for key in ("user/ann|1", "user/ann", "user/ann/project/x|2", "user/anna|3")
    ]
    ask = JobClaim("worker", START, 60, crowded=("user/ann", "user/bob"))
    first = store.claim(ask)
    assert first is not None and first.key == "user/anna|3" and store.claim(ask) is None
    named = store.claim(replace(ask, id=made[2]))
    assert named is not None and named.id == made[2]


def test_a_job_is_claimed_once_and_finished(store: Store) -> None:
    """A due job goes to one worker with its payload and a lease, and is done when that is handed
    back.
    """
    job_id = enqueue(store, payload={"items": ["a"], "n": {"deep": 1}})
    job = must(store)
    assert (job.id, job.kind, job.key, job.payload) == (
        job_id,
        "extract",
        "k",
        {"items": ["a"], "n": {"deep": 1}},
    )
    assert (job.state, job.attempt, job.lease_until, job.created_at) == (
        "running",
        1,
        at(seconds=60),
        START,
    )
    assert claim(store) is None
    assert store.finish(job.lease, at(seconds=5))
    assert states(store) == {"k": "done"}
    assert not store.finish(job.lease, at(seconds=6))
    assert claim(store, at(days=1)) is None


def test_a_job_may_begin_leased(store: Store) -> None:
    """A write makes a job that its writer runs at once:
    nobody claims it before the lease ends, anybody does after that.
    """
    lease = JobLease("writer", "token", at(seconds=60))
    tea = record("Alice likes tea")
    result = add(store, tea, jobs=(JobSpec("extract", "k", {"items": [tea.id]}, lease=lease),))
    (job,) = store.queue()
    assert result.jobs == (job.id,) and (job.state, job.attempt, job.lease) == (
        "running",
        1,
        "token",
    )
    assert claim(store, at(seconds=59)) is None and store.next_due() == at(seconds=60)
    again = must(store, at(seconds=61))
    assert (again.id, again.attempt, again.payload) == (job.id, 2, {"items": [tea.id]})
    assert not store.finish("token", at(seconds=62)) and store.finish(again.lease, at(seconds=62))


def test_a_write_of_what_is_known_leases_nothing(store: Store) -> None:
    """Where a batch stores nothing new, the job that its writer would run is not made."""
    spec = JobSpec("extract", "k", lease=JobLease("writer", "token", at(seconds=60)))
    puts = [NewRecord(record("Alice likes tea"), dedup=True) for _ in range(2)]
    assert add(store, puts[0]).existing == {}
    result = add(store, puts[1], jobs=(spec, JobSpec("embed", "k")))
    assert (
        result.existing
        and result.jobs[0] == ""
        and [job.kind for job in store.queue()] == ["embed"]
    )


def test_waiting_jobs_of_one_key_are_one(store: Store) -> None:
    """Enqueuing again merges:
    items are united in order, other values are the newer ones, and the id stays.
    """
    first = enqueue(store, payload={"items": ["a", {"x": 1}], "n": 1, "m": 1})
    assert enqueue(store, payload={"items": ["b", "a", {"x": 1}], "n": 2}) == first
    (job,) = store.queue()
    assert job.payload == {"items": ["a", {"x": 1}, "b"], "n": 2, "m": 1}
    assert enqueue(store, "other") != first
    assert enqueue(store, kind="embed") != first


@pytest.mark.parametrize(
    ("debounce", "second", "due"),
    [(False, 5, 5), (False, 90, 30), (True, 90, 90), (True, 5, 5)],
)
def test_due_times_merge(store: Store, debounce: bool, second: int, due: int) -> None:
    """The earlier due time is kept; where debouncing, the newer one."""
    enqueue(store, due=at(seconds=30))
    enqueue(store, due=at(seconds=second), debounce=debounce)
    assert store.next_due() == store.queue()[0].due == at(seconds=due)


def test_priorities_merge_to_the_higher(store: Store) -> None:
    """An urgent request makes the waiting job urgent; a lesser one does not make it less so."""
    enqueue(store, priority=1)
    enqueue(store, priority=5)
    enqueue(store, priority=2)
    assert store.queue()[0].priority == 5


def test_highest_priority_first_then_earliest(store: Store) -> None:
    """Of several due jobs the most urgent goes first, then the one due longest;
    what is not due waits.
    """
    enqueue(store, "late", due=at(seconds=2))
    enqueue(store, "early", due=at(seconds=1))
    enqueue(store, "urgent", due=at(seconds=3), priority=9)
    enqueue(store, "tomorrow", due=at(days=1), priority=99)
    now = at(seconds=10)
    assert [must(store, now).key for _ in range(3)] == ["urgent", "early", "late"]
    assert claim(store, now) is None
    assert must(store, at(days=1)).key == "tomorrow"


def test_only_the_kinds_asked_for(store: Store) -> None:
    """A worker gets only the kinds it can do."""
    enqueue(store)
    enqueue(store, kind="embed")
    assert claim(store, START, "judge") is None
    assert must(store, START, "judge", "embed").kind == "embed"
    assert store.workload() == {"embed": {"running": 1}, "extract": {"waiting": 1}}


def test_a_running_job_gets_a_fresh_one_behind_it(store: Store) -> None:
    """Work that comes while its key is being worked on waits as a job of its own until that is
    finished.
    """
    enqueue(store, payload={"items": ["a"]})
    first = must(store)
    second = enqueue(store, payload={"items": ["b"]})
    assert second != first.id
    assert claim(store) is None
    store.finish(first.lease, START)
    assert must(store).payload == {"items": ["b"]}


def test_an_expired_lease_is_taken_over(store: Store) -> None:
    """A job whose worker went silent goes to the next one, and the first one's lease is void."""
    enqueue(store)
    lost = must(store)
    assert store.next_due() == at(seconds=60)
    assert claim(store, at(seconds=59)) is None
    taken = must(store, at(seconds=60))
    assert (taken.id, taken.attempt) == (lost.id, 2)
    assert not store.finish(lost.lease, at(seconds=61))
    assert not store.renew(lost.lease, at(seconds=99))
    assert not store.fail(JobFailure(lost.lease, "x", at(seconds=61), None))
    assert store.finish(taken.lease, at(seconds=62))


def test_a_slow_worker_may_still_finish(store: Store) -> None:
    """A lease that ran out but that nobody took over still counts, and a renewed one does not run
    out.
    """
    enqueue(store)
    job = must(store)
    assert store.renew(job.lease, at(seconds=300))
    assert claim(store, at(seconds=299)) is None
    assert store.finish(job.lease, at(seconds=500))


def test_a_failed_job_comes_back(store: Store) -> None:
    """A failure waits until its time with its error, and counts the attempt."""
    enqueue(store)
    assert store.fail(JobFailure(must(store).lease, "server down", START, at(seconds=30)))
    (job,) = store.queue(["waiting"])
    assert (job.error, job.attempt, job.due, job.lease) == ("server down", 1, at(seconds=30), "")
    assert claim(store, at(seconds=29)) is None
    assert must(store, at(seconds=30)).attempt == 2


def test_a_job_dies_and_is_raised(store: Store) -> None:
    """Without a time to retry, or after its last attempt, a job waits in the dead-letter list until
    it is retried.
    """
    enqueue(store, "hopeless", payload={"items": ["a"]})
    enqueue(store, "tired", attempts=2)
    store.fail(JobFailure(must(store, START).lease, "broken", START, None))
    for _ in range(2):
        store.fail(JobFailure(must(store, at(days=1)).lease, "again", at(days=1), at(days=1)))
    assert states(store) == {"hopeless": "dead", "tired": "dead"}
    assert claim(store, at(days=9)) is None
    dead = {job.key: job for job in store.queue(["dead"])}
    assert dead["hopeless"].error == "broken"
    assert store.retry([dead["hopeless"].id], at(days=2)) == 1
    assert must(store, at(days=2)).payload == {"items": ["a"]}
    assert store.retry([], at(days=2)) == 1
    assert store.retry([], at(days=2)) == 0
    assert must(store, at(days=2)).attempt == 1


def test_a_job_that_kills_its_workers_dies(store: Store) -> None:
    """A job whose workers go silent on every attempt ends in the dead-letter list instead of going
    round for ever.
    """
    enqueue(store, attempts=2)
    must(store, at(seconds=0))
    must(store, at(seconds=100))
    assert claim(store, at(seconds=200)) is None
    (job,) = store.queue(["dead"])
    assert job.error


def test_a_failure_joins_what_came_meanwhile(store: Store) -> None:
    """A job that fails while newer work of its key waits becomes one job with the items of both."""
    enqueue(store, payload={"items": ["a", "b"]})
    first = must(store)
    enqueue(store, payload={"items": ["b", "c"]})
    store.fail(JobFailure(first.lease, "x", START, at(seconds=9)))
    (job,) = store.queue()
    assert (job.payload, job.due, job.attempt) == ({"items": ["a", "b", "c"]}, at(seconds=9), 1)


def test_a_write_finishes_its_job(store: Store) -> None:
    """The result of a job and its end are one write."""
    enqueue(store)
    job = must(store)
    fact = record("learned")
    made = store.commit(
        batch(
            fact,
            finish=(job.lease,),
            jobs=(JobSpec("embed", "x"), JobSpec("judge", "y")),
            at=at(seconds=3),
        )
    )
    assert len(made.jobs) == 2
    assert states(store) == {"k": "done", "x": "waiting", "y": "waiting"}


def test_a_write_with_a_lost_lease_is_void(store: Store) -> None:
    """A worker that lost its job cannot store its result:
    the write conflicts and leaves nothing.
    """
    enqueue(store)
    lost = must(store)
    must(store, at(seconds=100))
    fact = record("learned twice")
    with pytest.raises(ConflictError):
        store.commit(batch(fact, finish=(lost.lease,), jobs=(JobSpec("embed", "x"),)))
    assert store.get(ALICE, [fact.id]) == ()
    assert states(store) == {"k": "running"}


def test_what_is_done_leaves_the_list_in_time(store: Store) -> None:
    """A finished job is listed for a day; dead ones stay."""
    enqueue(store, "old")
    store.finish(must(store).lease, START)
    enqueue(store, "dead")
    store.fail(JobFailure(must(store).lease, "x", START, None))
    enqueue(store, "new", when=at(days=2))
    store.finish(must(store, at(days=2)).lease, at(days=2))
    assert states(store) == {"dead": "dead", "new": "done"}


def test_next_due(store: Store) -> None:
    """The next time at which a claim can find something:
    the earliest due job that is not behind a running one.
    """
    assert store.next_due() is None
    enqueue(store, "later", due=at(seconds=50))
    enqueue(store, "soon", due=at(seconds=10))
    assert store.next_due() == at(seconds=10)
    must(store, at(seconds=10))
    enqueue(store, "soon", due=at(seconds=11))
    assert store.next_due() == at(seconds=50)


def test_the_list_is_limited_and_by_state(store: Store) -> None:
    """The newest changed jobs come first, at most as many as asked for, in the states asked for."""
    for number in range(5):
        enqueue(store, f"k{number}", when=at(seconds=number))
    assert [job.key for job in store.queue(limit=2)] == ["k4", "k3"]
    assert store.queue(["running", "dead"]) == ()


@pytest.mark.parametrize(
    "spec", [JobSpec("", "k"), JobSpec("x", "k", attempts=0), JobSpec("x", "k", {"bad": object()})]
)
def test_a_malformed_job_is_refused(store: Store, spec: JobSpec) -> None:
    """A job needs a kind, an attempt, and a payload that is JSON."""
    with pytest.raises(InputError):
        store.enqueue([spec], START)


def test_workers_share_without_overlap(store: Store) -> None:
    """Many workers at once do each job exactly once."""
    for number in range(40):
        enqueue(store, f"k{number}")
    outcomes: list[str] = []

    def work() -> None:
        while (job := claim(store)) is not None:
            outcomes.append(job.key)
            assert store.finish(job.lease, START)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == sorted(f"k{number}" for number in range(40))


def test_a_job_is_in_the_same_write_as_its_cause(store: Store) -> None:
    """A write that fails leaves no job behind, and one that succeeds always does."""
    good = WriteBatch("test", "", START, jobs=(JobSpec("extract", "k", {"items": ["a"]}),))
    with pytest.raises(ConflictError):
        store.commit(replace(good, finish=("lost",)))
    assert store.queue() == ()
    add(store, record("x"), jobs=good.jobs)
    assert states(store) == {"k": "waiting"}
