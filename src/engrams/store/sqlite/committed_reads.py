"""Reads of a database that hold until a commit changes their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING

from engrams.core import Edge, Record, Scope
from engrams.ports import ReachSurvey, RecordPage, RecordQuery, ScopeReach
from engrams.store.process_forks import register
from engrams.store.sql import link_queries, record_listing
from engrams.store.sql.named_queries import fetch_all, fetch_one, query
from engrams.store.sql.owner_reads import OwnerReads
from engrams.store.sql.return_watch import LastChange, ReturnWatch
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sqlite.record_cache import DecodedRecordCache
from engrams.text.text_caches import register_cache

if TYPE_CHECKING:
    import apsw

_MAX_ENTRIES = 32_768
"""Records, edges and surveys of all owners that are kept."""
_MAX_CHANGES = 1000
"""Changes after which all of an owner's reads are void."""
_MAX_OWNERS = 64
_MAX_CONNECTIONS = 64


@dataclass(slots=True, kw_only=True)
class CommittedReads(OwnerReads):
    """Reads of one owner's rows, with surveys."""

    state: tuple[int, int]
    """Generation of the file, and number of seen commits after which they hold."""
    last_change: int
    """Number of the owner's last change."""
    unnumbered_changes: int
    """Number of uses and purges of all owners, which change rows without a number."""
    has_edges: bool
    """True if the owner has any link."""
    surveys: dict[ScopeReach, ReachSurvey] = field(default_factory=dict)
    size: int = 0
    """Number of entries that were kept here."""

    def keep_from(self, earlier: CommittedReads, changed_ids: Sequence[str]) -> None:
        """Take over earlier records but those that changed.

        The earlier reads lose these too, and are added to no more.
        """
        self.records = earlier.records
        for record_id in changed_ids:
            self.records.pop(record_id, None)
        if earlier.last_change == self.last_change:
            self.surveys = earlier.surveys.copy()
        self.size = len(self.records) + len(self.surveys)


class CommittedReadCache:
    """Reads by owner, kept over commits that change other rows.

    SQLite tells a connection that others have committed, in a tenth of the time that one look-up
    takes. Whoever holds reads goes on with them, and what is added to void ones is seen by nobody
    else.
    """

    def __init__(self, forget: Callable[[], None], seals: RowSeals) -> None:
        """``forget``: drops what else was read, where the database went back."""
        self._lock = Lock()
        self._forget = forget
        self._watch = ReturnWatch()
        self._versions: dict[apsw.Connection, tuple[int, int, int]] = {}
        self._commits = 0
        self._owners: dict[str, CommittedReads] = {}
        self._size = 0
        self._decoded = DecodedRecordCache(seals)
        register_cache(self)
        register(self)

    def get(self, connection: apsw.Connection, generation: int, owner: Scope) -> CommittedReads:
        """Get the reads that hold now; ``generation``: which file the connection reads."""
        # What a connection has written itself counts in memory alone, where it also reads.
        version = (
            generation,
            connection.execute(query("data_version")).get,
            connection.total_changes(),
        )
        if self._versions.get(connection) != version:
            with self._lock:
                if len(self._versions) >= _MAX_CONNECTIONS:
                    self._versions.clear()
                self._versions[connection] = version
                self._commits += 1
        state = generation, self._commits
        reads = self._owners.get(owner.key)
        if reads is not None and reads.state == state and self._size <= _MAX_ENTRIES:
            return reads
        return self._renew(connection, state, owner)

    def _renew(
        self, connection: apsw.Connection, state: tuple[int, int], owner: Scope
    ) -> CommittedReads:
        """Begin reads after a commit, with the earlier ones that still hold."""
        seen = self._watch.get_seen(owner.key)
        row = fetch_one(connection, "owner_marks", seen.record_id, owner.key)
        unnumbered_changes, has_edges, last_change, record_id, kept_number = row
        newest = LastChange(last_change, record_id)
        if self._watch.note(owner.key, seen, newest, kept_number):
            self._forget()
        earlier = self._owners.get(owner.key)
        if earlier is not None and earlier.state[0] != state[0]:
            earlier = None
        changed = []
        if earlier is not None and earlier.last_change != last_change:
            parameters = (owner.key, earlier.last_change, _MAX_CHANGES)
            changed = fetch_all(connection, "changed_ids", *parameters)
        if len(changed) == _MAX_CHANGES:
            earlier = None
        elif changed:
            # Of a commit since the look, too.
            last_change = changed[-1][1]
        reads = CommittedReads(
            state=state,
            last_change=last_change,
            unnumbered_changes=unnumbered_changes,
            has_edges=bool(has_edges),
        )
        with self._lock:
            is_new_owner = owner.key not in self._owners
            if self._size > _MAX_ENTRIES or (is_new_owner and len(self._owners) >= _MAX_OWNERS):
                self._owners = {}
                self._size = 0
            # Another thread may have renewed them meanwhile.
            current = self._owners.get(owner.key)
            if current is not None:
                self._size -= current.size
                if current is earlier and current.unnumbered_changes == unnumbered_changes:
                    reads.keep_from(current, [record_id for record_id, _ in changed])
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
        record_ids: Sequence[str],
    ) -> tuple[Record, ...]:
        """Get existing records in the order of their ids; purged ones as tombstones."""
        records = {
            record_id: record
            for record_id in record_ids
            if (record := reads.records.get(record_id)) is not None
        }
        if missing := [record_id for record_id in record_ids if record_id not in records]:
            short = dict[str, Record]()
            records |= self._decoded.get_records(connection, generation, owner, missing, short)
            with self._lock:
                # Void reads may share the records with later ones.
                if self._owners.get(owner.key) is reads:
                    reads.records.update(short)
                    self._count(reads, len(short))
        return tuple([records[record_id] for record_id in record_ids if record_id in records])

    def find_page(
        self,
        connection: apsw.Connection,
        generation: int,
        record_query: RecordQuery,
        now: datetime,
    ) -> RecordPage | None:
        """Find a page, decoding what changed; None: something changed meanwhile."""
        limit = record_query.limit
        marks = record_listing.find_marks(connection, record_query, now)
        owner = record_query.reach.owner
        records = self._decoded.get_marked(connection, generation, owner, marks[:limit])
        if records is None:
            return None
        return RecordPage(tuple(records), marks[limit - 1][0] if len(marks) > limit else "")

    def find_edges(
        self,
        connection: apsw.Connection,
        owner: Scope,
        reads: CommittedReads,
        node_ids: Sequence[str],
    ) -> tuple[Edge, ...]:
        """Find edges at any of the nodes, each once, in order.

        StoreError: one is damaged.
        """
        if not reads.has_edges:
            return ()
        if missing := [node_id for node_id in node_ids if node_id not in reads.edges]:
            edges = link_queries.find_edges(connection, owner, missing, ())
            self._count(reads, reads.add_edges(missing, edges))
        return reads.list_edges(node_ids)

    def _count(self, reads: CommittedReads, added: int) -> None:
        reads.size += added
        self._size += added

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
