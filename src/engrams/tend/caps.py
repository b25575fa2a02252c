"""How much there may be of each sort, and what goes when there is more. What goes is put away, never erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from engrams.ports import Batch, Change, Clock, Query, Reach, Store
from engrams.read.recency import age, halved
from engrams.settings import Settings
from engrams.tend.sweep import Moves
from engrams.types import Kind, Record, Scope, Status
from engrams.write.edit import forget

FACTS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)
RULES = (Kind.RULE, Kind.PROCEDURE, Kind.NEGATIVE)
ENTRIES = (Kind.TURN, Kind.EXCHANGE, Kind.NOTE, *FACTS, *RULES)
"""What counts against each cap; summaries and episodes count against none."""

_PAGE = 500
_CONFIDENCE, _RECENCY, _USE = 0.65, 0.25, 0.10
_HALF_LIFE, _USED_HALF_LIFE = 90.0, 30.0
_RESERVE, _LEAST_RESERVE = 0.1, 10
_DAY = 86_400.0


def worth(record: Record, now: datetime) -> float:
    """``0.65 confidence + 0.25 * 2^(-age / 90 d) + 0.10 * 2^(-since last use / 30 d)``; never used: 0 for use (001)."""
    used = halved((now - record.last_accessed).total_seconds() / _DAY, _USED_HALF_LIFE) if record.last_accessed else 0.0
    return _CONFIDENCE * record.confidence + _RECENCY * halved(age(record, now), _HALF_LIFE) + _USE * used


def over_facts(records: Sequence[Record], cap: int, by: Literal["confidence", "hybrid"], now: datetime) -> tuple[Record, ...]:
    """The facts beyond ``cap``: the least sure first, the oldest of equals first.

    ``hybrid``: the least worth first; but a tenth of the cap, ten at least, is room for corrections alone (001).
    """
    number = len(records) - cap
    if number <= 0:
        return ()
    if by == "confidence":
        return tuple(sorted(records, key=lambda record: (record.confidence, record.recorded_at, record.id))[:number])
    ranked = sorted(records, key=lambda record: (worth(record, now), record.recorded_at, record.id))
    room = min(cap, max(_LEAST_RESERVE, int(cap * _RESERVE)))
    kept = {record.id for record in [one for one in ranked if one.kind is Kind.CORRECTION][-room:]} if room else set()
    return tuple([record for record in ranked if record.id not in kept][:number])


def oldest(records: Sequence[Record], cap: int) -> tuple[Record, ...]:
    """Those beyond ``cap``, the oldest first."""
    return tuple(sorted(records, key=lambda record: (record.recorded_at, record.id))[: max(len(records) - cap, 0)])


def over_recent(records: Sequence[Record], cap: int, promote: float) -> tuple[Record, ...]:
    """Recent items beyond ``cap``: unimportant ones first, the oldest of each sort first (000)."""
    ranked = sorted(records, key=lambda record: (record.importance >= promote, record.recorded_at, record.id))
    return tuple(ranked[: max(len(records) - cap, 0)])


class Caps:
    """Enforces the caps of one scope."""

    def __init__(self, store: Store, clock: Clock, settings: Settings, moves: Moves) -> None:
        self._store, self._clock, self._settings, self._moves = store, clock, settings, moves

    def enforce(self, scope: Scope) -> dict[str, int]:
        """Bring every sort of exactly this scope under its cap; how many went, by cap."""
        caps, now = self._settings.caps, self._clock()
        done = {"recent": self._recent(scope), "facts": 0, "rules": 0, "entries": 0}
        if caps.facts:
            gone = over_facts(self._listed(scope, FACTS), caps.facts, caps.evict, now)
            done["facts"] = self._archive(scope, gone, "over the cap of facts")
        if caps.rules:
            done["rules"] = self._archive(scope, oldest(self._listed(scope, RULES), caps.rules), "over the cap of rules")
        if caps.entries > 0:
            gone = oldest(self._listed(scope, ENTRIES), caps.entries)
            if gone:
                self._store.commit(forget(gone, now, "over the cap of a conversation"))
            done["entries"] = len(gone)
        return done

    def _recent(self, scope: Scope) -> int:
        """Over the cap of recent items, what matters goes to the long term, and what does not is put away."""
        section = self._settings.tiers
        if not section.on or not section.recent:
            return 0
        items = self._moves.recent(scope)
        gone = over_recent(items, section.recent, section.promote)
        small = [record for record in gone if record.importance < section.promote and record.kind is Kind.TURN]
        dropped = {record.id for record in small}
        self._change(scope, small, {"status": Status.ARCHIVED, "retired_at": self._clock()}, "discard", "over the cap of recent items")
        chosen = {record.id for record in gone} - dropped
        moved = self._moves.move([record for record in items if record.id not in dropped], chosen) if chosen else 0
        return moved + len(small)

    def _archive(self, scope: Scope, gone: Sequence[Record], why: str) -> int:
        fields = {"status": Status.ARCHIVED, "superseded_by": "eviction", "retired_at": self._clock()}
        return self._change(scope, gone, fields, "evict", why)

    def _change(self, scope: Scope, gone: Sequence[Record], fields: Mapping[str, Any], action: str, why: str) -> int:
        changes = tuple(Change(scope.owner, record.id, fields, action, record.version) for record in gone)
        if changes:
            self._store.commit(Batch("engrams", why, self._clock(), changes=changes))
        return len(changes)

    def _listed(self, scope: Scope, kinds: tuple[Kind, ...]) -> list[Record]:
        return self._moves.listed(Query(Reach(scope.owner, (scope,)), kinds, order="oldest", limit=_PAGE))
