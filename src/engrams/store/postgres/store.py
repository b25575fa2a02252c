"""Postgres store: every port over one database, for a fleet of processes.

Enter at ``PostgresStore.open``. It overrides what costs fewer round trips when it is asked together.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from engrams.core import Edge, EdgeType, Json, Record, Scope
from engrams.ports import (
    Clock,
    CommitResult,
    Job,
    JobClaim,
    JobSpec,
    ReachSurvey,
    ScopeReach,
    WriteBatch,
)
from engrams.settings import StoreSettings
from engrams.store.postgres.database import KEEP_ALIVE, PostgresDatabase
from engrams.store.postgres.derived_columns import derive_again, describe_misderived
from engrams.store.postgres.dialect import PostgresDialect
from engrams.store.postgres.fleet import PostgresFleetTables
from engrams.store.postgres.job_notices import JobNoticeListener
from engrams.store.postgres.owner_read_cache import MARK, MarkedReads, OwnerReadCache, read_commit
from engrams.store.postgres.schema_setup import APPLIED, compare_schema, require_schema
from engrams.store.postgres.stored_seals import seal_owners
from engrams.store.seal_key import load_seals
from engrams.store.sql import job_queue, link_queries, record_counts
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_composed,
    fetch_first,
    fetch_one,
)
from engrams.store.sql.return_watch import ReturnWatch
from engrams.store.sql.row_conversion import is_short
from engrams.store.sql.sealing import describe_altered
from engrams.store.sql.store import SqlStore

_following = threading.Lock()
_COUNTED_OWNERS = "SELECT owner FROM owners UNION SELECT owner FROM tallies ORDER BY owner"
_OWNERS_OF_ROWS = "SELECT owner FROM owners UNION SELECT owner FROM records ORDER BY owner"
_MAX_CLAIMS = 100
"""Looks for a job while others are at it."""
_CLAIM_PAUSE_SECONDS = 0.005


class PostgresStore(SqlStore):
    """Every port over one Postgres database.

    Safe in many threads, processes and machines, and after a fork.
    """

    _database: PostgresDatabase
    _listener: JobNoticeListener | None = None

    def __init__(self, database: PostgresDatabase, settings: StoreSettings, clock: Clock) -> None:
        super().__init__(database, PostgresDialect(load_seals(settings)), settings, clock)
        self._reads = OwnerReadCache()
        self._watch = ReturnWatch()

    @property
    def tables(self) -> PostgresFleetTables:
        """Tables beside memory, on this store's connections."""
        return PostgresFleetTables(self._database, is_shared=True)

    @classmethod
    def open(cls, url: str, settings: StoreSettings, clock: Clock) -> PostgresStore:
        """Open a database that ``engrams migrate`` made.

        StoreError: it cannot be reached, or has another schema.
        """
        return cls(_open_database(url, settings), settings, clock)

    def commit(self, batch: WriteBatch) -> CommitResult:
        result = super().commit(batch)
        has_followers = result.followed and batch.then is not None and bool(batch.then.jobs)
        if any(result.jobs) or has_followers:
            self._database.notify()
        return result

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]:
        job_ids = super().enqueue(specs, at)
        if job_ids:
            self._database.notify()
        return job_ids

    def follow(self, wake: Callable[[], object]) -> None:
        """Hear of jobs by LISTEN, on a connection of its own."""
        with _following:
            if self._listener is None:
                self._listener = JobNoticeListener(self._database.listen_url, KEEP_ALIVE)
        self._listener.add_wake(wake)

    def require_ready(self) -> None:
        """Raise StoreError where the schema does not fit, or nothing answers.

        Steps of a newer engrams only add, so that a process that runs goes on.
        """
        with self._database.reading(None) as connection:
            compare_schema(connection.execute(APPLIED).fetchall(), self._database.label, newer=True)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        super().close()

    def survey(self, reach: ScopeReach) -> ReachSurvey:
        """Ask for the owner's last commit, and for speakers not kept since."""
        owner = reach.owner
        self._look_at(owner)
        mark = (MARK, (owner.key,))
        reads = self._reads.get(owner.key)
        survey = reads.surveys.get(reach)
        if survey is not None:
            (marks,) = self._database.ask_together(owner, mark)
            if self._reads.accept(owner.key, reads, read_commit(marks)):
                return survey
            reads = MarkedReads()
        speakers = record_counts.build_speakers(reach)
        marks, rows = self._database.ask_together(owner, mark, speakers)
        commit = read_commit(marks)
        if not self._reads.accept(owner.key, reads, commit):
            reads = MarkedReads()
            self._reads.accept(owner.key, reads, commit)
        with self._database.reading(owner) as connection:
            went_back = self._watch.look(connection, owner.key)
        if went_back:
            self._forget_reads()
        last_change = marks[0][0] if marks else 0
        reads.surveys[reach] = ReachSurvey(dict(rows), last_change, commit)
        return reads.surveys[reach]

    def surroundings(
        self, owner: Scope, ids: Sequence[str], types: Sequence[EdgeType], commit: str = ""
    ) -> tuple[tuple[Edge, ...], tuple[Record, ...]]:
        """Return the links of records, and the linked records, with one round trip at most.

        Links and records that this process has cached are not read again. The round trip reads the
        others, and checks that the owner's last commit is the one at which the cache was filled. If
        ``commit`` is that one and nothing is missing, there is no round trip. If the cache is
        outdated, everything is read again.
        """
        cached = self._reads.get(owner.key)
        around = self._look_around(owner, ids, types, cached, commit)
        if around is None:
            around = self._look_around(owner, ids, types, MarkedReads())
        return around or ((), ())

    def _look_around(
        self,
        owner: Scope,
        record_ids: Sequence[str],
        types: Sequence[EdgeType],
        reads: MarkedReads,
        commit: str = "",
    ) -> tuple[tuple[Edge, ...], tuple[Record, ...]] | None:
        """Read the surroundings that ``reads`` does not have; None: ``reads`` is outdated.

        ``commit``: the owner's last commit, if it was read just now; empty: unknown.
        """
        unread_ids = [record_id for record_id in record_ids if record_id not in reads.edges]
        kept_edges = reads.list_edges(
            record_id for record_id in record_ids if record_id in reads.edges
        )
        leading = _list_leading(record_ids, kept_edges, types)
        missing = (record_id for record_id in leading if record_id not in reads.records)
        needed = dict.fromkeys((*unread_ids, *missing))
        edge_rows = list[Any]()
        record_rows = list[Any]()
        if needed or not commit or reads.commit != commit:
            statements: Sequence[tuple[str, Any]] = ()
            if needed:
                statements = link_queries.build_surroundings(owner, unread_ids, [*needed], types)
            mark = (MARK, (owner.key,))
            marks, *answers = self._database.ask_together(owner, mark, *statements)
            if not self._reads.accept(owner.key, reads, read_commit(marks)):
                return None
            if answers:
                edge_rows, record_rows = answers
        added = reads.add_edges(unread_ids, link_queries.decode_edges(owner, edge_rows))
        read_records = {record.id: record for record in self.seals.read_all(record_rows)}
        edges = reads.list_edges(record_ids)
        records = tuple(
            [
                record
                for record_id in _list_leading(record_ids, edges, types)
                if (record := read_records.get(record_id) or reads.records.get(record_id))
                is not None
            ]
        )
        reads.records.update(
            (row[0], read_records[row[0]])
            for row in record_rows
            if row[0] in read_records and is_short(row)
        )
        self._reads.count(added + len(record_rows))
        return edges, records

    def claim(self, claim: JobClaim) -> Job | None:
        for _ in range(_MAX_CLAIMS):
            with self._database.asking(None) as connection:
                if not job_queue.is_claimable(connection, claim):
                    return None
            job = self._database.write(None, job_queue.claim, claim)
            if job is not None:
                return job
            # Another one is taking a job, or adding to it: until that is done, nobody knows whether
            # it is left.
            time.sleep(_CLAIM_PAUSE_SECONDS)
        return None

    def trust_altered(self) -> int:
        for owner in self._list_owners():
            self._database.write(owner, derive_again, self.dialect, owner.key)
        return seal_owners(self._database, self.seals, self._head)

    def check(self, repair: bool) -> Mapping[str, Json]:
        """Check the counts of records; ``repair``: count them again.

        Nothing else is repaired: the server looks after its files.
        """
        with self._database.reading(None) as connection:
            problems, size, rows = _inspect(connection)
            owners = []
            if problems and repair:
                counted = fetch_composed(connection, _COUNTED_OWNERS, ())
                owners = [Scope.parse(owner_key) for (owner_key,) in counted]
        for owner in owners:
            self._database.write(owner, _recount)
        remaining = problems
        if owners:
            with self._database.reading(None) as connection:
                remaining, size, rows = _inspect(connection)
        altered = self._describe_altered()
        return {
            "ok": not remaining and not altered,
            "problems": problems,
            "repaired": ["Records were counted again."] if owners else [],
            "path": self._database.label,
            "bytes": size,
            "rows": rows,
            "aside": [],
            "altered": altered,
            "losses": "",
            "lost": [],
        }

    def _describe_altered(self) -> list[str]:
        """Describe what another program changed, owner by owner."""
        texts = []
        for owner in self._list_owners():
            with self._database.reading(owner) as connection:
                texts += describe_altered(connection, self.seals, self._head, owner.key)
                texts += describe_misderived(connection, self.dialect, owner.key)
        return texts

    def _list_owners(self) -> list[Scope]:
        """List the owners of all rows, also of those that another program made up."""
        with self._database.reading(None) as connection:
            rows = fetch_composed(connection, _OWNERS_OF_ROWS, ())
        return [Scope.parse(owner_key) for (owner_key,) in rows]


