"""Caps on the memories of a scope: what is over a cap is archived, moved or forgotten.

Which records go is chosen by pure functions; ``MemoryCapEnforcer`` carries it out. Nothing is
erased. docs/concepts/tiers.md ("Caps") tells it from outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from engrams.core import EVICTED, RULE_KINDS, Kind, Record, Scope, Status
from engrams.forget.memory_forgetter import build_tombstone_batch
from engrams.ports import Clock, RecordChange, RecordQuery, ScopeReach, Store, WriteBatch
from engrams.read.decay import age_days, half_life_decay
from engrams.read.paging import iter_records
from engrams.settings import Settings
from engrams.upkeep.tiers.long_term_move import LongTermMover

FACTS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)
ENTRIES = (Kind.TURN, Kind.EXCHANGE, Kind.NOTE, *FACTS, *RULE_KINDS)
"""Kinds that count against each cap; summaries and episodes count against none."""

_PAGE = 500
_CONFIDENCE_SHARE = 0.65
_RECENCY_SHARE = 0.25
_USE_SHARE = 0.10
"""Shares of a fact's worth, which add up to 1."""
_RECENCY_HALF_LIFE = 90.0
_USE_HALF_LIFE = 30.0
"""Days in which recency and use lose half of their part."""
_CORRECTION_RESERVE = 0.1
"""Part of the cap that is kept for corrections."""
_MIN_CORRECTION_RESERVE = 10
"""Corrections that are kept at least."""
_DAY_SECONDS = 86_400.0
_OVER_FACTS = "over the cap of facts"


def score_worth(record: Record, now: datetime) -> float:
    """Score a fact's worth by confidence, age and last use, 0 to 1 (``caps.eviction = "hybrid"``).

    ``0.65 confidence + 0.25 * 2^(-age / 90 d) + 0.10 * 2^(-since last use / 30 d)``; never used: 0
    for use.
    """
    use = 0.0
    if record.last_accessed:
        unused_days = (now - record.last_accessed).total_seconds() / _DAY_SECONDS
        use = half_life_decay(unused_days, _USE_HALF_LIFE)
    recency = half_life_decay(age_days(record, now), _RECENCY_HALF_LIFE)
    return _CONFIDENCE_SHARE * record.confidence + _RECENCY_SHARE * recency + _USE_SHARE * use


def select_excess_facts(
    records: Sequence[Record], cap: int, order: Literal["confidence", "hybrid"], now: datetime
) -> tuple[Record, ...]:
    """Select the facts beyond ``cap``: least confident first, oldest of equals first.

    ``hybrid``: lowest worth first; but a tenth of the cap, ten at least, is reserved for
    corrections.
    """
    excess = len(records) - cap
    if excess <= 0:
        return ()
    if order == "confidence":
        by_confidence = sorted(records, key=lambda record: (record.confidence, record.story_key))
        return tuple(by_confidence[:excess])
    by_worth = sorted(records, key=lambda record: (score_worth(record, now), record.story_key))
    reserve = min(cap, max(_MIN_CORRECTION_RESERVE, int(cap * _CORRECTION_RESERVE)))
    corrections = [record for record in by_worth if record.kind is Kind.CORRECTION]
    # A reserve of 0 would make the slice below keep them all.
    reserved_ids = {record.id for record in corrections[-reserve:]} if reserve else set()
    return tuple([record for record in by_worth if record.id not in reserved_ids][:excess])


def select_oldest(records: Sequence[Record], cap: int) -> tuple[Record, ...]:
    """Select the records beyond ``cap``, oldest first."""
    return tuple(sorted(records, key=lambda record: record.story_key)[: max(len(records) - cap, 0)])


def select_excess_recent(records: Sequence[Record], cap: int, promote: float) -> tuple[Record, ...]:
    """Select recent items beyond ``cap``: unimportant first, then oldest."""
    ranked = sorted(records, key=lambda record: (record.importance >= promote, record.story_key))
    return tuple(ranked[: max(len(records) - cap, 0)])


def _list_source_ids(statements: Sequence[Record]) -> set[str]:
    """List the ids of the records that statements were learned from."""
    return {quote.source for statement in statements for quote in statement.evidence}


