"""Job workers: threads that claim jobs from the durable queue and run their handlers.

Enter at ``JobWorkerPool``. What happens to a job, in this order:

1. *Wake-up.* Idle workers queue for one lock, and only its holder waits for work. Its wait ends
   with ``wake`` (this process enqueued something), with ``JobQueue.follow`` (another process did),
   with the due time of the next job, with a timer, or after ``jobs.poll_seconds``.
2. *Claim.* ``JobQueue.claim`` gives this process one due job under a lease of
   ``jobs.lease_seconds``. Passed over are kinds of upkeep while the gatekeeper names an obstacle,
   and owners whose jobs hold their share of the workers.
3. *Lease.* ``JobLeaseRenewer`` renews the lease while the handler runs. If the process dies, the
   lease ends, and another process claims the job again.
4. *End.* The handler finishes the lease in the transaction that stores its results, so that a
   worker that lost its lease stores nothing, and a job is never done twice.
5. *Failure.* ``run_leased`` maps what the handler raised to the next attempt:

   ================ =================================== ==========================================
   error            next attempt                        counts towards ``jobs.max_attempts``
   ================ =================================== ==========================================
   ConflictError    in 0.05 s                           only for jobs older than a day
   BudgetError      in an hour                          no
   ModelError       after the backoff, or as the server yes, unless the engine is closing
                    asks; never, where waiting cannot
                    help
   any other        after the backoff                   yes
   ================ =================================== ==========================================

   A job without a next attempt is dead until somebody retries it.
6. *Close.* ``close`` lets current jobs end, then cuts off models; interrupted jobs go back to the
   queue without losing an attempt, and waiting ones stay there for the next process.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from engrams.core.ids import new_id
from engrams.core.usage_accounts import CHARGED_OWNER
from engrams.errors import BudgetError, ClosedError, ConflictError, EngramsError, ModelError
from engrams.frozen_data import dataclass
from engrams.ports import (
    Clock,
    Job,
    JobClaim,
    JobFailure,
    JobLease,
    JobQueue,
    UpkeepGatekeeper,
)
from engrams.settings import JobSettings
from engrams.upkeep.job_lease import JobLeaseRenewer

_log = logging.getLogger(__name__)

Result = TypeVar("Result")
Handler = Callable[[Job], object]
"""Does a job and finishes its lease, in the same transaction as what it writes."""

_MIN_IDLE = 0.01
"""Seconds that an idle worker waits at least before it looks again."""
_MIN_IDLE_SUSPENDED = 1.0
"""The same while kinds are suspended: their due jobs would be looked for without a pause."""
_SLEEP_LEAD = 10.0
"""Seconds by which the wall clock runs ahead after sleep; less is a clock that was set."""
_GRACE_SECONDS = 10.0
"""Seconds that threads have to come to an end when they were told to, all together. The jobs of
those that do not go back to the queue; what they write then is refused, as their leases are lost.
"""
_CONFLICT_DELAY = 0.05
"""Seconds until a job that lost a race is tried again."""
_CONFLICT_GRACE = timedelta(days=1)
"""Age up to which a job's conflicts do not count as failures."""
_MAX_ERROR_CHARS = 700
"""Characters of a job's error: those of a model's server, and what stands around them."""
_MAX_BACKOFF = 3600.0
"""Seconds between two attempts, at most; also the wait of a job whose budget is spent."""


@dataclass(frozen=True, slots=True)
class WorkDiscovery:
    """Functions that look for work which nobody enqueued; the engine's composition sets them."""

    at_start: Callable[[], object] | None = None
    """Called once, before the first job."""
    periodic: Mapping[Callable[[], object], float] = field(default_factory=dict)
    """Functions, each with the seconds (above 0) between two calls; ``drain`` calls all of them."""


class OwnerWorkerShares:
    """Counts of running jobs by owner, against their share of the workers."""

    def __init__(self, workers: int, share: float) -> None:
        """Set up the counts.

        ``share``: part of the workers for one owner, 0 to 1; 1: no limit.
        """
        self._max_running = max(1, int(workers * share)) if share < 1 else 0
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def claim_turn(self) -> Iterator[tuple[str, ...]]:
        """Yield the owners at their limit; where there is a limit, nobody else claims meanwhile."""
        if not self._max_running:
            yield ()
            return
        # Held over the claim: two workers that claim at once would both find room for one owner.
        with self._lock:
            yield tuple(
                owner for owner, number in self._running.items() if number >= self._max_running
            )

    def enter(self, job: Job) -> None:
        """Count a claimed job; called inside ``claim_turn``."""
        self._running[find_owner(job.key)] += 1

    def leave(self, job: Job) -> None:
        """Count a job no more."""
        owner = find_owner(job.key)
        with self._lock:
            self._running[owner] -= 1
            if not self._running[owner]:
                del self._running[owner]


