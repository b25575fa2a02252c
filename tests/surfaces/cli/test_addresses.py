"""Addresses of databases as people write them: what is wrong is said, and no password is shown."""

from __future__ import annotations

import pytest
from tests.surfaces.cli.conftest import Run

HINT = "postgresql://USER:PASSWORD@HOST/NAME"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:hun%zzter2@127.0.0.1/memory",
        "postgresql://app:hun@ter2@127.0.0.1/memory",
        "postgresql://app:hunter2@127.0.0.1/memory?nosuchoption=1",
        "host=127.0.0.1 user=app password=hunter2 dbname=memory",
        "postgresql:/app:hunter2@127.0.0.1/memory",
    ],
)
def test_what_is_no_address_is_told(engrams: Run, url: str) -> None:
    """An address that nobody can read, and one that is none, end with how to write it:
    no traceback, no file of that name, no password.
    """
    pytest.importorskip("psycopg")
    for command in (("search", "bees"), ("migrate",), ("move", "--to", "x.db")):
        finished = engrams(*command, "--set", f"store.url={url}")
        assert finished.code == 1 and HINT in finished.err, finished.err
        assert "ter2" not in finished.err


def test_migrate_without_an_address(engrams: Run) -> None:
    """A memory in a file has no tables to migrate: the error names the option."""
    finished = engrams("migrate")
    assert finished.code == 1 and "--url" in finished.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:hunter2@h/db",
        "postgresql://h/db?user=app&password=hunter2&sslmode=require",
    ],
)
def test_a_password_is_never_shown(engrams: Run, url: str) -> None:
    """`engrams config` shows an address without its password, wherever that stands in it."""
    output = engrams("config", "store.url", "--set", f"store.url={url}").out
    assert "hunter2" not in output and "h/db" in output
