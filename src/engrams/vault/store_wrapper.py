"""Note files to write in the transaction of every store write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from engrams.core import EdgeType, Json, Meta, Scope
from engrams.ports import (
    NOTE_PIECE,
    CommitResult,
    JobSpec,
    PurgeReport,
    Store,
    WriteBatch,
)

TOPIC = "vault"
"""Topic of the outbox entries, and kind and key of the job that writes them."""

GATHER = timedelta(milliseconds=300)
"""Time for which files wait for more: a flush for each memory would delay the next write."""

_SAYING = frozenset({"text", "status", "meta"})
"""Fields whose change may end a line of a note, or bring it back."""

_NODES = ("tag:", "topic:", "concept:")
_USE = frozenset({"access_count", "last_accessed"})
_DERIVED = frozenset({EdgeType.CO_OCCURS, EdgeType.IN_TOPIC})
"""Edges that follow from use or from vectors; no file holds them."""


class VaultHooks(Protocol):
    """Port of the vault, called at each change of the store."""

    def purge(
        self,
        owner: Scope,
        ids: tuple[Sequence[str], Sequence[str]],
        erase: Callable[[], PurgeReport],
        words: Sequence[str],
    ) -> PurgeReport: ...

    def check(self, repair: bool, found: Mapping[str, Json]) -> Mapping[str, Json]: ...

    def follow(self, changed: Mapping[Scope, Mapping[str, str]]) -> None: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


class ForwardingStore:
    """Store that forwards every call to another one; base of ``VaultStore``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.get = store.get
        self.find = store.find
        self.slots = store.slots
        self.history = store.history
        self.scopes = store.scopes
        self.storage = store.storage
        self.count_scopes = store.count_scopes
        self.counts = store.counts
        self.changes = store.changes
        self.find_change = store.find_change
        self.missing = store.missing
        self.outbox = store.outbox
        self.clear = store.clear
        self.seek = store.seek
        self.seek_all = store.seek_all
        self.vectors = store.vectors
        self.survey = store.survey
        self.speakers = store.speakers
        self.edges = store.edges
        self.surroundings = store.surroundings
        self.topics = store.topics
        self.enqueue = store.enqueue
        self.claim = store.claim
        self.renew = store.renew
        self.keep = store.keep
        self.finish = store.finish
        self.fail = store.fail
        self.queue = store.queue
        self.waiting = store.waiting
        self.workload = store.workload
        self.retry = store.retry
        self.next_due = store.next_due
        self.follow = store.follow
        self.require_ready = store.require_ready
        self.cancel = store.cancel
        self.spend = store.spend
        self.record_pace = store.record_pace
        self.count_requests = store.count_requests
        self.load_pace = store.load_pace
        self.load = store.load
        self.save = store.save
        self.idle = store.idle
        self.sessions = store.sessions
        self.load_state = store.load_state
        self.save_state = store.save_state


class VaultStore(ForwardingStore):
    """Store whose files follow each commit, check, purge and close."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.vault: VaultHooks | None = None

    def commit(self, batch: WriteBatch) -> CommitResult:
        then = batch.then
        outbox = outbox_entries(batch)
        if not outbox and then is None:
            return self._store.commit(batch)
        if then is not None:
            then = replace(then, outbox=(*then.outbox, *outbox_entries(then)))
        jobs = (*batch.jobs, JobSpec(TOPIC, TOPIC, due=batch.at + GATHER))
        # Files must not tell of memories that a power failure undid.
        done = self._store.commit(
            replace(batch, outbox=(*batch.outbox, *outbox), jobs=jobs, repeatable=False, then=then)
        )
        if self.vault is not None:
            for written in (batch, then) if then is not None and done.followed else (batch,):
                if changed := _find_changed(written):
                    self.vault.follow(changed)
            self.vault.wake()
        return replace(done, jobs=done.jobs[:-1])

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        at: datetime,
        rewrites: WriteBatch | None = None,
        words: Sequence[str] = (),
    ) -> PurgeReport:
        shortened = [change.id for change in rewrites.changes] if rewrites else []
        if self.vault is None or not (ids or shortened):
            return self._store.purge(owner, ids, at, rewrites, words)
        more = (
            replace(
                rewrites,
                outbox=outbox_entries(rewrites),
                jobs=(JobSpec(TOPIC, TOPIC, due=at + GATHER),),
            )
            if rewrites
            else None
        )
        return self.vault.purge(
            owner, (ids, shortened), lambda: self._store.purge(owner, ids, at, more, words), words
        )

    def check(self, repair: bool) -> Mapping[str, Json]:
        found = self._store.check(repair)
        if self.vault is None:
            return found
        found = self.vault.check(repair, found)
        # The files may have brought back what the store alone had lost.
        return (
            {**found, "lost": self._store.check(False)["lost"]}
            if repair and found["lost"]
            else found
        )

    def close(self) -> None:
        if self.vault is not None:
            self.vault.close()
        self._store.close()


def _find_changed(batch: WriteBatch) -> dict[Scope, dict[str, str]]:
    """Find memories whose texts or statuses change; with the change, by owner."""
    found: dict[Scope, dict[str, str]] = {}
    for change in batch.changes:
        if change.fields.keys() & _SAYING:
            found.setdefault(change.owner, {})[change.id] = change.action
    return found


def outbox_entries(batch: WriteBatch) -> tuple[tuple[str, Scope, str, Meta], ...]:
    """Make one outbox entry for each memory whose file changes.

    Counts of use, and edges that only count what was found together, make none: they are written
    with the next change.
    """
    touched: dict[tuple[Scope, str], str] = {}
    reasons = {
        (change.owner, change.id): change.reason for change in batch.changes if change.reason
    }
    for put in batch.puts:
        if NOTE_PIECE in put.record.meta:
            continue
        touched[put.record.scope.owner, put.record.id] = "add"
    for change in batch.changes:
        if not change.fields.keys() <= _USE:
            touched.setdefault((change.owner, change.id), change.action)
    for edge in (*batch.edges, *batch.unlink):
        if edge.type not in _DERIVED and not edge.source.startswith(_NODES):
            touched.setdefault((edge.owner, edge.source), "link")
    told = {
        name: {"does": does, "actor": batch.actor, "why": reasons.get(name, batch.reason)}
        for name, does in touched.items()
    }
    return tuple((TOPIC, *name, note) for name, note in told.items())
