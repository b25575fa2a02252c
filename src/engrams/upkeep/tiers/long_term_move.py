"""Demotion to the long term: question and answer become one exchange."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from engrams.core import Evidence, Kind, Provenance, Record, Scope, Status, Tier, Vector
from engrams.core.ids import derive_id_at_time_of
from engrams.core.records import asks_only
from engrams.frozen_data import dataclass
from engrams.ports import (
    TOPICS,
    Clock,
    Condition,
    Embedder,
    JobSpec,
    NewRecord,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    Where,
    WriteBatch,
)
from engrams.read.decay import exponential_decay
from engrams.settings import Settings
from engrams.text.prose import strip_code
from engrams.write.related_statements import STATEMENTS
from engrams.write.source_checks import check_sources

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

ITEMS = (Kind.TURN, Kind.NOTE, *STATEMENTS)
"""Kinds of the recent tier."""

TopicRefresh = Callable[[Scope], object]
"""Refreshes a scope's topics, so that topic search finds new exchanges."""

_PAGE = 500
_STEP = 100
"""Pairs per transaction."""
_QUOTED = 280
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class TurnPair:
    """Question and answer; one of them may be missing."""

    user: Record | None
    agent: Record | None

    @property
    def halves(self) -> tuple[Record, ...]:
        return tuple(half for half in (self.user, self.agent) if half is not None)

    @property
    def key(self) -> str:
        """Stable key of the pair, so repeated moves make one exchange."""
        return f"exchange:{self.user.id if self.user else ''}:{self.agent.id if self.agent else ''}"


def is_cold(age: timedelta, tau: float, threshold: float, minutes: float) -> bool:
    """Return whether ``exp(-age / tau) < threshold`` and age exceeds ``minutes``.

    ``tau`` in days; at either edge the item stays.
    """
    return exponential_decay(age.total_seconds() / _DAY, tau) < threshold and age > timedelta(
        minutes=minutes
    )


def pair_turns(
    records: Iterable[Record], said: Iterable[Record], minutes: float
) -> tuple[TurnPair, ...]:
    """Pair each message with the answer that follows it directly.

    ``said``: everything of these conversations, also what has left since: no answer is given to
    another message than its own. At most ``minutes`` apart. A turn without a partner is a pair by
    itself. Oldest first.
    """
    turns = {record.id: record for record in sorted(records, key=lambda record: record.story_key)}
    answers: dict[str, str] = {}
    for talk in _split_conversations(said):
        for before, after in pairwise(talk):
            near = after.recorded_at - before.recorded_at <= timedelta(minutes=minutes)
            if (
                near
                and before.role != "assistant"
                and after.role == "assistant"
                and {before.id, after.id} <= turns.keys()
            ):
                answers[before.id] = after.id
    given = set(answers.values())
    return tuple(
        TurnPair(None, turn)
        if turn.role == "assistant"
        else TurnPair(turn, turns.get(answers.get(turn.id, "")))
        for turn in turns.values()
        if turn.id not in given
    )


def _split_conversations(said: Iterable[Record]) -> Iterable[list[Record]]:
    """Split into sessions in the order of saying, without tools."""
    sessions: dict[str, list[Record]] = {}
    for record in sorted(said, key=lambda record: record.story_key):
        if record.role not in ("tool", "system"):
            sessions.setdefault(record.session, []).append(record)
    return sessions.values()


def compute_cold_age(tau: float, threshold: float, minutes: float) -> timedelta | None:
    """Return the age beyond which an item is cold; None: never."""
    if threshold <= 0:
        return None
    return max(timedelta(days=-tau * math.log(threshold)), timedelta(minutes=minutes))