def _list_leading(
    record_ids: Sequence[str], edges: Sequence[Edge], types: Sequence[EdgeType]
) -> list[str]:
    """List ids, then those from which an edge of ``types`` leads to one of them."""
    if not edges:
        return [*dict.fromkeys(record_ids)]
    targets = frozenset(record_ids)
    leading = (edge.source for edge in edges if edge.type in types and edge.target in targets)
    return [*dict.fromkeys((*record_ids, *leading))]


def open_tables(settings: StoreSettings) -> PostgresFleetTables:
    """Open the tables beside memory, on connections of their own.

    StoreError: as ``PostgresStore.open``.
    """
    return PostgresFleetTables(_open_database(settings.url, settings))


def _open_database(url: str, settings: StoreSettings) -> PostgresDatabase:
    database = PostgresDatabase(url, settings)
    require_schema(url, database.label)
    return database


def _recount(connection: SqlConnection) -> None:
    """Count an owner's records again, while nobody changes them."""
    fetch_one(connection, "lock_owner")
    execute(connection, "clear_tallies")
    execute(connection, "fill_tallies")


def _inspect(connection: SqlConnection) -> tuple[list[Json], int, dict[str, Json]]:
    """Check the counts of records; return problems, bytes on disk, and rows by table."""
    problems: list[Json] = []
    if fetch_first(connection, "recount"):
        problems.append("The counts of records are wrong.")
    size, *counts = fetch_one(connection, "rows")
    tables = ("records", "vectors", "jobs", "sessions", "outbox")
    return problems, size, dict(zip(tables, counts, strict=True))
