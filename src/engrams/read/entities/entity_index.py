"""Names of owners' memories, and the entities made of them on demand.

``EntityIndex.find`` is the way in.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock

from engrams.core import UNSEARCHED, EntityNet, Record, Scope, Status
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
"""Nets of one owner that are held."""


@dataclass(slots=True, eq=False)
class OwnerNames:
    """Names of one owner's memories, and the nets made of them."""

    last_change: int = 0
    """Number of the last change that they know."""
    names: dict[str, tuple[Scope, MemoryNames]] = field(default_factory=dict)
    """Scope and names of memories, by id; those changed last stand last."""
    nets: dict[ScopeReach, EntityNet] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def put(self, record: Record) -> None:
        """Take in a record as it is now, or leave it out where it is shown no more."""
        self.names.pop(record.id, None)
        if len(self.names) >= _MOST:
            del self.names[next(iter(self.names))]
        if record.status is Status.ACTIVE and not record.meta.get(UNSEARCHED):
            self.names[record.id] = (record.scope, read_names(mask_corrected(record)))
        elif record.status is Status.SUPERSEDED and record.predicate == "is_named":
            # A name that somebody had before is still theirs.
            own_names = read_names(mask_corrected(record)).own_names
            self.names[record.id] = (record.scope, replace(MemoryNames(()), own_names=own_names))


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
        owner_names = self._get_names(reach.owner)
        with owner_names.lock:
            self._catch_up(reach.owner, owner_names)
            if reach not in owner_names.nets:
                if len(owner_names.nets) >= _NETS:
                    owner_names.nets.clear()
                visible = {
                    record_id: names
                    for record_id, (scope, names) in owner_names.names.items()
                    if reach.tree or scope in reach.scopes
                }
                owner_names.nets[reach] = build_net(visible)
            return owner_names.nets[reach]

    def cache_clear(self) -> None:
        """Drop all names, after a purge."""
        with self._lock:
            self._owners.clear()

    def _get_names(self, owner: Scope) -> OwnerNames:
        with self._lock:
            owner_names = self._owners.setdefault(owner.key, OwnerNames())
            self._owners.move_to_end(owner.key)
            while len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)
            return owner_names

    def _catch_up(self, owner: Scope, owner_names: OwnerNames) -> None:
        """Read the memories that changed since the last look."""
        start = self._store.find_change(owner, _MOST)
        is_ahead = owner_names.last_change > self._store.find_change(owner, 0)
        if owner_names.last_change < start or is_ahead:
            # A first look, one after very many changes, or a store that was put back to an earlier
            # state.
            owner_names.names.clear()
            owner_names.nets.clear()
            owner_names.last_change = start
        while True:
            changed = self._store.changes(owner, owner_names.last_change, _PAGE)
            for record in changed.records:
                owner_names.put(record)
            if changed.records:
                owner_names.nets.clear()
            owner_names.last_change = changed.last
            if len(changed.records) < _PAGE:
                return