def build_exchange(pair: TurnPair) -> Record:
    """Build the exchange: both texts, first time, higher importance, summed use."""
    first = pair.halves[0]
    halves = pair.halves
    user, agent = (half.text if half else "" for half in (pair.user, pair.agent))
    used = [half.last_accessed for half in halves if half.last_accessed]
    return Record(
        id=derive_id_at_time_of(first.id, pair.key),
        scope=first.scope,
        kind=Kind.EXCHANGE,
        text=f"User: {user}\nAgent: {agent}".strip(),
        recorded_at=first.recorded_at,
        tier=Tier.LONGTERM,
        role=first.role,
        speaker=first.speaker,
        session=first.session,
        external_id=pair.key,
        caption=" ".join(half.caption for half in halves if half.caption),
        evidence=tuple(
            Evidence(half.text[:_QUOTED], half.id, half.speaker or half.role) for half in halves
        ),
        provenance=Provenance(first.provenance.channel, reason="what was said and answered"),
        importance=max(half.importance for half in halves),
        confidence=max(half.confidence for half in halves),
        trust=min(half.trust for half in halves),
        access_count=sum(half.access_count for half in halves),
        last_accessed=max(used, default=None),
        summary=" -> ".join(half.summary for half in halves if half.summary),
        meta={"said": [half.recorded_at.isoformat() for half in halves]},
    )


