"""Note in the transaction of every store write which files follow from it.

``VaultStore`` wraps the store of an engine with a vault: a commit leaves entries in the outbox, and a
purge goes through the vault, which removes the files in the same step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from engrams.core import EdgeType, Json, Meta, Scope
from engrams.ports import (
    NOTE_PIECE,
    AttachmentReservation,
    CommitResult,
    JobSpec,
    OwnerStateRow,
    PurgeReport,
    RecordQuery,
    StorageUse,
    Store,
    WriteBatch,
)

TOPIC = "vault"
"""Topic of the outbox entries, and kind and key of the job that writes them."""

GATHER = timedelta(milliseconds=300)
"""Time for which files wait for more: a flush for each memory would delay the next write."""

_TEXT_FIELDS = frozenset({"text", "status", "meta"})
"""Fields whose change may end a line of a note, or bring it back."""

_NODE_PREFIXES = ("tag:", "topic:", "concept:")
"""Beginnings of ids that are no memory's."""
_USE_FIELDS = frozenset({"access_count", "last_accessed"})
_DERIVED_EDGES = frozenset({EdgeType.CO_OCCURS, EdgeType.IN_TOPIC})
"""Edges that follow from use or from vectors; no file holds them."""


class VaultHooks(Protocol):
    """Port of the vault, called at each change of the store."""

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        shortened_ids: Sequence[str],
        erase: Callable[[], PurgeReport],
        words: Sequence[str],
    ) -> PurgeReport:
        """Erase memories by ``erase``, with their files."""
        ...

    def check(self, repair: bool, report: Mapping[str, Json]) -> Mapping[str, Json]:
        """Add the check of the files to that of the store."""
        ...

    def follow(self, actions: Mapping[Scope, Mapping[str, str]]) -> None:
        """Bring notes up to date with changed memories: owner, id, and what was done."""
        ...

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
        self.count_mistakes = store.count_mistakes
        self.load_mistakes = store.load_mistakes
        self.save_server_form = store.save_server_form
        self.load_server_form = store.load_server_form
        self.load = store.load
        self.save = store.save
        self.idle = store.idle
        self.sessions = store.sessions
        self.load_state = store.load_state
        self.save_state = store.save_state

    def count(self, query: RecordQuery) -> int:
        return self._store.count(query)

    def load_states(self, owner: Scope, names: Collection[str]) -> dict[str, OwnerStateRow]:
        return self._store.load_states(owner, names)

    def reserve_attachment(self, reservation: AttachmentReservation, quota: StorageUse) -> None:
        self._store.reserve_attachment(reservation, quota)

    def keep_attachment(self, owner: Scope, digest: str, size: int) -> None:
        self._store.keep_attachment(owner, digest, size)

    def drop_attachment(self, owner: Scope, digest: str) -> None:
        self._store.drop_attachment(owner, digest)

    def include_altered(self) -> AbstractContextManager[None]:
        """Let this thread read within the block what another program changed."""
        return self._store.include_altered()

    def read_head(self, owner: Scope) -> Meta:
        """Read the head of an owner's memory."""
        return self._store.read_head(owner)

    def certify(self, statement: Meta) -> Meta:
        """Issue a certificate of a statement."""
        return self._store.certify(statement)

    def trust_altered(self) -> int:
        """Trust what another program changed; return the number of memories."""
        return self._store.trust_altered()


class VaultStore(ForwardingStore):
    """Store whose files follow each commit, check, purge and close."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.vault: VaultHooks | None = None

    def commit(self, batch: WriteBatch) -> CommitResult:
        then = batch.then
        entries = make_outbox_entries(batch)
        if not entries and then is None:
            return self._store.commit(batch)
        if then is not None:
            then = replace(then, outbox=(*then.outbox, *make_outbox_entries(then)))
        job = JobSpec(TOPIC, TOPIC, due=batch.at + GATHER)
        result = self._store.commit(
            replace(
                batch,
                outbox=(*batch.outbox, *entries),
                jobs=(*batch.jobs, job),
                # Files must not tell of memories that a power failure undid.
                repeatable=False,
                then=then,
            )
        )
        if self.vault is not None:
            for stored in (batch, then if result.followed else None):
                actions = _find_actions(stored) if stored is not None else {}
                if actions:
                    self.vault.follow(actions)
            self.vault.wake()
        return replace(result, jobs=result.jobs[:-1])

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        at: datetime,
        rewrites: WriteBatch | None = None,
        words: Sequence[str] = (),
    ) -> PurgeReport:
        shortened_ids = [change.id for change in rewrites.changes] if rewrites else []
        if self.vault is None or not (ids or shortened_ids):
            return self._store.purge(owner, ids, at, rewrites, words)
        if rewrites is not None:
            rewrites = replace(
                rewrites,
                outbox=make_outbox_entries(rewrites),
                jobs=(JobSpec(TOPIC, TOPIC, due=at + GATHER),),
            )
        return self.vault.purge(
            owner,
            ids,
            shortened_ids,
            lambda: self._store.purge(owner, ids, at, rewrites, words),
            words,
        )

    def check(self, repair: bool) -> Mapping[str, Json]:
        report = self._store.check(repair)
        if self.vault is None:
            return report
        report = self.vault.check(repair, report)
        if repair and report["lost"]:
            # The files may have brought back what the store alone had lost.
            return {**report, "lost": self._store.check(False)["lost"]}
        return report

    def close(self) -> None:
        if self.vault is not None:
            self.vault.close()
        self._store.close()


def _find_actions(batch: WriteBatch) -> dict[Scope, dict[str, str]]:
    """Find the memories whose texts or statuses change, with the action, by owner."""
    actions: dict[Scope, dict[str, str]] = {}
    for change in batch.changes:
        if change.fields.keys() & _TEXT_FIELDS:
            actions.setdefault(change.owner, {})[change.id] = change.action
    return actions


def make_outbox_entries(batch: WriteBatch) -> tuple[tuple[str, Scope, str, Meta], ...]:
    """Make one outbox entry for each memory whose file changes.

    Counts of use, and edges that only count what was found together, make none: they are written
    with the next change.
    """
    actions: dict[tuple[Scope, str], str] = {}
    reasons = {
        (change.owner, change.id): change.reason for change in batch.changes if change.reason
    }
    for put in batch.puts:
        if NOTE_PIECE not in put.record.meta:
            actions[put.record.scope.owner, put.record.id] = "add"
    for change in batch.changes:
        if not change.fields.keys() <= _USE_FIELDS:
            actions.setdefault((change.owner, change.id), change.action)
    for edge in (*batch.edges, *batch.unlink):
        if edge.type not in _DERIVED_EDGES and not edge.source.startswith(_NODE_PREFIXES):
            actions.setdefault((edge.owner, edge.source), "link")
    return tuple(
        (
            TOPIC,
            owner,
            record_id,
            {
                "does": action,
                "actor": batch.actor,
                "why": reasons.get((owner, record_id), batch.reason),
            },
        )
        for (owner, record_id), action in actions.items()
    )
