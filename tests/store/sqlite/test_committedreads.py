"""What a search has read holds until somebody commits, in this process or another."""

from __future__ import annotations

from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine
from engrams.store.sqlite import committedreads
from engrams.types import Scope, Status

ANN = Scope(("user", "ann"))


def open_home(home: Path) -> MemoryEngine:
    return engrams.open(home=str(home), jobs__workers=0, usage__enabled=False)


def test_a_search_shows_links_and_facts_of_another_process(home: Path) -> None:
    """Where there were none of them when this one looked first."""
    with open_home(home) as one, open_home(home) as other:
        one.add("The weather is fine.", scope=ANN)
        assert not any("slot" in hit.parts for hit in one.search("Where do I live?", scope=ANN).hits)
        other.add("I live in Paris.", scope=ANN)
        found = one.search("Where do I live?", scope=ANN).hits[0]
        assert found.status is Status.ACTIVE
        assert [fact.predicate for fact in found.facts] == ["lives_in"]
        other.add("I moved to Berlin, I live in Berlin now.", scope=ANN)
        hits = one.search("Where do I live?", scope=ANN, history=True).hits
        assert {hit.record.text: hit.status for hit in hits}["I live in Paris."] is Status.SUPERSEDED


def test_a_search_reads_nothing_twice(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither links nor records, as long as nothing is written."""
    with open_home(home) as memory:
        memory.add("I live in Paris.", scope=ANN)
        before = memory.search("Where do I live?", scope=ANN)
        monkeypatch.setattr(committedreads.linkqueries, "find_edges", None)
        monkeypatch.setattr(memory.store._reads._decoded, "get_records", None)  # type: ignore[attr-defined]
        assert memory.search("Where do I live?", scope=ANN).hits == before.hits


def test_a_store_in_memory_shows_its_own_writes() -> None:
    """Its one connection is not told of what it wrote itself."""
    with engrams.open(store__url=":memory:", jobs__workers=0, usage__enabled=False) as memory:
        memory.add("I live in Paris.", scope=ANN)
        assert memory.search("Where do I live?", scope=ANN).hits[0].status is Status.ACTIVE
        memory.add("I moved to Berlin, I live in Berlin now.", scope=ANN)
        hits = memory.search("Where do I live?", scope=ANN, history=True).hits
        assert {hit.record.text: hit.status for hit in hits}["I live in Paris."] is Status.SUPERSEDED


@pytest.mark.parametrize("bound", ["_OWNERS", "_KEPT"])
def test_only_so_much_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    """Beyond it, all is forgotten and read again."""
    monkeypatch.setattr(committedreads, bound, 5)
    with open_home(home) as memory:
        owners = [Scope(("user", f"u{number}")) for number in range(12)]
        for owner in owners:
            memory.add("I live in Paris.", scope=owner)
        for owner in owners:
            assert memory.search("Where do I live?", scope=owner).hits
            assert len(memory.store._reads._owners) <= 6  # type: ignore[attr-defined]
