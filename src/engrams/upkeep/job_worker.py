"""Job workers: claim a job, call its handler, renew its lease."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from typing import TypeVar

from engrams.core.ids import new_id
from engrams.core.usage_accounts import CHARGED_OWNER
from engrams.errors import BudgetError, ClosedError, ConflictError, EngramsError, ModelError
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

_log = logging.getLogger(__name__)
_BEATS = 4
_LEAST = 0.05


Result = TypeVar("Result")
Handler = Callable[[Job], object]
"""Does a job and finishes its lease, in the same transaction as what it writes."""


_HELD_POLL = 1.0
_SLEPT = 10.0
"""Seconds by which the wall clock runs ahead after sleep; less is a clock that was set."""
_HOUR = 3600.0
_PATIENCE = timedelta(days=1)
"""Age up to which a job's conflicts are no failures."""


class JobLeaseRenewer:
    """Renews the leases of running jobs in a thread."""

    def __init__(self, jobs: JobQueue, clock: Clock, seconds: float) -> None:
        """Set up the keeper.

        ``seconds``: the length of a lease, renewed four times in it.
        """
        self._jobs = jobs
        self._clock = clock
        self._seconds = seconds
        self._leases: set[str] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, lease: str) -> Iterator[None]:
        """Keep a job's lease renewed while this block runs."""
        with self._lock:
            self._leases.add(lease)
            # A forked child inherits the thread's object but not its thread.
            if (self._thread is None or not self._thread.is_alive()) and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._beat, name="engrams-leases", daemon=True
                )
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._leases.discard(lease)

    def renew(self) -> None:
        """Renew the leases of all work that lives."""
        with self._lock:
            held = tuple(self._leases)
        for lease in held:
            self._jobs.renew(lease, self._clock() + timedelta(seconds=self._seconds))

    def close(self) -> tuple[str, ...]:
        """End the heartbeat; the leases of work that still runs."""
        with self._lock:
            # A thread seen from within the lock has been started.
            self._stop.set()
            thread = self._thread
        if thread is not None:
            thread.join()
        with self._lock:
            return tuple(self._leases)

    def _beat(self) -> None:
        while not self._stop.wait(max(self._seconds / _BEATS, _LEAST)):
            try:
                self.renew()
            except ClosedError:
                return
            except EngramsError as problem:
                # Disk full or busy: the next beat tries again, well before the lease ends.
                _log.warning("lease of a job: %s", problem.message)


@contextmanager
def keep_lease(jobs: JobQueue, clock: Clock, token: str, seconds: float) -> Iterator[None]:
    """Keep one job's lease renewed while this block runs, by a thread of its own."""
    with closing(JobLeaseRenewer(jobs, clock, seconds)) as leases, leases.hold(token):
        yield


