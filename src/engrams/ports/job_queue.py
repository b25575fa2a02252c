"""The port of background jobs, and the kinds of jobs.

A job is durable: it waits in the store until a worker claims it under a lease. Handlers of each
kind are in ``engine.components``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Literal, Protocol

from engrams.core import Meta
from engrams.frozen_data import dataclass
from engrams.ports.write_batch import JobSpec

EXTRACT = "extract"
"""Extract statements from messages. Payload: ``scope``, ``items`` (ids of the messages)."""
EMBED = "embed"
"""Make missing vectors. The key is the id of the embedder's card."""
CHANGES = "changes"
"""Find earlier statements that an owner's new messages end. The key is the owner's."""
BEGIN = "begin"
"""Make a planned statement current on its day. The key names the owner and the statement."""
POLICY = "policy"
"""Ask the model again about statements that it failed to judge. The key is the owner's."""
REVIEW = "review"
"""Look through an owner's old facts; newly learned ones ask for it."""
FINALISE = "finalise"
"""Finish a session that ended."""
ROLL = "roll"
"""Bring the rolling summary of a conversation up to date; newly learned facts ask for it."""
TOPICS = "topics"
"""Put memories into topics. The key is the owner's."""
PURGE = "purge"
"""Finish a purge. The payload is a ``PurgeOrder``; finishing empties it."""
WEBHOOK = "webhook"
"""Send changed memories to an address.

The key names the owner and the web hook, the payload the owner. What to send is read when it runs.
"""
GARDEN = "garden"
"""Look after owners' memory, one cycle after the other. The key is empty: one at a time."""
WAKE = "garden-wake"
"""Begin a cycle of the garden at its time. Key: ``OWNER|NAME``."""
JUDGE = "importance-judge"
"""Judge the importance of an item of the working tier. Key: ``SCOPE|ID``."""
CONDENSE = "l1-finalize"
"""Put an item that leaves the working tier into one sentence. Key: ``SCOPE|ID``."""
ENFORCE = "enforce-caps"
"""Archive or move what is over the caps of a scope. The key is the scope's."""
SWEEP = "decay-sweep"
"""Move old memories of all scopes to the long-term tier. The key is empty."""

KEPT = "kept"
"""Key of a payload: answers of a model, saved until they are stored as memories.

They may quote any memory that the payload names.
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as a worker sees it."""

    id: str
    kind: str
    key: str
    payload: Meta
    state: Literal["waiting", "running", "dead", "done"]
    attempt: int
    """Number of this run, from 1 on; 0: it did not run yet."""
    due: datetime
    priority: int = 0
    error: str = ""
    """Error of the last run that failed."""
    lease: str = ""
    """Token of the claim that it runs under."""
    lease_until: datetime | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobClaim:
    """Claim of one due job: of the highest priority, and of these the earliest due.

    A running job whose lease has expired can be claimed, too.
    """

    worker: str
    now: datetime
    lease_seconds: float = 60.0
    kinds: tuple[str, ...] = ()
    """Any of these kinds. Empty: all."""
    id: str = ""
    """Exactly this job, if nobody runs it, whether due or not."""
    crowded: tuple[str, ...] = ()
    """Owners whose jobs are passed over, because they run as many as one owner may."""


@dataclass(frozen=True, slots=True)
class JobFailure:
    """A failed run of a job."""

    lease: str
    error: str
    at: datetime
    retry_at: datetime | None
    """Time at which it runs again. None: it is dead."""
    counts: bool = True
    """False: it was only put off, and has as many attempts left as before."""


class JobQueue(Protocol):
    """Durable named work with leases.

    Jobs that belong to a write are enqueued and finished in its transaction, by ``WriteBatch``.
    """

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]:
        """Add jobs, or merge them with waiting ones; return their ids."""
        ...

    def claim(self, claim: JobClaim) -> Job | None:
        """Take a job under a new lease; None: there is none for this claim."""
        ...

    def renew(self, lease: str, until: datetime) -> bool:
        """Extend a lease. False: it was lost; another worker has the job."""
        ...

    def keep(self, lease: str, payload: Meta) -> bool:
        """Save a running job's payload, to resume from after a crash. False: as ``renew``."""
        ...

    def finish(self, lease: str, at: datetime) -> bool:
        """Finish a job. False: as ``renew``."""
        ...

    def fail(self, failure: JobFailure) -> bool:
        """Record a failed run. False: as ``renew``."""
        ...

    def queue(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]:
        """List the jobs in these states (empty: in any), the earliest due first."""
        ...

    def waiting(self, kind: str, prefix: str) -> tuple[Job, ...]:
        """List the waiting jobs of one kind whose keys begin with ``prefix``."""
        ...

    def workload(self) -> Mapping[str, Mapping[str, int]]:
        """Count jobs by kind and state."""
        ...

    def retry(self, ids: Sequence[str], at: datetime) -> int:
        """Put dead jobs back to waiting (empty: all of them); return how many."""
        ...

    def next_due(self, kinds: Sequence[str] = ()) -> datetime | None:
        """Return the time at which the next job of these kinds (empty: of any) can be claimed."""
        ...

    def follow(self, wake: Callable[[], object]) -> None:
        """Call ``wake`` when some process adds jobs, as long as the store is open.

        A store that does not notice them never calls it: workers also look by themselves.
        """
        ...

    def cancel(self, ids: Sequence[str]) -> int:
        """Drop waiting jobs, and return how many; running, dead and done ones stay."""
        ...


@dataclass(frozen=True, slots=True)
class UpkeepObstacle:
    """Reason for which upkeep waits."""

    reason: str
    until: datetime | None = None
    """End of the wait. None: until somebody else no longer needs the model."""


class UpkeepGatekeeper(Protocol):
    """Port that says when upkeep jobs may run: hours, budgets, waiting people."""

    kinds: frozenset[str]
    """Kinds of the jobs that are upkeep."""

    def find_obstacle(self) -> UpkeepObstacle | None:
        """Return the reason for which upkeep waits now, if any."""
        ...

    def enter(self, kind: str) -> AbstractContextManager[None]:
        """Count the model calls of a job inside as upkeep's, if its kind is upkeep."""
        ...

    def serve_person(self) -> AbstractContextManager[None]:
        """Hold upkeep off while a person waits for the same model."""
        ...
