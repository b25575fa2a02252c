"""SQLite store: one file, or memory, behind all ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import apsw

from engrams.ports import (
    CandidatePool,
    CandidateQuery,
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
    WriteBatch,
)
from engrams.settings import StoreSettings
from engrams.store.sqlite import graph, jobs, modelusage, records, sessions
from engrams.store.sqlite.database import Database
from engrams.store.sqlite.indexsync import IndexCache
from engrams.store.sqlite.namedqueries import execute
from engrams.store.sqlite.rowconversion import encode_json
from engrams.store.sqlite.termids import TermLexicon
from engrams.text.cache import clear_caches
from engrams.types import Edge, EdgeType, HistoryEntry, Json, Meta, Record, Scope, Topic

if TYPE_CHECKING:
    from engrams.ports.candidatesearch import Floats


class SqliteStore:
    """Every port over one SQLite database.

    Safe in many threads, processes and after a fork."""

    def __init__(self, database: Database, settings: StoreSettings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._lexicon = TermLexicon()
        self._index_cache = IndexCache(database, settings, clock)

    @classmethod
    def open(cls, path: Path | Literal[":memory:"], settings: StoreSettings, clock: Clock) -> SqliteStore:
        """Open a database file, or one in memory.

        Nothing is created before the first write. What can be read of a damaged file is copied to a new one, and the damaged file is kept
        beside it; ``check`` reports it. StoreError: nothing could be read from it, or it is another program's or a newer engrams' file."""
        place = None if path == ":memory:" else Path(path).expanduser()
        return cls(Database(place, settings, clock), settings, clock)

    # ---------------------------------------------------------------------------------------------------- records

    def commit(self, batch: WriteBatch) -> CommitResult:
        # Imported here: a process that only reads does not need it.
        from engrams.store.sqlite.commit import BatchCommit

        return self._database.write(BatchCommit(batch, self._lexicon, self._database).run)

    def get(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        return self._database.read(records.get_records, owner, ids)

    def find(self, query: RecordQuery) -> RecordPage:
        now = self._clock()
        return self._database.read(records.find_page, query, now)

    def slots(self, query: RecordQuery) -> tuple[FactSlot, ...]:
        now = self._clock()
        return self._database.read(records.find_slots, query, now)

    def history(self, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
        return self._database.read(records.read_history, owner, id)

    def scopes(self, owner: Scope | None) -> tuple[Scope, ...]:
        return self._database.read(records.list_scopes, owner)

    def counts(self, reach: ScopeReach | None) -> Mapping[str, Mapping[str, int]]:
        return self._database.read(records.count_records, reach)

    def purge(
        self, owner: Scope, ids: Sequence[str], at: datetime, rewrites: WriteBatch | None = None, words: Sequence[str] = ()
    ) -> PurgeReport:
        from engrams.store.sqlite import recordpurge
        from engrams.store.sqlite.commit import BatchCommit

        database = self._database
        nothing = dict.fromkeys(recordpurge.PLACES, 0)
        if not database.exists:
            return PurgeReport(removed=nothing, remaining=nothing)

        def erase(connection: apsw.Connection) -> tuple[Mapping[str, int], recordpurge.PurgeVerificationData]:
            # Under the write lock, as every use of the lexicon.
            self._lexicon.start_epoch(None)
            return recordpurge.erase_records(connection, owner, ids, at, recordpurge.PurgeRewrites(shortened, rewrite, words))

        def rewrite(connection: apsw.Connection) -> None:
            if rewrites is not None:
                BatchCommit(rewrites, self._lexicon, database).run(connection)
                self._lexicon.start_epoch(None)

        shortened = [change.id for change in rewrites.changes] if rewrites else []
        removed, traces = database.write(erase)
        self._index_cache.drop(owner)
        clear_caches()
        # The log still holds earlier pages.
        log = 0 if database.checkpoint() else 1
        remaining = database.read(recordpurge.count_remaining, traces)
        return PurgeReport(removed={**nothing, **removed, "log": 1 - log}, remaining={**nothing, **remaining, "log": log})

    def missing(self, model: str, after: str, limit: int) -> tuple[Record, ...]:
        return self._database.read(records.find_unembedded, model, after, limit)

    def outbox(self, limit: int) -> tuple[OutboxEntry, ...]:
        return self._database.read(records.read_outbox, limit)

    def clear(self, ids: Sequence[int]) -> None:
        if ids and self._database.exists:
            self._database.write(execute, "clear_outbox", encode_json(list(ids)))

    def check(self, repair: bool) -> Mapping[str, Json]:
        from engrams.store.sqlite import check

        return check.check_database(self._database, repair, self._clock)

    def close(self) -> None:
        self._database.close()

    # ----------------------------------------------------------------------------------------------------- search

    def seek(self, seek: CandidateQuery) -> CandidatePool:
        return self._index_cache.seek(seek)

    def vectors(self, owner: Scope, ids: Sequence[str], model: str) -> Floats:
        return self._database.read(records.fetch_vectors, owner, ids, model)

    def speakers(self, reach: ScopeReach) -> Mapping[str, int]:
        return self._database.read(records.count_speakers, reach)

    def edges(self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()) -> tuple[Edge, ...]:
        return self._database.read(graph.find_edges, owner, nodes, types)

    def topics(self, reach: ScopeReach) -> tuple[Topic, ...]:
        return self._database.read(graph.list_topics, reach)

    # ------------------------------------------------------------------------------------------------------- jobs

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]:
        if not specs:
            return ()
        return self._database.write(lambda connection: tuple(jobs.enqueue(connection, spec, at) for spec in specs))

    def claim(self, claim: JobClaim) -> Job | None:
        # Workers ask often, mostly in vain: check before taking the write lock.
        if not self._database.read(jobs.is_claimable, claim):
            return None
        return self._database.write(jobs.claim, claim)

    def renew(self, lease: str, until: datetime) -> bool:
        return self._database.exists and self._database.write(jobs.renew, lease, until)

    def keep(self, lease: str, payload: Meta) -> bool:
        return self._database.exists and self._database.write(jobs.keep, lease, payload)

    def finish(self, lease: str, at: datetime) -> bool:
        return self._database.exists and self._database.write(jobs.finish, lease, at)

    def fail(self, failure: JobFailure) -> bool:
        return self._database.exists and self._database.write(jobs.fail, failure)

    def queue(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]:
        return self._database.read(jobs.list_jobs, states, limit)

    def waiting(self, kind: str, prefix: str) -> tuple[Job, ...]:
        return self._database.read(jobs.find_waiting, kind, prefix)

    def workload(self) -> Mapping[str, Mapping[str, int]]:
        return self._database.read(jobs.count_workload)

    def retry(self, ids: Sequence[str], at: datetime) -> int:
        return self._database.write(jobs.retry, ids, at) if self._database.exists else 0

    def next_due(self) -> datetime | None:
        return self._database.read(jobs.find_next_due)

    def cancel(self, ids: Sequence[str]) -> int:
        if not ids or not self._database.exists:
            return 0
        return self._database.write(execute, "cancel_jobs", encode_json(list(ids)))

    def spend(self, day: str, calls: int, tokens: int) -> tuple[int, int]:
        if not calls and not tokens:
            return self._database.read(modelusage.read_spend, day)
        return self._database.write(modelusage.add_spend, day, calls, tokens)

    def record_pace(self, model: str, seconds: float) -> None:
        self._database.write(modelusage.record_pace, model, seconds)

    def load_pace(self, model: str) -> tuple[float, ...]:
        return self._database.read(modelusage.load_pace, model)

    # --------------------------------------------------------------------------------------------------- sessions

    def load(self, owner: Scope, id: str) -> SessionRow | None:
        return self._database.read(sessions.load_session, owner, id)

    def save(self, row: SessionRow, expect: int | None = None) -> SessionRow:
        return self._database.write(sessions.save_session, row, expect)

    def idle(self, before: datetime, limit: int = 100) -> tuple[SessionRow, ...]:
        return self._database.read(sessions.find_idle, before, limit)

    def sessions(self, reach: ScopeReach, limit: int = 100) -> tuple[SessionRow, ...]:
        return self._database.read(sessions.list_sessions, reach, limit)

    def load_state(self, owner: Scope, name: str) -> OwnerStateRow:
        return self._database.read(sessions.load_state, owner, name)

    def save_state(self, row: OwnerStateRow, expect: int | None = None) -> OwnerStateRow:
        return self._database.write(sessions.save_state, row, expect)
