"""Working tier: the latest turns of each scope, and the memories recalled lately in it.

``WorkingTier.commit`` is the one way in. Every turn is a durable row from the start, marked
``working``; this process only holds which rows are in the tier. Eviction is a change of the row, in
the transaction of the write that causes it: the turn becomes recent, or is archived.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from threading import Lock
from typing import Any, TypeVar

from engrams.core import (
    STATEMENT_KINDS,
    Hit,
    Kind,
    Record,
    Scope,
    StageDecision,
    Status,
    Tier,
    Vector,
)
from engrams.core.process_peers import ProcessPeers
from engrams.core.records import is_repeated_question
from engrams.errors import ConflictError, EngramsError, NotFoundError
from engrams.extract.gate import BRIEF, gate_text
from engrams.frozen_data import dataclass
from engrams.ports import (
    CONDENSE,
    ENFORCE,
    JUDGE,
    CandidateSearchQuery,
    CommitResult,
    Condition,
    JobSpec,
    NewRecord,
    RecordChange,
    RecordQuery,
    RecordUse,
    ScopeReach,
    Where,
    WriteBatch,
)
from engrams.ports.hot_memories import HotMemories
from engrams.text.acknowledgements import is_assent
from engrams.text.comparison.statement_comparison import differ_in_detail
from engrams.text.measures import word_count
from engrams.text.normalize import fold
from engrams.text.terms import is_unspaced
from engrams.write.channels import OFFLINE_CHANNELS
from engrams.write.recalled_vector_cache import RecalledVectorCache
from engrams.write.ring_buffer import RingBuffer, WorkingTierItem
from engrams.write.turn_eviction import evict_turn
from engrams.write.write_deps import WriteDeps

_EVICTION_TRIES = 4
"""Attempts to evict rows that somebody else changes meanwhile."""
_MAX_SCOPES = 1000
"""Scopes with a tier here, at most; rows of evicted ones are left to a sweep."""
_BARRING_REASONS = frozenset(("stop_words", "noise"))
"""Reasons of the gate that keep a turn out, however long it is.

Small talk of several words enters, to be judged here.
"""
_GIVEN_KINDS = (Kind.TURN, Kind.NOTE, *STATEMENT_KINDS)
"""Kinds that a turn may repeat, as far as somebody gave them.

