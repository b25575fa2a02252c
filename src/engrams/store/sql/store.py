"""Every port over one SQL database: a table of contents of this folder.

Each method opens a transaction and hands its connection to the module that has the subject. Its
contract stands in the port.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.core import Edge, EdgeType, HistoryEntry, Json, Meta, Record, Scope, Topic
from engrams.core.usage_accounts import RequestWindow
from engrams.ports import (
    AttachmentReservation,
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
    ScopeReach,
    SessionRow,
    StorageUse,
    WriteBatch,
)
from engrams.settings import StoreSettings
from engrams.store.sql import (
    attachment_sizes,
    job_queue,
    link_queries,
    model_usage,
    record_counts,
    record_listing,
    record_queries,
    session_states,
    vector_rows,
)
from engrams.store.sql.census import CensusWatch, read_head
from engrams.store.sql.dialect import SqlDatabase, SqlDialect
from engrams.store.sql.head_file import HeadFile
from engrams.store.sql.index_cache import OwnerIndexCache
from engrams.store.sql.index_file_store import IndexFileStore
from engrams.store.sql.named_queries import execute, execute_counting
from engrams.store.sql.row_conversion import encode_json
from engrams.store.sql.seal_sweep import SealSweep
from engrams.text.text_caches import clear_caches

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats


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
        # For a move of memory, which copies rows.
        self.dialect = dialect
        self.seals = dialect.seals
        self._head = (
            HeadFile(Path(settings.head_file).expanduser(), self.seals)
            if settings.head_file
            else None
        )
        self._census_watch = CensusWatch(self.seals, self._head)
        self._seal_sweep = SealSweep(self.seals)
        self.reading = database.reading
        self.write = database.write

    def include_altered(self) -> AbstractContextManager[None]:
        return self.seals.include_altered()

    def read_head(self, owner: Scope) -> Meta:
        with self._database.reading(owner) as connection:
            return read_head(connection, owner.key)

    def certify(self, statement: Meta) -> Meta:
        return self.seals.certify(statement)

    def _look_at(self, owner: Scope) -> None:
        """Compare an owner's rows with their census and their seals, now and then.

        AlteredError: they differ, and reads are to be refused.
        """
        is_sweep_due = self._seal_sweep.is_due(owner.key)
        is_census_due = self._census_watch.is_due(owner.key)
        if is_sweep_due or is_census_due:
            with self._database.reading(owner) as connection:
                if is_sweep_due:
                    self._seal_sweep.look(connection, owner.key)
                if is_census_due:
                    self._census_watch.look(connection, owner.key)

    def _forget_reads(self) -> None:
        """Drop all that was read: the database went back to an earlier state."""
        clear_caches()
        self._index_cache.forget()

    # ----------------------------------------------------------------------------------------------
    # records

    def commit(self, batch: WriteBatch) -> CommitResult:
        # Imported here: a process that only reads does not need it.
        from engrams.store.sql.batch_commit import commit_batch

        first_owner = next((put.record.scope.owner for put in batch.puts), None)
        if batch.repeatable:
            return self._database.write_unsynced(
                first_owner, lambda connection: commit_batch(connection, batch, self._dialect)
            )
        result = self._database.write(first_owner, commit_batch, batch, self._dialect)
        if self._head is not None:
            self._note_head(self._head, batch)
        return result

    def _note_head(self, head: HeadFile, batch: WriteBatch) -> None:
        """Note the last changes of the owners whose memories a batch wrote."""
        owners = {put.record.scope.owner for put in batch.puts}
        owners |= {change.owner for change in batch.changes}
        for owner in owners:
            with self._database.asking(owner) as connection:
                head.note(connection, owner.key)

    def get(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        if not ids:
            return ()
        self._look_at(owner)
        with self._database.asking(owner) as connection:
            return record_queries.get_records(connection, self.seals, owner, ids)

    def find(self, query: RecordQuery) -> RecordPage:
        self._look_at(query.reach.owner)
        now = self._clock()
        # A cursor needs a statement of its own, on the same state.
        lend = self._database.reading if query.after else self._database.asking
        with lend(query.reach.owner) as connection:
            return record_listing.find_page(connection, self.seals, query, now)

    def count(self, query: RecordQuery) -> int:
        now = self._clock()
        with self._database.asking(query.reach.owner) as connection:
            return record_listing.count_records(connection, query, now)

    def slots(self, query: RecordQuery) -> tuple[FactSlot, ...]:
        now = self._clock()
        with self._database.asking(query.reach.owner) as connection:
            return record_listing.find_slots(connection, query, now)

    def history(self, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
        with self._database.reading(owner) as connection:
            return record_queries.read_history(connection, self.seals, owner, id)

    def changes(self, owner: Scope, after: int, limit: int) -> ChangedRecords:
        with self._database.reading(owner) as connection:
            return record_queries.find_changed(connection, self.seals, owner, after, limit)

    def find_change(self, owner: Scope, back: int) -> int:
        with self._database.asking(owner) as connection:
            return record_queries.find_change(connection, owner, back)

    def scopes(self, owner: Scope | None) -> tuple[Scope, ...]:
        with self._database.asking(owner) as connection:
            return record_counts.list_scopes(connection, owner)

    def count_scopes(self, owner: Scope) -> Mapping[Scope, int]:
        with self._database.asking(owner) as connection:
            return record_counts.count_scopes(connection, owner)

    def storage(self, owner: Scope) -> StorageUse:
        with self._database.asking(owner) as connection:
            return record_counts.measure_storage(connection, owner)

    def reserve_attachment(self, reservation: AttachmentReservation, quota: StorageUse) -> None:
        self._database.write(
            reservation.owner,
            attachment_sizes.reserve_attachment,
            self._dialect,
            reservation,
            quota,
        )

    def keep_attachment(self, owner: Scope, digest: str, size: int) -> None:
        self._database.write(
            owner, attachment_sizes.keep_attachment, self._dialect, owner, digest, size
        )

    def drop_attachment(self, owner: Scope, digest: str) -> None:
        self._database.write(owner, attachment_sizes.drop_attachment, self._dialect, owner, digest)

    def counts(self, reach: ScopeReach | None) -> Mapping[str, Mapping[str, int]]:
        with self._database.reading(reach.owner if reach else None) as connection:
            return record_counts.count_records(connection, reach)

    def purge(
        self,
        owner: Scope,
        ids: Sequence[str],
        at: datetime,
        rewrites: WriteBatch | None = None,
        words: Sequence[str] = (),
    ) -> PurgeReport:
        from engrams.store.sql.record_purge import RecordPurger

        purger = RecordPurger(self._database, self._dialect, self._index_cache)
        return purger.purge(owner, ids, at, rewrites, words)

    def missing(self, model: str, after: str, limit: int) -> tuple[Record, ...]:
        with self._database.asking(None) as connection:
            return record_queries.find_unembedded(connection, self.seals, model, after, limit)

    def outbox(self, limit: int) -> tuple[OutboxEntry, ...]:
        with self._database.asking(None) as connection:
            return record_queries.read_outbox(connection, limit)

    def clear(self, ids: Sequence[int]) -> None:
        if ids and self._database.exists:
            self._database.write(None, execute, "clear_outbox", encode_json(list(ids)))

    def close(self) -> None:
        self._index_cache.close()
        self._database.close()

    # ----------------------------------------------------------------------------------------------
    # search

    def seek(self, query: CandidateSearchQuery) -> CandidatePool:
        return self._index_cache.seek_all([query])[0]

    def seek_all(self, queries: Sequence[CandidateSearchQuery]) -> list[CandidatePool]:
        return self._index_cache.seek_all(queries)

    def speakers(self, reach: ScopeReach) -> Mapping[str, int]:
        with self._database.asking(reach.owner) as connection:
            return dict(record_counts.find_speakers(connection, reach))

    def vectors(self, owner: Scope, ids: Sequence[str], model: str) -> Floats:
        with self._database.reading(owner) as connection:
            return vector_rows.fetch_vectors(connection, owner, ids, model)

    def edges(
        self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()
    ) -> tuple[Edge, ...]:
        with self._database.asking(owner) as connection:
            return link_queries.find_edges(connection, owner, nodes, types)

    def topics(self, reach: ScopeReach) -> tuple[Topic, ...]:
        with self._database.asking(reach.owner) as connection:
            return link_queries.list_topics(connection, reach)

    # ----------------------------------------------------------------------------------------------
    # jobs

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]:
        if not specs:
            return ()
        return self._database.write(
            None,
            lambda connection: tuple(job_queue.enqueue(connection, spec, at) for spec in specs),
        )

    def claim(self, claim: JobClaim) -> Job | None:
        # Workers ask often, mostly in vain: check before taking the write lock.
        with self._database.asking(None) as connection:
            if not job_queue.is_claimable(connection, claim):
                return None
        # A claim that a power failure undoes is a job that waits again: no disk need be waited for.
        return self._database.write_unsynced(
            None, lambda connection: job_queue.claim(connection, claim)
        )

    def renew(self, lease: str, until: datetime) -> bool:
        return self._database.exists and self._database.write_unsynced(
            None, lambda connection: job_queue.renew(connection, lease, until)
        )

    def keep(self, lease: str, payload: Meta) -> bool:
        return self._database.exists and self._database.write(None, job_queue.keep, lease, payload)

    def finish(self, lease: str, at: datetime) -> bool:
        return self._database.exists and self._database.write(None, job_queue.finish, lease, at)

    def fail(self, failure: JobFailure) -> bool:
        return self._database.exists and self._database.write(None, job_queue.fail, failure)

    def queue(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]:
        with self._database.asking(None) as connection:
            return job_queue.list_jobs(connection, states, limit)

    def waiting(self, kind: str, prefix: str) -> tuple[Job, ...]:
        with self._database.asking(None) as connection:
            return job_queue.find_waiting(connection, kind, prefix)

    def workload(self) -> Mapping[str, Mapping[str, int]]:
        with self._database.asking(None) as connection:
            return job_queue.count_workload(connection)

    def retry(self, ids: Sequence[str], at: datetime) -> int:
        return self._database.write(None, job_queue.retry, ids, at) if self._database.exists else 0

    def next_due(self, kinds: Sequence[str] = ()) -> datetime | None:
        with self._database.asking(None) as connection:
            return job_queue.find_next_due(connection, kinds)

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
                return model_usage.read_spend(connection, day)
        return self._database.write(None, model_usage.add_spend, day, calls, tokens)

    def count_requests(
        self, window: RequestWindow, now: datetime, account: str, number: int
    ) -> int:
        if number:
            return self._database.write_unsynced(
                None,
                lambda connection: model_usage.add_requests(
                    connection, window, now, account, number
                ),
            )
        with self._database.asking(None) as connection:
            return model_usage.read_requests(connection, window, now, account)

    def record_pace(self, model: str, seconds: float) -> None:
        self._database.write(None, model_usage.record_pace, model, seconds)

    def load_pace(self, model: str) -> tuple[float, ...]:
        with self._database.asking(None) as connection:
            return model_usage.load_pace(connection, model)

    def count_mistakes(self, model: str, numbers: Mapping[str, int]) -> None:
        self._database.write(None, model_usage.count_mistakes, model, numbers)

    def load_mistakes(self, model: str) -> Mapping[str, int]:
        with self._database.asking(None) as connection:
            return model_usage.load_mistakes(connection, model)

    def save_server_form(self, address: str, form: Mapping[str, Json]) -> None:
        self._database.write(None, model_usage.save_server_form, address, form)

    def load_server_form(self, address: str) -> Mapping[str, Json] | None:
        with self._database.asking(None) as connection:
            return model_usage.load_server_form(connection, address)

    # ----------------------------------------------------------------------------------------------
    # sessions

    def load(self, owner: Scope, id: str) -> SessionRow | None:
        with self._database.asking(owner) as connection:
            return session_states.load_session(connection, owner, id)

    def save(self, row: SessionRow, expect: int | None = None) -> SessionRow:
        return self._database.write(row.scope.owner, session_states.save_session, row, expect)

    def idle(self, before: datetime, limit: int = 100) -> tuple[SessionRow, ...]:
        with self._database.asking(None) as connection:
            return session_states.find_idle(connection, before, limit)

    def sessions(self, reach: ScopeReach, limit: int = 100) -> tuple[SessionRow, ...]:
        with self._database.asking(reach.owner) as connection:
            return session_states.list_sessions(connection, reach, limit)

    def load_state(self, owner: Scope, name: str) -> OwnerStateRow:
        with self._database.asking(owner) as connection:
            return session_states.load_state(connection, owner, name)

    def load_states(self, owner: Scope, names: Collection[str]) -> dict[str, OwnerStateRow]:
        with self._database.asking(owner) as connection:
            return session_states.load_states(connection, owner, names)

    def save_state(self, row: OwnerStateRow, expect: int | None = None) -> OwnerStateRow:
        return self._database.write(row.owner, session_states.save_state, row, expect)
