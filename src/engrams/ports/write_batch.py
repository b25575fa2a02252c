"""One write: everything that a store changes in one transaction (``WriteBatch``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from engrams.core import Edge, HistoryEntry, Meta, Record, Scope, Topic, Vector
from engrams.frozen_data import dataclass


@dataclass(frozen=True, slots=True)
class NewRecord:
    """Record to insert, with its vector.

    A non-empty ``external_id`` that the scope holds already always stores nothing.
    """

    record: Record
    dedup: bool = False
    """Where an active record of this scope and kind has the same content hash, raise its strength
    by one instead.
    """
    vector: Vector | None = None
    history: tuple[HistoryEntry, ...] = ()
    """Its history elsewhere, oldest first, with different versions; it replaces the usual entry."""
    reason: str = ""
    """Reason in its history. Empty: that of the batch."""


@dataclass(frozen=True, slots=True)
class RecordChange:
    """New values for some fields of one record."""

    owner: Scope
    id: str
    fields: Meta
    """Name of a field of ``Record`` -> new value."""
    action: str
    """Name of the change in the record's history, such as edit or forget."""
    expect: int | None = None
    """Version that the record must still have. None: any."""
    reason: str = ""
    """Reason of this change. Empty: that of the batch."""


@dataclass(frozen=True, slots=True)
class RecordUse:
    """Uses of one record, to be added to those it had.

    A use makes no new version and no history. Nothing happens where the record is purged or gone.
    """

    owner: Scope
    id: str
    times: int
    at: datetime
    """Time of the last use."""


@dataclass(frozen=True, slots=True)
class JobLease:
    """Lease of a worker on one job."""

    worker: str
    token: str
    """Unique over all leases."""
    until: datetime


@dataclass(frozen=True, slots=True)
class JobSpec:
    """Background job to enqueue, together with the write that causes it.

    One pending job per kind and key: enqueuing another merges them. The merged job unites the lists
    ``items``, ``late`` and ``signals`` of both payloads, and keeps the earlier due time.
    """

    kind: str
    key: str
    payload: Meta = field(default_factory=dict)
    due: datetime | None = None
    """Time from which it may run. None: at once."""
    priority: int = 0
    """Of due jobs the one with the highest priority runs first."""
    debounce: bool = False
    """A merged job keeps the later due time instead of the earlier."""
    attempts: int = 5
    """Failures after which it is dead."""
    lease: JobLease | None = None
    """The job begins running under this lease; nothing merges with it."""
    fresh: bool = False
    """Made only where the batch stores something new; always so with a lease."""
    calm: bool = False
    """Made only where no session that the batch touches is in a crisis."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A persisted conversation."""

    id: str
    scope: Scope
    state: str
    """active, closing or closed."""
    started_at: datetime
    last_active: datetime
    token: int = 0
    """Grows with each save, which may expect it; 0: not stored yet."""
    data: Meta = field(default_factory=dict)
    """JSON of the package ``session``."""

    @property
    def is_in_crisis(self) -> bool:
        """True where the caller that leads the session reported a grave crisis."""
        return str(self.data.get("crisis", "none")) not in ("none", "low", "")


@dataclass(frozen=True, slots=True)
class OwnerStateRow:
    """State of one owner under a name."""

    owner: Scope
    name: str
    token: int = 0
    """Grows with each save, which may expect it; 0: not stored yet."""
    data: Meta = field(default_factory=dict)
    """JSON of the component that the name belongs to."""


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """Change of a file that a committed write still has to make."""

    id: int
    topic: str
    owner: Scope
    record: str
    """Id of the record."""
    payload: Meta


@dataclass(frozen=True, slots=True)
class StorageUse:
    """Storage that an owner's memories take; or the quota of it.

    Purged memories do not count. As a quota, 0 means no limit.
    """

    records: int = 0
    bytes: int = 0
    """Bytes of their texts, with caption, summary and metadata, and of the owner's files."""


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """Changes of one write, in ONE transaction: all of them or none."""

    actor: str
    """Whoever makes the write, for the history."""
    reason: str
    at: datetime
    puts: tuple[NewRecord, ...] = ()
    changes: tuple[RecordChange, ...] = ()
    vectors: tuple[tuple[Scope, Vector], ...] = ()
    """Owner and vector, of records that are stored already."""
    edges: tuple[Edge, ...] = ()
    """Added; an edge that is there already counts one more."""
    unlink: tuple[Edge, ...] = ()
    """Removed."""
    topics: tuple[Topic, ...] = ()
    """Stored or replaced; a topic without members is removed, with every edge at it."""
    jobs: tuple[JobSpec, ...] = ()
    finish: tuple[str, ...] = ()
    """Leases of jobs that the write completes."""
    progress: tuple[tuple[str, Meta], ...] = ()
    """Leases of running jobs, each with the payload that is left to do."""
    outbox: tuple[tuple[str, Scope, str, Meta], ...] = ()
    """Topic, owner, record id and payload of each new ``OutboxEntry``."""
    sessions: tuple[SessionRow, ...] = ()
    """Sessions to save.

    With token 0 somebody spoke in it at ``last_active``: it is made, or opened again where it was
    closed. Any other token is expected, as by ``SessionStore.save``. If somebody spoke in the
    session since ``last_active``, a session to be closed stays active; any other is a conflict.
    """
    states: tuple[OwnerStateRow, ...] = ()
    """Saved as by ``OwnerStateStore.save_state``, each expecting its own token."""
    repeatable: bool = False
    """True: the job that this batch ends repeats it all where a power failure undoes it.

    So the write need not wait for the disk.
    """
    quota: StorageUse = StorageUse()
    """BudgetError where the owner's memory would grow beyond it."""
    uses: tuple[RecordUse, ...] = ()
    then: WriteBatch | None = None
    """Consequences of this batch, written after it in the same transaction.

    They are left out if each of its puts was there already, or a session is in a crisis.
    """


@dataclass(frozen=True, slots=True)
class CommitResult:
    """Result of a committed batch."""

    existing: Mapping[str, str] = field(default_factory=dict)
    """Id of a put that stored nothing new -> id of the record that was there."""
    jobs: tuple[str, ...] = ()
    """An id for each job of the batch; empty: the job was not made."""
    crisis: bool = False
    """True: a session that the batch touches is in a crisis."""
    followed: bool = False
    """True: ``WriteBatch.then`` was written."""
