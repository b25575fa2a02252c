"""Working tier of latest turns; evicted ones become recent or archived.

Every turn is a durable row from the start, marked ``working``; this process only holds which rows
are in the tier. Eviction is a change of the row, in the transaction of the write that caused it.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from threading import Lock
from typing import Any, TypeVar

from engrams.core import Hit, Kind, Record, Scope, StageDecision, Status, Tier
from engrams.core.process_peers import ProcessPeers
from engrams.errors import ConflictError, EngramsError, NotFoundError
from engrams.extract.gate import BRIEF, gate_text
from engrams.frozen_data import dataclass
from engrams.ports import (
    CONDENSE,
    ENFORCE,
    JUDGE,
    CandidateSearchQuery,
    Clock,
    CommitResult,
    Embedder,
    JobSpec,
    NewRecord,
    RecordChange,
    RecordUse,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.read.corrected_words import mask_corrected
from engrams.read.hot_memories import HotMemories
from engrams.session.ring_buffer import HotMemoryCache, RingBuffer, WorkingTierItem
from engrams.settings import Settings
from engrams.text.measures import word_count
from engrams.text.terms import is_unspaced
from engrams.write.reconcile import has_distinct_detail
from engrams.write.turn_eviction import evict_turn

_TRIES = 4
"""Attempts to evict rows that somebody else changes meanwhile."""
_MOST = 1000
"""Scopes with a tier here, at most; rows of evicted ones are left to a sweep."""
_BARRED = frozenset(("stop_words", "noise"))
"""Gate reasons that keep a turn out, however long it is.