class MemoryCapEnforcer:
    """Holds the memories of a scope to their caps."""

    def __init__(
        self, store: Store, clock: Clock, settings: Settings, mover: LongTermMover
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._mover = mover

    def enforce(self, scope: Scope) -> dict[str, int]:
        """Enforce every cap of exactly this scope; returns removals by cap."""
        return {
            "recent": self._enforce_recent(scope),
            "facts": self._enforce_facts(scope),
            "rules": self._enforce_rules(scope),
            "entries": self._enforce_entries(scope),
        }

    def _enforce_facts(self, scope: Scope) -> int:
        caps = self._settings.caps
        if not caps.facts:
            return 0
        facts = self._list_oldest(scope, FACTS)
        if not self._settings.read.profile_notes:
            excess = select_excess_facts(facts, caps.facts, caps.eviction, self._clock())
            return self._evict(scope, excess, _OVER_FACTS)
        # Where notes stand in the profile as facts do, they count as facts. A note that something
        # was learned from stands there by its statements, so it counts and goes with them: alone
        # it would say for good what its statements can no longer end.
        notes = self._list_oldest(scope, (Kind.NOTE,))
        statements = (*facts, *self._list_oldest(scope, RULE_KINDS))
        stated_ids = _list_source_ids(statements)
        bare_notes = [note for note in notes if note.id not in stated_ids]
        excess = select_excess_facts(
            (*facts, *bare_notes), caps.facts, caps.eviction, self._clock()
        )
        excess_ids = {record.id for record in excess}
        kept_ids = _list_source_ids(
            [statement for statement in statements if statement.id not in excess_ids]
        )
        spent_notes = [note for note in notes if note.id in stated_ids - kept_ids]
        self._evict(scope, (*excess, *spent_notes), _OVER_FACTS)
        return len(excess)

    def _enforce_rules(self, scope: Scope) -> int:
        caps = self._settings.caps
        if not caps.rules:
            return 0
        excess = select_oldest(self._list_oldest(scope, RULE_KINDS), caps.rules)
        return self._evict(scope, excess, "over the cap of rules")

    def _enforce_entries(self, scope: Scope) -> int:
        """Forget the oldest entries of a conversation; their mark says that a cap did it."""
        caps = self._settings.caps
        if caps.entries <= 0:
            return 0
        excess = select_oldest(self._list_oldest(scope, ENTRIES), caps.entries)
        if excess:
            marked = [replace(record, meta={**record.meta, EVICTED: True}) for record in excess]
            self._store.commit(
                build_tombstone_batch(marked, self._clock(), "over the cap of a conversation")
            )
        return len(excess)

    def _enforce_recent(self, scope: Scope) -> int:
        """Move important excess items to the long term, and archive unimportant turns."""
        section = self._settings.tiers
        if not section.enabled or not section.recent_size:
            return 0
        items = self._mover.list_recent(scope)
        excess = select_excess_recent(items, section.recent_size, section.promote_importance)
        unimportant = [
            record
            for record in excess
            if record.importance < section.promote_importance and record.kind is Kind.TURN
        ]
        fields = {"status": Status.ARCHIVED, "retired_at": self._clock()}
        self._change(scope, unimportant, fields, "discard", "over the cap of recent items")
        archived_ids = {record.id for record in unimportant}
        important_ids = {record.id for record in excess} - archived_ids
        moved = 0
        if important_ids:
            remaining = [record for record in items if record.id not in archived_ids]
            moved = self._mover.move(remaining, important_ids)
        return moved + len(unimportant)

    def _evict(self, scope: Scope, records: Sequence[Record], reason: str) -> int:
        """Archive records, marked as evicted so that files and restores tell them apart."""
        fields = {
            "status": Status.ARCHIVED,
            "superseded_by": "eviction",
            "retired_at": self._clock(),
        }
        return self._change(scope, records, fields, "evict", reason)

    def _change(
        self,
        scope: Scope,
        records: Sequence[Record],
        fields: Mapping[str, Any],
        action: str,
        reason: str,
    ) -> int:
        """Commit the same change of several records; returns how many."""
        changes = tuple(
            RecordChange(
                owner=scope.owner, id=record.id, fields=fields, action=action, expect=record.version
            )
            for record in records
        )
        if changes:
            self._store.commit(WriteBatch("engrams", reason, self._clock(), changes=changes))
        return len(changes)

    def _list_oldest(self, scope: Scope, kinds: tuple[Kind, ...]) -> Sequence[Record]:
        """List active memories of exactly this scope, oldest first."""
        query = RecordQuery(ScopeReach(scope.owner, (scope,)), kinds, order="oldest", limit=_PAGE)
        return list(iter_records(self._store, query))
