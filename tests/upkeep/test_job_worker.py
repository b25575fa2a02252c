"""The end of the workers:
what waits for a model is put back for the next process, and that is no failure.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import engrams
from engrams import Turn
from engrams.core import Kind
from engrams.errors import BudgetError, ConflictError
from engrams.ports import EXTRACT, Job, JobClaim, JobSpec
from engrams.settings import JobSettings
from engrams.testing import ScriptedModel, SettableClock
from engrams.upkeep.job_worker import JobWorkerPool

ANN = ("user", "ann")


def test_a_close_does_not_wait_for_a_model(home: Path) -> None:
    """A model that never answers is cut off;
    the job is put back as if nobody had begun it, and the next process does it.
    """
    statement = {
        "turn": 1,
        "text": "Ann sails.",
        "quote": "I sail",
        "subject": "user",
        "predicate": "does",
        "object": "sail",
    }
    with ScriptedModel() as model:
        settings: dict[str, Any] = {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": model.url,
            "chat__retries": 0,
        }
        settings |= {"chat__timeout_seconds": 60.0, "write__debounce_seconds": 0.0}
        model.fail("hang")
        with engrams.open(
            home=home, jobs__workers=1, sessions__shutdown_seconds=0.1, **settings
        ) as memory:
            memory.observe(Turn("I sail on Sundays"), scope=ANN)
            assert model.wait(1)
        model.heal()
        model.when("Below are numbered messages", {"statements": [statement]})
        with engrams.open(home=home, jobs__workers=0, **settings) as memory:
            (job,) = [
                queued for queued in memory.store.queue(("waiting",)) if queued.kind == EXTRACT
            ]
            assert job.attempt == 0
            assert memory.drain(20)
            assert [
                record.text for record in memory.list(scope=ANN, kinds=(Kind.FACT,)).records
            ] == ["Ann sails."]


def test_a_budget_that_is_spent_is_no_failure(home: Path) -> None:
    """However often it is put off, a job that the day's budget has no room for keeps its attempts,
    and waits.
    """
    clock = SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with engrams.open(home=home, clock=clock, jobs__workers=0) as memory:
        tries = 0

        def spent(_job: object) -> None:
            nonlocal tries
            tries += 1
            raise BudgetError

        runner = JobWorkerPool(
            memory.store, {"ask": spent}, clock, JobSettings(workers=0, max_attempts=2)
        )
        memory.store.enqueue((JobSpec("ask", "k", attempts=2),), clock())
        for _ in range(6):
            runner.drain(5)
            clock.forward(hours=2)
        assert tries == 6
        assert memory.status()["dead"] == []
        assert [job.attempt for job in memory.store.queue(("waiting",)) if job.kind == "ask"] == [0]


def test_who_is_always_second_does_not_fail_for_it(home: Path) -> None:
    """A job that others come before is done again as often as it takes;
    only one that is so for more than a day is put aside.
    """
    clock = SettableClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with engrams.open(home=home, clock=clock, jobs__workers=0) as memory:
        tries = 0

        def second(job: Job) -> None:
            nonlocal tries
            tries += 1
            if tries <= 20 or job.key == "for ever":
                raise ConflictError("Somebody else was first.")
            memory.store.finish(job.lease, clock())

        runner = JobWorkerPool(
            memory.store, {"ask": second}, clock, JobSettings(workers=0, max_attempts=2)
        )
        memory.store.enqueue((JobSpec("ask", "k", attempts=2),), clock())
        for _ in range(22):
            runner.run_job()
            clock.forward(seconds=1)
        assert tries == 21
        assert [job.state for job in memory.store.queue() if job.kind == "ask"] == ["done"]
        memory.store.enqueue((JobSpec("ask", "for ever", attempts=2),), clock())
        for _ in range(4):
            runner.run_job()
            clock.forward(hours=13)
        assert [dead["key"] for dead in memory.status()["dead"]] == ["for ever"]


class ClaimCounter:
    """Store that counts how often workers look for jobs."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.looks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def claim(self, ask: JobClaim) -> Job | None:
        self.looks += 1
        return self._store.claim(ask)


def test_one_of_many_idle_workers_looks_for_jobs(home: Path) -> None:
    """Sixteen workers that are woken for one job ask the queue about it as often as two would, and
    twenty jobs are done by several.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        doers: set[str] = set()
        met = threading.Barrier(4, timeout=20)
        finished = threading.Semaphore(0)

        def work(job: Job) -> None:
            if job.key.startswith("together"):
                met.wait()
            doers.add(threading.current_thread().name)
            memory.store.finish(job.lease, memory.now())
            finished.release()

        counted = ClaimCounter(memory.store)
        runner = JobWorkerPool(
            counted, {"ask": work}, memory.now, JobSettings(workers=16, poll_seconds=60.0)
        )
        runner.start()
        for number in range(10):
            memory.store.enqueue((JobSpec("ask", f"k{number}"),), memory.now())
            runner.wake()
            assert finished.acquire(timeout=20)
        assert counted.looks <= 60
        memory.store.enqueue(
            tuple(JobSpec("ask", f"together{number}") for number in range(4)), memory.now()
        )
        runner.wake()
        assert all(finished.acquire(timeout=20) for _ in range(4))
        runner.close()
        assert len(doers) >= 4


def test_a_close_while_workers_start(home: Path) -> None:
    """Whoever closes the pool while another thread starts it waits for all workers, also for those
    that were not started yet.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        before = threading.active_count()
        for _ in range(20):
            runner = JobWorkerPool(
                memory.store, {}, memory.now, JobSettings(workers=16, poll_seconds=60.0)
            )
            starter = threading.Thread(target=runner.start)
            starter.start()
            while threading.active_count() < before + 2 and starter.is_alive():
                pass
            runner.close()
            starter.join()
            assert threading.active_count() <= before


def test_jobs_that_do_not_end_are_waited_for_once(home: Path) -> None:
    """Six jobs that hang delay a close as long as one would, and go back to the queue."""
    with engrams.open(home=home, jobs__workers=0) as memory:
        begun = threading.Semaphore(0)
        let_go = threading.Event()

        def hang(_job: Job) -> None:
            begun.release()
            let_go.wait()

        runner = JobWorkerPool(
            memory.store, {"ask": hang}, memory.now, JobSettings(workers=6, lease_seconds=1.0)
        )
        memory.store.enqueue(tuple(JobSpec("ask", f"k{n}") for n in range(6)), memory.now())
        runner.start()
        assert all(begun.acquire(timeout=20) for _ in range(6))
        before = time.monotonic()
        runner.close()
        assert time.monotonic() - before < 4.0
        assert len(memory.store.queue(("waiting",))) == 6
        let_go.set()
