"""Move of recent items to the long term: a question and its answer become one exchange.

The order of writes keeps every item readable: the exchange is stored first, then its topics are
refreshed, and only then the turns are archived. A move that is interrupted in between is completed
by the next one, and makes no exchange twice. docs/concepts/tiers.md tells it from outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engrams.core import ENDING, STATEMENT_KINDS, Edge, Kind, Record, Scope, Status, Tier, Vector
from engrams.core.records import asks_only
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
from engrams.read.paging import iter_records
from engrams.settings import Settings
from engrams.text.prose import strip_code
from engrams.upkeep.tiers.exchanges import TurnPair, build_exchange, pair_turns
from engrams.write.source_checks import check_sources

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

ITEMS = (Kind.TURN, Kind.NOTE, Kind.EPISODE, *STATEMENT_KINDS)
"""Kinds of the recent tier."""

ACTOR = "engrams"
"""Actor of these changes, in the history of memories."""

TopicRefresh = Callable[[Scope], object]
"""Refreshes a scope's topics, so that topic search finds new exchanges."""

_PAGE = 500
_PAIRS_PER_COMMIT = 100
_DAY_SECONDS = 86_400.0
_MOVED = "went to the long term"
"""Reason of these writes, in the history."""


@dataclass(frozen=True, slots=True)
class _PlannedExchange:
    """Exchange to store, with the turns that it takes the place of."""

    put: NewRecord
    halves: tuple[Record, ...]


def is_cold(age: timedelta, tau: float, threshold: float, minutes: float) -> bool:
    """Test for ``exp(-age / tau) < threshold`` and an age above ``minutes``.

    ``tau`` in days (``read.recency_days``), ``threshold`` 0 to 1 (``tiers.cold_decay``); at either
    edge the item stays.
    """
    decay = exponential_decay(age.total_seconds() / _DAY_SECONDS, tau)
    return decay < threshold and age > timedelta(minutes=minutes)


def compute_cold_age(tau: float, threshold: float, minutes: float) -> timedelta | None:
    """Return the age beyond which an item is cold: ``is_cold`` solved for the age; None: never."""
    if threshold <= 0:
        return None
    return max(timedelta(days=-tau * math.log(threshold)), timedelta(minutes=minutes))


