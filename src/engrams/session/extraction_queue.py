"""Queue of memory updates for callers: debounced, limited, flushed, cancelled.

``observe`` feeds the same queue and never refuses; ``add`` has a limit. Every turn is stored before
anything else happens to it, so nothing here can lose one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from engrams.core import UNLEARNED, Kind, Receipt, Scope, ScopeInput, Turn
from engrams.errors import BudgetError, ClosedError, InputError
from engrams.extract.feedback_signals import detect_signals
from engrams.ports import (
    EXTRACT,
    Job,
    JobSpec,
    RecordChange,
    RecordQuery,
    ScopeReach,
    WriteBatch,
)
from engrams.write import ingest
from engrams.write.extraction_jobs import make_update_key, plan_extraction
from engrams.write.ingest_request import IngestDeps, IngestRequest

_MAX_LISTED = 10_000
_PAUSE = 0.01
"""Seconds until a flush looks again at updates that other workers run."""


class JobRunner(Protocol):
    """Job runner as sessions and updates need it."""

    def run_job(self, job_id: str = "") -> Job | None: ...

    def wake(self) -> None: ...

    @property
    def is_cut_off(self) -> bool: ...


class ExtractionQueue:
    """Queue of turns to extract from. Thread safe; only ``flush_sync`` waits."""

    def __init__(self, ingest_deps: IngestDeps, runner: JobRunner) -> None:
        self._ingest_deps = ingest_deps
        self._jobs = ingest_deps.write.store
        self._runner = runner
        self._clock = ingest_deps.write.clock
        self._settings = ingest_deps.write.settings.jobs

    def add(
        self, turns: Turn | Sequence[Turn], *, scope: ScopeInput, after: float | None = None
    ) -> tuple[Receipt, ...]:
        """Store turns; extract after ``after`` seconds of quiet (None: the setting).

        One update waits for each scope and session: another call for the same one postpones it and
        adds its turns. BudgetError: ``jobs.max_queued`` updates wait and this would be one more;
        nothing was stored then. Turns that correct or confirm something always enter. InputError:
        ``after`` is negative or no number.
        """
        parsed_scope = Scope.of(scope).destination
        is_number = isinstance(after, int | float) and math.isfinite(after)
        if after is not None and not (is_number and after >= 0):
            raise InputError(
                f"after must be a number of seconds from 0, not {after!r:.80}.",
                hint="Write after=60, without quotes.",
            )
        new_turns = Turn.list_of(turns)
        if not new_turns:
            return ()
        if not detect_signals(turn.text for turn in new_turns):
            self._check_capacity(make_update_key(parsed_scope, new_turns[0].session))
        request = IngestRequest(new_turns, parsed_scope, Kind.TURN, quiet=after)
        receipts = ingest.add(request, self._ingest_deps).receipts
        self._runner.wake()
        return receipts

    def add_nowait(self, turns: Turn | Sequence[Turn], *, scope: ScopeInput) -> tuple[Receipt, ...]:
        """Store turns and extract at once, on a worker."""
        return self.add(turns, scope=scope, after=0.0)

    def waiting(self) -> int:
        """Return the number of waiting updates."""
        return self._jobs.workload().get(EXTRACT, {}).get("waiting", 0)

    def hasten(self, *, scope: ScopeInput, session: str = "") -> bool:
        """Make the waiting update of a scope and session due now.

        False: none waits. Returns at once.
        """
        update_scope = Scope.of(scope).destination
        key = make_update_key(update_scope, session)
        if all(job.key != key for job in self._list_jobs(("waiting",))):
            return False
        self._jobs.enqueue(
            (JobSpec(EXTRACT, key, {"scope": update_scope.key, "items": []}),), self._clock()
        )
        self._runner.wake()
        return True

    def release(self, external_id: str, *, scope: ScopeInput) -> bool:
        """Learn from a message that was stored as unlearned (``meta`` of its turn).

        ``external_id``: that of its turn. False: nothing is stored under it, or it is learned from
        anyway. Returns at once.
        """
        deps = self._ingest_deps.write
        message_scope = Scope.of(scope).destination
        query = RecordQuery(
            ScopeReach(message_scope.owner, (message_scope,)), external_id=external_id, limit=1
        )
        records = [
            record for record in deps.store.find(query).records if record.meta.get(UNLEARNED)
        ]
        if not records:
            return False
        (record,) = records
        meta = {key: value for key, value in record.meta.items() if key != UNLEARNED}
        change = RecordChange(record.scope.owner, record.id, {"meta": meta}, "release")
        job = plan_extraction(records, [record.id], deps)
        deps.store.commit(
            WriteBatch("engrams", "answered", self._clock(), changes=(change,), jobs=(job,))
        )
        self._runner.wake()
        return True

    def flush_sync(self, timeout: float = 30.0) -> bool:
        """Run all waiting updates once, due or not. True: none is left.

        False: the time is up, some failed and wait for a retry, or some gather more of their
        conversation. Running ones continue.
        """
        stop = threading.Event()
        drained: list[bool] = []
        thread = threading.Thread(
            target=self._run_flush, args=(stop, drained), name="engrams-flush", daemon=True
        )
        thread.start()
        thread.join(max(timeout, 0.0))
        stop.set()
        return drained == [True]

    def cancel(self, *, scope: ScopeInput | None = None, session: str | None = None) -> int:
        """Cancel waiting updates of a scope or session; returns how many.

        Their turns stay stored, and are not extracted.
        """
        parsed_scope = None if scope is None else Scope.of(scope).destination
        job_key = None
        if parsed_scope is not None and session is not None:
            job_key = make_update_key(parsed_scope, session)
        return self._jobs.cancel(
            [
                job.id
                for job in self._list_jobs(("waiting",))
                if job_key in (None, job.key)
                and (parsed_scope is None or parsed_scope.key == job.payload.get("scope"))
            ]
        )

    def shutdown(self, *, cancel: bool = False, timeout: float = 30.0) -> bool:
        """Flush or cancel waiting updates before the end. True: none is left.

        Without this call waiting updates continue in the next process.
        """
        if cancel:
            self.cancel()
            return not self._list_jobs(("waiting", "running"))
        return self.flush_sync(timeout)

    def _check_capacity(self, key: str) -> None:
        if self.waiting() >= self._settings.max_queued and all(
            job.key != key for job in self._list_jobs(("waiting",))
        ):
            raise BudgetError(
                f"The queue is full: {self._settings.max_queued:,} updates wait.",
                hint=(
                    "Wait, call `updates.flush_sync()`, or raise `jobs.max_queued`; `observe`"
                    " always takes a turn in."
                ),
            )

    def _list_jobs(self, states: Sequence[str]) -> list[Job]:
        return [job for job in self._jobs.queue(states, _MAX_LISTED) if job.kind == EXTRACT]

    def _run_flush(self, stop: threading.Event, drained: list[bool]) -> None:
        tried: set[str] = set()
        try:
            while not stop.is_set():
                pending = self._list_jobs(("waiting", "running"))
                untried = [
                    job
                    for job in pending
                    if job.state == "waiting" and tried.isdisjoint((_name_work(job), job.id))
                ]
                if not untried and all(job.state == "waiting" for job in pending):
                    drained.append(not pending)
                    return
                has_run = False
                for job in untried:
                    if not stop.is_set() and self._runner.run_job(job.id) is not None:
                        tried.update((_name_work(job), job.id))
                        has_run = True
                if not has_run:
                    time.sleep(_PAUSE)  # another worker has them
        except ClosedError:
            return  # the engine was closed: waiting updates are left to the next process


def _name_work(job: Job) -> str:
    """Name a job's work, also after it was put back."""
    return f"{job.key}|{job.payload.get('items', ())}"
