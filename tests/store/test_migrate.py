"""Steps of the schema on a Postgres that others work with."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.store import postgres

import engrams
from engrams import admin
from engrams.errors import StoreError
from engrams.text.terms import TERM_SCHEME

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]


def limit_steps(monkeypatch: pytest.MonkeyPatch, number: int) -> Any:
    """Let this engrams know only the first steps; undone by what is returned."""
    from engrams.store.postgres import schema_setup

    every = schema_setup.load_migrations
    monkeypatch.setattr(schema_setup, "load_migrations", lambda package: every(package)[:number])
    return lambda: monkeypatch.setattr(schema_setup, "load_migrations", every)


def list_steps() -> tuple[str, ...]:
    """Names of all steps, in order."""
    from engrams.store.sql.migration_files import load_migrations

    return tuple(step.name for step in load_migrations("engrams.store.postgres"))


def test_nobody_waits_behind_a_migration_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a backup holds a table that a step changes, others read and write it;
    the step is taken once the backup ends.
    """
    import psycopg

    url = postgres.make_database()
    steps = list_steps()
    undo = limit_steps(monkeypatch, 2)
    assert admin.migrate_store(url) == steps[:2]
    undo()
    taken: list[tuple[str, ...]] = []
    thread = threading.Thread(target=lambda: taken.append(admin.migrate_store(url)))
    with psycopg.connect(url) as backup:
        backup.execute("SELECT count(*) FROM engrams.tallies")
        thread.start()
        with psycopg.connect(url, autocommit=True) as connection2:
            connection2.execute("SET lock_timeout = '5s'")
            waiting = (
                "SELECT 1 FROM pg_locks WHERE NOT granted AND relation ="
                " 'engrams.tallies'::regclass"
            )
            while not connection2.execute(waiting).fetchall():
                assert thread.is_alive()
            assert connection2.execute("SELECT count(*) FROM engrams.tallies").fetchall() == [(0,)]
            assert taken == []
    thread.join(30)
    assert taken == [steps[2:]] and admin.migrate_store(url) == ()


