"""Names of an owner's memories, and the entities made of them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import field, replace
from threading import Lock

from engrams.core import UNSEARCHED, EntityNet, Record, Scope, Status
from engrams.frozen_data import dataclass
from engrams.ports import RecordStore, ScopeReach
from engrams.read.corrected_words import mask_corrected
from engrams.read.entities.entity_net import build_net
from engrams.read.entities.name_finder import MemoryNames, read_names
from engrams.text.text_caches import register_cache

_OWNERS = 8
"""Owners whose names are held."""
_MOST = 50_000
"""Memories of one owner that are read: those changed last."""
_PAGE = 1_000
_NETS = 16


@dataclass(slots=True, eq=False)
class OwnerNames:
    """Names of one owner's memories, up to the change ``last``."""

    last: int = 0
    names: dict[str, tuple[Scope, MemoryNames]] = field(default_factory=dict)
    nets: dict[ScopeReach, EntityNet] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


class EntityIndex:
    """Entities of owners, derived from their memories on demand.

    Nothing of them is stored: what was corrected, forgotten or erased is gone from here at the next
    look, and at once from the process that erased it. A look reads what changed since the last one.
    """

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._lock = Lock()
        self._owners: OrderedDict[str, OwnerNames] = OrderedDict()
        register_cache(self)

    def find(self, reach: ScopeReach) -> EntityNet:
        """Build the entities that the memories in reach mention."""
        held = self._hold(reach.owner)
        with held.lock:
            self._catch_up(reach.owner, held)
            if reach not in held.nets:
                if len(held.nets) >= _NETS:
                    held.nets.clear()
                seen = {
                    id: names
                    for id, (scope, names) in held.names.items()
                    if reach.tree or scope in reach.scopes
                }
                held.nets[reach] = build_net(seen)
            return held.nets[reach]

    def cache_clear(self) -> None:
        """Drop all names, after a purge."""
        with self._lock:
            self._owners.clear()

    def _hold(self, owner: Scope) -> OwnerNames:
        with self._lock:
            held = self._owners.setdefault(owner.key, OwnerNames())
            self._owners.move_to_end(owner.key)
            while len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)
            return held

    def _catch_up(self, owner: Scope, held: OwnerNames) -> None:
        """Read the memories that changed since the last look."""
        start = self._store.find_change(owner, _MOST)
        if held.last < start or held.last > self._store.find_change(owner, 0):
            # A first look, one after very many changes, or a store that was put back to an earlier
            # state.
            held.names.clear()
            held.nets.clear()
            held.last = start
        while True:
            changed = self._store.changes(owner, held.last, _PAGE)
            for record in changed.records:
                self._put(held, record)
            if changed.records:
                held.nets.clear()
            held.last = changed.last
            if len(changed.records) < _PAGE:
                return

    def _put(self, held: OwnerNames, record: Record) -> None:
        held.names.pop(record.id, None)
        if len(held.names) >= _MOST:
            del held.names[next(iter(held.names))]
        if record.status is Status.ACTIVE and not record.meta.get(UNSEARCHED):
            held.names[record.id] = (record.scope, read_names(mask_corrected(record)))
        elif record.status is Status.SUPERSEDED and record.predicate == "is_named":
            # A name that somebody had before is still theirs.
            held.names[record.id] = (
                record.scope,
                replace(MemoryNames(()), calls=read_names(mask_corrected(record)).calls),
            )