class LongTermMover:
    """Mover of recent items to the long term; interrupted moves repeat safely."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
        group: TopicRefresh,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._settings = settings
        self._refresh_topics = group

    def list_recent(
        self, scope: Scope, before: datetime | None = None, kinds: tuple[Kind, ...] = ITEMS
    ) -> list[Record]:
        """List recent items of exactly this scope, oldest first, said before ``before``."""
        parts: tuple[Condition, ...] = (Condition("tier", "eq", Tier.RECENT.value),)
        if before is not None:
            parts += (Condition("recorded_at", "lt", before),)
        return self.list_all(
            RecordQuery(
                ScopeReach(scope.owner, (scope,)),
                kinds,
                where=Where("and", parts),
                order="oldest",
                limit=_PAGE,
            )
        )

    def list_all(self, query: RecordQuery) -> list[Record]:
        found: list[Record] = []
        while True:
            page = self._store.find(query)
            found += page.records
            if not page.next:
                return found
            query = replace(query, after=page.next)

    def sweep(self, scope: Scope) -> int:
        section = self._settings.tiers
        now = self._clock()
        tau = self._settings.read.recency_days
        near = timedelta(minutes=section.pair_minutes)
        limit = compute_cold_age(tau, section.cold_decay, section.cold_minutes)
        oldest = [] if limit is None else self.list_recent(scope, now - limit + near)
        chosen = {
            record.id
            for record in oldest
            if is_cold(now - record.recorded_at, tau, section.cold_decay, section.cold_minutes)
        }
        return self.move(oldest, chosen) if chosen else 0

    def move(self, records: Sequence[Record], chosen: set[str] | None = None) -> int:
        """Move chosen items (None: all) with their partners; returns how many."""
        turns = [record for record in records if record.kind is Kind.TURN]
        pairs = pair_turns(turns, self._list_said(turns), self._settings.tiers.pair_minutes)
        wanted = [
            pair
            for pair in pairs
            if chosen is None or any(half.id in chosen for half in pair.halves)
        ]
        asked = [
            pair.user
            for pair in wanted
            if pair.agent is None and pair.user and self._is_unanswered(pair.user)
        ]
        wanted = [pair for pair in wanted if pair.user not in asked]
        if asked:
            left = tuple(_make_leave_change(question, "", self._clock()) for question in asked)
            self._store.commit(
                WriteBatch(
                    "engrams", "only asked, and was not answered", self._clock(), changes=left
                )
            )
        notes = [
            record
            for record in records
            if record.kind is not Kind.TURN and (chosen is None or record.id in chosen)
        ]
        for start in range(0, max(len(wanted), 1), _STEP):
            self._move_batch(wanted[start : start + _STEP], notes if start == 0 else [])
        return sum(len(pair.halves) for pair in wanted) + len(notes) + len(asked)

    def _is_unanswered(self, turn: Record) -> bool:
        return self._settings.write.questions == "log" and asks_only(turn)

    def _list_said(self, turns: Sequence[Record]) -> list[Record]:
        """List all turns from the first to the last of these."""
        if not turns:
            return []
        times = [turn.recorded_at for turn in turns]
        scope = turns[0].scope
        where = Where(
            "and",
            (
                Condition("recorded_at", "gte", min(times)),
                Condition("recorded_at", "lte", max(times)),
            ),
        )
        reach = ScopeReach(scope.owner, (scope,))
        every = tuple(Status)
        return self.list_all(
            RecordQuery(reach, (Kind.TURN,), every, where=where, order="oldest", limit=_PAGE)
        )

    def _move_batch(self, some: Sequence[TurnPair], notes: Sequence[Record]) -> None:
        """Store exchanges, regroup topics, then archive the items.

        In this order reads find the items until their exchange can be found.
        """
        if not some and not notes:
            return
        now = self._clock()
        grouped = self._settings.topics.enabled
        scope = (some[0].halves[0] if some else notes[0]).scope
        made = self._make_exchanges(some, scope)
        puts = tuple(put for put, _ in made)
        flips = tuple(
            RecordChange(
                owner=scope.owner,
                id=note.id,
                fields={"tier": Tier.LONGTERM},
                action="migrate",
                expect=note.version,
            )
            for note in notes
        )
        leave = tuple(
            _make_leave_change(half, put.record.id, now) for put, halves in made for half in halves
        )
        jobs = (JobSpec(TOPICS, scope.owner.key),) if grouped else ()
        checks = check_sources(
            scope.owner, [half for _, halves in made for half in halves], self._store
        )
        batch = WriteBatch(
            "engrams", "went to the long term", now, puts=puts, changes=(*checks, *flips), jobs=jobs
        )
        if not grouped:
            self._store.commit(replace(batch, changes=(*checks, *flips, *leave)))
            return
        done = self._store.commit(batch)
        self._refresh_topics(scope)
        if leave:
            # Another process may have stored the same exchange: refer to that one.
            left = [
                _make_leave_change(half, done.existing.get(put.record.id, put.record.id), now)
                for put, halves in made
                for half in halves
            ]
            self._store.commit(
                WriteBatch("engrams", "went to the long term", now, changes=tuple(left))
            )

    def _make_exchanges(
        self, some: Sequence[TurnPair], scope: Scope
    ) -> list[tuple[NewRecord, tuple[Record, ...]]]:
        """Build exchanges with their items; those of an interrupted move are reused."""
        halves = {half.id: half for pair in some for half in pair.halves}
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)), (Kind.EXCHANGE,), sources=tuple(halves), limit=_PAGE
        )
        known = (
            [
                record
                for record in self.list_all(query)
                if record.external_id.startswith("exchange:")
            ]
            if halves
            else []
        )
        made: list[tuple[NewRecord, tuple[Record, ...]]] = []
        for record in known:
            mine = tuple(
                halves.pop(quoted.source) for quoted in record.evidence if quoted.source in halves
            )
            made.append((NewRecord(record), mine))
        rest = [
            TurnPair(
                *(half if half and half.id in halves else None for half in (pair.user, pair.agent))
            )
            for pair in some
        ]
        fresh = [pair for pair in rest if pair.halves]
        records = [build_exchange(pair) for pair in fresh]
        vectors = self._embed(records)
        return made + [
            (NewRecord(r, vector=vectors.get(r.id)), pair.halves)
            for r, pair in zip(records, fresh, strict=True)
        ]

    def _embed(self, records: Sequence[Record]) -> Mapping[str, Vector]:
        card = self._embedder.card
        if not card.dimension or not records:
            return {}
        rows: Floats = self._embedder.embed([strip_code(record.search_text) for record in records])
        return {
            record.id: Vector(record.id, card.id, len(row), row.tobytes())
            for record, row in zip(records, rows, strict=True)
        }


def _make_leave_change(half: Record, by: str, at: datetime) -> RecordChange:
    fields: dict[str, Any] = {
        "status": Status.ARCHIVED,
        "tier": Tier.LONGTERM,
        "superseded_by": by,
        "retired_at": at,
    }
    return RecordChange(
        owner=half.scope.owner, id=half.id, fields=fields, action="migrate", expect=half.version
    )