What was derived from a turn does not count: it says what that turn said.
"""
_REPETITION = "repeats a recent memory"
_TWIN_CANDIDATES = 10
_ROUNDING = 1e-6

_log = logging.getLogger(__name__)
Buffer = TypeVar("Buffer")


@dataclass(frozen=True, slots=True)
class TierWriteResult:
    """Result of a write, through the tier or directly into the store."""

    result: CommitResult = field(default_factory=CommitResult)
    skipped: Mapping[str, StageDecision] = field(default_factory=dict)
    """Why a turn did not enter the tier, by record id."""
    twins: Mapping[str, str] = field(default_factory=dict)
    """The recent memory that a turn repeats, by record id."""


class WorkingTier:
    """Ring buffers and hot caches by scope. Thread safe; asks no model."""

    def __init__(self, deps: WriteDeps, peers: ProcessPeers) -> None:
        """Set up the tier. ``peers``: processes whose tier is this one too."""
        self._store = deps.store
        self._embedder = deps.embedder
        self._clock = deps.clock
        self._settings = deps.settings
        self._tiers = deps.settings.tiers
        self._judges = deps.chat is not None and deps.settings.tiers.judge
        self._condenses = deps.chat is not None and deps.settings.tiers.condense
        self._lock = Lock()
        self._rings: OrderedDict[str, RingBuffer] = OrderedDict()
        self._hot: OrderedDict[str, RecalledVectorCache] = OrderedDict()
        self._turn_counts = peers.table("turns", _MAX_SCOPES)
        self._tell_peers = peers.share("working", self._follow_peer)

    # ----------------------------------------------------------------------------------------------
    # writing

    def commit(self, batch: WriteBatch, scope: Scope) -> TierWriteResult:
        """Commit a write; its turns enter the tier and evict older ones.

        Jobs that follow are enqueued in the same transaction; the result lists those of the batch.
        """
        puts = [put for put in batch.puts if put.record.kind is Kind.TURN]
        jobs = self._make_caps_jobs(scope, len(batch.puts))
        if not self._tiers.enabled or not puts or batch.actor in OFFLINE_CHANNELS:
            result = self._store.commit(replace(batch, jobs=(*batch.jobs, *jobs)))
            return TierWriteResult(replace(result, jobs=result.jobs[: len(batch.jobs)]))
        skipped, twins = self._gate_turns(puts, scope)
        entering = [put.record for put in puts if put.record.id not in skipped]
        # Of more turns than fit, the first pass through at once.
        passing = entering[: -self._tiers.working_size]
        staying = entering[-self._tiers.working_size :]
        if self._judges:
            jobs += tuple(self._make_job(JUDGE, record) for record in entering)
        tiers = {
            **{record.id: Tier.WORKING for record in staying},
            **{record.id: Tier.RECENT for record in passing},
        }
        batch = replace(
            batch,
            puts=tuple(self._assign_tier(put, tiers, twins) for put in batch.puts),
            uses=(*batch.uses, *self._count_twins(scope, twins)),
        )
        ring = self.ring(scope)
        # Held over the commit: items are in the order in which their rows were stored.
        with ring.writing:
            result = self._commit_evicting(batch, jobs, scope, len(staying))
            items = [
                _to_said_item(record) for record in staying if record.id not in result.existing
            ]
            self._append(scope, items)
        return TierWriteResult(replace(result, jobs=result.jobs[: len(batch.jobs)]), skipped, twins)

    def keep_recalled(self, scope: Scope, ids: Sequence[str]) -> None:
        """Cache memories that a read selected, and add copies to the tier."""
        if not self._tiers.enabled or not ids:
            return
        active = {
            record.id: record
            for record in self._store.get(scope.owner, ids)
            if record.status is Status.ACTIVE
        }
        records = [active[record_id] for record_id in dict.fromkeys(ids) if record_id in active]
        card = self._embedder.card
        if card.dimension and records:
            vectors = self._store.vectors(scope.owner, [record.id for record in records], card.id)
            hits = [Hit(record, 0.0) for record in records]
            self.hot(scope).put(hits, vectors)
            self._tell_peers("hot", scope.key, hits, vectors)
        ring = self.ring(scope)
        copies = [
            to_item(record)
            for record in records
            if record.tier is not Tier.WORKING and ring.get_by_id(record.id) is None
        ]
        copies = copies[-self._tiers.working_size :]
        with ring.writing:
            self._evict(scope, len(copies))
            self._append(scope, copies)
        self._drop_changed(scope.owner, records)

    def release(self, scope: Scope) -> tuple[tuple[str, str, str, float], ...]:
        """Evict all items of a scope; return them as ``items`` does."""
        ring = self.ring(scope)
        with ring.writing:
            items = self.items(scope)
            self._evict(scope, self._tiers.working_size)
            self._tell_peers("evict", scope.key, [item.id for item in ring.drain()])
        return items

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
        self._drop_here(owner, ids)
        self._tell_peers("drop", owner.key, list(ids))

    def _drop_changed(self, owner: Scope, records: Sequence[Record]) -> None:
        """Remove memories that were purged, forgotten or shortened while they were kept."""
        current_texts = {
            record.id: record.text
            for record in self._store.get(owner, [record.id for record in records])
            if record.status is Status.ACTIVE
        }
        changed_ids = [
            record.id for record in records if current_texts.get(record.id) != record.text
        ]
        if changed_ids:
            self.drop(owner, changed_ids)

    # ----------------------------------------------------------------------------------------------
    # reading

    def ring(self, scope: Scope) -> RingBuffer:
        """Return the ring buffer of one scope."""
        return self._get_or_make(self._rings, scope, lambda: RingBuffer(self._tiers.working_size))

    def hot(self, scope: Scope) -> RecalledVectorCache:
        """Return the cache of memories recalled lately in one scope."""
        return self._get_or_make(
            self._hot,
            scope,
            lambda: RecalledVectorCache(self._tiers.hot_size, self._tiers.hot_cosine),
        )

    def copy_hot(self, scope: Scope) -> HotMemories:
        """Return the memories recalled lately in a scope, for one read."""
        if scope.key not in self._hot:
            return HotMemories({}, self._tiers.hot_cosine)
        return self.hot(scope).snapshot()

    def tail(self, scope: Scope) -> tuple[Record, ...]:
        """Return the last turns of the latest session, where still active."""
        if not self._tiers.enabled or not self._tiers.tail_turns or scope.key not in self._rings:
            return ()
        items = self.ring(scope).last(self._tiers.working_size)
        ids = [item.id for item in items if item.record.session == items[-1].record.session]
        records = self._store.get(scope.owner, ids[-self._tiers.tail_turns :])
        return tuple(record for record in records if record.status is Status.ACTIVE)

    def holds(self, scope: Scope, id: str) -> bool:
        """Return whether an item of that id is in the tier of a scope."""
        return scope.key in self._rings and self.ring(scope).get_by_id(id) is not None

    def items(self, scope: Scope) -> tuple[tuple[str, str, str, float], ...]:
        """Return id, source, text and importance of each item, oldest first."""
        items = self.ring(scope).items() if scope.key in self._rings else ()
        if not items:
            return ()
        rows = {
            record.id: record
            for record in self._store.get(scope.owner, [item.id for item in items])
        }
        return tuple(
            (item.id, item.source, item.text, rows.get(item.id, item.record).importance)
            for item in items
        )

    def hot_ids(self, scope: Scope) -> tuple[str, ...]:
        """List the ids in the cache of a scope, least used first."""
        return tuple(self.hot(scope).ids()) if scope.key in self._hot else ()

    def sizes(self, scope: Scope) -> dict[str, int]:
        """Count items of ring and cache; an owner's over all scopes."""
        return {
            "working": sum(len(ring) for ring in self._list_owned(scope, self._rings)),
            "hot": sum(len(hot.ids()) for hot in self._list_owned(scope, self._hot)),
        }

    # ----------------------------------------------------------------------------------------------
    # entering

    def _gate_turns(
        self, puts: Sequence[NewRecord], scope: Scope
    ) -> tuple[dict[str, StageDecision], dict[str, str]]:
        """Find turns that stay out of the tier: noise and repetitions.

        Returns the reason by record id, and the recent memory that a repetition repeats. An answer
        stays beside the message that it answers, however short or usual it is: of "No." and its
        question neither says anything alone. To a repeated question it stays if it is another one.
        """
        skipped: dict[str, StageDecision] = {}
        twins: dict[str, str] = {}
        previous = self._find_previous(puts[0].record)
        for put in puts:
            record = put.record
            message = previous if previous and _answers(record, previous) else None
            refusal = self._bar_turn(record, is_answer=message is not None)
            twin_id = ""
            if refusal is None and (message is None or is_repeated_question(message)):
                twin_id = self._find_twin(put, scope)
            if twin_id:
                twins[record.id] = twin_id
                refusal = StageDecision(
                    stage="dedup",
                    verdict="bump",
                    reason=_REPETITION,
                    text=record.text[:80],
                )
            previous = record
            if refusal is not None:
                skipped[record.id] = replace(refusal, record=twin_id or record.id)
                previous = replace(record, status=Status.ARCHIVED, superseded_by=twin_id)
        return skipped, twins

    def _find_previous(self, record: Record) -> Record | None:
        """Return what was said before an answer that comes by itself; None: it is no answer."""
        if record.role != "assistant":
            return None
        query = RecordQuery(
            ScopeReach(record.scope.owner, (record.scope,)),
            (Kind.TURN,),
            (Status.ACTIVE, Status.ARCHIVED),
            where=Where("and", (Condition("session", "eq", record.session),)),
            order="newest",
            limit=1,
        )
        return next(iter(self._store.find(query).records), None)

    def _bar_turn(self, record: Record, *, is_answer: bool) -> StageDecision | None:
        """Return why a turn does not enter the tier by its words, or None."""
        section = self._settings.write
        refusal = _bar_text(record.text, section.min_words) if section.gate else None
        if refusal is not None and is_answer and refusal.reason != "noise":
            return None
        return refusal

    def _find_twin(self, put: NewRecord, scope: Scope) -> str:
        """Find the id of the recent memory that a text repeats; empty: none."""
        floor = self._tiers.duplicate_cosine
        if not floor:
            return ""
        if put.vector is None:
            return self._find_equal(put.record, scope)
        import numpy as np

        query = CandidateSearchQuery(
            reach=ScopeReach(scope.owner, (scope,)),
            now=self._clock(),
            terms=(),
            vector=np.frombuffer(put.vector.data, np.float32),
            model=self._embedder.card.id,
            kinds=_GIVEN_KINDS,
        )
        pool = self._store.seek(query)
        near_ids = [
            pool.ids[position]
            for position in np.argsort(-pool.cos)[:_TWIN_CANDIDATES]
            if pool.embedded[position] and pool.cos[position] >= floor - _ROUNDING
        ]
        for record in self._store.get(scope.owner, near_ids):
            if (
                record.tier is Tier.RECENT
                and record.role == put.record.role
                and record.id != put.record.id
                and not record.evidence
                and not differ_in_detail(record.text, put.record.text)
            ):
                return record.id
        return ""

    def _find_equal(self, record: Record, scope: Scope) -> str:
        """Return the id of a recent memory with exactly this text; empty: none.

        For a text without a vector, which cannot be compared by meaning.
        """
        conditions = (
            Condition("tier", "eq", Tier.RECENT.value),
            Condition("text", "eq", record.text),
        )
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)),
            _GIVEN_KINDS,
            where=Where("and", conditions),
            limit=_TWIN_CANDIDATES,
        )
        for twin in self._store.find(query).records:
            if twin.role == record.role and twin.id != record.id and not twin.evidence:
                return twin.id
        return ""

    def _assign_tier(
        self, put: NewRecord, tiers: Mapping[str, Tier], twins: Mapping[str, str]
    ) -> NewRecord:
        """Set the tier of a turn that enters; a turn that stays out is archived."""
        record = put.record
        if record.id in tiers:
            return replace(put, record=replace(record, tier=tiers[record.id]))
        if record.kind is not Kind.TURN:
            return put
        archived = replace(
            record,
            status=Status.ARCHIVED,
            retired_at=self._clock(),
            superseded_by=twins.get(record.id, ""),
        )
        return replace(put, record=archived)

    def _count_twins(self, scope: Scope, twins: Mapping[str, str]) -> tuple[RecordUse, ...]:
        """Count each repetition as a use of the memory that it repeats."""
        now = self._clock()
        return tuple(
            RecordUse(scope.owner, twin_id, times, now)
            for twin_id, times in Counter(twins.values()).items()
        )

    def _append(self, scope: Scope, items: Sequence[WorkingTierItem]) -> None:
        """Add items; those that other processes added meanwhile may evict more."""
        self.ring(scope).append(items, trim=False)
        if items:
            self._tell_peers("append", scope.key, items)
        if self.ring(scope).preview_evictions(0):
            self._evict(scope, 0)

    # ----------------------------------------------------------------------------------------------
    # leaving

    def archive_repetitions(self, vectors: Sequence[tuple[Scope, Vector]]) -> None:
        """Archive messages of the tier that repeat a recent memory, now that they have vectors.

        Where a write does not wait for the embedder, they entered before that could be seen.
        ``vectors``: new ones, each with the owner of its memory. An answer stays, as when it enters.
        """
        if not self._tiers.enabled:
            return
        for owner, vector in vectors:
            self._archive_repetition(owner, vector)

    def _archive_repetition(self, owner: Scope, vector: Vector) -> None:
        """Archive the message of a vector if it repeats a recent memory.

        Where its judge or a person changes it meanwhile, it is compared again.
        """
        for _ in range(_EVICTION_TRIES):
            batch = self._plan_archiving(owner, vector)
            if batch is None:
                return
            try:
                self._store.commit(batch)
            except (ConflictError, NotFoundError):
                continue
            self.drop(owner, [vector.record])
            return

    def _plan_archiving(self, owner: Scope, vector: Vector) -> WriteBatch | None:
        """Return what archives a message of the tier that repeats a recent memory, else None."""
        record = next(iter(self._store.get(owner, [vector.record])), None)
        if record is None or record.kind is not Kind.TURN or record.role == "assistant":
            return None
        if record.tier is not Tier.WORKING:
            return None
        # Its own write may not have put it into the ring yet, which it does before it lets go.
        with self.ring(record.scope).writing:
            is_here = self.holds(record.scope, record.id)
        twin_id = self._find_twin(NewRecord(record, vector=vector), record.scope) if is_here else ""
        if not twin_id:
            return None
        now = self._clock()
        fields = {
            "tier": Tier.RECENT,
            "status": Status.ARCHIVED,
            "retired_at": now,
            "superseded_by": twin_id,
        }
        change = RecordChange(owner, record.id, fields, "discard", expect=record.version)
        uses = self._count_twins(record.scope, {record.id: twin_id})
        return WriteBatch("engrams", _REPETITION, now, changes=(change,), uses=uses)

    def _evict(self, scope: Scope, number: int) -> None:
        """Evict as many items as adding ``number`` would."""
        batch = WriteBatch("engrams", "left the working tier", self._clock())
        self._commit_evicting(batch, (), scope, number)

    def _commit_evicting(
        self, batch: WriteBatch, jobs: Sequence[JobSpec], scope: Scope, number: int
    ) -> CommitResult:
        """Commit a write that adds ``number`` items, with the evictions it causes."""
        ring = self.ring(scope)
        leaving = ring.preview_evictions(number)
        for attempt in range(_EVICTION_TRIES + 1):
            # The last time without evictions: a write must not fail for rows that others keep
            # changing; a sweep evicts them.
            evicted = leaving if attempt < _EVICTION_TRIES else ()
            changes, condense_jobs = self._plan_evictions(evicted, batch.at)
            full_batch = replace(
                batch,
                changes=(*batch.changes, *changes),
                jobs=(*batch.jobs, *jobs, *condense_jobs),
            )
            try:
                result = CommitResult()
                if full_batch.puts or full_batch.changes:
                    result = self._store.commit(full_batch)
                break
            except (ConflictError, NotFoundError):
                if not changes:
                    raise
        ring.evict({item.id for item in leaving})
        if leaving:
            self._tell_peers("evict", scope.key, [item.id for item in leaving])
        return result

    def _plan_evictions(
        self, leaving: Sequence[WorkingTierItem], now: datetime
    ) -> tuple[tuple[RecordChange, ...], tuple[JobSpec, ...]]:
        """Return changes of the rows of leaving items, and jobs that condense kept ones."""
        turns = [item for item in leaving if not item.is_copy]
        if not turns:
            return (), ()
        owner = turns[0].record.scope.owner
        rows = [
            record
            for record in self._store.get(owner, [item.id for item in turns])
            if record.status is Status.ACTIVE and record.tier is Tier.WORKING
        ]
        changes = tuple(evict_turn(record, self._tiers.promote_importance, now) for record in rows)
        if not self._condenses:
            return changes, ()
        promoted_ids = {change.id for change in changes if change.action == "promote"}
        return changes, tuple(
            self._make_job(CONDENSE, record) for record in rows if record.id in promoted_ids
        )

    def _make_job(self, kind: str, record: Record) -> JobSpec:
        scope = record.scope.key
        return JobSpec(
            kind,
            f"{scope}|{record.id}",
            {"scope": scope, "items": [record.id]},
            attempts=self._settings.jobs.max_attempts,
        )

    def _make_caps_jobs(self, scope: Scope, number: int) -> tuple[JobSpec, ...]:
        """Build the job that enforces caps, due after a number of turns."""
        caps = self._settings.caps
        has_recent_cap = self._tiers.enabled and bool(self._tiers.recent_size)
        if not (has_recent_cap or caps.facts or caps.rules or caps.entries > 0):
            return ()
        with self._lock:
            before = int(self._turn_counts.get(scope.key, 0))
            self._turn_counts.put(scope.key, before + number)
        interval = self._tiers.check_turns
        if before // interval == (before + number) // interval:
            return ()
        attempts = self._settings.jobs.max_attempts
        return (JobSpec(ENFORCE, scope.key, {"scope": scope.key}, attempts=attempts),)

    # ----------------------------------------------------------------------------------------------
    # buffers

    def _follow_peer(self, action: str, key: str, *values: Any) -> None:
        """Do here what another process of this server did to its tier."""
        scope = Scope.parse(key)
        match action:
            case "append":
                self.ring(scope).append(*values, trim=False)
            case "evict":
                self.ring(scope).evict(set(*values))
            case "hot":
                self.hot(scope).put(*values)
            case "drop":
                self._drop_here(scope, *values)

    def _drop_here(self, owner: Scope, ids: Sequence[str]) -> None:
        for ring in self._list_owned(owner, self._rings):
            ring.drop(ids)
        for hot in self._list_owned(owner, self._hot):
            hot.drop(ids)

    def _get_or_make(
        self, buffers: OrderedDict[str, Buffer], scope: Scope, make: Callable[[], Buffer]
    ) -> Buffer:
        """Return the buffer of a scope, which counts as the one used last."""
        with self._lock:
            buffer = buffers.pop(scope.key, None)
            if buffer is None:
                buffer = make()
            buffers[scope.key] = buffer
            while len(buffers) > _MAX_SCOPES:
                buffers.popitem(last=False)
        return buffer

    def _list_owned(self, scope: Scope, buffers: Mapping[str, Buffer]) -> list[Buffer]:
        """List the buffer of a scope; of an owner those of all its scopes."""
        with self._lock:
            pairs = list(buffers.items())
        return [
            buffer
            for key, buffer in pairs
            if key == scope.key or (scope.is_owner and key.startswith(f"{scope.key}/"))
        ]


