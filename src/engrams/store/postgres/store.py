"""Postgres store: every port over one database, for a fleet of processes."""

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
from engrams.store.postgres.dialect import PostgresDialect
from engrams.store.postgres.fleet import PostgresFleetTables
from engrams.store.postgres.job_notices import JobNoticeListener
from engrams.store.postgres.kept_reads import MARK, MarkedReads, OwnerReadCache, read_commit
from engrams.store.postgres.schema_setup import APPLIED, compare_schema, require_schema
from engrams.store.sql import job_queue, link_queries, record_counts
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_composed,
    fetch_first,
    fetch_one,
)
from engrams.store.sql.row_conversion import decode_record, is_short
from engrams.store.sql.store import SqlStore

_following = threading.Lock()
_COUNTED_OWNERS = "SELECT owner FROM owners UNION SELECT owner FROM tallies ORDER BY owner"
_CLAIMS = 100
_CLAIM_SECONDS = 0.005
"""Looks for a job while others are at it, and the time between them."""


class PostgresStore(SqlStore):
    """Every port over one Postgres database.

    Safe in many threads, processes and machines, and after a fork.
    """

    _database: PostgresDatabase
    _listener: JobNoticeListener | None = None

    def __init__(self, database: PostgresDatabase, settings: StoreSettings, clock: Clock) -> None:
        super().__init__(database, PostgresDialect(), settings, clock)
        self._reads = OwnerReadCache()

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
        done = super().commit(batch)
        if any(done.jobs) or (done.followed and batch.then is not None and batch.then.jobs):
            self._database.notify()
        return done

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]:
        made = super().enqueue(specs, at)
        if made:
            self._database.notify()
        return made

    def follow(self, wake: Callable[[], object]) -> None:
        """Hear of jobs by LISTEN, on a connection of its own."""
        with _following:
            if self._listener is None:
                self._listener = JobNoticeListener(self._database.listen_url, KEEP_ALIVE)
        self._listener.tell(wake)

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
        reads = self._reads.get(reach.owner.key)
        key = reach.owner.key
        if (kept := reads.surveys.get(reach)) is not None:
            marks, *_ = self._database.ask_together(reach.owner, (MARK, (key,)))
            if self._reads.accept(key, reads, read_commit(marks)):
                return kept
            reads = MarkedReads()
        marks, rows = self._database.ask_together(
            reach.owner, (MARK, (key,)), record_counts.build_speakers(reach)
        )
        commit = read_commit(marks)
        if not self._reads.accept(key, reads, commit):
            reads = MarkedReads()
            self._reads.accept(key, reads, commit)
        reads.surveys[reach] = ReachSurvey(dict(rows), marks[0][0] if marks else 0, commit)
        return reads.surveys[reach]

    def surroundings(
        self, owner: Scope, ids: Sequence[str], types: Sequence[EdgeType], commit: str = ""
    ) -> tuple[tuple[Edge, ...], tuple[Record, ...]]:
        """Ask whether kept reads hold, and for the rest, together.

        Nothing is asked where a survey told that they hold, and there is no rest.
        """
        found = self._look_around(owner, ids, types, self._reads.get(owner.key), commit)
        return found or self._look_around(owner, ids, types, MarkedReads()) or ((), ())

    def _look_around(
        self,
        owner: Scope,
        ids: Sequence[str],
        types: Sequence[EdgeType],
        reads: MarkedReads,
        commit: str = "",
    ) -> tuple[tuple[Edge, ...], tuple[Record, ...]] | None:
        """Read surroundings with kept reads; None: these hold no more."""
        fresh = [name for name in ids if name not in reads.edges]
        known = reads.list_edges(name for name in ids if name in reads.edges)
        needed = dict.fromkeys(
            (
                *fresh,
                *(name for name in _list_leading(ids, known, types) if name not in reads.records),
            )
        )
        edges = list[Any]()
        rows = list[Any]()
        if needed or not commit or reads.commit != commit:
            asked = (
                link_queries.build_surroundings(owner, fresh, [*needed], types) if needed else ()
            )
            marks, *answers = self._database.ask_together(owner, (MARK, (owner.key,)), *asked)
            if not self._reads.accept(owner.key, reads, read_commit(marks)):
                return None
            edges, rows = answers or (edges, rows)
        added = reads.add_edges(fresh, link_queries.decode_edges(owner, edges))
        records = {row[0]: decode_record(row, cached=False) for row in rows}
        around = reads.list_edges(ids)
        wanted = _list_leading(ids, around, types)
        found = tuple(
            [
                record
                for name in wanted
                if (record := records.get(name) or reads.records.get(name)) is not None
            ]
        )
        reads.records.update((row[0], records[row[0]]) for row in rows if is_short(row))
        self._reads.count(added + len(rows))
        return around, found

    def claim(self, claim: JobClaim) -> Job | None:
        for _ in range(_CLAIMS):
            with self._database.asking(None) as connection:
                if not job_queue.is_claimable(connection, claim):
                    return None
            job = self._database.write(None, job_queue.claim, claim)
            if job is not None:
                return job
            # Another one is taking a job, or adding to it: until that is done, nobody knows whether
            # it is left.
            time.sleep(_CLAIM_SECONDS)
        return None

    def check(self, repair: bool) -> Mapping[str, Json]:
        """Check the counts of records; ``repair``: count them again.

        Nothing else is repaired: the server looks after its files.
        """
        with self._database.reading(None) as connection:
            problems, size, rows = _look(connection)
            owners = (
                [Scope.parse(key) for (key,) in fetch_composed(connection, _COUNTED_OWNERS, ())]
                if problems and repair
                else []
            )
        for owner in owners:
            self._database.write(owner, _recount)
        if owners:
            with self._database.reading(None) as connection:
                left, size, rows = _look(connection)
        return {
            "ok": not (left if owners else problems),
            "problems": problems,
            "repaired": ["Records were counted again."] if owners else [],
            "path": self._database.label,
            "bytes": size,
            "rows": rows,
            "aside": [],
            "losses": "",
            "lost": [],
        }


def _list_leading(
    ids: Sequence[str], edges: Sequence[Edge], types: Sequence[EdgeType]
) -> list[str]:
    """List ids, then those from which an edge leads there."""
    if not edges:
        return [*dict.fromkeys(ids)]
    inside = frozenset(ids)
    return [
        *dict.fromkeys(
            (*ids, *(edge.source for edge in edges if edge.type in types and edge.target in inside))
        )
    ]


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


def _look(connection: SqlConnection) -> tuple[list[Json], int, dict[str, Json]]:
    problems: list[Json] = (
        ["The counts of records are wrong."] if fetch_first(connection, "recount") else []
    )
    size, *rows = fetch_one(connection, "rows")
    return (
        problems,
        size,
        dict(zip(("records", "vectors", "jobs", "sessions", "outbox"), rows, strict=True)),
    )
