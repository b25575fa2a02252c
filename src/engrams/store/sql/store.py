"""Every port over one SQL database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engrams.ports import (
    CandidatePool,
    CandidateSearchQuery,
    ChangedRecords,
    Clock,
    CommitResult,
    FactSlot,
    Job,
    JobClaim,
    JobFailure,
    JobSpec,
    OutboxEntry,
    OwnerStateRow,
    PurgeReport,
    RecordPage,
    RecordQuery,
    RequestWindow,
    ScopeReach,
    SessionRow,
    StorageUse,
    WriteBatch,
)
from engrams.settings import StoreSettings
from engrams.store.sql import jobqueue, linkqueries, modelusage, recordqueries, sessionstates
from engrams.store.sql.dialect import SqlDatabase, SqlDialect
from engrams.store.sql.indexcache import IndexFileStore, OwnerIndexCache
from engrams.store.sql.namedqueries import SqlConnection, execute, execute_counting
from engrams.store.sql.rowconversion import encode_json
from engrams.text.textcaches import clear_caches
from engrams.types import Edge, EdgeType, HistoryEntry, Meta, Record, Scope, Topic

if TYPE_CHECKING:
    from engrams.ports.candidatesearch import Floats


class SqlStore:
    """Every port over one SQL database.

    Each call is one transaction; the owner whose rows it touches is named first, None for what
    belongs to no single one.
    """

    def __init__(
        self,
        database: SqlDatabase,
        dialect: SqlDialect,
        settings: StoreSettings,
        clock: Clock,
        files: IndexFileStore | None = None,
    ) -> None:
        self._database = database
        self._dialect = dialect
        self._clock = clock
        self._index_cache = OwnerIndexCache(database, dialect, settings, clock, files)
        self.dialect = dialect
        self.reading = database.reading
        self.write = database.write
        """Parts that a move uses, which copies rows."""

    # ----------------------------------------------------------------------------------------------
    # records

    def commit(self, batch: WriteBatch) -> CommitResult:
        # Imported here: a process that only reads does not need it.
        from engrams.store.sql.batchcommit import BatchCommitter

        first = next((put.record.scope.owner for put in batch.puts), None)
        run = BatchCommitter(batch, self._dialect).run
        return (
            self._database.write_unsynced(first, run)
            if batch.repeatable
            else self._database.write(first, run)
        )

    def get(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        if not ids:
            return ()
        with self._database.asking(owner) as connection:
            return recordqueries.get_records(connection, owner, ids)

    def find(self, query: RecordQuery) -> RecordPage:
        now = self._clock()
        with (self._database.reading if query.after else self._database.asking)(
            query.reach.owner
        ) as connection:
            return recordqueries.find_page(connection, query, now)

    def slots(self, query: RecordQuery) -> tuple[FactSlot, ...]:
        now = self._clock()
        with self._database.asking(query.reach.owner) as connection:
            return recordqueries.find_slots(connection, query, now)

    def history(self, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
        with self._database.reading(owner) as connection:
            return recordqueries.read_history(connection, owner, id)

    def changes(self, owner: Scope, after: int, limit: int) -> ChangedRecords:
        with self._database.reading(owner) as connection:
            return recordqueries.find_changed(connection, owner, after, limit)

    def find_change(self, owner: Scope, back: int) -> int:
        with self._database.asking(owner) as connection:
            return recordqueries.find_change(connection, owner, back)

    def scopes(self, owner: Scope | None) -> tuple[Scope, ...]:
        with self._database.asking(owner) as connection:
            return recordqueries.list_scopes(connection, owner)

    def count_scopes(self, owner: Scope) -> Mapping[Scope, int]:
        with self._database.asking(owner) as connection:
            return recordqueries.count_scopes(connection, owner)

    def storage(self, owner: Scope) -> StorageUse:
        with self._database.asking(owner) as connection:
            return recordqueries.measure_storage(connection, owner)

    def counts(self, reach: ScopeReach | None) -> Mapping[str, Mapping[str, int]]:
        with self._database.reading(reach.owner if reach else None) as connection:
            return recordqueries.count_records(connection, reach)

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        at: datetime,
        rewrites: WriteBatch | None = None,
        words: Sequence[str] = (),
    ) -> PurgeReport:
        from engrams.store.sql import recordpurge
        from engrams.store.sql.batchcommit import BatchCommitter

        nothing = dict.fromkeys(recordpurge.PLACES, 0)
        if not self._database.exists:
            return PurgeReport(removed=nothing, remaining=nothing)

        def rewrite(connection: SqlConnection) -> None:
            if rewrites is not None:
                BatchCommitter(rewrites, self._dialect).run(connection)

        given = recordpurge.PurgeRewritePlan(
            [change.id for change in rewrites.changes] if rewrites else [], rewrite, words
        )

        def erase(
            connection: SqlConnection,
        ) -> tuple[Mapping[str, int], recordpurge.PurgeVerificationData]:
            self._index_cache.unmark(connection, owner)
            return recordpurge.erase_records(connection, self._dialect, owner, ids, at, given)

        removed, traces = self._database.write(owner, erase)
        files = self._index_cache.drop(owner)
        clear_caches()
        # The log still holds earlier pages.
        log = 0 if self._database.checkpoint() else 1
        with self._database.reading(owner) as connection:
            remaining = recordpurge.count_remaining(connection, self._dialect, traces)
        remaining = {**nothing, **remaining, "log": log, "index": files}
        return PurgeReport(
            {**nothing, **removed, "log": 1 - log}, remaining, unquoted=traces.unquoted
        )

    def missing(self, model: str, after: str, limit: int) -> tuple[Record, ...]:
        with self._database.asking(None) as connection:
            return recordqueries.find_unembedded(connection, model, after, limit)

    def outbox(self, limit: int) -> tuple[OutboxEntry, ...]:
        with self._database.asking(None) as connection:
            return recordqueries.read_outbox(connection, limit)

    def clear(self, ids: Sequence[int]) -> None:
        if ids and self._database.exists:
            self._database.write(None, execute, "clear_outbox", encode_json(list(ids)))

    def close(self) -> None:
        self._index_cache.close()
        self._database.close()

    # ----------------------------------------------------------------------------------------------
    # search

    def seek(self, seek: CandidateSearchQuery) -> CandidatePool:
        return self._index_cache.seek_all([seek])[0]

    def seek_all(self, seeks: Sequence[CandidateSearchQuery]) -> list[CandidatePool]:
        return self._index_cache.seek_all(seeks)

    def renew_index(self, owner: Scope) -> None:
        self._index_cache.drop(owner)

    def speakers(self, reach: ScopeReach) -> Mapping[str, int]:
        with self._database.asking(reach.owner) as connection:
            return dict(recordqueries.find_speakers(connection, reach))

    def vectors(self, owner: Scope, ids: Sequence[str], model: str) -> Floats:
        with self._database.reading(owner) as connection:
            return recordqueries.fetch_vectors(connection, owner, ids, model)

    def edges(
        self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()
    ) -> tuple[Edge, ...]:
        with self._database.asking(owner) as connection:
            return linkqueries.find_edges(connection, owner, nodes, types)

    def topics(self, reach: ScopeReach) -> tuple[Topic, ...]:
        with self._database.asking(reach.owner) as connection:
            return linkqueries.list_topics(connection, reach)

    # ----------------------------------------------------------------------------------------------
    # jobs

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]:
        if not specs:
            return ()
        return self._database.write(
            None, lambda connection: tuple(jobqueue.enqueue(connection, spec, at) for spec in specs)
        )

    def claim(self, claim: JobClaim) -> Job | None:
        # Workers ask often, mostly in vain: check before taking the write lock.
        with self._database.asking(None) as connection:
            if not jobqueue.is_claimable(connection, claim):
                return None
        # A claim that a power failure undoes is a job that waits again: no disk need be waited for.
        return self._database.write_unsynced(
            None, lambda connection: jobqueue.claim(connection, claim)
        )

    def renew(self, lease: str, until: datetime) -> bool:
        return self._database.exists and self._database.write_unsynced(
            None, lambda connection: jobqueue.renew(connection, lease, until)
        )

    def keep(self, lease: str, payload: Meta) -> bool:
        return self._database.exists and self._database.write(None, jobqueue.keep, lease, payload)

    def finish(self, lease: str, at: datetime) -> bool:
        return self._database.exists and self._database.write(None, jobqueue.finish, lease, at)

    def fail(self, failure: JobFailure) -> bool:
        return self._database.exists and self._database.write(None, jobqueue.fail, failure)

    def queue(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]:
        with self._database.asking(None) as connection:
            return jobqueue.list_jobs(connection, states, limit)

    def waiting(self, kind: str, prefix: str) -> tuple[Job, ...]:
        with self._database.asking(None) as connection:
            return jobqueue.find_waiting(connection, kind, prefix)

    def workload(self) -> Mapping[str, Mapping[str, int]]:
        with self._database.asking(None) as connection:
            return jobqueue.count_workload(connection)

    def retry(self, ids: Sequence[str], at: datetime) -> int:
        return self._database.write(None, jobqueue.retry, ids, at) if self._database.exists else 0

    def next_due(self, kinds: Sequence[str] = ()) -> datetime | None:
        with self._database.asking(None) as connection:
            return jobqueue.find_next_due(connection, kinds)

    def follow(self, wake: Callable[[], object]) -> None:
        """Do nothing: workers look by themselves."""

    def require_ready(self) -> None:
        """Raise StoreError where memory cannot be read."""
        with self._database.reading(None):
            pass

    def cancel(self, ids: Sequence[str]) -> int:
        if not ids or not self._database.exists:
            return 0
        return self._database.write(None, execute_counting, "cancel_jobs", encode_json(list(ids)))

    def spend(self, day: str, calls: int, tokens: int) -> tuple[int, int]:
        if not calls and not tokens:
            with self._database.asking(None) as connection:
                return modelusage.read_spend(connection, day)
        return self._database.write(None, modelusage.add_spend, day, calls, tokens)

    def count_requests(
        self, window: RequestWindow, now: datetime, account: str, number: int
    ) -> int:
        if number:
            return self._database.write_unsynced(
                None,
                lambda connection: modelusage.add_requests(
                    connection, window, now, account, number
                ),
            )
        with self._database.asking(None) as connection:
            return modelusage.read_requests(connection, window, now, account)

    def record_pace(self, model: str, seconds: float) -> None:
        self._database.write(None, modelusage.record_pace, model, seconds)

    def load_pace(self, model: str) -> tuple[float, ...]:
        with self._database.asking(None) as connection:
            return modelusage.load_pace(connection, model)

    # ----------------------------------------------------------------------------------------------
    # sessions

    def load(self, owner: Scope, id: str) -> SessionRow | None:
        with self._database.asking(owner) as connection:
            return sessionstates.load_session(connection, owner, id)

    def save(self, row: SessionRow, expect: int | None = None) -> SessionRow:
        return self._database.write(row.scope.owner, sessionstates.save_session, row, expect)

    def idle(self, before: datetime, limit: int = 100) -> tuple[SessionRow, ...]:
        with self._database.asking(None) as connection:
            return sessionstates.find_idle(connection, before, limit)

    def sessions(self, reach: ScopeReach, limit: int = 100) -> tuple[SessionRow, ...]:
        with self._database.asking(reach.owner) as connection:
            return sessionstates.list_sessions(connection, reach, limit)

    def load_state(self, owner: Scope, name: str) -> OwnerStateRow:
        with self._database.asking(owner) as connection:
            return sessionstates.load_state(connection, owner, name)

    def save_state(self, row: OwnerStateRow, expect: int | None = None) -> OwnerStateRow:
        return self._database.write(row.owner, sessionstates.save_state, row, expect)
