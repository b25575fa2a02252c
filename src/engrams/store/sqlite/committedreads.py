"""Reads of a database that hold until the next commit to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING

from engrams.ports import ReachSurvey, RecordPage, RecordQuery, ScopeReach
from engrams.store.sql import linkqueries, recordqueries
from engrams.store.sql.namedqueries import fetch_one, query
from engrams.store.sql.ownerreads import OwnerReads
from engrams.store.sqlite.recordcache import DecodedRecordCache
from engrams.text.textcaches import register_cache
from engrams.types import Edge, Record, Scope

if TYPE_CHECKING:
    import apsw

_KEPT = 8192
_OWNERS = 64
_CONNECTIONS = 64


@dataclass(slots=True)
class CommittedReads(OwnerReads):
    """Reads of one owner's rows, with surveys."""

    surveys: dict[ScopeReach, ReachSurvey] = field(default_factory=dict)
    linked: bool | None = None
    """True where the owner has edges; None: nobody has looked."""


class CommittedReadCache:
    """Reads by owner, all of them void once anybody commits anything.

    SQLite tells a connection that others have committed, in a tenth of the time that one look-up takes. Whoever holds reads goes on with
    them, and what is added to void ones is seen by nobody else."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._versions: dict[apsw.Connection, tuple[int, int]] = {}
        self._owners: dict[str, CommittedReads] = {}
        self._size = 0
        self._linked: set[str] = set()
        self._decoded = DecodedRecordCache()
        register_cache(self)

    def get(self, connection: apsw.Connection, generation: int, owner: Scope) -> CommittedReads:
        """Reads that hold now; ``generation``: which file the connection reads."""
        version = generation, connection.execute(query("data_version")).get
        if self._versions.get(connection) != version:
            with self._lock:
                if len(self._versions) >= _CONNECTIONS:
                    self._versions.clear()
                self._versions[connection] = version
                self._owners, self._size = {}, 0
        owners, key = self._owners, owner.key
        reads = owners.get(key)
        if reads is None or self._size > _KEPT:
            with self._lock:
                if self._size > _KEPT or len(owners) >= _OWNERS:
                    owners, self._size = {}, 0
                    self._owners = owners
                reads = owners[key] = CommittedReads()
        return reads

    def keep_survey(self, reads: CommittedReads, reach: ScopeReach, survey: ReachSurvey) -> ReachSurvey:
        """Keep a survey, and return it."""
        reads.surveys[reach] = survey
        self._size += 1
        return survey

    def get_records(
        self, connection: apsw.Connection, generation: int, owner: Scope, reads: CommittedReads, ids: Sequence[str]
    ) -> tuple[Record, ...]:
        """Existing records in the order of ``ids``; purged ones as tombstones."""
        known = reads.records
        if not (fresh := [name for name in ids if name not in known]):
            return tuple([known[name] for name in ids])
        self._size += len(fresh)
        found = self._decoded.get_records(connection, generation, owner, fresh, known)
        return tuple([record for name in ids if (record := known.get(name) or found.get(name)) is not None])

    def find_page(self, connection: apsw.Connection, generation: int, asked: RecordQuery, now: datetime) -> RecordPage | None:
        """Find a page, decoding what changed; None: something changed meanwhile."""
        marks = recordqueries.find_marks(connection, asked, now)
        found = self._decoded.get_marked(connection, generation, asked.reach.owner, marks[: asked.limit])
        return None if found is None else RecordPage(tuple(found), found[-1].id if len(marks) > asked.limit else "")

    def find_edges(self, connection: apsw.Connection, owner: Scope, reads: CommittedReads, ids: Sequence[str]) -> tuple[Edge, ...]:
        """Edges at any of ``ids``, each once, in order.
        StoreError: one is damaged."""
        if not self._has_edges(connection, owner, reads):
            return ()
        if fresh := [name for name in ids if name not in reads.edges]:
            self._size += reads.add_edges(fresh, linkqueries.find_edges(connection, owner, fresh, ()))
        return reads.list_edges(ids)

    def _has_edges(self, connection: apsw.Connection, owner: Scope, reads: CommittedReads) -> bool:
        """Test whether an owner has edges.
        Who had some once is taken to have them."""
        if reads.linked is None and owner.key not in self._linked:
            reads.linked = bool(fetch_one(connection, "holds_edges", owner.key)[0])
            if reads.linked:
                if len(self._linked) >= _OWNERS:
                    self._linked.clear()
                self._linked.add(owner.key)
        return reads.linked is not False

    def cache_clear(self) -> None:
        """Forget all: purged texts must not stay in memory."""
        self._owners = {}
