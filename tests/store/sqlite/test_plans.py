"""The hot queries use the index that was made for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.store.make import ALICE, START, Time, add, at, reach, record, turn

from engrams.core import Evidence, Kind, Status
from engrams.ports import Condition, RecordQuery, ScopeReach, Where
from engrams.settings import StoreSettings
from engrams.store.sql import named_queries, record_listing
from engrams.store.sqlite import SqliteStore


@pytest.fixture
def connection(home: Path, clock: Time) -> Iterator[apsw.Connection]:
    """A connection to a store with a few records, without statistics, as every store is."""
    store = SqliteStore.open(home / "memory.db", StoreSettings(), clock)
    add(store, *(turn(f"turn {number}", recorded_at=at(minutes=number)) for number in range(20)))
    add(store, record("fact", subject="alice", evidence=(Evidence("q", "t"),)))
    with store._database.reading() as opened:
        yield opened
    store.close()


def plan(connection: apsw.Connection, text: str, values: Any) -> str:
    return "\n".join(
        str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values)
    )


LISTS = {
    "newest of an owner": (
        RecordQuery(ScopeReach(ALICE, (ALICE,), tree=True)),
        "records_recorded (owner=?)",
        True,
    ),
    "next page": (
        RecordQuery(ScopeReach(ALICE, (ALICE,), tree=True), after="AFTER"),
        "records_recorded (owner=?",
        True,
    ),
    "facts": (RecordQuery(reach(), kinds=(Kind.FACT,)), "records_kind (owner=? AND kind=?)", True),
    "several kinds": (
        RecordQuery(reach(), kinds=(Kind.FACT, Kind.NOTE)),
        "records_kind (owner=? AND kind=?)",
        False,
    ),
    "start of an id": (
        RecordQuery(
            reach(),
            where=Where("and", (Condition("id", "gte", "01abc"), Condition("id", "lt", "01abd"))),
        ),
        "records_id (id>? AND id<?)",
        False,
    ),
    "one id": (
        RecordQuery(reach(), where=Where("and", (Condition("id", "eq", "01abc"),))),
        "records_id (id=? AND owner=?)",
        True,
    ),
    "session": (
        RecordQuery(reach(), session="s1"),
        "records_session (owner=? AND session=?)",
        True,
    ),
    "subject": (
        RecordQuery(reach(), subject="alice"),
        "records_subject (owner=? AND subject=?)",
        False,
    ),
    "triple": (
        RecordQuery(reach(), subject="alice", predicates=("likes",)),
        "records_subject (owner=? AND subject=? AND predicate=?)",
        False,
    ),
    "predicates": (
        RecordQuery(reach(), predicates=("likes", "is")),
        "records_predicate (owner=? AND predicate=?)",
        False,
    ),
    "predicates of one": (
        RecordQuery(reach(), predicates=("likes",), about=("ada",)),
        "records_predicate (owner=? AND predicate=?)",
        False,
    ),
    "believed": (
        RecordQuery(reach(), kinds=(Kind.FACT, Kind.RULE), order="believed"),
        "records_believed (owner=?)",
        True,
    ),
    "hash": (RecordQuery(reach(), hashes=("00" * 16,)), "records_hash (owner=? AND hash=?)", False),
    "hash of a kind": (
        RecordQuery(reach(), kinds=(Kind.FACT,), hashes=("00" * 16,)),
        "records_hash (owner=? AND hash=?)",
        False,
    ),
    "external id": (
        RecordQuery(reach(), external_id="m"),
        "records_external (owner=? AND scope=? AND external_id=?)",
        True,
    ),
    "sources and kinds": (
        RecordQuery(
            reach(), kinds=(Kind.FACT, Kind.NOTE), statuses=(Status.SUPERSEDED,), sources=("a", "b")
        ),
        "records USING INTEGER PRIMARY KEY",
        False,
    ),
    "sources": (
        RecordQuery(reach(), sources=("a", "b")),
        "quotes USING PRIMARY KEY (owner=? AND source=?)",
        False,
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists(connection: apsw.Connection, name: str) -> None:
    """Each sort of listing searches its index, in the order it is asked for where that can be, and
    never scans.
    """
    record_query, index, ordered = LISTS[name]
    if record_query.after:
        first = connection.execute("SELECT id FROM records LIMIT 1").fetchall()[0][0]
        record_query = RecordQuery(record_query.reach, after=str(first))
    statement = record_listing.build_statement(connection, record_query, START)
    assert statement is not None
    steps = plan(connection, statement.text, statement.values)
    assert index in steps, steps
    assert "SCAN records" not in steps, steps
    assert ("TEMP B-TREE" in steps) != ordered, steps


QUERIES = {
    "number_of": "records_id (id=? AND owner=?)",
    "place_of": "records_id (id=? AND owner=?)",
    "find_externals": "records_external (owner=? AND scope=? AND external_id=?)",
    "find_twin": "records_hash (owner=? AND hash=?)",
    "last_change": "COVERING INDEX records_changed (owner=?)",
    "load_changes": "records_changed (owner=? AND changed>?)",
    "load_rows": "COVERING INDEX records_",
    "get_vectors": "records_id (id=? AND owner=?)",
    "history": "PRIMARY KEY (record=?)",
    "find_terms": "sqlite_autoindex_lexicon_1 (term=?)",
    "waiting_job": "jobs_waiting (kind=? AND key=?)",
    "due_job": "jobs_due (state=?)",
    "leased_job": "jobs_lease (lease=?)",
    "finish_job": "jobs_lease (lease=?)",
    "next_due": "jobs_next",
    "prune_jobs": "jobs_updated (state=? AND updated_at<?)",
    "idle_sessions": "sessions_idle (last_active<?)",
    "load_session": "PRIMARY KEY (owner=? AND id=?)",
    "quoting": "quotes USING PRIMARY KEY (owner=? AND source=?)",
    "scopes_of": "tallies USING PRIMARY KEY (owner=?)",
    "tally_speakers": "tallies USING PRIMARY KEY (owner=?)",
}


@pytest.mark.parametrize("name", QUERIES)
def test_named_queries(connection: apsw.Connection, name: str) -> None:
    """Each query on the path of a write, a read or a worker searches the index made for it."""
    text = named_queries.query(name)
    marks = set(re.findall(r"\?\d", text)) or re.findall(r"\?", text)
    steps = plan(connection, text, [None] * len(marks))
    assert QUERIES[name] in steps, steps
    assert "SCAN records" not in steps, steps


def test_edges_use_both_indexes(connection: apsw.Connection) -> None:
    """Links are looked up by their source and by their target."""
    steps = plan(connection, named_queries.query("edges"), [None, "[]"])
    assert "PRIMARY KEY (owner=? AND source=?)" in steps, steps
    assert "edges_target (owner=? AND target=?)" in steps, steps


def test_backfill_walks_the_ids(connection: apsw.Connection) -> None:
    """The records without a vector are read in the order of their ids, not sorted."""
    steps = plan(
        connection,
        f"{named_queries.query('select_records')} {named_queries.query('missing_tail')}",
        ["", "m", 10],
    )
    assert "records_id (id>?)" in steps, steps
    assert "TEMP B-TREE" not in steps, steps


def test_loading_does_not_sort_what_it_loads(connection: apsw.Connection) -> None:
    """Only numbers are sorted when an owner's rows are loaded, never texts and vectors."""
    lines = plan(connection, named_queries.query("load_rows"), [1, "user/alice"]).splitlines()
    sorting = [index for index, line in enumerate(lines) if "TEMP B-TREE" in line]
    loading = [index for index, line in enumerate(lines) if "SEARCH r " in line]
    assert sorting
    assert max(sorting) < min(loading), lines
