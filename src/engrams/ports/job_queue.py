"""Background jobs and the use of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from hashlib import blake2b
from typing import Literal, Protocol, TypeAlias

from engrams.core import Meta
from engrams.frozen_data import dataclass
from engrams.ports.record_store import JobSpec

EXTRACT = "extract"
EMBED = "embed"
FINALISE = "finalise"
TOPICS = "topics"
"""The kinds of job that writes and searches ask for; their handlers are in ``tend``.

The key of TOPICS is an owner's.
"""
CHANGES = "changes"
"""Find what new messages of an owner end. Its key is the owner's."""
BEGIN = "begin"
"""Make a statement that was to come current on its day.

Its key names the owner and the statement.
"""
POLICY = "policy"
"""Ask the model again about an owner's statements that it failed to judge.

Its key is the owner's.
"""
ROLL = "roll"
REVIEW = "review"
"""Bring a conversation's summary up to date; look through an owner's facts.

What was learned asks for both.
"""
PURGE = "purge"
"""Finish a purge. Its payload is a ``PurgeOrder``; finishing empties it."""
WEBHOOK = "webhook"
"""Send changed memories to an address.

Its key names the owner and the web hook; its payload names the owner: what is sent is read then.
"""
GARDEN = "garden"
WAKE = "garden-wake"
"""Look after owners' memory, one cycle after the other (its key is empty: one at a time); when one
is to begin, keyed ``{owner}|{name}``.
"""
JUDGE = "importance-judge"
CONDENSE = "l1-finalize"
ENFORCE = "enforce-caps"
SWEEP = "decay-sweep"
"""Kinds of the jobs of tiers. Keys: ``{scope}|{id}`` of the first two, a scope's key, none."""

KEPT = "kept"
"""Part of a payload that holds a model's answers until they are stored; they may quote any memory
that it names.
"""


RequestWindow: TypeAlias = Literal["minute", "day"]
WINDOWS: Mapping[RequestWindow, Callable[[datetime], str]] = {
    "minute": lambda now: f"{now:%Y-%m-%dT%H:%M}",
    "day": lambda now: f"{now:%Y-%m-%d}",
}
"""Name of the window that a moment (UTC) lies in; names sort by time."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as a worker sees it.

    ``state``: waiting, running, dead, done. ``lease``: the claim's token.
    """

    id: str
    kind: str
    key: str
    payload: Meta
    state: Literal["waiting", "running", "dead", "done"]
    attempt: int
    due: datetime
    priority: int = 0
    error: str = ""
    lease: str = ""
    lease_until: datetime | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobClaim:
    """Claim of one due job.

    ``kinds`` empty: any; highest priority first, then earliest. Expired leases count.

    ``id``: exactly this job, if nobody has it, whether due or not. ``crowded``: owners whose jobs
    are passed over.
    """

    worker: str
    now: datetime
    lease_seconds: float = 60.0
    kinds: tuple[str, ...] = ()
    id: str = ""
    crowded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobFailure:
    """A job that failed: run again at ``retry_at``, or dead (None).

    ``counts``: it is one of its attempts; else it was only put off.
    """

    lease: str
    error: str
    at: datetime
    retry_at: datetime | None
    counts: bool = True


class JobQueue(Protocol):
    """Durable named work with leases.

    Enqueuing and finishing in a write's transaction go through ``WriteBatch``.
    """

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]: ...

    def claim(self, claim: JobClaim) -> Job | None: ...

    def renew(self, lease: str, until: datetime) -> bool: ...

    def keep(self, lease: str, payload: Meta) -> bool:
        """Save a running job's payload, to resume from after a crash.

        False: the lease was lost; another worker has the job.
        """
        ...

    def finish(self, lease: str, at: datetime) -> bool:
        """Finish a job. False: the lease was lost to another worker."""
        ...

    def fail(self, failure: JobFailure) -> bool: ...

    def queue(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]: ...

    def waiting(self, kind: str, prefix: str) -> tuple[Job, ...]:
        """Waiting jobs of one kind with this key prefix."""
        ...

    def workload(self) -> Mapping[str, Mapping[str, int]]:
        """Count jobs by kind and state."""
        ...

    def retry(self, ids: Sequence[str], at: datetime) -> int:
        """Put dead jobs back to waiting; all, without ids.

        How many.
        """
        ...

    def next_due(self, kinds: Sequence[str] = ()) -> datetime | None:
        """The time at which a job may be claimed.

        ``kinds``: of these only; empty: of any.
        """
        ...

    def follow(self, wake: Callable[[], object]) -> None:
        """Call ``wake`` when some process adds jobs, while the store is open.

        A store that hears of none never does: workers look by themselves too.
        """
        ...

    def cancel(self, ids: Sequence[str]) -> int:
        """Drop waiting jobs; their number.

        Running, dead and done ones stay.
        """
        ...


@dataclass(frozen=True, slots=True)
class UpkeepObstacle:
    """Reason for which upkeep waits, and its end.

    ``until`` None: until somebody else is done with the model.
    """

    reason: str
    until: datetime | None = None


class UpkeepGatekeeper(Protocol):
    """Port that says when upkeep jobs may run: hours, budgets, waiting people.

    ``kinds``: theirs.
    """

    kinds: frozenset[str]

    def find_obstacle(self) -> UpkeepObstacle | None:
        """Return the reason for which such jobs wait now, if any."""
        ...

    def enter(self, kind: str) -> AbstractContextManager[None]:
        """Count the calls of a job inside as upkeep's, for its kinds."""
        ...

    def serve_person(self) -> AbstractContextManager[None]:
        """Hold upkeep off while somebody waits for the same model."""
        ...


def name_account(name: str) -> str:
    """Account of an owner or key: a hash, which names nobody."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class RequestLedger(Protocol):
    """Requests by account and window, shared by every process on the store."""

    def count_requests(
        self, window: RequestWindow, now: datetime, account: str, number: int
    ) -> int:
        """Add to the requests of this window; the new total.

        In one step that no other caller can come between. Adding nothing only looks.
        """
        ...


class ModelUsageLedger(Protocol):
    """Model use by day, shared by every process on the store."""

    def spend(self, day: str, calls: int, tokens: int) -> tuple[int, int]:
        """Add to a day's calls and tokens.

        The day is text (``2026-11-21``), numbers may be negative; the new totals, in one step that
        no other caller can come between. The last few days are kept. Adding nothing only looks.
        """
        ...

    def record_pace(self, model: str, seconds: float) -> None:
        """Keep the seconds that one answer of a model took."""
        ...

    def load_pace(self, model: str) -> tuple[float, ...]:
        """Return the seconds of a model's last answers.

        At most 50, oldest first.
        """
        ...
