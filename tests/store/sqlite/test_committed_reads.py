"""What a search has read holds until somebody changes it, in this process or another."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.store.test_kept_reads import QUESTIONS, WORDS, change

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Scope, Status
from engrams.ports import RecordUse, ScopeReach, WriteBatch
from engrams.store.sqlite import committed_reads

ANN = Scope(("user", "ann"))
NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def open_home(home: Path) -> MemoryEngine:
    return engrams.open(home=str(home), jobs__workers=0, usage__enabled=False)


def test_a_search_shows_links_and_facts_of_another_process(home: Path) -> None:
    """Where there were none of them when this one looked first."""
    with open_home(home) as first, open_home(home) as second:
        first.add("The weather is fine.", scope=ANN)
        assert not any(
            "slot" in hit.parts for hit in first.search("Where do I live?", scope=ANN).hits
        )
        second.add("I live in Paris.", scope=ANN)
        result = first.search("Where do I live?", scope=ANN).hits[0]
        assert result.status is Status.ACTIVE
        assert [fact.predicate for fact in result.facts] == ["lives_in"]
        second.add("I moved to Berlin, I live in Berlin now.", scope=ANN)
        hits = first.search("Where do I live?", scope=ANN, history=True).hits
        assert {hit.record.text: hit.status for hit in hits}[
            "I live in Paris."
        ] is Status.SUPERSEDED


def test_a_search_reads_nothing_twice(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither links nor records, as long as nothing is written."""
    with open_home(home) as memory:
        memory.add("I live in Paris.", scope=ANN)
        before = memory.search("Where do I live?", scope=ANN)
        monkeypatch.setattr(committed_reads.link_queries, "find_edges", None)
        monkeypatch.setattr(memory.store._reads._decoded, "get_records", None)  # type: ignore[attr-defined]
        assert memory.search("Where do I live?", scope=ANN).hits == before.hits


def test_a_store_in_memory_shows_its_own_writes() -> None:
    """Its one connection is not told of what it wrote itself."""
    with engrams.open(store__url=":memory:", jobs__workers=0, usage__enabled=False) as memory:
        memory.add("I live in Paris.", scope=ANN)
        assert memory.search("Where do I live?", scope=ANN).hits[0].status is Status.ACTIVE
        memory.add("I moved to Berlin, I live in Berlin now.", scope=ANN)
        hits = memory.search("Where do I live?", scope=ANN, history=True).hits
        assert {hit.record.text: hit.status for hit in hits}[
            "I live in Paris."
        ] is Status.SUPERSEDED


def seen(memory: MemoryEngine) -> list[Any]:
    """Hits and their facts by id, all records as they are, and who spoke how often."""
    answers = [memory.search(question, scope=ANN, limit=200).hits for question in QUESTIONS]
    ids = sorted({hit.record.id for hits in answers for hit in hits})
    told = [
        {hit.record.id: (hit.record, hit.status, hit.facts) for hit in hits} for hits in answers
    ]
    return [
        *told,
        memory.store.get(ANN, ids),
        memory.store.survey(ScopeReach(ANN, (ANN,), tree=True)),
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_each_sees_at_once_what_either_changed(home: Path, seed: int) -> None:
    """After any change, and any count of uses, both find what one finds that has kept nothing;
    so do records that nobody searched for.
    """
    chance = random.Random(seed)
    with open_home(home) as first, open_home(home) as second:
        for word in WORDS:
            first.add(
                Turn(
                    f"The {word} is near the {chance.choice(WORDS)}.",
                    speaker=chance.choice(("Ann", "Bo")),
                ),
                scope=ANN,
            )
        known = [record.id for record in first.list(scope=ANN, limit=200).records]
        for _ in range(25):
            seen(first), seen(second)
            writing = chance.choice((first, second))
            if chance.random() < 0.2:
                writing.store.commit(
                    WriteBatch(
                        "usage",
                        "searched",
                        NOW,
                        uses=(RecordUse(ANN, chance.choice(known), 3, NOW),),
                    )
                )
            else:
                change(writing, chance)
            with open_home(home) as fresh:
                kept = fresh.store.get(ANN, known)
                assert second.store.get(ANN, known) == kept
                assert first.store.get(ANN, known) == kept
                assert seen(first) == seen(second) == seen(fresh)


def test_a_write_voids_only_what_it_changed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that were read before are read again neither after an addition nor after work on
    something else.
    """
    with open_home(home) as memory, open_home(home) as other:
        first, second = (
            memory.add(f"Look for {thing}.", scope=ANN).id
            for thing in ("the boat in Bergen", "the piano in Porto")
        )
        memory.store.get(ANN, [first, second])
        other.add("The barn is red.", scope=ANN)
        read: list[str] = []
        look = memory.store._reads._decoded.get_records  # type: ignore[attr-defined]
        monkeypatch.setattr(
            memory.store._reads._decoded,
            "get_records",
            lambda *arguments: read.extend(arguments[3]) or look(*arguments),
        )  # type: ignore[attr-defined]
        memory.store.get(ANN, [first, second])
        assert read == []
        other.edit(first, scope=ANN, text="Look for the boat in Oslo.")
        assert [record.text for record in memory.store.get(ANN, [first, second])] == [
            "Look for the boat in Oslo.",
            "Look for the piano in Porto.",
        ]
        assert read == [first]


@pytest.mark.parametrize("bound", ["_MAX_OWNERS", "_MAX_ENTRIES"])
def test_only_so_much_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    """Beyond it, all is forgotten and read again."""
    monkeypatch.setattr(committed_reads, bound, 5)
    with open_home(home) as memory:
        owners = [Scope(("user", f"u{number}")) for number in range(12)]
        for owner in owners:
            memory.add("I live in Paris.", scope=owner)
        for owner in owners:
            assert memory.search("Where do I live?", scope=owner).hits
            assert len(memory.store._reads._owners) <= 6  # type: ignore[attr-defined]