def to_item(record: Record) -> WorkingTierItem:
    """Convert a recalled memory to a copy in the tier."""
    if record.tier is Tier.LONGTERM:
        return WorkingTierItem(
            record, "promoted_l2", record.text.replace("\nAgent: ", " -> Agent: ", 1)
        )
    return WorkingTierItem(record, "promoted_l1", record.summary or record.text)


def _to_said_item(record: Record) -> WorkingTierItem:
    return WorkingTierItem(record, "agent" if record.role == "assistant" else "user", record.text)


def _answers(record: Record, previous: Record) -> bool:
    """True for an answer to a message that entered, or that was asked before."""
    was_heard = previous.status is Status.ACTIVE or is_repeated_question(previous)
    return (
        was_heard
        and record.role == "assistant"
        and previous.role != "assistant"
        and record.session == previous.session
    )


def _bar_text(text: str, min_words: int) -> StageDecision | None:
    """Return why a text does not enter the tier, or None.

    It is noise, has no content, or is too short. Short are fewer than ``min_words`` different words
    of any kind, and words of thanks and assent alone: "ok", "ok ok" and "okay, sure", but not "no
    nuts".
    """
    refusal = gate_text(text, min_words=min_words)
    if refusal is None or refusal.reason in _BARRING_REASONS:
        return refusal
    stripped = text.strip()
    # A word of a script without blanks says as much as several of others.
    is_unspaced_word = refusal.reason == "short" and is_unspaced(stripped) and len(stripped) > 1
    words = set(re.findall(r"\w+", fold(stripped)))
    says_words = min(len(words), word_count(stripped)) >= min_words and not is_assent(stripped)
    has_words = is_unspaced_word or says_words
    if refusal.reason not in BRIEF or has_words:
        return None
    return replace(refusal, reason="short")
