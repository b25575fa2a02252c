"""Users below one owner, such as those of a mem0 server or of one key, are people of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engrams import MemoryEngine, Turn
from engrams.core import Status
from engrams.testing import temp_engine

OWNER = ("user", "owner")
BOB = (*OWNER, "user", "bob")
BOBS_PROJECT = (*BOB, "project", "garden")


@pytest.fixture
def memory() -> Iterator[MemoryEngine]:
    with temp_engine(jobs__workers=0) as opened:
        yield opened


def test_a_user_changes_nothing_of_the_owner(memory: MemoryEngine) -> None:
    """Where Bob lives says nothing about where the owner lives."""
    memory.add(Turn("I live in Lisbon and my dentist is called Weber."), scope=OWNER)
    memory.add(Turn("I live in Porto."), scope=BOB)
    memory.add(Turn("No, my dentist is called Maier, not Weber."), scope=BOB)
    memory.drain(10)
    over = memory.list(scope=OWNER, statuses=(Status.SUPERSEDED,)).records
    assert not over
    best = memory.search("Where do I live?", scope=OWNER, where={"scope": "user/owner"}).hits[0]
    assert "Lisbon" in best.record.text
    assert best.status is Status.ACTIVE
    assert not best.ended_clauses


def test_a_user_reads_nothing_of_the_owner(memory: MemoryEngine) -> None:
    """A search, a prompt and a list of Bob's show what Bob said, also from a project of his."""
    memory.add(Turn("I live in Lisbon."), scope=OWNER)
    memory.add(Turn("I keep bees in Porto."), scope=BOB)
    for scope in (BOB, BOBS_PROJECT):
        texts = [hit.record.text for hit in memory.search("Where do I live?", scope=scope).hits]
        assert texts == ["I keep bees in Porto."]
        assert "Lisbon" not in memory.context("Where do I live?", scope=scope).text
    assert "Lisbon" not in str(memory.list(scope=BOB).records)
    assert memory.search("Where do I live?", scope=OWNER).hits


def test_a_user_of_an_organisation_reads_what_it_shares(memory: MemoryEngine) -> None:
    """An organisation is no person: what stands above its users is told to all of them."""
    memory.add("The office closes at six.", scope=("org", "acme"))
    hits = memory.search("When does the office close?", scope=("org", "acme", "user", "bob")).hits
    assert hits
