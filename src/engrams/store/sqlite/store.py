"""SQLite store: one file, or memory, behind all ports.

Enter at ``SqliteStore.open``. It overrides what is quicker with a file that one process reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from engrams.core import Edge, EdgeType, Json, Record, Scope
from engrams.encryption.file_ledger import seal_files
from engrams.ports import Clock, ReachSurvey, RecordPage, RecordQuery, ScopeReach
from engrams.settings import StoreSettings
from engrams.store.sql import record_counts
from engrams.store.sql.named_queries import fetch_all
from engrams.store.sql.store import SqlStore
from engrams.store.sqlite import rescue, seal_setup
from engrams.store.sqlite.committed_reads import CommittedReadCache, CommittedReads
from engrams.store.sqlite.database import SqliteDatabase
from engrams.store.sqlite.dialect import SqliteDialect
from engrams.store.sqlite.index_files import SqliteIndexFiles

if TYPE_CHECKING:
    import apsw


class SqliteStore(SqlStore):
    """Every port over one SQLite database.

    Safe in many threads, processes and after a fork.
    """

    _database: SqliteDatabase

    def __init__(self, database: SqliteDatabase, settings: StoreSettings, clock: Clock) -> None:
        super().__init__(
            database,
            SqliteDialect(database.get_epoch, database.seals),
            settings,
            clock,
            SqliteIndexFiles(database),
        )
        self._reads = CommittedReadCache(self._forget_reads, database.seals)

    @classmethod
    def open(
        cls, path: Path | Literal[":memory:"], settings: StoreSettings, clock: Clock
    ) -> SqliteStore:
        """Open a database file, or one in memory.

        Nothing is created before the first write. What can be read of a damaged file is copied to a
        new one, and the damaged file is kept beside it; ``check`` reports it. StoreError: nothing
        could be read from it, or it is another program's or a newer engrams' file.
        """
        file = None if path == ":memory:" else Path(path).expanduser()
        database = SqliteDatabase(file, settings, clock)
        return cls(database, settings, clock)

    def survey(self, reach: ScopeReach) -> ReachSurvey:
        """Count speakers after changes only: an owner may have thousands of scopes."""
        owner = reach.owner
        self._look_at(owner)
        with self._database.asking(owner) as connection:
            reads = self._get_reads(connection, owner)
            survey = reads.surveys.get(reach)
            if survey is None:
                speakers = dict(record_counts.find_speakers(connection, reach))
                survey = ReachSurvey(speakers, reads.last_change)
                self._reads.keep_survey(reads, reach, survey)
            return survey

    def get(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        if not ids:
            return ()
        self._look_at(owner)
        with self._database.asking(owner) as connection:
            return self._reads.get_records(
                connection,
                self._database.generation,
                owner,
                self._get_reads(connection, owner),
                ids,
            )

    def find(self, query: RecordQuery) -> RecordPage:
        """Find a page; of a subject's statements decode those that changed."""
        if not query.subject or query.after or not self._database.path:
            return super().find(query)
        with self._database.asking(query.reach.owner) as connection:
            page = self._reads.find_page(
                connection, self._database.generation, query, self._clock()
            )
        return super().find(query) if page is None else page

    def surroundings(
        self,
        owner: Scope,
        ids: Sequence[str],
        types: Sequence[EdgeType],
        commit: str = "",  # noqa: ARG002 - whether anybody has committed is told faster than anything else
    ) -> tuple[tuple[Edge, ...], tuple[Record, ...]]:
        """Read edges, then records: quicker than a statement that finds both."""
        with self._database.asking(owner) as connection:
            reads = self._get_reads(connection, owner)
            generation = self._database.generation
            edges = self._reads.find_edges(connection, owner, reads, ids)
            record_ids = ids
            if edges:
                targets = frozenset(ids)
                leading = (
                    edge.source for edge in edges if edge.type in types and edge.target in targets
                )
                record_ids = [*dict.fromkeys((*ids, *leading))]
            records = self._reads.get_records(connection, generation, owner, reads, record_ids)
            return edges, records

    def _get_reads(self, connection: apsw.Connection, owner: Scope) -> CommittedReads:
        """Get an owner's reads that still hold."""
        return self._reads.get(connection, self._database.generation, owner)

    def trust_altered(self) -> int:
        count = self._database.write(None, seal_setup.seal_all, self.seals)
        if self._database.path is not None:
            seal_files(self._database.path.parent, self.seals.key)
        if self._head is not None:
            with self._database.reading() as connection:
                owner_keys = {key for (key,) in fetch_all(connection, "census_owners")}
                self._head.trust(connection, owner_keys.union(self._head.list_owners()))
        return count

    def check(self, repair: bool) -> Mapping[str, Json]:
        return rescue.check_database(self._database, repair, self._clock, self._head)