Small talk of several words enters, to be judged here.
"""
OFFLINE_CHANNELS = frozenset(("import", "file", "vault"))
"""Channels of turns that are not live."""

_log = logging.getLogger(__name__)
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class TierWriteResult:
    """Result of a write through the tier.

    ``skipped``: by record, why it did not enter. ``twins``: by record, the recent memory that it
    repeats.
    """

    done: CommitResult = field(default_factory=CommitResult)
    skipped: Mapping[str, StageDecision] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)


class WorkingTier:
    """Ring buffers and hot caches by scope. Thread safe; asks no model."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
        *,
        model: bool = False,
        peers: ProcessPeers | None = None,
    ) -> None:
        """Set up the tier.

        ``model``: a chat model judges and condenses items. ``peers``: processes whose tier is this
        one too.
        """
        peers = peers or ProcessPeers()
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._settings = settings
        self._tiers = settings.tiers
        self._judge = model and settings.tiers.judge
        self._condense = model and settings.tiers.condense
        self._lock = Lock()
        self._rings: OrderedDict[str, RingBuffer] = OrderedDict()
        self._hot: OrderedDict[str, HotMemoryCache] = OrderedDict()
        self._turns = peers.table("turns", _MOST)
        self._tell = peers.share("working", self._follow)

    # ----------------------------------------------------------------------------------------------
    # writing

    def commit(self, batch: WriteBatch, scope: Scope) -> TierWriteResult:
        """Commit a write; its turns enter the tier and evict older ones.

        Jobs that follow are enqueued in the same transaction.
        """
        puts = [put for put in batch.puts if put.record.kind is Kind.TURN]
        jobs = self._make_caps_jobs(scope, len(batch.puts))
        if not self._tiers.enabled or not puts or batch.actor in OFFLINE_CHANNELS:
            done = self._store.commit(replace(batch, jobs=(*batch.jobs, *jobs)))
            return TierWriteResult(replace(done, jobs=done.jobs[: len(batch.jobs)]))
        skipped, twins = self._gate_turns(puts, scope)
        fresh = [put.record for put in puts if put.record.id not in skipped]
        through = fresh[: -self._tiers.working_size]
        held = fresh[-self._tiers.working_size :]
        if self._judge:
            jobs += tuple(self._make_job(JUDGE, record) for record in fresh)
        tiers = {
            **{record.id: Tier.WORKING for record in held},
            **{record.id: Tier.RECENT for record in through},
        }
        stored = tuple(self._assign_tier(put, tiers, twins) for put in batch.puts)
        batch = replace(batch, puts=stored, uses=(*batch.uses, *self._count_twins(scope, twins)))
        ring = self.ring(scope)
        with ring.writing:
            done = self._commit_evicting(batch, jobs, scope, len(held))
            fresh = [record for record in held if record.id not in done.existing]
            self._append(
                scope,
                [
                    WorkingTierItem(r, "agent" if r.role == "assistant" else "user", r.text)
                    for r in fresh
                ],
            )
        return TierWriteResult(replace(done, jobs=done.jobs[: len(batch.jobs)]), skipped, twins)

    def keep_recalled(self, scope: Scope, ids: Sequence[str]) -> None:
        """Cache memories that a read selected, and add copies to the tier."""
        if not self._tiers.enabled or not ids:
            return
        known = {
            record.id: record
            for record in self._store.get(scope.owner, ids)
            if record.status is Status.ACTIVE
        }
        records = [known[name] for name in dict.fromkeys(ids) if name in known]
        card = self._embedder.card
        if card.dimension and records:
            vectors = self._store.vectors(scope.owner, [record.id for record in records], card.id)
            hits = [Hit(record, 0.0) for record in records]
            self.hot(scope).put(hits, vectors)
            self._tell("hot", scope.key, hits, vectors)
        ring = self.ring(scope)
        copies = [
            to_item(record)
            for record in records
            if record.tier is not Tier.WORKING and ring.get_by_id(record.id) is None
        ]
        copies = copies[-self._tiers.working_size :]
        with ring.writing:
            self._commit_evicting(
                WriteBatch("engrams", "left the working tier", self._clock()),
                (),
                scope,
                len(copies),
            )
            self._append(scope, copies)

    def release(self, scope: Scope) -> int:
        """Evict all items of a scope; return how many were turns."""
        ring = self.ring(scope)
        with ring.writing:
            number = len(ring.last(len(ring)))
            self._commit_evicting(
                WriteBatch("engrams", "left the working tier", self._clock()),
                (),
                scope,
                self._tiers.working_size,
            )
            self._tell("evict", scope.key, [item.id for item in ring.drain()])
        return number

    def close(self) -> None:
        """Evict all items; rows left by a failure wait for a sweep."""
        with self._lock:
            scopes = [Scope.parse(key) for key, ring in self._rings.items() if len(ring)]
        for scope in scopes:
            try:
                self.release(scope)
            except EngramsError as problem:
                _log.warning("the working tier was not settled: %s", problem.message)

    def drop(self, owner: Scope, ids: Sequence[str]) -> None:
        """Remove forgotten or purged memories from rings and caches."""
        self._drop(owner, ids)
        self._tell("drop", owner.key, list(ids))

    def _drop(self, owner: Scope, ids: Sequence[str]) -> None:
        for ring in self._owned_by(owner, self._rings):
            ring.drop(ids)
        for hot in self._owned_by(owner, self._hot):
            hot.drop(ids)

    # ----------------------------------------------------------------------------------------------
    # reading

    def ring(self, scope: Scope) -> RingBuffer:
        """Return the ring buffer of one scope."""
        return self._get_or_make(self._rings, scope, lambda: RingBuffer(self._tiers.working_size))

    def hot(self, scope: Scope) -> HotMemoryCache:
        return self._get_or_make(
            self._hot, scope, lambda: HotMemoryCache(self._tiers.hot_size, self._tiers.hot_cosine)
        )

    def copy_hot(self, scope: Scope) -> HotMemories:
        """Return what was recalled lately in a scope."""
        if scope.key not in self._hot:
            return HotMemories({}, self._tiers.hot_cosine)
        return self.hot(scope).snapshot()

    def tail(self, scope: Scope) -> tuple[Record, ...]:
        """Return the last items of the latest session, where still active."""
        if not self._tiers.enabled or not self._tiers.tail_turns or scope.key not in self._rings:
            return ()
        said = self.ring(scope).last(self._tiers.working_size)
        ids = [item.id for item in said if item.record.session == said[-1].record.session][
            -self._tiers.tail_turns :
        ]
        return tuple(
            mask_corrected(record)
            for record in self._store.get(scope.owner, ids)
            if record.status is Status.ACTIVE
        )

    def holds(self, scope: Scope, id: str) -> bool:
        return scope.key in self._rings and self.ring(scope).get_by_id(id) is not None

    def items(self, scope: Scope) -> tuple[tuple[str, str, str, float], ...]:
        """Return id, source, text and importance of each item, oldest first."""
        found = self.ring(scope).items() if scope.key in self._rings else ()
        rows = (
            {
                record.id: record
                for record in self._store.get(scope.owner, [item.id for item in found])
            }
            if found
            else {}
        )
        return tuple(
            (item.id, item.source, item.text, rows.get(item.id, item.record).importance)
            for item in found
        )

    def sizes(self, scope: Scope) -> dict[str, int]:
        """Count items of ring and cache; an owner's over all scopes."""
        rings = self._owned_by(scope, self._rings)
        hot = self._owned_by(scope, self._hot)
        return {
            "working": sum(len(ring) for ring in rings),
            "hot": sum(len(one.ids()) for one in hot),
        }

    # ----------------------------------------------------------------------------------------------
    # steps

    def _gate_turns(
        self, puts: Sequence[NewRecord], scope: Scope
    ) -> tuple[dict[str, StageDecision], dict[str, str]]:
        """Find turns that stay out of the tier: noise and repetitions."""
        skipped: dict[str, StageDecision] = {}
        twins: dict[str, str] = {}
        section = self._settings.write
        for put in puts:
            record = put.record
            if section.gate and (refused := _bar_text(record.text, section.min_words)) is not None:
                skipped[record.id] = replace(refused, record=record.id)
            elif twin := self._find_twin(put, scope):
                twins[record.id] = twin
                skipped[record.id] = StageDecision(
                    stage="dedup",
                    verdict="bump",
                    reason="repeats a recent memory",
                    text=record.text[:80],
                    record=twin,
                )
        return skipped, twins

    def _find_twin(self, put: NewRecord, scope: Scope) -> str:
        """Find the recent memory that a text repeats; empty: none."""
        floor = self._tiers.duplicate_cosine
        if put.vector is None or not floor:
            return ""
        import numpy as np

        vector = np.frombuffer(put.vector.data, np.float32)
        reach = ScopeReach(scope.owner, (scope,))
        asked = CandidateSearchQuery(
            reach=reach,
            now=self._clock(),
            terms=(),
            vector=vector,
            model=self._embedder.card.id,
            kinds=(Kind.TURN,),
        )

        pool = self._store.seek(asked)
        near = [
            pool.ids[place]
            for place in np.argsort(-pool.cos)[:5]
            if pool.embedded[place] and pool.cos[place] >= floor - 1e-6
        ]
        for record in self._store.get(scope.owner, near):
            same = record.tier is Tier.RECENT and record.role == put.record.role
            if (
                same
                and record.id != put.record.id
                and not has_distinct_detail(record.text, put.record.text)
            ):
                return record.id
        return ""

    def _assign_tier(
        self, put: NewRecord, tiers: Mapping[str, Tier], twins: Mapping[str, str]
    ) -> NewRecord:
        record = put.record
        if record.id in tiers:
            return replace(put, record=replace(record, tier=tiers[record.id]))
        if record.kind is not Kind.TURN:
            return put
        away = replace(
            record,
            status=Status.ARCHIVED,
            retired_at=self._clock(),
            superseded_by=twins.get(record.id, ""),
        )
        return replace(put, record=away)

    def _count_twins(self, scope: Scope, twins: Mapping[str, str]) -> tuple[RecordUse, ...]:
        now = self._clock()
        return tuple(
            RecordUse(scope.owner, twin, times, now)
            for twin, times in Counter(twins.values()).items()
        )

    def _append(self, scope: Scope, items: Sequence[WorkingTierItem]) -> None:
        """Add items; what other processes added meanwhile may evict more."""
        self.ring(scope).append(items, trim=False)
        if items:
            self._tell("append", scope.key, items)
        if self.ring(scope).preview_evictions(0):
            self._commit_evicting(
                WriteBatch("engrams", "left the working tier", self._clock()), (), scope, 0
            )

    def _follow(self, act: str, key: str, *what: Any) -> None:
        """Do what another process of this server did to its tier."""
        scope = Scope.parse(key)
        match act:
            case "append":
                self.ring(scope).append(*what, trim=False)
            case "evict":
                self.ring(scope).evict(set(*what))
            case "hot":
                self.hot(scope).put(*what)
            case "drop":
                self._drop(scope, *what)

    def _commit_evicting(
        self, batch: WriteBatch, jobs: Sequence[JobSpec], scope: Scope, number: int
    ) -> CommitResult:
        """Commit a write that adds ``number`` items, with the evictions it causes."""
        ring = self.ring(scope)
        leaving = ring.preview_evictions(number)
        for tried in range(_TRIES + 1):
            # The last time without evictions: a write must not fail for rows that others keep
            # changing; a sweep evicts them.
            changes, finals = self._plan_evictions(leaving if tried < _TRIES else (), batch.at)
            full = replace(
                batch, changes=(*batch.changes, *changes), jobs=(*batch.jobs, *jobs, *finals)
            )
            try:
                done = self._store.commit(full) if full.puts or full.changes else CommitResult()
                break
            except (ConflictError, NotFoundError):
                if not changes:
                    raise
        ring.evict({item.id for item in leaving})
        if leaving:
            self._tell("evict", scope.key, [item.id for item in leaving])
        return done

    def _plan_evictions(
        self, leaving: Sequence[WorkingTierItem], at: datetime
    ) -> tuple[tuple[RecordChange, ...], tuple[JobSpec, ...]]:
        """Return changes of the rows of leaving items, and jobs that follow."""
        live = {item.id: item for item in leaving if not item.is_copy}
        known = (
            self._store.get(next(iter(live.values())).record.scope.owner, tuple(live))
            if live
            else ()
        )
        rows = [
            record
            for record in known
            if record.status is Status.ACTIVE and record.tier is Tier.WORKING
        ]
        changes = tuple(evict_turn(record, self._tiers.promote_importance, at) for record in rows)
        kept = {change.id for change in changes if change.action == "promote"}
        return changes, tuple(
            self._make_job(CONDENSE, record)
            for record in rows
            if record.id in kept and self._condense
        )

    def _make_job(self, kind: str, record: Record) -> JobSpec:
        scope = record.scope.key
        tries = self._settings.jobs.max_attempts
        return JobSpec(
            kind, f"{scope}|{record.id}", {"scope": scope, "items": [record.id]}, attempts=tries
        )

    def _make_caps_jobs(self, scope: Scope, number: int) -> tuple[JobSpec, ...]:
        """Build the job that enforces caps, due after a number of turns."""
        caps = self._settings.caps
        if not (
            (self._tiers.enabled and self._tiers.recent_size)
            or caps.facts
            or caps.rules
            or caps.entries > 0
        ):
            return ()
        with self._lock:
            before = int(self._turns.get(scope.key, 0))
            self._turns.put(scope.key, before + number)
        if before // self._tiers.check_turns == (before + number) // self._tiers.check_turns:
            return ()
        return (
            JobSpec(
                ENFORCE, scope.key, {"scope": scope.key}, attempts=self._settings.jobs.max_attempts
            ),
        )

    def _get_or_make(
        self, kept: OrderedDict[str, Kept], scope: Scope, make: Callable[[], Kept]
    ) -> Kept:
        with self._lock:
            found = kept.pop(scope.key, None)
            kept[scope.key] = made = make() if found is None else found
            while len(kept) > _MOST:
                kept.popitem(last=False)
        return made

    def _owned_by(self, scope: Scope, kept: Mapping[str, Kept]) -> list[Kept]:
        with self._lock:
            pairs = list(kept.items())
        return [
            one
            for key, one in pairs
            if key == scope.key or (scope.is_owner and key.startswith(f"{scope.key}/"))
        ]


def _bar_text(text: str, min_words: int) -> StageDecision | None:
    """Find the reason for which a text does not enter.

    Noise, no content, or too short. Short are fewer than ``min_words`` words of any kind: "ok", but
    not "no nuts".
    """
    refused = gate_text(text, min_words=min_words)
    if refused is None or refused.reason in _BARRED:
        return refused
    said = text.strip()
    is_word = (
        refused.reason == "short" and is_unspaced(said) and len(said) > 1
    )  # as good as a word of other scripts
    if refused.reason not in BRIEF or is_word or word_count(said) >= min_words:
        return None
    return replace(refused, reason="short")


def to_item(record: Record) -> WorkingTierItem:
    if record.tier is Tier.LONGTERM:
        return WorkingTierItem(
            record, "promoted_l2", record.text.replace("\nAgent: ", " -> Agent: ", 1)
        )
    return WorkingTierItem(record, "promoted_l1", record.summary or record.text)
