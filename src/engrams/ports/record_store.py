"""Records and everything one write does to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Literal, Protocol

from engrams.core import Edge, HistoryEntry, Json, Kind, Meta, Record, Scope, Status, Topic, Vector
from engrams.frozen_data import dataclass
from engrams.ports.purge_types import PurgeReport


@dataclass(frozen=True, slots=True)
class NewRecord:
    """Record to insert, with its vector.

    ``dedup``: where an active record of this scope and kind has the same content hash, bump that
    one (strength + 1) instead. A non-empty ``external_id`` that the scope holds already always
    stores nothing. ``history``: what happened to it elsewhere, oldest first, kept in the place of
    an entry of its own; versions differ.
    """

    record: Record
    dedup: bool = False
    vector: Vector | None = None
    history: tuple[HistoryEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordChange:
    """New values for some fields of one record.

    ``expect``: the version it must still have (None: any). ``reason``: its own, where the batch's
    is another record's.
    """

    owner: Scope
    id: str
    fields: Meta
    action: str
    expect: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RecordUse:
    """Uses of one record, to be added to those it had.

    No new version and no history; nothing where it is purged or gone. ``at``: of the last one.
    """

    owner: Scope
    id: str
    times: int
    at: datetime


@dataclass(frozen=True, slots=True)
class JobLease:
    """Lease of a worker on one job. ``token``: unique."""

    worker: str
    token: str
    until: datetime


@dataclass(frozen=True, slots=True)
class JobSpec:
    """Background job to enqueue, with the write that causes it.

    One pending job per (kind, key): enqueuing again merges, keeping the earlier due time (with
    ``debounce``: the newer one), and unites the lists ``items`` and ``signals`` of the payload.

    ``lease``: the job begins running, held by it; nothing merges with it. ``fresh``: made only
    where the batch stores something new, as one with a lease is. ``calm``: made only where no
    session that the batch touches is in a crisis.
    """

    kind: str
    key: str
    payload: Meta = field(default_factory=dict)
    due: datetime | None = None
    priority: int = 0
    debounce: bool = False
    attempts: int = 5
    lease: JobLease | None = None
    fresh: bool = False
    calm: bool = False


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A persisted conversation.

    ``state``: active, closing, closed. ``data`` is the session package's own JSON.
    """

    id: str
    scope: Scope
    state: str
    started_at: datetime
    last_active: datetime
    token: int = 0
    data: Meta = field(default_factory=dict)

    @property
    def is_in_crisis(self) -> bool:
        """True where its leader told of a grave crisis."""
        return str(self.data.get("crisis", "none")) not in ("none", "low", "")


@dataclass(frozen=True, slots=True)
class OwnerStateRow:
    """State of one owner under a name, in its component's own JSON.

    ``token``: grows with each save; 0: not stored yet.
    """

    owner: Scope
    name: str
    token: int = 0
    data: Meta = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """Change of a file that a committed write still has to make."""

    id: int
    topic: str
    owner: Scope
    record: str
    payload: Meta


@dataclass(frozen=True, slots=True)
class StorageUse:
    """Number of an owner's memories, and the bytes of their texts.

    Of those not purged; texts with caption, summary and metadata. As a quota: the most of both; 0:
    no limit.
    """

    records: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """Changes of one write, in ONE transaction: all of them or none.

    ``finish``: job leases completed by it. ``progress``: leases of running jobs, each with what is
    left to do. ``then``: what follows from it, written after it in the same transaction, unless
    each of its puts was there already or a session is in crisis.

    ``topics``: stored or replaced; one without members is removed, with every edge at it.
    ``sessions``: with token 0 somebody spoke in it at ``last_active`` (it is made, or opened again
    where it was closed); else it is saved as ``Sessions.save`` does, expecting its own token. If it
    was spoken in since its ``last_active``, one to be closed stays active, any other is a conflict.
    ``states``: saved as ``OwnerStateStore.save_state`` does, each expecting its own token.
    ``repeatable``: a job that the same batch ends does it all again where a power failure undoes
    it, so that it waits for no disk. ``quota``: BudgetError where an owner's memory grows beyond
    it.
    """

    actor: str
    reason: str
    at: datetime
    puts: tuple[NewRecord, ...] = ()
    changes: tuple[RecordChange, ...] = ()
    vectors: tuple[tuple[Scope, Vector], ...] = ()
    edges: tuple[Edge, ...] = ()
    unlink: tuple[Edge, ...] = ()
    topics: tuple[Topic, ...] = ()
    jobs: tuple[JobSpec, ...] = ()
    finish: tuple[str, ...] = ()
    progress: tuple[tuple[str, Meta], ...] = ()
    outbox: tuple[tuple[str, Scope, str, Meta], ...] = ()
    sessions: tuple[SessionRow, ...] = ()
    states: tuple[OwnerStateRow, ...] = ()
    repeatable: bool = False
    quota: StorageUse = StorageUse()
    uses: tuple[RecordUse, ...] = ()
    then: WriteBatch | None = None


@dataclass(frozen=True, slots=True)
class CommitResult:
    """Result of a committed batch: ids that existed, ids of jobs.

    ``existing``: for each put that stored nothing new, its id -> the id of the record that was
    there. ``jobs``: an id for each job of the batch; empty: it was not made. ``crisis``: a session
    that the batch touches is in one. ``followed``: what follows from it was written.
    """

    existing: Mapping[str, str] = field(default_factory=dict)
    jobs: tuple[str, ...] = ()
    crisis: bool = False
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A test on one field.

    Of a record, or of its metadata as ``meta.name`` (dotted path).
    """

    field: str
    op: Literal["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "exists"]
    value: Json


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions joined by ``op``; ``not`` negates the conjunction of its parts."""

    op: Literal["and", "or", "not"]
    parts: tuple[Condition | Where, ...]


