"""A store that notes, in the transaction of every write, which memories' files are to follow. Nothing else knows of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from engrams.ports import (
    Batch,
    Claim,
    Committed,
    Erased,
    Failure,
    Job,
    JobSpec,
    OutboxEntry,
    Page,
    Pool,
    Query,
    Reach,
    Seek,
    SessionRow,
    Slot,
    StateRow,
    Store,
)
from engrams.types import Edge, EdgeType, HistoryEntry, Json, Meta, Record, Scope, Topic

if TYPE_CHECKING:
    from engrams.ports.search import Floats

TOPIC = "vault"
"""Of the outbox entries, and the kind and key of the job that carries them out."""

PIECE = "note_file"
"""The metadata of a record that is a piece of a note: it has no file of its own."""

GATHER = timedelta(milliseconds=300)
"""How long files wait for more to be written with them: a flush for each memory would stand in the way of the next write."""

_NODES = ("tag:", "topic:", "concept:")
_USE = frozenset({"access_count", "last_accessed"})
_DERIVED = frozenset({EdgeType.CO_OCCURS, EdgeType.IN_TOPIC})
"""Edges that follow from use or from vectors: nothing a file says."""


class Files(Protocol):
    """What the mirror needs of the vault."""

    def purge(self, owner: Scope, ids: Sequence[str], erase: Callable[[], Erased]) -> Erased: ...

    def check(self, repair: bool, found: Mapping[str, Json]) -> Mapping[str, Json]: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


class Mirror:
    """Every port of a store, with the memories' files following each commit, check, purge and close."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.vault: Files | None = None

    # ---------------------------------------------------------------------------------------------------- records

    def commit(self, batch: Batch) -> Committed:
        outbox = entries(batch)
        if not outbox:
            return self._store.commit(batch)
        jobs = (*batch.jobs, JobSpec(TOPIC, TOPIC, due=batch.at + GATHER))
        done = self._store.commit(replace(batch, outbox=(*batch.outbox, *outbox), jobs=jobs))
        if self.vault is not None:
            self.vault.wake()
        return replace(done, jobs=done.jobs[:-1])

    def purge(self, owner: Scope, ids: Sequence[str], at: datetime) -> Erased:
        if self.vault is None:
            return self._store.purge(owner, ids, at)
        return self.vault.purge(owner, ids, lambda: self._store.purge(owner, ids, at))

    def check(self, repair: bool) -> Mapping[str, Json]:
        found = self._store.check(repair)
        return found if self.vault is None else self.vault.check(repair, found)

    def close(self) -> None:
        if self.vault is not None:
            self.vault.close()
        self._store.close()

    def get(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        return self._store.get(owner, ids)

    def find(self, query: Query) -> Page:
        return self._store.find(query)

    def slots(self, query: Query) -> tuple[Slot, ...]:
        return self._store.slots(query)

    def history(self, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
        return self._store.history(owner, id)

    def scopes(self, owner: Scope | None) -> tuple[Scope, ...]:
        return self._store.scopes(owner)

    def counts(self, reach: Reach | None) -> Mapping[str, Mapping[str, int]]:
        return self._store.counts(reach)

    def missing(self, model: str, after: str, limit: int) -> tuple[Record, ...]:
        return self._store.missing(model, after, limit)

    def outbox(self, limit: int) -> tuple[OutboxEntry, ...]:
        return self._store.outbox(limit)

    def clear(self, ids: Sequence[int]) -> None:
        self._store.clear(ids)

    # ----------------------------------------------------------------------------------------------------- search

    def seek(self, seek: Seek) -> Pool:
        return self._store.seek(seek)

    def vectors(self, owner: Scope, ids: Sequence[str], model: str) -> Floats:
        return self._store.vectors(owner, ids, model)

    def speakers(self, reach: Reach) -> Mapping[str, int]:
        return self._store.speakers(reach)

    def edges(self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()) -> tuple[Edge, ...]:
        return self._store.edges(owner, nodes, types)

    def topics(self, reach: Reach) -> tuple[Topic, ...]:
        return self._store.topics(reach)

    # ------------------------------------------------------------------------------------------- jobs and sessions

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]:
        return self._store.enqueue(specs, at)

    def claim(self, claim: Claim) -> Job | None:
        return self._store.claim(claim)

    def renew(self, lease: str, until: datetime) -> bool:
        return self._store.renew(lease, until)

    def finish(self, lease: str, at: datetime) -> bool:
        return self._store.finish(lease, at)

    def fail(self, failure: Failure) -> bool:
        return self._store.fail(failure)

    def queue(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]:
        return self._store.queue(states, limit)

    def waiting(self, kind: str, prefix: str) -> tuple[Job, ...]:
        return self._store.waiting(kind, prefix)

    def workload(self) -> Mapping[str, Mapping[str, int]]:
        return self._store.workload()

    def retry(self, ids: Sequence[str], at: datetime) -> int:
        return self._store.retry(ids, at)

    def next_due(self) -> datetime | None:
        return self._store.next_due()

    def cancel(self, ids: Sequence[str]) -> int:
        return self._store.cancel(ids)

    def spend(self, day: str, calls: int, tokens: int) -> tuple[int, int]:
        return self._store.spend(day, calls, tokens)

    def load(self, owner: Scope, id: str) -> SessionRow | None:
        return self._store.load(owner, id)

    def save(self, row: SessionRow, expect: int | None = None) -> SessionRow:
        return self._store.save(row, expect)

    def idle(self, before: datetime, limit: int = 100) -> tuple[SessionRow, ...]:
        return self._store.idle(before, limit)

    def sessions(self, reach: Reach, limit: int = 100) -> tuple[SessionRow, ...]:
        return self._store.sessions(reach, limit)

    def load_state(self, owner: Scope, name: str) -> StateRow:
        return self._store.load_state(owner, name)

    def save_state(self, row: StateRow, expect: int | None = None) -> StateRow:
        return self._store.save_state(row, expect)


def entries(batch: Batch) -> tuple[tuple[str, Scope, str, Meta], ...]:
    """The outbox entries that a batch calls for: one for each memory whose file says something else afterwards.

    Counts of use, and edges that only count what was found together, are no news: they are written with the next change.
    """
    touched: dict[tuple[Scope, str], str] = {}
    for put in batch.puts:
        if PIECE in put.record.meta:
            continue
        touched[put.record.scope.owner, put.record.id] = "add"
    for change in batch.changes:
        if not change.fields.keys() <= _USE:
            touched.setdefault((change.owner, change.id), change.action)
    for edge in (*batch.edges, *batch.unlink):
        if edge.type not in _DERIVED and not edge.source.startswith(_NODES):
            touched.setdefault((edge.owner, edge.source), "link")
    return tuple((TOPIC, owner, id, {"does": does, "actor": batch.actor, "why": batch.reason}) for (owner, id), does in touched.items())
