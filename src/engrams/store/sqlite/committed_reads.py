"""Reads of a database that hold until a commit changes their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING

from engrams.core import Edge, Record, Scope
from engrams.frozen_data import dataclass
from engrams.ports import ReachSurvey, RecordPage, RecordQuery, ScopeReach
from engrams.store.process_forks import register
from engrams.store.sql import link_queries, record_listing
from engrams.store.sql.named_queries import fetch_all, fetch_one, query
from engrams.store.sql.owner_reads import OwnerReads
from engrams.store.sqlite.record_cache import DecodedRecordCache
from engrams.text.text_caches import register_cache

if TYPE_CHECKING:
    import apsw

_KEPT = 8192
_CHANGED = 1000
"""Changes after which all of an owner's reads are void."""
_OWNERS = 64
_CONNECTIONS = 64


@dataclass(slots=True, kw_only=True)
class CommittedReads(OwnerReads):
    """Reads of one owner's rows, with surveys.

    ``state``: file and number of seen commits after which they hold. ``last_change``: the owner's;
    ``others``: number of uses and purges, which change rows without a number; ``linked``: True
    where the owner has edges. ``size``: number of what was kept here.
    """

    state: tuple[int, int]
    last_change: int
    others: int
    linked: bool
    surveys: dict[ScopeReach, ReachSurvey] = field(default_factory=dict)
    size: int = 0

    def keep_from(self, earlier: CommittedReads, changed: Sequence[str]) -> None:
        """Take over earlier records but those that changed.

        The earlier reads lose these too, and are added to no more.
        """
        self.records = earlier.records
        for name in changed:
            self.records.pop(name, None)
        if earlier.last_change == self.last_change:
            self.surveys = earlier.surveys.copy()
        self.size = len(self.records) + len(self.surveys)


class CommittedReadCache:
    """Reads by owner, kept over commits that change other rows.

    SQLite tells a connection that others have committed, in a tenth of the time that one look-up
    takes. Whoever holds reads goes on with them, and what is added to void ones is seen by nobody
    else.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._versions: dict[apsw.Connection, tuple[int, int, int]] = {}
        self._commits = 0
        self._owners: dict[str, CommittedReads] = {}
        self._size = 0
        self._decoded = DecodedRecordCache()
        register_cache(self)
        register(self)

    def get(self, connection: apsw.Connection, generation: int, owner: Scope) -> CommittedReads:
        """Reads that hold now; ``generation``: which file the connection reads."""
        # What a connection has written itself counts in memory alone, where it also reads.
        version = (
            generation,
            connection.execute(query("data_version")).get,
            connection.total_changes(),
        )
        if self._versions.get(connection) != version:
            with self._lock:
                if len(self._versions) >= _CONNECTIONS:
                    self._versions.clear()
                self._versions[connection] = version
                self._commits += 1
        state = generation, self._commits
        reads = self._owners.get(owner.key)
        return (
            reads
            if reads is not None and reads.state == state and self._size <= _KEPT
            else self._renew(connection, state, owner)
        )

    def _renew(
        self, connection: apsw.Connection, state: tuple[int, int], owner: Scope
    ) -> CommittedReads:
        """Begin reads after a commit, with the earlier ones that still hold."""
        earlier = self._owners.get(owner.key)
        if earlier is not None and earlier.state[0] != state[0]:
            earlier = None
        others, linked = fetch_one(connection, "owner_marks", owner.key)
        # Quicker than to look for the last change, and then for the others.
        changed = (
            []
            if earlier is None
            else fetch_all(connection, "changed_ids", owner.key, earlier.last_change, _CHANGED)
        )
        if earlier is None or len(changed) == _CHANGED:
            earlier = None
            last = fetch_one(connection, "last_change", owner.key)[0] or 0
        else:
            last = changed[-1][1] if changed else earlier.last_change
        reads = CommittedReads(state=state, last_change=last, others=others, linked=bool(linked))
        with self._lock:
            if self._size > _KEPT or (
                owner.key not in self._owners and len(self._owners) >= _OWNERS
            ):
                self._owners = {}
                self._size = 0
            if (known := self._owners.get(owner.key)) is not None:
                self._size -= known.size
                if known is earlier and known.others == others:
                    reads.keep_from(known, [id for id, _ in changed])
            self._size += reads.size
            self._owners[owner.key] = reads
        return reads

    def keep_survey(self, reads: CommittedReads, reach: ScopeReach, survey: ReachSurvey) -> None:
        """Keep a survey."""
        reads.surveys[reach] = survey
        self._count(reads, 1)

    def get_records(
        self,
        connection: apsw.Connection,
        generation: int,
        owner: Scope,
        reads: CommittedReads,
        ids: Sequence[str],
    ) -> tuple[Record, ...]:
        """Existing records in the order of ``ids``; purged ones as tombstones."""
        known = {name: record for name in ids if (record := reads.records.get(name)) is not None}
        if fresh := [name for name in ids if name not in known]:
            small = dict[str, Record]()
            known |= self._decoded.get_records(connection, generation, owner, fresh, small)
            with self._lock:
                # Void reads may share the records with later ones.
                if self._owners.get(owner.key) is reads:
                    reads.records.update(small)
                    self._count(reads, len(small))
        return tuple([known[name] for name in ids if name in known])

    def find_page(
        self, connection: apsw.Connection, generation: int, asked: RecordQuery, now: datetime
    ) -> RecordPage | None:
        """Find a page, decoding what changed; None: something changed meanwhile."""
        marks = record_listing.find_marks(connection, asked, now)
        found = self._decoded.get_marked(
            connection, generation, asked.reach.owner, marks[: asked.limit]
        )
        if found is None:
            return None
        next_page = found[-1].id if len(marks) > asked.limit else ""
        return RecordPage(tuple(found), next_page)

    def find_edges(
        self, connection: apsw.Connection, owner: Scope, reads: CommittedReads, ids: Sequence[str]
    ) -> tuple[Edge, ...]:
        """Edges at any of ``ids``, each once, in order.

        StoreError: one is damaged.
        """
        if not reads.linked:
            return ()
        if fresh := [name for name in ids if name not in reads.edges]:
            self._count(
                reads, reads.add_edges(fresh, link_queries.find_edges(connection, owner, fresh, ()))
            )
        return reads.list_edges(ids)

    def _count(self, reads: CommittedReads, more: int) -> None:
        reads.size += more
        self._size += more

    def before_fork(self) -> None:
        """Lock the cache."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Unlock the cache in the parent."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Unlock the cache in the child."""
        self._lock = Lock()

    def cache_clear(self) -> None:
        """Forget all: purged texts must not stay in memory."""
        self._owners = {}
