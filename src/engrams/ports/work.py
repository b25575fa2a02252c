"""Jobs and sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from engrams.ports.records import JobSpec, Reach
from engrams.types import Meta, Scope

EXTRACT = "extract"
EMBED = "embed"
"""The kinds of job that a write asks for; their handlers are in ``tend``."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as a worker sees it. ``state``: waiting, running, dead, done. ``lease``: the claim's token."""

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
class Claim:
    """Ask for one due job of ``kinds`` (empty: any): highest priority first, then earliest. Expired leases count.

    ``id``: exactly this job, if nobody has it, whether due or not.
    """

    worker: str
    now: datetime
    lease_seconds: float = 120.0
    kinds: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A job that failed: run again at ``retry_at``, or dead (None)."""

    lease: str
    error: str
    at: datetime
    retry_at: datetime | None


class Jobs(Protocol):
    """Durable named work with leases. Enqueuing and finishing in a write's transaction go through ``Batch``."""

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]: ...

    def claim(self, claim: Claim) -> Job | None: ...

    def renew(self, lease: str, until: datetime) -> bool: ...

    def finish(self, lease: str, at: datetime) -> bool:
        """False: the lease was lost; another worker has the job."""
        ...

    def fail(self, failure: Failure) -> bool: ...

    def queue(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]: ...

    def workload(self) -> Mapping[str, Mapping[str, int]]:
        """``{kind: {state: n}}``."""
        ...

    def retry(self, ids: Sequence[str], at: datetime) -> int:
        """Dead jobs back to waiting; all of them with no ids. How many."""
        ...

    def next_due(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A persisted conversation. ``state``: active, closing, closed. ``data`` is the session package's own JSON."""

    id: str
    scope: Scope
    state: str
    started_at: datetime
    last_active: datetime
    token: int = 0
    data: Meta = field(default_factory=dict)


class Sessions(Protocol):
    def load(self, owner: Scope, id: str) -> SessionRow | None: ...

    def save(self, row: SessionRow, expect: int | None = None) -> SessionRow:
        """Store it with ``token`` + 1. ConflictError where the stored token is not ``expect`` (None: any)."""
        ...

    def idle(self, before: datetime, limit: int = 100) -> tuple[SessionRow, ...]:
        """Active or closing ones last active before (or at) that time."""
        ...

    def sessions(self, reach: Reach, limit: int = 100) -> tuple[SessionRow, ...]:
        """Latest first."""
        ...