class LongTermMover:
    """Mover of recent items to the long term; interrupted moves repeat safely."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        clock: Clock,
        settings: Settings,
        refresh_topics: TopicRefresh,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock
        self._settings = settings
        self._refresh_topics = refresh_topics

    def list_recent(
        self, scope: Scope, before: datetime | None = None, kinds: tuple[Kind, ...] = ITEMS
    ) -> list[Record]:
        """List recent items of exactly this scope, oldest first, said before ``before``."""
        conditions = [Condition("tier", "eq", Tier.RECENT.value)]
        if before is not None:
            conditions.append(Condition("recorded_at", "lt", before))
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)),
            kinds,
            where=Where("and", tuple(conditions)),
            order="oldest",
            limit=_PAGE,
        )
        return list(iter_records(self._store, query))

    def sweep(self, scope: Scope) -> int:
        """Move the items of a scope that are cold; returns how many."""
        section = self._settings.tiers
        now = self._clock()
        tau = self._settings.read.recency_days
        cold_age = compute_cold_age(tau, section.cold_decay, section.cold_minutes)
        if cold_age is None:
            return 0
        # Younger by the time in which a partner may have been said: a pair moves together.
        oldest = self.list_recent(scope, now - cold_age + timedelta(minutes=section.pair_minutes))
        cold_ids = {
            record.id
            for record in oldest
            if is_cold(now - record.recorded_at, tau, section.cold_decay, section.cold_minutes)
        }
        return self.move(oldest, cold_ids) if cold_ids else 0

    def move(self, records: Sequence[Record], chosen_ids: set[str] | None = None) -> int:
        """Move chosen items (None: all) with their partners; returns how many.

        A question that nobody answered says nothing: it is archived instead, where
        ``write.questions`` is ``log``.
        """
        turns = [record for record in records if record.kind is Kind.TURN]
        conversation = self._list_conversation(turns)
        chosen_pairs = [
            pair
            for pair in pair_turns(turns, conversation, self._settings.tiers.pair_minutes)
            if chosen_ids is None or any(half.id in chosen_ids for half in pair.halves)
        ]
        questions = [
            pair.user
            for pair in chosen_pairs
            if pair.agent is None and pair.user and self._is_logged_question(pair.user)
        ]
        self._archive_questions(questions)
        pairs = [pair for pair in chosen_pairs if pair.user not in questions]
        notes = [
            record
            for record in records
            if record.kind is not Kind.TURN and (chosen_ids is None or record.id in chosen_ids)
        ]
        for start in range(0, max(len(pairs), 1), _PAIRS_PER_COMMIT):
            batch_pairs = pairs[start : start + _PAIRS_PER_COMMIT]
            self._move_batch(batch_pairs, notes if start == 0 else [])
        return sum(len(pair.halves) for pair in pairs) + len(notes) + len(questions)

    def _is_logged_question(self, turn: Record) -> bool:
        return self._settings.write.questions == "log" and asks_only(turn)

    def _archive_questions(self, questions: Sequence[Record]) -> None:
        if not questions:
            return
        now = self._clock()
        changes = tuple(_make_leave_change(question, "", now) for question in questions)
        self._store.commit(
            WriteBatch(ACTOR, "only asked, and was not answered", now, changes=changes)
        )

    def _list_conversation(self, turns: Sequence[Record]) -> Sequence[Record]:
        """List all turns from the first to the last of these, whatever became of them."""
        if not turns:
            return []
        times = [turn.recorded_at for turn in turns]
        scope = turns[0].scope
        between = (
            Condition("recorded_at", "gte", min(times)),
            Condition("recorded_at", "lte", max(times)),
        )
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)),
            (Kind.TURN,),
            tuple(Status),
            where=Where("and", between),
            order="oldest",
            limit=_PAGE,
        )
        return list(iter_records(self._store, query))

    def _move_batch(self, pairs: Sequence[TurnPair], notes: Sequence[Record]) -> None:
        """Store exchanges, refresh topics, then archive the turns.

        In this order reads find the turns until their exchange can be found.
        """
        if not pairs and not notes:
            return
        now = self._clock()
        scope = (pairs[0].halves[0] if pairs else notes[0]).scope
        exchanges = self._plan_exchanges(pairs, scope)
        sources = [half for exchange in exchanges for half in exchange.halves]
        checks = check_sources(scope.owner, sources, self._store)
        flips = [_make_flip_change(note) for note in notes]
        batch = WriteBatch(
            ACTOR,
            _MOVED,
            now,
            puts=tuple(exchange.put for exchange in exchanges),
            changes=(*checks, *flips),
        )
        if not self._settings.topics.enabled:
            # Without topics nothing has to come between: one transaction does it all.
            leaves = _make_leave_changes(exchanges, {}, now)
            endings = self._carry_endings(exchanges, {}, scope)
            self._store.commit(
                replace(batch, changes=(*batch.changes, *leaves), edges=tuple(endings))
            )
            return
        topic_job = JobSpec(TOPICS, scope.owner.key)
        result = self._store.commit(replace(batch, jobs=(topic_job,)))
        self._refresh_topics(scope)
        # Another process may have stored the same exchange: refer to that one.
        leaves = _make_leave_changes(exchanges, result.existing, now)
        if leaves:
            endings = self._carry_endings(exchanges, result.existing, scope)
            self._store.commit(WriteBatch(ACTOR, _MOVED, now, changes=leaves, edges=tuple(endings)))

    def _carry_endings(
        self, exchanges: Sequence[_PlannedExchange], existing: Mapping[str, str], scope: Scope
    ) -> Iterator[Edge]:
        """Link exchanges with what their turns end, or may, and with what ends these."""
        exchange_ids = _map_turns(exchanges, existing)
        for edge in self._store.edges(scope.owner, list(exchange_ids), ENDING):
            source = exchange_ids.get(edge.source, edge.source)
            target = exchange_ids.get(edge.target, edge.target)
            if source != target:
                yield replace(edge, source=source, target=target)

    def _plan_exchanges(self, pairs: Sequence[TurnPair], scope: Scope) -> list[_PlannedExchange]:
        """Build exchanges with their turns; those of an interrupted move are reused."""
        halves = {half.id: half for pair in pairs for half in pair.halves}
        exchanges = []
        stored_ids: set[str] = set()
        for record in self._list_stored_exchanges(scope, tuple(halves)):
            source_ids = [
                quote.source
                for quote in record.evidence
                if quote.source in halves and quote.source not in stored_ids
            ]
            stored_ids.update(source_ids)
            exchanges.append(
                _PlannedExchange(NewRecord(record), tuple(halves[id] for id in source_ids))
            )
        unstored = [pair.without(stored_ids) for pair in pairs]
        new_pairs = [pair for pair in unstored if pair.halves]
        new_records = [build_exchange(pair) for pair in new_pairs]
        vectors = self._embed(new_records)
        for record, pair in zip(new_records, new_pairs, strict=True):
            put = NewRecord(record, vector=vectors.get(record.id))
            exchanges.append(_PlannedExchange(put, pair.halves))
        return exchanges

    def _list_stored_exchanges(self, scope: Scope, source_ids: tuple[str, ...]) -> Sequence[Record]:
        """List the exchanges that an interrupted move made of these turns."""
        if not source_ids:
            return []
        query = RecordQuery(
            ScopeReach(scope.owner, (scope,)), (Kind.EXCHANGE,), sources=source_ids, limit=_PAGE
        )
        return [
            record
            for record in iter_records(self._store, query)
            if record.external_id.startswith("exchange:")
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


def _make_flip_change(note: Record) -> RecordChange:
    """Make the change that moves a note, which stays a record of its own."""
    return RecordChange(
        owner=note.scope.owner,
        id=note.id,
        fields={"tier": Tier.LONGTERM},
        action="migrate",
        expect=note.version,
    )


def _make_leave_changes(
    exchanges: Sequence[_PlannedExchange], existing: Mapping[str, str], at: datetime
) -> tuple[RecordChange, ...]:
    """Make the changes that archive the turns of stored exchanges.

    ``existing``: by id, the record that was there already in its place.
    """
    exchange_ids = _map_turns(exchanges, existing)
    return tuple(
        _make_leave_change(half, exchange_ids[half.id], at)
        for exchange in exchanges
        for half in exchange.halves
    )


def _map_turns(
    exchanges: Sequence[_PlannedExchange], existing: Mapping[str, str]
) -> dict[str, str]:
    """Map the turns to their stored exchanges, by id; ``existing``: as in ``_make_leave_changes``."""
    return {
        half.id: existing.get(exchange.put.record.id, exchange.put.record.id)
        for exchange in exchanges
        for half in exchange.halves
    }


def _make_leave_change(turn: Record, exchange_id: str, at: datetime) -> RecordChange:
    fields: dict[str, Any] = {
        "status": Status.ARCHIVED,
        "tier": Tier.LONGTERM,
        "superseded_by": exchange_id,
        "retired_at": at,
    }
    return RecordChange(
        owner=turn.scope.owner, id=turn.id, fields=fields, action="migrate", expect=turn.version
    )