class OwnerWorkerShares:
    """Counts of running jobs by owner, against their share."""

    def __init__(self, workers: int, share: float) -> None:
        """Set up the counts.

        ``share``: of the workers, for one owner; 1: no limit.
        """
        self._most = max(1, int(workers * share)) if share < 1 else 0
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def claiming(self) -> Iterator[tuple[str, ...]]:
        """Owners at their limit; nobody else claims meanwhile, where there is one."""
        with self._lock if self._most else nullcontext():
            yield (
                tuple(owner for owner, number in self._running.items() if number >= self._most)
                if self._most
                else ()
            )

    def enter(self, job: Job) -> None:
        """Count a job that was claimed."""
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
        first: Callable[[], object] | None = None,
        timers: Mapping[Callable[[], object], float] | None = None,
        upkeep: UpkeepGatekeeper | None = None,
    ) -> None:
        """Set up the pool.

        ``first``: called once, before the first job, to look for unrequested work. ``timers``:
        callables that look for work whenever their number of seconds has passed, and at every
        ``drain``. ``upkeep``: kinds of job that may have to wait.
        """
        self._jobs = jobs
        self._handlers = dict(handlers)
        self._clock = clock
        self._settings = settings
        self._first = first
        self._upkeep = upkeep
        self._timers = dict(timers or {})
        self._timer_runs = dict.fromkeys(self._timers, time.monotonic())
        self._name = f"{os.getpid()}-{new_id(clock())[-6:]}"
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._cut_off = False
        self._moment = (clock(), time.monotonic())
        self._leases = JobLeaseRenewer(jobs, clock, settings.lease_seconds)
        self._shares = OwnerWorkerShares(settings.workers, settings.owner_share)
        self._follows = False

    def wake(self) -> None:
        """Start the workers if needed, and let them look for work."""
        self.start()
        self._wake.set()

    def start(self) -> None:
        """Start the workers if needed.

        Those that wait look for work within seconds.
        """
        with self._lock:
            if not self._threads and self._settings.workers and not self._stop.is_set():
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

    def run(self, id: str = "") -> Job | None:
        """Claim one due job (or just this one) and run it here.

        None: there was none, or the models were cut off.
        """
        job = self._claim(id)
        if job is not None:
            self._do(job, asked=bool(id))
        return job

    def _claim(self, id: str = "") -> Job | None:
        """Claim one due job; it counts as its owner's from now on."""
        if self._cut_off:
            return None
        kinds = tuple(self._handlers.keys() - self._held_kinds())
        with self._shares.claiming() as crowded:
            # Right before: a claim after a sleep that nobody noticed would take over living jobs.
            self._notice_sleep()
            job = self._jobs.claim(
                JobClaim(
                    worker=self._name,
                    now=self._clock(),
                    lease_seconds=self._settings.lease_seconds,
                    kinds=kinds,
                    id=id,
                    crowded=crowded,
                )
            )
            if job is not None:
                self._shares.enter(job)
            return job

    def _do(self, job: Job, asked: bool = False) -> None:
        """Do a claimed job.

        ``asked``: somebody asked for it, so it is no upkeep.
        """
        try:
            with nullcontext() if asked or self._upkeep is None else self._upkeep.enter(job.kind):
                self.run_leased(job, partial(self._handlers[job.kind], job))
        finally:
            self._shares.leave(job)

    def _held_kinds(self) -> frozenset[str]:
        """Return the kinds of job that may not start now."""
        held = self._upkeep is not None and self._upkeep.find_obstacle() is not None
        return self._upkeep.kinds if self._upkeep is not None and held else frozenset()

    def make_lease(self) -> JobLease:
        """Make the lease of a job that its caller runs at once."""
        return JobLease(
            self._name,
            os.urandom(16).hex(),
            self._clock() + timedelta(seconds=self._settings.lease_seconds),
        )

    def drain(self, seconds: float, progress: Callable[[int, int], None] | None = None) -> bool:
        """Run due jobs here within ``seconds``. True: none is left."""
        end = time.monotonic() + seconds
        done = 0
        self._run_timers(ring=True)
        while time.monotonic() < end:
            if self.run() is None:
                if not any(
                    states.get("running")
                    for kind, states in self._jobs.workload().items()
                    if kind in self._handlers
                ):
                    return True
                time.sleep(0.01)
            else:
                done += 1
                if progress is not None:
                    progress(
                        done,
                        done
                        + sum(
                            states.get("waiting", 0) for states in self._jobs.workload().values()
                        ),
                    )
        return False

    def serve_person(self) -> AbstractContextManager[None]:
        """Hold upkeep off while somebody waits for the same model."""
        return nullcontext() if self._upkeep is None else self._upkeep.serve_person()

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
            # Threads seen from within the lock have been started.
            self._stop.set()
            threads = self._threads
        self._wake.set()
        until = time.monotonic() + seconds
        self._join(threads, until, cut)
        left = deque(last())
        if left and not self._cut_off:
            ending = [
                threading.Thread(
                    target=self._run_last, args=(left, until), name="engrams-last", daemon=True
                )
                for _ in range(min(len(left), max(self._settings.workers, 1)))
            ]
            for thread in ending:
                thread.start()
            self._join(ending, until, cut)
        self._give_back(self._leases.close())

    def _give_back(self, leases: Sequence[str]) -> None:
        """Return jobs that take longer than anybody waits to the queue."""
        for lease in leases:
            try:
                self._jobs.fail(
                    JobFailure(
                        lease, "Its worker was stopped.", self._clock(), self._clock(), counts=False
                    )
                )
            except EngramsError as problem:
                _log.warning("a job is taken over when its lease is over: %s", problem.message)

    def _join(
        self, threads: Sequence[threading.Thread], until: float, cut: Callable[[], object] | None
    ) -> None:
        for thread in threads if cut is not None else ():
            thread.join(timeout=max(until - time.monotonic(), 0.0))
        if cut is not None and any(thread.is_alive() for thread in threads):
            self._cut_off = True
            cut()
        for thread in threads:
            thread.join(timeout=self._settings.lease_seconds)

    def _run_last(self, left: deque[str], until: float) -> None:
        while time.monotonic() < until:
            try:
                self.run(left.popleft())
            except (IndexError, ClosedError):
                return
            except EngramsError as problem:
                _log.warning("the next start does what is left: %s", problem.message)
                return

    def _run_worker(self) -> None:
        while not self._stop.is_set():
            try:
                self._run_timers(ring=self._notice_sleep())
                job = self._await_job()
                if job is not None:
                    self._do(job)
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
        with self._turn:
            self._wake.clear()
            if self._stop.is_set():
                return None
            job = self._claim()
            if job is None and not self._wake.wait(self._idle_seconds()):
                self._follow()
            return job

    def _follow(self) -> None:
        """Hear of other processes' jobs, from the first idle moment on."""
        with self._lock:
            first = not self._follows
            self._follows = True
        if first and not self._stop.is_set():
            self._jobs.follow(self._wake.set)

    def _notice_sleep(self) -> bool:
        """Renew living leases where the machine slept; True: it did.

        The wall clock has then run ahead of the monotonic one, and leases seem to have ended while
        their work was only frozen.
        """
        with self._lock:
            before = self._moment
            self._moment = (self._clock(), time.monotonic())
            slept = (self._moment[0] - before[0]).total_seconds() - (self._moment[1] - before[1])
            if slept < _SLEPT:
                return False
            _log.info("the machine slept for %.0f s; looking for due work", slept)
            self._leases.renew()
            return True

    def _run_timers(self, *, ring: bool = False) -> None:
        now = time.monotonic()
        with self._lock:
            first = self._first
            self._first = None
            due = [
                timer
                for timer, seconds in self._timers.items()
                if ring or now - self._timer_runs[timer] >= seconds
            ]
            self._timer_runs.update(dict.fromkeys(due, now))
        for look in (*([first] if first else []), *due):
            look()

    def _idle_seconds(self) -> float:
        longest = min([self._settings.poll_seconds, *self._timers.values()])
        due = self._jobs.next_due(tuple(self._handlers))
        if due is None:
            return longest
        seconds = (due - self._clock()).total_seconds()
        # What is due and held would be looked for without a pause.
        return min(max(seconds, _HELD_POLL if self._held_kinds() else 0.01), longest)

    def run_leased(self, job: Job, work: Callable[[], Result]) -> Result | None:
        """Do the work of a leased job; None: its failure is recorded."""
        charged = CHARGED_OWNER.set(find_owner(job.key))
        try:
            with self._leases.hold(job.lease):
                return work()
        except ClosedError:
            raise
        except ConflictError as problem:
            # A conflict: retry soon, without counting it while the job is young.
            self._fail(
                job,
                problem.message,
                0.05,
                counts=job.created_at is None or self._clock() - job.created_at > _PATIENCE,
            )
        except BudgetError as problem:
            self._fail(job, problem.message, _HOUR, counts=False)
        except ModelError as problem:
            again = max(problem.retry_after, self._backoff(job)) if problem.retryable else None
            self._fail(
                job, problem.message, 0.0 if self._cut_off else again, counts=not self._cut_off
            )
        except EngramsError as problem:
            self._fail(job, problem.message, self._backoff(job))
        except Exception as problem:  # noqa: BLE001 - the edge of the flow: a fault in one job must become visible, not end the worker
            _log.exception("job %s failed", job.kind)
            self._fail(job, f"{type(problem).__name__}: {problem}", self._backoff(job))
        finally:
            CHARGED_OWNER.reset(charged)
        return None

    def _backoff(self, job: Job) -> float:
        return float(min(self._settings.backoff_seconds * 2 ** (job.attempt - 1), _HOUR))

    def _fail(self, job: Job, error: str, seconds: float | None, counts: bool = True) -> None:
        """Record a failure: retry after ``seconds``; None or used-up attempts: dead."""
        at = self._clock()
        spent = counts and job.attempt >= self._settings.max_attempts
        retry = None if seconds is None or spent else at + timedelta(seconds=seconds)
        if counts:
            told = (
                f"again in {seconds:.0f} s" if retry is not None else "`engrams retry` tries again"
            )
            _log.warning(
                "job %s failed, attempt %d of %d: %s (%s)",
                job.kind,
                job.attempt,
                self._settings.max_attempts,
                error[:200],
                told,
            )
        self._jobs.fail(
            JobFailure(lease=job.lease, error=error[:500], at=at, retry_at=retry, counts=counts)
        )
