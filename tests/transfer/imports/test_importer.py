"""Out and in again: memories, links and what happened to them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from engrams import MemoryEngine
from engrams.core import Record, Scope, Status
from engrams.ports import RecordQuery
from engrams.read.request import visible_scopes
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
BOB = ("user", "bob")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def everything(engine: MemoryEngine) -> tuple[Record, ...]:
    """All of Ann's memories, whatever became of them."""
    return engine.store.find(
        RecordQuery(visible_scopes(Scope(ANN)), statuses=tuple(Status), order="oldest", limit=500)
    ).records


def lived(engine: MemoryEngine, clock: SettableClock) -> None:
    """Some days: statements, one that replaces another, an edit, a tombstone."""
    note = engine.add("The spare key is under the blue pot", scope=ANN)
    engine.add("I live in Paris", scope=ANN)
    clock.forward(days=1)
    engine.edit(note.id, scope=ANN, text="The spare key is under the red pot", reason="it moved")
    engine.add("I live in Berlin", scope=ANN)
    clock.forward(days=1)
    engine.forget(
        engine.add("Felix the cat hates thunder", scope=ANN).id, scope=ANN, reason="no longer"
    )
    engine.add("I live in Berlin", scope=ANN)


def test_a_round_trip_brings_the_history(tmp_path: Path) -> None:
    """An export read into an empty store gives equal records with equal histories and links, and
    twice is once.
    """
    clock = SettableClock(START)
    file = tmp_path / "all.jsonl"
    with temp_engine(jobs__workers=0, clock=clock) as engine, temp_engine(jobs__workers=0) as other:
        lived(engine, clock)
        engine.dump(file, scope=ANN)
        first = other.load(file, scope=ANN)
        assert first.stored == len(everything(engine)) and not first.bad
        assert everything(other) == everything(engine)
        ids = [record.id for record in everything(engine)]
        histories = {id: engine.history(id, scope=ANN) for id in ids}
        assert {id: other.history(id, scope=ANN) for id in ids} == histories
        assert max(len(entries) for entries in histories.values()) >= 2
        assert {entry.reason for entries in histories.values() for entry in entries} >= {
            "it moved",
            "no longer",
        }
        assert other.store.edges(Scope(ANN), ids) == engine.store.edges(Scope(ANN), ids)
        again = other.load(file, scope=ANN)
        assert (again.stored, again.existing) == (0, first.stored)
        assert {id: other.history(id, scope=ANN) for id in ids} == histories


def test_what_was_imported_goes_on(tmp_path: Path) -> None:
    """A change after the import continues the history, with the next version."""
    clock = SettableClock(START)
    file = tmp_path / "all.jsonl"
    with (
        temp_engine(jobs__workers=0, clock=clock) as engine,
        temp_engine(jobs__workers=0, clock=clock) as other,
    ):
        lived(engine, clock)
        engine.dump(file, scope=ANN)
        other.load(file, scope=ANN)
        note = next(record for record in everything(other) if "red pot" in record.text)
        before = other.history(note.id, scope=ANN)
        other.edit(note.id, scope=ANN, text="The spare key is in the shed")
        after = other.history(note.id, scope=ANN)
        assert after[:-1] == before
        assert after[-1].version == note.version + 1


def test_a_purge_finds_what_an_imported_history_quotes(tmp_path: Path) -> None:
    """Purging a turn erases its words from the history that came along with an import too."""
    clock = SettableClock(START)
    file = tmp_path / "all.jsonl"
    with (
        temp_engine(jobs__workers=0, clock=clock) as engine,
        temp_engine(jobs__workers=0, clock=clock) as other,
    ):
        first = engine.add("I live in Zanzibar", scope=ANN)
        clock.forward(days=1)
        engine.add("I live in Zanzibar", scope=ANN, kind=None, settle=True)
        engine.dump(file, scope=ANN)
        other.load(file, scope=ANN)
        proof = other.purge([record.id for record in everything(other)], scope=ANN)
        assert proof.removed["records"] >= 2 and not any(proof.remaining.values())
        assert all("Zanzibar" not in str(entry) for entry in other.history(first.id, scope=ANN))


def test_a_history_that_cannot_be_is_left_out(tmp_path: Path) -> None:
    """Doubled versions count once, and versions that the record never had not at all;
    another owner's ids stay apart.
    """
    file = tmp_path / "odd.jsonl"
    record = {
        "id": "01odd",
        "scope": ["user", "eve"],
        "kind": "note",
        "text": "odd",
        "recorded_at": "2026-01-01T00:00:00+00:00",
        "version": 2,
    }
    entries = [
        {
            "record": "01odd",
            "version": version,
            "at": "2026-01-01T00:00:00+00:00",
            "action": action,
            "before": {},
            "after": {"text": "\u0000"},
        }
        for version, action in ((2, "first"), (1, "add"), (2, "edit"), (99, "never"), (-1, "never"))
    ]
    lines = [{"engrams": 1}, {"record": record}, *({"history": entry} for entry in entries)]
    file.write_text("\n".join(json.dumps(line) for line in lines))
    with temp_engine(jobs__workers=0) as engine:
        assert engine.load(file, scope=ANN).stored == 1
        assert [(entry.version, entry.action) for entry in engine.history("01odd", scope=ANN)] == [
            (1, "add"),
            (2, "edit"),
        ]
        assert engine.load(file, scope=BOB).stored == 1
        assert [entry.version for entry in engine.history("01odd", scope=BOB)] == [1, 2]


def test_the_numbers_of_an_import(tmp_path: Path) -> None:
    """Its progress ends where it said it would, however long a line is;
    a refused message is reported with its line.
    """
    file = tmp_path / "chats.jsonl"
    told = list[tuple[int, int]]()
    lines = [f"Crate {number} stands in hall 3." for number in range(700)]
    lines[1] = "The long list: " + "crate " * 100_000
    file.write_text(
        "\n".join(json.dumps({"role": "user", "content": line}) for line in lines), "utf-8"
    )
    with temp_engine(jobs__workers=0, limits__text_bytes=10_000) as engine:
        report = engine.load(
            file, scope=ANN, format="turns", progress=lambda done, total: told.append((done, total))
        )
        assert told == [(500, 700), (700, 700)]
        assert (
            report.stored == 699
            and [line for line, _ in report.bad] == [2]
            and "limit is 10,000" in report.bad[0][1]
        )
