"""Postgres store: every port over one database, for a fleet of processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from engrams.ports import Clock, CommitResult, Job, JobClaim, JobSpec, ReachSurvey, ScopeReach, WriteBatch
from engrams.settings import StoreSettings
from engrams.store.postgres.database import KEEP_ALIVE, PostgresDatabase
from engrams.store.postgres.dialect import PostgresDialect
from engrams.store.postgres.fleet import PostgresFleetTables
from engrams.store.postgres.jobnotices import JobNoticeListener
from engrams.store.postgres.schemasetup import APPLIED, compare_schema, require_schema
from engrams.store.sql import jobqueue, recordqueries
from engrams.store.sql.namedqueries import SqlConnection, fetch_first, fetch_one, query
from engrams.store.sql.store import SqlStore
from engrams.types import Json

_following = threading.Lock()
_CLAIMS, _CLAIM_SECONDS = 100, 0.005
"""Looks for a job while others are at it, and the time between them."""


class PostgresStore(SqlStore):
    """Every port over one Postgres database.

    Safe in many threads, processes and machines, and after a fork."""

    _database: PostgresDatabase
    _listener: JobNoticeListener | None = None

    @property
    def tables(self) -> PostgresFleetTables:
        """Tables beside memory, on this store's connections."""
        return PostgresFleetTables(self._database, is_shared=True)

    @classmethod
    def open(cls, url: str, settings: StoreSettings, clock: Clock) -> PostgresStore:
        """Open a database that ``engrams migrate`` made.

        StoreError: it cannot be reached, or has another schema."""
        return cls(_open_database(url, settings), PostgresDialect(), settings, clock)

    def commit(self, batch: WriteBatch) -> CommitResult:
        done = super().commit(batch)
        if any(done.jobs):
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
        Steps of a newer engrams only add, so that a process that runs goes on."""
        with self._database.reading(None) as connection:
            compare_schema(connection.execute(APPLIED).fetchall(), self._database.label, newer=True)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        super().close()

    def survey(self, reach: ScopeReach) -> ReachSurvey:
        """Look at the owner's last change in the same round trip."""
        last_change = query("last_change"), (reach.owner.key,)
        rows, [(last,)] = self._database.ask_together(reach.owner, recordqueries.build_speakers(reach), last_change)
        return ReachSurvey(dict(rows), last or 0)

    def claim(self, claim: JobClaim) -> Job | None:
        for _ in range(_CLAIMS):
            with self._database.asking(None) as connection:
                if not jobqueue.is_claimable(connection, claim):
                    return None
            job = self._database.write(None, jobqueue.claim, claim)
            if job is not None:
                return job
            # Another one is taking a job, or adding to it: until that is done, nobody knows whether it is left.
            time.sleep(_CLAIM_SECONDS)
        return None

    def check(self, repair: bool) -> Mapping[str, Json]:  # noqa: ARG002
        """Check the counts of records.

        Nothing is repaired: the server looks after its files."""
        with self._database.reading(None) as connection:
            problems, size, rows = _look(connection)
        return {
            "ok": not problems,
            "problems": problems,
            "repaired": [],
            "path": self._database.label,
            "bytes": size,
            "rows": rows,
            "aside": [],
            "losses": "",
            "lost": [],
        }


def open_tables(settings: StoreSettings) -> PostgresFleetTables:
    """Open the tables beside memory, on connections of their own.
    StoreError: as ``PostgresStore.open``."""
    return PostgresFleetTables(_open_database(settings.url, settings))


def _open_database(url: str, settings: StoreSettings) -> PostgresDatabase:
    database = PostgresDatabase(url, settings)
    require_schema(url, database.label)
    return database


def _look(connection: SqlConnection) -> tuple[list[Json], int, dict[str, Json]]:
    problems: list[Json] = ["The counts of records are wrong."] if fetch_first(connection, "recount") else []
    size, *rows = fetch_one(connection, "rows")
    return problems, size, dict(zip(("records", "vectors", "jobs", "sessions", "outbox"), rows, strict=True))
