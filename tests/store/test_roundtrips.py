"""Waits for a server: an engine far from its database is as quick as it asks seldom."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.store import postgres
from tests.store.roundtrips import RoundTripCounter

import engrams
from engrams import MemoryEngine, Turn

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
OWNER = ("user", "ann")
NAMES = tuple(f"Zo{start}{other}" for start in "abdefgik" for other in "lmnrt")
TEXTS = (
    "I live in Ghent near the old mill.",
    "My sister Ruth works as a nurse.",
    "We adopted a goat called Bella in May.",
)


@pytest.fixture
def counter() -> Iterator[RoundTripCounter]:
    with RoundTripCounter(postgres.empty_database()) as counting:
        yield counting


@pytest.fixture
def memory(home: Path, counter: RoundTripCounter) -> Iterator[MemoryEngine]:
    with engrams.open(home=str(home), store={"url": counter.url}, jobs__workers=0) as engine:
        for text in TEXTS:
            engine.add(text, scope=OWNER)
        engine.search("Where does Ruth work?", scope=OWNER)
        yield engine


def test_a_search_waits_seldom(memory: MemoryEngine, counter: RoundTripCounter) -> None:
    """Statements go out together, so that a warm search waits for a few answers only."""
    memory.search("Who is a nurse?", scope=OWNER)
    before = counter.count
    assert memory.search("What is the goat called?", scope=OWNER).hits
    assert counter.count - before <= 3


def test_a_write_waits_seldom(memory: MemoryEngine, counter: RoundTripCounter) -> None:
    """An acknowledged write waits for what it must know, not for each statement."""
    before = counter.count
    memory.add("The goat prefers dandelions.", scope=OWNER, settle=False)
    assert counter.count - before <= 8


def test_many_changes_of_one_write_wait_together(
    memory: MemoryEngine, counter: RoundTripCounter
) -> None:
    """What twenty memories are used for is written with the owner's lock held for one look at them,
    not for forty.
    """
    ids = [
        memory.add(f"Locker {number} holds a bell.", scope=OWNER, settle=False).id
        for number in range(20)
    ]
    before = counter.count
    memory.used(ids, scope=OWNER, helpful=False)
    assert counter.count - before <= len(ids) + 6


def test_a_list_of_what_to_purge_waits_for_all_its_sources_together(
    memory: MemoryEngine, counter: RoundTripCounter
) -> None:
    """Candidates of a purge that rest on forty messages ask for these once, as they do for two."""
    waits = []
    for number in (2, 40):
        turns = [
            Turn(f"My friend {name}{number} lives in Zell{number}.") for name in NAMES[:number]
        ]
        memory.observe(turns, scope=OWNER)
        memory.drain(60)
        before = counter.count
        found = memory.find_about(f"Zell{number}", scope=OWNER)
        waits.append(counter.count - before)
        assert sum(bool(candidate.report.sources) for candidate in found) >= number
    assert waits[1] <= waits[0] + 2 * 20


def test_connections_that_were_cut_while_idle(home: Path) -> None:
    """What the server closed between two calls costs neither of them:
    the next search and write are answered.
    """
    url = postgres.empty_database()
    others = (
        "FROM pg_stat_activity WHERE application_name = 'cut' AND backend_type = 'client backend'"
    )
    with (
        engrams.open(
            home=str(home), store={"url": f"{url}&application_name=cut"}, jobs__workers=0
        ) as memory,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        memory.add(TEXTS[2], scope=OWNER)
        for text, word in (("Bella eats hay.", "hay"), ("Bella sleeps in the barn.", "barn")):
            connection.execute(f"SELECT pg_terminate_backend(pid, 5000) {others}".encode())
            assert memory.search("goat called", scope=OWNER).hits
            connection.execute(f"SELECT pg_terminate_backend(pid, 5000) {others}".encode())
            memory.add(text, scope=OWNER, settle=False)
            assert word in memory.search(text, scope=OWNER).hits[0].record.text


FORKING = """
import os, sys, engrams
with engrams.open(home=sys.argv[1], store={"url": sys.argv[2]}, jobs__workers=0) as memory:
    memory.add("We adopted a goat called Bella.", scope=("user", "ann"))
    for _ in range(3):
        if (child := os.fork()) == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert memory.search("goat", scope=("user", "ann")).hits
"""


@pytest.mark.slow
def test_a_child_that_ends_says_nothing_on_its_parents_connections(home: Path) -> None:
    """A forked child that ends without a word leaves its parent's connections as they were."""
    command = [sys.executable, "-c", FORKING, str(home), postgres.empty_database()]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")
