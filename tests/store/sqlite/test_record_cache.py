"""What is decoded once is read again as soon as it changed, by whomever."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine
from engrams.core import Scope, Status
from engrams.ports import RecordQuery, RecordUse, ScopeReach, WriteBatch
from engrams.store.sql import record_listing, row_seals
from engrams.store.sqlite import record_cache

ANN = Scope(("user", "ann"))
NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def open_home(home: Path) -> MemoryEngine:
    return engrams.open(home=str(home), jobs__workers=0, usage__enabled=False)


def test_a_search_shows_what_another_process_changed(home: Path) -> None:
    """A count of uses, which gives no new version, an edit, and a word that nobody had said when it
    was first asked for.
    """
    with open_home(home) as first, open_home(home) as second:
        id = first.add("The boat lies in Bergen.", scope=ANN).id
        assert first.search("boat in Bergen", scope=ANN).hits[0].record.access_count == 0
        assert "dinghy" not in first.search("Where is the dinghy?", scope=ANN).hits[0].record.text
        second.store.commit(
            WriteBatch("usage", "searched", NOW, uses=(RecordUse(ANN, id, 7, NOW),))
        )
        result = first.search("boat in Bergen", scope=ANN).hits[0].record
        assert (result.access_count, result.last_accessed) == (7, NOW)
        assert result == second.get(id, scope=ANN)
        second.edit(id, scope=ANN, text="The dinghy lies in Bergen.")
        assert (
            first.search("Where is the dinghy?", scope=ANN).hits[0].record.text
            == "The dinghy lies in Bergen."
        )
        assert "bm" in first.search("Where is the dinghy?", scope=ANN).hits[0].parts


def test_a_subjects_statements_are_decoded_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second list decodes nothing, one after an edit by another process what was edited, and
    each shows what is there.
    """
    with open_home(home) as memory, open_home(home) as second:
        for town in ("Porto", "Bergen"):
            memory.add(f"My sister has a house in {town}.", scope=ANN)
        record_query = RecordQuery(ScopeReach(ANN, (ANN,)), subject="user's sister")
        first = memory.store.find(record_query).records
        assert len(first) == 2
        decoded: list[str] = []
        decode = row_seals.decode_record
        monkeypatch.setattr(
            row_seals,
            "decode_record",
            lambda row, **how: decoded.append(row[0]) or decode(row, **how),
        )
        assert memory.store.find(record_query).records == first and decoded == []
        second.edit(first[0].id, scope=ANN, fields={"confidence": 0.4})
        decoded.clear()
        assert [record.confidence for record in memory.store.find(record_query).records] == [
            0.4,
            first[1].confidence,
        ]
        assert decoded == [first[0].id]
        page = memory.store.find(replace(record_query, limit=1))
        assert (
            memory.store.find(replace(record_query, limit=1, after=page.next)).records == first[1:]
        )


def test_a_list_is_of_one_moment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put away while a list is read is not in it."""
    with open_home(home) as first, open_home(home) as second:
        first.add("My sister has a house in Porto.", scope=ANN)
        record_query = RecordQuery(
            ScopeReach(ANN, (ANN,)), statuses=(Status.ACTIVE,), subject="user's sister"
        )
        find = record_listing.find_marks

        def forget_meanwhile(*arguments: Any) -> list[Any]:
            marks = find(*arguments)
            second.forget(marks[0][0], scope=ANN)
            return marks

        monkeypatch.setattr(record_listing, "find_marks", forget_meanwhile)
        assert first.store.find(record_query).records == ()


def test_a_purge_leaves_nothing_decoded(home: Path) -> None:
    """Neither here nor in another process that finds the tombstone."""
    with open_home(home) as one, open_home(home) as second:
        id = one.add("The boat lies in Bergen.", scope=ANN).id
        for memory in (one, second):
            assert memory.search("boat in Bergen", scope=ANN).hits
        one.purge(id, scope=ANN)
        assert second.search("boat in Bergen", scope=ANN).hits == ()
        assert second.get(id, scope=ANN).status is Status.PURGED
        assert all(len(memory.store._reads._decoded._records) <= 1 for memory in (one, second))  # type: ignore[attr-defined]


def test_only_so_many_are_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go first."""
    monkeypatch.setattr(record_cache, "_MAX_RECORDS", 5)
    with open_home(home) as memory:
        for number in range(12):
            memory.add(f"Boat number {number} lies in Bergen.", scope=ANN)
        assert len(memory.search("boats in Bergen", scope=ANN).hits) == 10
        assert len(memory.store._reads._decoded._records) == 5  # type: ignore[attr-defined]