def find_owner(key: str) -> str:
    """Return the owner whose key a job's key begins with."""
    return "/".join(key.partition("|")[0].split("/")[:2])


class JobWorkerPool:
    """Workers over a durable queue, which several processes may share."""

    def __init__(
        self,
        jobs: JobQueue,
        handlers: Mapping[str, Handler],
        clock: Clock,
        settings: JobSettings,
        discovery: WorkDiscovery | None = None,
        upkeep: UpkeepGatekeeper | None = None,
    ) -> None:
        """Set up the pool.

        ``handlers``: by kind of job; other kinds are left to other pools. ``upkeep``: knows the
        kinds that may have to wait (None: none has to).
        """
        discovery = discovery or WorkDiscovery()
        self._jobs = jobs
        self._handlers = dict(handlers)
        self._clock = clock
        self._settings = settings
        self._upkeep = upkeep
        self._at_start = discovery.at_start
        self._timers = dict(discovery.periodic)
        self._timer_runs = dict.fromkeys(self._timers, time.monotonic())
        self._worker_name = f"{os.getpid()}-{new_id(clock())[-6:]}"
        self._wake = threading.Event()
        self._stop = threading.Event()
        # Guards the fields that several workers change: threads, timers, clocks.
        self._lock = threading.Lock()
        # Held by the one idle worker that waits for work.
        self._idle_turn = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._cut_off = False
        self._last_clocks = _read_clocks(clock)
        self._leases = JobLeaseRenewer(jobs, clock, settings.lease_seconds)
        self._shares = OwnerWorkerShares(settings.workers, settings.owner_share)
        self._is_following = False

    # ----------------------------------------------------------------------------------------------
    # starting

    def wake(self) -> None:
        """Start the workers if needed, and let them look for work."""
        self.start()
        self._wake.set()

    def start(self) -> None:
        """Start the workers if needed.

        Those that wait look for work within seconds.
        """
        with self._lock:
            if self._threads or not self._settings.workers or self._stop.is_set():
                return
            self._threads = [
                threading.Thread(
                    target=self._run_worker, name=f"engrams-worker-{number}", daemon=True
                )
                for number in range(self._settings.workers)
            ]
            for thread in self._threads:
                thread.start()

    def resume(self) -> None:
        """Start the workers where work of an earlier process is left."""
        if self._jobs.next_due(tuple(self._handlers)) is not None:
            self.wake()

    # ----------------------------------------------------------------------------------------------
    # running jobs in the caller's thread

    def run_job(self, job_id: str = "") -> Job | None:
        """Claim one due job (or just this one, due or not) and run it here.

        None: there was none, or the models were cut off.
        """
        job = self._claim_job(job_id)
        if job is not None:
            self._run_claimed_job(job, is_requested=bool(job_id))
        return job

    def drain(self, seconds: float, progress: Callable[[int, int], None] | None = None) -> bool:
        """Run due jobs here within ``seconds``. True: none is left.

        ``progress``: called after each job with the number done and the number known.
        """
        deadline = time.monotonic() + seconds
        done_count = 0
        self._run_timers(run_all=True)
        while time.monotonic() < deadline:
            if self.run_job() is not None:
                done_count += 1
                if progress is not None:
                    progress(done_count, done_count + self._count_waiting())
            elif self._has_running():
                time.sleep(_MIN_IDLE)
            else:
                return True
        return False

    def _count_waiting(self) -> int:
        return sum(states.get("waiting", 0) for states in self._jobs.workload().values())

    def _has_running(self) -> bool:
        return any(
            states.get("running")
            for kind, states in self._jobs.workload().items()
            if kind in self._handlers
        )

    def make_lease(self) -> JobLease:
        """Make the lease of a job that its caller enqueues and runs at once."""
        return JobLease(
            self._worker_name,
            os.urandom(16).hex(),
            self._clock() + timedelta(seconds=self._settings.lease_seconds),
        )

    def serve_person(self) -> AbstractContextManager[None]:
        """Hold upkeep off while somebody waits for the same model."""
        return nullcontext() if self._upkeep is None else self._upkeep.serve_person()

    # ----------------------------------------------------------------------------------------------
    # claiming

    def _claim_job(self, job_id: str = "") -> Job | None:
        """Claim one due job; it counts as its owner's from now on."""
        if self._cut_off:
            return None
        kinds = tuple(self._handlers.keys() - self._find_suspended_kinds())
        with self._shares.claim_turn() as crowded:
            # Right before: a claim after a sleep that nobody noticed would take over living jobs.
            self._notice_sleep()
            job = self._jobs.claim(
                JobClaim(
                    worker=self._worker_name,
                    now=self._clock(),
                    lease_seconds=self._settings.lease_seconds,
                    kinds=kinds,
                    id=job_id,
                    crowded=crowded,
                )
            )
            if job is not None:
                self._shares.enter(job)
            return job

    def _find_suspended_kinds(self) -> frozenset[str]:
        """Return the kinds of job that may not start now."""
        if self._upkeep is None or self._upkeep.find_obstacle() is None:
            return frozenset()
        return self._upkeep.kinds

    def _notice_sleep(self) -> bool:
        """Renew living leases where the machine slept; True: it did.

        The wall clock has then run ahead of the monotonic one, and leases seem to have ended while
        their work was only frozen.
        """
        with self._lock:
            wall_before, monotonic_before = self._last_clocks
            self._last_clocks = wall_now, monotonic_now = _read_clocks(self._clock)
            slept = (wall_now - wall_before).total_seconds() - (monotonic_now - monotonic_before)
            if slept < _SLEEP_LEAD:
                return False
            _log.info("the machine slept for %.0f s; looking for due work", slept)
            self._leases.renew()
            return True

    # ----------------------------------------------------------------------------------------------
    # worker threads

    def _run_worker(self) -> None:
        while not self._stop.is_set():
            try:
                self._run_timers(run_all=self._notice_sleep())
                job = self._await_job()
                if job is not None:
                    self._run_claimed_job(job)
                    # Another one of its key or its owner may be due now.
                    self._wake.set()
            except ClosedError:
                return
            except EngramsError as problem:
                # The queue itself cannot be reached (disk full, busy, just encrypted): nothing was
                # claimed, so nothing is lost.
                _log.warning("job queue: %s", problem.message)
                self._wake.wait(self._settings.poll_seconds)

    def _await_job(self) -> Job | None:
        """Claim a job, or wait a while for one; None: look again.

        One worker looks for all: whoever woke with it would look in vain.
        """
        with self._idle_turn:
            # Cleared before the claim: what is enqueued after it sets the event again.
            self._wake.clear()
            if self._stop.is_set():
                return None
            job = self._claim_job()
            if job is None and not self._wake.wait(self._compute_idle_seconds()):
                self._follow_queue()
            return job

    def _compute_idle_seconds(self) -> float:
        longest = min([self._settings.poll_seconds, *self._timers.values()])
        due = self._jobs.next_due(tuple(self._handlers))
        if due is None:
            return longest
        seconds_left = (due - self._clock()).total_seconds()
        shortest = _MIN_IDLE_SUSPENDED if self._find_suspended_kinds() else _MIN_IDLE
        return min(max(seconds_left, shortest), longest)

    def _follow_queue(self) -> None:
        """Listen for jobs of other processes, from the first idle moment on."""
        with self._lock:
            is_first = not self._is_following
            self._is_following = True
        if is_first and not self._stop.is_set():
            self._jobs.follow(self._wake.set)

    def _run_timers(self, *, run_all: bool = False) -> None:
        """Look for unrequested work with the functions that are due, or with all."""
        now = time.monotonic()
        with self._lock:
            at_start = self._at_start
            self._at_start = None
            due = [
                timer
                for timer, seconds in self._timers.items()
                if run_all or now - self._timer_runs[timer] >= seconds
            ]
            self._timer_runs.update(dict.fromkeys(due, now))
        if at_start is not None:
            at_start()
        for timer in due:
            timer()

    # ----------------------------------------------------------------------------------------------
    # running a claimed job

    def _run_claimed_job(self, job: Job, is_requested: bool = False) -> None:
        """Run a claimed job.

        ``is_requested``: somebody asked for this very job, so its model calls are not upkeep's.
        """
        accounting: AbstractContextManager[None] = nullcontext()
        if self._upkeep is not None and not is_requested:
            accounting = self._upkeep.enter(job.kind)
        try:
            with accounting:
                self.run_leased(job, partial(self._handlers[job.kind], job))
        finally:
            self._shares.leave(job)

    def run_leased(self, job: Job, work: Callable[[], Result]) -> Result | None:
        """Do the work of a leased job; None: its failure is recorded."""
        charged = CHARGED_OWNER.set(find_owner(job.key))
        try:
            with self._leases.hold(job.lease):
                return work()
        except ClosedError:
            raise
        except ConflictError as problem:
            is_old = job.created_at is None or self._clock() - job.created_at > _CONFLICT_GRACE
            self._record_failure(job, problem.message, _CONFLICT_DELAY, counts=is_old)
        except BudgetError as problem:
            self._record_failure(job, problem.message, _MAX_BACKOFF, counts=False)
        except ModelError as problem:
            self._record_model_failure(job, problem)
        except EngramsError as problem:
            self._record_failure(job, problem.message, self._compute_backoff(job))
        except Exception as problem:  # noqa: BLE001 - the edge of the flow: a fault in one job must become visible, not end the worker
            _log.exception("job %s failed", job.kind)
            message = f"{type(problem).__name__}: {problem}"
            self._record_failure(job, message, self._compute_backoff(job))
        finally:
            CHARGED_OWNER.reset(charged)
        return None

    def _record_model_failure(self, job: Job, problem: ModelError) -> None:
        if self._cut_off:
            # The engine closed and interrupted the call: the next process goes on at once.
            self._record_failure(job, problem.message, 0.0, counts=False)
        elif problem.retryable:
            delay = max(problem.retry_after, self._compute_backoff(job))
            self._record_failure(job, problem.message, delay)
        else:
            self._record_failure(job, problem.message, None)

    def _compute_backoff(self, job: Job) -> float:
        """Return ``jobs.backoff_seconds``, doubled with each attempt, an hour at most."""
        return float(min(self._settings.backoff_seconds * 2 ** (job.attempt - 1), _MAX_BACKOFF))

    def _record_failure(
        self, job: Job, error: str, delay: float | None, counts: bool = True
    ) -> None:
        """Record a failure.

        ``delay``: seconds until the next attempt; None, or no attempt left: the job is dead.
        ``counts``: it is one of the job's attempts.
        """
        now = self._clock()
        is_spent = counts and job.attempt >= self._settings.max_attempts
        retry_at = None
        outcome = "`engrams retry` tries again"
        if delay is not None and not is_spent:
            retry_at = now + timedelta(seconds=delay)
            outcome = f"again in {delay:.0f} s"
        if counts:
            _log.warning(
                "job %s failed, attempt %d of %d: %s (%s)",
                job.kind,
                job.attempt,
                self._settings.max_attempts,
                error[:_MAX_ERROR_CHARS],
                outcome,
            )
        self._jobs.fail(
            JobFailure(
                lease=job.lease,
                error=error[:_MAX_ERROR_CHARS],
                at=now,
                retry_at=retry_at,
                counts=counts,
            )
        )

    # ----------------------------------------------------------------------------------------------
    # closing

    @property
    def is_cut_off(self) -> bool:
        """Return whether models are cut off, as the engine closes."""
        return self._cut_off

    def close(
        self,
        seconds: float = 0.0,
        cut: Callable[[], object] | None = None,
        last: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Stop the workers after their current jobs; waiting jobs stay queued.

        ``cut``: interrupts model calls after ``seconds``. Interrupted jobs return to the queue;
        that is no failure. ``last``: enqueues jobs to run when the workers have stopped, as far as
        the time allows.
        """
        with self._lock:
            # Set under the lock: threads seen here have been started, and none starts later.
            self._stop.set()
            threads = self._threads
        self._wake.set()
        deadline = time.monotonic() + seconds
        self._join_threads(threads, deadline, cut)
        last_jobs = deque(last())
        if last_jobs and not self._cut_off:
            last_threads = [
                threading.Thread(
                    target=self._run_last_jobs,
                    args=(last_jobs, deadline),
                    name="engrams-last",
                    daemon=True,
                )
                for _ in range(min(len(last_jobs), max(self._settings.workers, 1)))
            ]
            for thread in last_threads:
                thread.start()
            self._join_threads(last_threads, deadline, cut)
        self._return_leases(self._leases.close())

    def _join_threads(
        self,
        threads: Sequence[threading.Thread],
        deadline: float,
        cut: Callable[[], object] | None,
    ) -> None:
        """Wait for threads; those that outlast the deadline have their models cut off."""
        if cut is not None:
            for thread in threads:
                thread.join(timeout=max(deadline - time.monotonic(), 0.0))
            if any(thread.is_alive() for thread in threads):
                self._cut_off = True
                cut()
        # One end for all: each on its own would let a process outlive its end by minutes.
        end = time.monotonic() + min(self._settings.lease_seconds, _GRACE_SECONDS)
        for thread in threads:
            thread.join(timeout=max(end - time.monotonic(), 0.0))

    def _run_last_jobs(self, job_ids: deque[str], deadline: float) -> None:
        while time.monotonic() < deadline:
            try:
                self.run_job(job_ids.popleft())
            except (IndexError, ClosedError):
                return
            except EngramsError as problem:
                _log.warning("the next start does what is left: %s", problem.message)
                return

    def _return_leases(self, leases: Sequence[str]) -> None:
        """Put the jobs that did not end in time back into the queue."""
        for lease in leases:
            now = self._clock()
            try:
                self._jobs.fail(
                    JobFailure(lease, "Its worker was stopped.", now, now, counts=False)
                )
            except EngramsError as problem:
                _log.warning(
                    "a job could not be returned; it runs again after its lease: %s",
                    problem.message,
                )


def _read_clocks(clock: Clock) -> tuple[datetime, float]:
    """Read the wall clock and the monotonic one, whose difference tells of sleep."""
    return clock(), time.monotonic()
