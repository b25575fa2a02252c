"""SQLite store: one file, or memory, behind all ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import apsw

from engrams.ports import (
    Batch,
    Claim,
    Clock,
    Committed,
    Erased,
    Failure,
    Job,
    JobSpec,
    OutboxEntry,
    Page,
    Pool,
    Query,
    Reach,
    Seek,
    SessionRow,
    Slot,
    StateRow,
)
from engrams.settings import StoreSettings
from engrams.store.sqlite import graph, jobs, ownerstate, pages, records, sessions, spend, vectors
from engrams.store.sqlite.database import Database
from engrams.store.sqlite.lexicon import TermLexicon
from engrams.store.sqlite.rows import encode_json
from engrams.store.sqlite.search import IndexCache
from engrams.store.sqlite.sql import execute
from engrams.text.cache import clear_caches
from engrams.types import Edge, EdgeType, HistoryEntry, Json, Record, Scope, Topic

if TYPE_CHECKING:
    from engrams.ports.search import Floats


class SqliteStore:
    """Every port over one SQLite database.

    Safe in many threads, processes and after a fork.
    """

    def __init__(self, database: Database, settings: StoreSettings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._lexicon = TermLexicon()
        self._index_cache = IndexCache(database, settings)

    @classmethod
    def open(cls, path: Path | Literal[":memory:"], settings: StoreSettings, clock: Clock) -> SqliteStore:
        """Open a database file, or one in memory.

        Nothing is created before the first write. An unreadable file is moved aside and an empty one takes its place; ``check`` reports it.
        StoreError: another program's or a newer engrams' file, or one that may not be read.
        """
        place = None if path == ":memory:" else Path(path).expanduser()
        return cls(Database(place, settings, clock), settings, clock)

    # ---------------------------------------------------------------------------------------------------- records

    def commit(self, batch: Batch) -> Committed:
        # Imported here: a process that only reads does not need it.
        from engrams.store.sqlite.commit import BatchCommit

        database = self._database
        # Term numbers are void after a rollback or with another file.
        return database.write(
            lambda connection: BatchCommit(connection, batch, self._lexicon, (database.generation, database.rollbacks)).run()
        )

    def get(self, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        return self._database.read(lambda connection: records.get_records(connection, owner, ids))

    def find(self, query: Query) -> Page:
        now = self._clock()
        return self._database.read(lambda connection: pages.find_page(connection, query, now))

    def slots(self, query: Query) -> tuple[Slot, ...]:
        now = self._clock()
        return self._database.read(lambda connection: pages.find_slots(connection, query, now))

    def history(self, owner: Scope, id: str) -> tuple[HistoryEntry, ...]:
        return self._database.read(lambda connection: records.read_history(connection, owner, id))

    def scopes(self, owner: Scope | None) -> tuple[Scope, ...]:
        return self._database.read(lambda connection: records.list_scopes(connection, owner))

    def counts(self, reach: Reach | None) -> Mapping[str, Mapping[str, int]]:
        return self._database.read(lambda connection: records.count_records(connection, reach))

    def purge(self, owner: Scope, ids: Sequence[str], at: datetime) -> Erased:
        from engrams.store.sqlite import purge

        database = self._database
        nothing = dict.fromkeys(purge.PLACES, 0)
        if not database.exists:
            return Erased(removed=nothing, remaining=nothing)

        def erase(connection: apsw.Connection) -> tuple[Mapping[str, int], purge.PurgeTraces]:
            # Under the write lock, as every use of the lexicon.
            self._lexicon.start_epoch(None)
            return purge.erase_records(connection, owner, ids, at)

        removed, traces = database.write(erase)
        self._index_cache.drop(owner)
        clear_caches()
        # The log still holds earlier pages.
        log = 0 if database.checkpoint() else 1
        remaining = database.read(lambda connection: purge.count_remaining(connection, traces))
        return Erased(removed={**nothing, **removed, "log": 1 - log}, remaining={**nothing, **remaining, "log": log})

    def missing(self, model: str, after: str, limit: int) -> tuple[Record, ...]:
        return self._database.read(lambda connection: records.find_unembedded(connection, model, after, limit))

    def outbox(self, limit: int) -> tuple[OutboxEntry, ...]:
        return self._database.read(lambda connection: records.read_outbox(connection, limit))

    def clear(self, ids: Sequence[int]) -> None:
        if ids and self._database.exists:
            self._database.write(lambda connection: execute(connection, "clear_outbox", encode_json(list(ids))))

    def check(self, repair: bool) -> Mapping[str, Json]:
        from engrams.store.sqlite import check

        return check.check_database(self._database, repair, self._clock)

    def close(self) -> None:
        self._database.close()

    # ----------------------------------------------------------------------------------------------------- search

    def seek(self, seek: Seek) -> Pool:
        return self._index_cache.seek(seek)

    def vectors(self, owner: Scope, ids: Sequence[str], model: str) -> Floats:
        return self._database.read(lambda connection: vectors.fetch_vectors(connection, owner, ids, model))

    def speakers(self, reach: Reach) -> Mapping[str, int]:
        return self._database.read(lambda connection: records.count_speakers(connection, reach))

    def edges(self, owner: Scope, nodes: Sequence[str], types: Sequence[EdgeType] = ()) -> tuple[Edge, ...]:
        return self._database.read(lambda connection: graph.find_edges(connection, owner, nodes, types))

    def topics(self, reach: Reach) -> tuple[Topic, ...]:
        return self._database.read(lambda connection: graph.list_topics(connection, reach))

    # ------------------------------------------------------------------------------------------------------- jobs

    def enqueue(self, specs: Sequence[JobSpec], at: datetime) -> tuple[str, ...]:
        if not specs:
            return ()
        return self._database.write(lambda connection: tuple(jobs.enqueue(connection, spec, at) for spec in specs))

    def claim(self, claim: Claim) -> Job | None:
        # Workers ask often, mostly in vain: check before taking the write lock.
        if not self._database.read(lambda connection: jobs.is_claimable(connection, claim)):
            return None
        return self._database.write(lambda connection: jobs.claim(connection, claim))

    def renew(self, lease: str, until: datetime) -> bool:
        return self._database.exists and self._database.write(lambda connection: jobs.renew(connection, lease, until))

    def finish(self, lease: str, at: datetime) -> bool:
        return self._database.exists and self._database.write(lambda connection: jobs.finish(connection, lease, at))

    def fail(self, failure: Failure) -> bool:
        return self._database.exists and self._database.write(lambda connection: jobs.fail(connection, failure))

    def queue(self, states: Sequence[str] = (), limit: int = 100) -> tuple[Job, ...]:
        return self._database.read(lambda connection: jobs.list_jobs(connection, states, limit))

    def waiting(self, kind: str, prefix: str) -> tuple[Job, ...]:
        return self._database.read(lambda connection: jobs.find_waiting(connection, kind, prefix))

    def workload(self) -> Mapping[str, Mapping[str, int]]:
        return self._database.read(jobs.count_workload)

    def retry(self, ids: Sequence[str], at: datetime) -> int:
        return self._database.write(lambda connection: jobs.retry(connection, ids, at)) if self._database.exists else 0

    def next_due(self) -> datetime | None:
        return self._database.read(jobs.find_next_due)

    def cancel(self, ids: Sequence[str]) -> int:
        if not ids or not self._database.exists:
            return 0
        return self._database.write(lambda connection: execute(connection, "cancel_jobs", encode_json(list(ids))))

    def spend(self, day: str, calls: int, tokens: int) -> tuple[int, int]:
        if not calls and not tokens:
            return self._database.read(lambda connection: spend.read_spend(connection, day))
        return self._database.write(lambda connection: spend.add_spend(connection, day, calls, tokens))

    # --------------------------------------------------------------------------------------------------- sessions

    def load(self, owner: Scope, id: str) -> SessionRow | None:
        return self._database.read(lambda connection: sessions.load_session(connection, owner, id))

    def save(self, row: SessionRow, expect: int | None = None) -> SessionRow:
        return self._database.write(lambda connection: sessions.save_session(connection, row, expect))

    def idle(self, before: datetime, limit: int = 100) -> tuple[SessionRow, ...]:
        return self._database.read(lambda connection: sessions.find_idle(connection, before, limit))

    def sessions(self, reach: Reach, limit: int = 100) -> tuple[SessionRow, ...]:
        return self._database.read(lambda connection: sessions.list_sessions(connection, reach, limit))

    def load_state(self, owner: Scope, name: str) -> StateRow:
        return self._database.read(lambda connection: ownerstate.load_state(connection, owner, name))

    def save_state(self, row: StateRow, expect: int | None = None) -> StateRow:
        return self._database.write(lambda connection: ownerstate.save_state(connection, row, expect))