def test_a_database_that_cannot_hold_every_text_is_refused() -> None:
    """Tables are made only where texts are Unicode; the error says how to make such a database."""
    url = postgres.make_database("ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    with pytest.raises(StoreError, match="LATIN1") as refused:
        admin.migrate_store(url)
    assert "UTF8" in refused.value.hint


def test_a_release_that_splits_words_otherwise(home: Path) -> None:
    """Older terms are refused until `migrate` has split every owner's texts again;
    newer ones stop what runs and what starts.
    """
    import psycopg

    url = postgres.make_database()
    admin.migrate_store(url)
    fields: dict[str, Any] = {
        "home": home,
        "store": {"url": url},
        "jobs__workers": 0,
        "embed__provider": "null",
    }
    with engrams.open(**fields) as memory:
        for owner in ("ann", "bob"):
            memory.add(f"The lantern of {owner} is green.", scope=("user", owner))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE engrams.records SET lexemes = '\\x01000000'")
        connection.execute("UPDATE engrams.migrations SET terms = terms - 1 WHERE number < 3")
    with pytest.raises(StoreError, match="older") as refused:
        engrams.open(**fields)
    assert "engrams migrate" in refused.value.hint
    assert admin.migrate_store(url) == ("terms",) and admin.migrate_store(url) == ()
    with engrams.open(**fields) as memory, psycopg.connect(url, autocommit=True) as connection:
        for owner in ("ann", "bob"):
            assert [
                hit.record.text for hit in memory.search("lantern", scope=("user", owner)).hits
            ] == [f"The lantern of {owner} is green."]
        connection.execute("UPDATE engrams.migrations SET terms = terms + 1")
        for start in (memory.inspect.require_ready, lambda: engrams.open(**fields)):
            with pytest.raises(StoreError, match="newer"):
                start()


def test_a_user_that_may_not_migrate_is_told_what_is_needed() -> None:
    """Roles that another user made have to be granted: the error says how."""
    import psycopg

    url = postgres.make_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS builder")
        connection.execute("CREATE ROLE builder LOGIN CREATEROLE")
        connection.execute("GRANT CREATE ON DATABASE fresh TO builder")
    user = url.replace("//postgres:@", "//builder@")
    assert user != url
    with pytest.raises(StoreError, match="permission denied") as refused:
        admin.migrate_store(user)
    assert "WITH ADMIN OPTION" in refused.value.hint
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("GRANT engrams_service, engrams_fleet TO builder WITH ADMIN OPTION")
    assert admin.migrate_store(user) == list_steps()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP OWNED BY builder CASCADE")
        connection.execute("DROP ROLE builder")


def test_older_processes_store_nothing_while_words_are_split_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first moment of `migrate` a running process of the older words refuses to write, and
    one of the newer ones to start.
    """
    from engrams.store.postgres import schema_setup

    url = postgres.make_database()
    admin.migrate_store(url)
    fields: dict[str, Any] = {
        "home": home,
        "store": {"url": url},
        "jobs__workers": 0,
        "embed__provider": "null",
    }
    scope = ("user", "ann")
    with engrams.open(**fields) as older:
        older.add("The lantern is green.", scope=scope)
        split = schema_setup.update_terms
        met = []

        def update(database: str) -> None:
            with pytest.raises(StoreError, match="words in another way") as refused:
                older.add("The lantern is red.", scope=scope)
            assert "Upgrade" in refused.value.hint
            with pytest.raises(StoreError, match="older") as waits:
                engrams.open(**fields)
            assert "engrams migrate" in waits.value.hint
            split(database)
            met.append(database)

        # What migrates now is of a release with newer words.
        monkeypatch.setattr(schema_setup, "TERM_SCHEME", TERM_SCHEME + 1)
        monkeypatch.setattr(schema_setup, "update_terms", update)
        assert admin.migrate_store(url) == ("terms",) and met == [url]
        monkeypatch.setattr(schema_setup, "TERM_SCHEME", TERM_SCHEME)
        with pytest.raises(StoreError, match="newer"):
            older.inspect.require_ready()
        assert [record.text for record in older.list(scope=scope).records] == [
            "The lantern is green."
        ]


def run(home: Path, url: str, *words: str) -> tuple[int, str]:
    """A command on a database: its exit code, and what it said."""
    env = {
        **os.environ,
        "ENGRAMS_HOME": str(home),
        "ENGRAMS_STORE__URL": url,
        "ENGRAMS_USER": "ann",
    }
    command = [sys.executable, "-m", "engrams.program.entry", *words]
    completed = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    return completed.returncode, completed.stdout + completed.stderr


def test_an_older_program_does_not_migrate_a_newer_database(home: Path) -> None:
    """`engrams migrate` refuses a database with steps that it does not know, as every command does."""
    import psycopg

    url = postgres.make_database()
    admin.migrate_store(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO engrams.migrations SELECT 99, 'later', checksum, terms FROM"
            " engrams.migrations WHERE number = 1"
        )
    for command in ("migrate", "stats"):
        code, output = run(home, url, command)
        assert code == 5
        assert "migrated by a newer engrams" in output


@pytest.mark.parametrize("table", ["records (id text)", "migrations (id text)"])
def test_a_schema_of_another_program_is_told(home: Path, table: str) -> None:
    """Where `engrams` is another program's schema every command says so and what to do, and nothing
    in it changes.
    """
    import psycopg

    url = postgres.make_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA engrams; CREATE TABLE engrams.{table}".encode())
        for command in ("migrate", "stats", "doctor"):
            code, output = run(home, url, command)
            assert code != 0
            assert "has a schema engrams that belongs to another program" in output
            assert "CREATE DATABASE" in output
        found = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'engrams'"
        ).fetchall()
    assert found == [(table.split(maxsplit=1)[0],)]
