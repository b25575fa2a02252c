"""Steps of the schema on a Postgres that others work with."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.store import postgres

from engrams import build
from engrams.errors import StoreError

pytestmark = [pytest.mark.postgres, pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING)]


def make_database(options: str = "") -> str:
    """The address of a new database without tables."""
    import psycopg

    url = postgres.start_server()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS fresh")
        connection.execute(f"CREATE DATABASE fresh {options}".encode())
    return url.replace("/postgres?", "/fresh?")


def limit_steps(monkeypatch: pytest.MonkeyPatch, number: int) -> Any:
    """Let this engrams know only the first steps; undone by what is returned."""
    from engrams.store.postgres import schemasetup

    every = schemasetup.load_migrations
    monkeypatch.setattr(schemasetup, "load_migrations", lambda package: every(package)[:number])
    return lambda: monkeypatch.setattr(schemasetup, "load_migrations", every)


def test_nobody_waits_behind_a_migration_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a backup holds a table that a step changes, others read and write it; the step is taken once the backup ends."""
    import psycopg

    url = make_database()
    undo = limit_steps(monkeypatch, 2)
    assert build.migrate_store(url) == ("start", "owners")
    undo()
    taken: list[tuple[str, ...]] = []
    thread = threading.Thread(target=lambda: taken.append(build.migrate_store(url)))
    with psycopg.connect(url) as backup:
        backup.execute("SELECT count(*) FROM engrams.tallies")
        thread.start()
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SET lock_timeout = '5s'")
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'engrams.tallies'::regclass"
            while not other.execute(waiting).fetchall():
                assert thread.is_alive()
            assert other.execute("SELECT count(*) FROM engrams.tallies").fetchall() == [(0,)]
            assert taken == []
    thread.join(30)
    assert taken == [("bytes",)] and build.migrate_store(url) == ()


def test_a_database_that_cannot_hold_every_text_is_refused() -> None:
    """Tables are made only where texts are Unicode; the error says how to make such a database."""
    url = make_database("ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    with pytest.raises(StoreError, match="LATIN1") as refused:
        build.migrate_store(url)
    assert "UTF8" in refused.value.hint
