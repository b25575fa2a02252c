"""What a Postgres refuses, and what it is said to mean."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest
from tests.store import postgres

import engrams
from engrams.errors import InputError, StoreError

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
ANN = ("user", "ann")


def test_a_name_that_no_index_takes(home: Path) -> None:
    """A subject of thousands of letters is the caller's mistake, not a database that is away."""
    letters = random.Random(1).choices(string.ascii_letters, k=6000)
    with engrams.open(
        home=home, store={"url": postgres.empty_database()}, jobs__workers=0
    ) as memory:
        added = memory.add("I keep bees.", scope=ANN)
        with pytest.raises(InputError, match="too long") as refused:
            memory.edit(added.id, scope=ANN, fields={"subject": "".join(letters)})
        assert "2,000 bytes" in refused.value.hint


def test_a_statement_that_takes_too_long_names_its_limit(home: Path) -> None:
    """A limit of the server is not taken for a busy memory."""
    import psycopg

    url = postgres.empty_database()
    with (
        engrams.open(
            home=home, store={"url": f"{url}&options=-cstatement_timeout%3D500"}, jobs__workers=0
        ) as memory,
        psycopg.connect(url) as connection2,
    ):
        connection2.execute("LOCK TABLE engrams.records")
        with pytest.raises(StoreError) as refused:
            memory.list(scope=ANN)
        assert "statement_timeout" in refused.value.hint


def test_a_server_that_takes_no_writes(home: Path) -> None:
    """A standby, or a user who may only read: the hint asks for the primary."""
    url = f"{postgres.empty_database()}&options=-cdefault_transaction_read_only%3Don"
    with engrams.open(home=home, store={"url": url}, jobs__workers=0) as memory:
        assert not memory.list(scope=ANN).records
        with pytest.raises(StoreError) as refused:
            memory.add("I keep bees.", scope=ANN)
        assert "primary" in refused.value.hint


def test_a_pooler_without_prepared_statements() -> None:
    """An older PgBouncer mixes up prepared statements:
    the hint names the version and the setting that are needed.
    """
    from psycopg import errors

    from engrams.store.postgres.error_mapping import to_engrams_error

    for kind in (errors.DuplicatePreparedStatement, errors.InvalidSqlStatementName):
        found = to_engrams_error(kind('prepared statement "_pg3_0" already exists'), "the database")
        assert isinstance(found, StoreError) and "max_prepared_statements" in found.hint
