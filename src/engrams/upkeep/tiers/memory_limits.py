"""Limits on memories by kind; excess is archived or moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from engrams.core import EVICTED, Kind, Record, Scope, Status
from engrams.forget.forgetting import build_forget
from engrams.ports import Clock, RecordChange, RecordQuery, ScopeReach, Store, WriteBatch
from engrams.read.decay import age_days, half_life_decay
from engrams.settings import Settings
from engrams.upkeep.tiers.long_term_move import LongTermMover
from engrams.write.manual_edits import EVICTED, build_forget

FACTS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)
RULES = (Kind.RULE, Kind.PROCEDURE, Kind.NEGATIVE)
ENTRIES = (Kind.TURN, Kind.EXCHANGE, Kind.NOTE, *FACTS, *RULES)
"""Kinds that count against each cap; summaries and episodes count against none."""

_PAGE = 500
_CONFIDENCE = 0.65
_RECENCY = 0.25
_USE = 0.10
_HALF_LIFE = 90.0
_USED_HALF_LIFE = 30.0
_RESERVE = 0.1
_LEAST_RESERVE = 10
_DAY = 86_400.0


def score_worth(record: Record, now: datetime) -> float:
    """Score a fact's worth by confidence, age and last use.

    ``0.65 confidence + 0.25 * 2^(-age / 90 d) + 0.10 * 2^(-since last use / 30 d)``; never used: 0
    for use.
    """
    used = (
        half_life_decay((now - record.last_accessed).total_seconds() / _DAY, _USED_HALF_LIFE)
        if record.last_accessed
        else 0.0
    )
    return (
        _CONFIDENCE * record.confidence
        + _RECENCY * half_life_decay(age_days(record, now), _HALF_LIFE)
        + _USE * used
    )


def select_excess_facts(
    records: Sequence[Record], cap: int, by: Literal["confidence", "hybrid"], now: datetime
) -> tuple[Record, ...]:
    """Select the facts beyond ``cap``: least confident first, oldest of equals first.

    ``hybrid``: lowest worth first; but a tenth of the cap, ten at least, is reserved for
    corrections.
    """
    number = len(records) - cap
    if number <= 0:
        return ()
    if by == "confidence":
        return tuple(
            sorted(records, key=lambda record: (record.confidence, record.story_key))[:number]
        )
    ranked = sorted(records, key=lambda record: (score_worth(record, now), record.story_key))
    room = min(cap, max(_LEAST_RESERVE, int(cap * _RESERVE)))
    kept = (
        {record.id for record in [one for one in ranked if one.kind is Kind.CORRECTION][-room:]}
        if room
        else set()
    )
    return tuple([record for record in ranked if record.id not in kept][:number])


def select_oldest(records: Sequence[Record], cap: int) -> tuple[Record, ...]:
    """Select the records beyond ``cap``, oldest first."""
    return tuple(sorted(records, key=lambda record: record.story_key)[: max(len(records) - cap, 0)])


def select_excess_recent(records: Sequence[Record], cap: int, promote: float) -> tuple[Record, ...]:
    """Select recent items beyond ``cap``: unimportant first, then oldest."""
    ranked = sorted(records, key=lambda record: (record.importance >= promote, record.story_key))
    return tuple(ranked[: max(len(records) - cap, 0)])


class MemoryCapEnforcer:
    def __init__(
        self, store: Store, clock: Clock, settings: Settings, moves: LongTermMover
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._mover = moves

    def enforce(self, scope: Scope) -> dict[str, int]:
        """Enforce every cap of exactly this scope; returns removals by cap."""
        caps = self._settings.caps
        now = self._clock()
        done = {"recent": self._enforce_recent(scope), "facts": 0, "rules": 0, "entries": 0}
        if caps.facts:
            gone = select_excess_facts(
                self._list_oldest(scope, FACTS), caps.facts, caps.eviction, now
            )
            done["facts"] = self._archive(scope, gone, "over the cap of facts")
        if caps.rules:
            done["rules"] = self._archive(
                scope,
                select_oldest(self._list_oldest(scope, RULES), caps.rules),
                "over the cap of rules",
            )
        if caps.entries > 0:
            gone = select_oldest(self._list_oldest(scope, ENTRIES), caps.entries)
            if gone:
                marked = [replace(record, meta={**record.meta, EVICTED: True}) for record in gone]
                self._store.commit(build_forget(marked, now, "over the cap of a conversation"))
            done["entries"] = len(gone)
        return done

    def _enforce_recent(self, scope: Scope) -> int:
        """Move important excess items to the long term, and archive the rest."""
        section = self._settings.tiers
        if not section.enabled or not section.recent_size:
            return 0
        items = self._mover.list_recent(scope)
        gone = select_excess_recent(items, section.recent_size, section.promote_importance)
        small = [
            record
            for record in gone
            if record.importance < section.promote_importance and record.kind is Kind.TURN
        ]
        dropped = {record.id for record in small}
        self._change(
            scope,
            small,
            {"status": Status.ARCHIVED, "retired_at": self._clock()},
            "discard",
            "over the cap of recent items",
        )
        chosen = {record.id for record in gone} - dropped
        moved = (
            self._mover.move([record for record in items if record.id not in dropped], chosen)
            if chosen
            else 0
        )
        return moved + len(small)

    def _archive(self, scope: Scope, gone: Sequence[Record], why: str) -> int:
        fields = {
            "status": Status.ARCHIVED,
            "superseded_by": "eviction",
            "retired_at": self._clock(),
        }
        return self._change(scope, gone, fields, "evict", why)

    def _change(
        self, scope: Scope, gone: Sequence[Record], fields: Mapping[str, Any], action: str, why: str
    ) -> int:
        changes = tuple(
            RecordChange(
                owner=scope.owner, id=record.id, fields=fields, action=action, expect=record.version
            )
            for record in gone
        )
        if changes:
            self._store.commit(WriteBatch("engrams", why, self._clock(), changes=changes))
        return len(changes)

    def _list_oldest(self, scope: Scope, kinds: tuple[Kind, ...]) -> list[Record]:
        return self._mover.list_all(
            RecordQuery(ScopeReach(scope.owner, (scope,)), kinds, order="oldest", limit=_PAGE)
        )
