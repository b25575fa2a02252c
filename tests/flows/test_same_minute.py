"""Messages of one minute keep the order in which they were told, at every door."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.ipc.serving import command

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status

ANN = ("user", "ann")
MINUTE = datetime(2025, 6, 12, 12, 1, tzinfo=UTC)
TOWNS = ("Paris", "Berlin", "Rome", "Oslo", "Lima", "Quito")
SAID = (f"I live in {TOWNS[0]}", *(f"I moved to {town}" for town in TOWNS[1:]))


def current(engine: MemoryEngine) -> list[str]:
    """The facts that hold now."""
    return [one.text for one in engine.list(scope=ANN, limit=100).records if one.predicate]


def spoken(engine: MemoryEngine) -> list[str]:
    """The outdated messages in a context, in its order, where nothing near is left out."""
    text = engine.context(
        "Which towns did I live in, Paris, Berlin, Rome, Oslo, Lima or Quito?",
        scope=ANN,
        tokens=2000,
    ).text
    return sorted((said for said in SAID[:-1] if said in text), key=text.index)


@pytest.mark.slow
def test_two_commands_of_one_minute(tmp_path: Path) -> None:
    """What a later command tells wins, also where both name one time."""
    for said in SAID:
        assert (
            command(
                tmp_path, "add", said, "--user", "ann", "--role", "user", "--at", "2025-06-12T12:01"
            ).returncode
            == 0
        )
    with engrams.open(home=tmp_path, jobs__workers=0) as engine:
        assert current(engine) == ["I moved to Quito"]
        ids = [one.id for one in engine.list(scope=ANN, kinds=(Kind.TURN,)).records]
    assert ids == sorted(ids, reverse=True)


@pytest.mark.parametrize("again", range(3))
def test_jobs_between_messages(tmp_path: Path, again: int) -> None:
    """Jobs that run between two messages of one minute change nothing about their order."""
    with engrams.open(home=tmp_path, jobs__workers=0, read__least_need=0) as engine:
        for said in SAID:
            engine.observe([Turn(said, "user", "", MINUTE, session="s")], scope=ANN)
            engine.drain(30)
        assert current(engine) == ["I moved to Quito"]
        assert spoken(engine) == list(SAID[:-1])


def test_a_file_of_one_minute(tmp_path: Path) -> None:
    """An import learns from messages of one minute in the order of the file, and an export keeps
    that order.
    """
    file = tmp_path / "chat.json"
    copy = tmp_path / "copy.jsonl"
    file.write_text(
        json.dumps(
            [{"role": "user", "content": said, "timestamp": MINUTE.isoformat()} for said in SAID]
        )
    )
    with engrams.open(home=tmp_path / "first", jobs__workers=0, read__least_need=0) as engine:
        engine.load(file, scope=ANN)
        engine.drain(60)
        assert current(engine) == ["I moved to Quito"]
        assert spoken(engine) == list(SAID[:-1])
        told = [
            one.text for one in engine.list(scope=ANN, statuses=tuple(Status), limit=100).records
        ]
        engine.dump(copy, scope=ANN)
    with engrams.open(home=tmp_path / "second", jobs__workers=0, read__least_need=0) as engine:
        engine.load(copy, scope=ANN)
        engine.drain(60)
        assert [
            one.text for one in engine.list(scope=ANN, statuses=tuple(Status), limit=100).records
        ] == told
        assert current(engine) == ["I moved to Quito"]
        assert spoken(engine) == list(SAID[:-1])
        engine.observe([Turn("I moved to Cairo", "user", "", MINUTE)], scope=ANN)
        engine.drain(30)
        assert current(engine) == ["I moved to Cairo"]