@dataclass(frozen=True, slots=True)
class AsOf:
    """Point in time of a read: when it was true, when known.

    What was true at ``valid``, as known at ``known`` (None: now).
    """

    valid: datetime | None = None
    known: datetime | None = None


@dataclass(frozen=True, slots=True)
class ScopeReach:
    """Scopes of one owner that a read sees.

    Exactly ``scopes``, or with ``tree`` also everything below them.
    """

    owner: Scope
    scopes: tuple[Scope, ...]
    tree: bool = False

    @classmethod
    def of_owner(cls, owner: Scope) -> ScopeReach:
        """Reach every scope of one owner."""
        return cls(owner, (owner,), tree=True)


@dataclass(frozen=True, slots=True)
class RecordQuery:
    """Listing of records: scopes, filters, order and page.

    ``after``: the id after which to go on, in the order asked for. ``text``: a substring, folded.

    ``order`` believed: corrections, then rules, then the rest by confidence times trust; it has one
    page only.

    ``predicates``: any of these. ``about``: names, folded; the subject holds one of them or is a
    part of it, as "ada" is of "ada lovelace"; one that is not ASCII may also be another.
    ``sources``: records whose evidence quotes any of these. ``prefix``: how the id begins.
    ``saying``: at most 100 texts, of which the record holds one letter by letter, or with
    ``formerly`` its history does.
    """

    reach: ScopeReach
    kinds: tuple[Kind, ...] = ()
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    as_of: AsOf | None = None
    session: str = ""
    subject: str = ""
    predicates: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    hash: str = ""
    external_id: str = ""
    sources: tuple[str, ...] = ()
    prefix: str = ""
    where: Where | None = None
    text: str = ""
    saying: tuple[str, ...] = ()
    formerly: bool = False
    order: Literal["newest", "oldest", "believed"] = "newest"
    after: str = ""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class RecordPage:
    records: tuple[Record, ...]
    next: str = ""


@dataclass(frozen=True, slots=True)
class ChangedRecords:
    """Records of an owner in the order of their changes.

    ``last``: number of the last of these changes.
    """

    records: tuple[Record, ...]
    last: int


@dataclass(frozen=True, slots=True)
class FactSlot:
    """Subject and predicate of a statement, without its object.

    ``role``: of whoever stated it.
    """

    id: str
    subject: str
    predicate: str
    role: str
    version: int


class RecordStore(Protocol):
    """The durable records, their history and their vectors."""

    def commit(self, batch: WriteBatch) -> CommitResult:
        """Write a batch in one transaction; it is durable on return.

        ConflictError: a version changed. NotFoundError: a change names no record.
        """
        ...

    def get(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        """Existing records, in the order of ``ids``."""
        ...

    def find(self, query: RecordQuery) -> RecordPage: ...

    def slots(self, query: RecordQuery) -> tuple[FactSlot, ...]:
        """Find only the (subject, predicate) slots of matching records."""
        ...

    def history(self, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
        """Changes of one record, oldest first."""
        ...

    def changes(self, owner: Scope, after: int, limit: int) -> ChangedRecords:
        """Records of any status that changed after this change.

        Erased ones as tombstones; ``limit`` at most.
        """
        ...

    def find_change(self, owner: Scope, back: int) -> int:
        """Number of the change that ``back`` changed records of the owner follow.

        0: there are not as many.
        """
        ...

    def scopes(self, owner: Scope | None) -> tuple[Scope, ...]:
        """The scopes that hold records; all owners' with None (administration only)."""
        ...

    def count_scopes(self, owner: Scope) -> Mapping[Scope, int]:
        """Count the active records in each scope that holds records."""
        ...

    def storage(self, owner: Scope) -> StorageUse:
        """Measure what an owner's memory takes of a quota."""
        ...

    def counts(self, reach: ScopeReach | None) -> Mapping[str, Mapping[str, int]]:
        """Count records.

        By ``status``, ``kind``, ``layer``, ``tier``; active ones by tier, ``active``, and by layer,
        ``layers``; vectors by ``model``.
        """
        ...

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        at: datetime,
        rewrites: WriteBatch | None = None,
        words: Sequence[str] = (),
    ) -> PurgeReport:
        """Erase records and keep empty tombstones.

        Text, vectors, index rows, edges, history and derived jobs go.

        ``rewrites``: new texts of records that stay, in the same transaction. ``words``: removed
        from their history too, and from the owner's sessions, states and jobs.
        """
        ...

    def missing(self, model: str, after: str, limit: int) -> tuple[Record, ...]:
        """Retrievable records without a vector of ``model``, for backfill, by id."""
        ...

    def outbox(self, limit: int) -> tuple[OutboxEntry, ...]: ...

    def clear(self, ids: Sequence[int]) -> None:
        """Remove outbox entries that were carried out."""
        ...

    def require_ready(self) -> None:
        """Raise StoreError where memory cannot be read, or its schema differs."""
        ...

    def check(self, repair: bool) -> Mapping[str, Json]:
        """Check the files:
        ``{"ok": bool, "problems": [...], "repaired": [...], "bytes": n, ...}``.
        """
        ...

    def close(self) -> None: ...
