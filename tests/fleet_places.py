"""Places of what a home keeps in files and a fleet in tables:
tests that take ``place`` run on both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.store import postgres

from engrams import admin
from engrams.api_keys import ApiKeyStore
from engrams.logs import AuditLog
from engrams.ports import Clock
from engrams.settings import Settings, load

SERVED = (pytest.mark.postgres, pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING))
PLACES = [
    "files",
    pytest.param("tables", marks=SERVED),
    pytest.param("pooled", marks=(*SERVED, pytest.mark.slow)),
]


class Place:
    """A memory's keys and audit log, opened as often as there are processes."""

    def __init__(self, name: str, home: Path, stack: ExitStack) -> None:
        self.url = "" if name == "files" else postgres.empty_database()
        url = postgres.pooled(self.url) if name == "pooled" else self.url
        self.settings: Settings = load({"home": home, "store.url": url}).settings
        self._stack = stack

    def open_keys(self) -> ApiKeyStore:
        return self._stack.enter_context(closing(admin.open_keys(self.settings)))

    def open_log(self, clock: Clock) -> AuditLog:
        return self._stack.enter_context(closing(admin.open_audit_log(self.settings, clock)))

    def read_everything(self) -> str:
        """All that is kept of keys and events, as text."""
        if not self.url:
            return "".join(
                path.read_text("utf-8", "replace")
                for path in self.settings.home.rglob("*")
                if path.is_file()
            )
        import psycopg

        with psycopg.connect(self.url) as connection:
            tables = ("api_keys", "audit_events")
            return "".join(
                str(connection.execute(f"SELECT * FROM engrams.{name}".encode()).fetchall())
                for name in tables
            )


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, home: Path) -> Iterator[Place]:
    """Files of a home, and tables of a database, also behind a pooler."""
    with ExitStack() as stack:
        yield Place(request.param, home, stack)
