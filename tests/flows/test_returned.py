"""What a statement had replaced can be current again once that statement is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from engrams import MemoryEngine
from engrams.core import Status
from engrams.errors import RefusedError
from engrams.testing import temp_engine

ANN = ("user", "ann")


def current(engine: MemoryEngine) -> set[str]:
    return {record.text for record in engine.list(scope=ANN).records}


@pytest.mark.parametrize("gone", ["forget", "purge"])
@pytest.mark.parametrize("asked", ["message", "fact"])
def test_a_home_that_was_left_by_mistake(gone: str, asked: str) -> None:
    """Once the move is forgotten or purged, the home can be restored by its message or by its fact,
    and has no end.
    """
    with temp_engine() as engine:
        home = engine.add("I live in Oslo.", scope=ANN)
        moved = engine.add("I moved to Bergen.", scope=ANN)
        fact = engine.get(home.derived[0].id, scope=ANN)
        id = home.id if asked == "message" else fact.id
        with pytest.raises(RefusedError) as refused:
            engine.restore(id, scope=ANN)
        assert "forget it and restore this one" in str(refused.value.hint)
        if gone == "forget":
            engine.forget(moved.id, scope=ANN)
        else:
            engine.purge(moved.id, scope=ANN)
        assert not any("Oslo" in text for text in current(engine))
        engine.restore(id, scope=ANN)
        assert current(engine) == {"I live in Oslo.", "I live in Oslo"}
        back = engine.get(fact.id, scope=ANN)
        assert (back.status, back.valid_to, back.superseded_by) == (Status.ACTIVE, None, "")
        told = engine.context("Where do I live?", scope=ANN).text
        assert "Oslo" in told and "no longer" not in told and "Bergen" not in told
        assert [entry.action for entry in engine.history(fact.id, scope=ANN)][-1] == "restore"
        engine.add("I moved to Narvik.", scope=ANN)
        assert not any("Oslo" in text for text in current(engine))


def test_an_import_of_what_was_edited_before_is_undone(tmp_path: Path) -> None:
    """Memories that were edited before they were exported go with their import;
    one that was edited since stays.
    """
    with temp_engine() as engine:
        ids = [
            engine.add(f"Gate {name}, green, at ten.", scope=ANN).id for name in ("north", "south")
        ]
        for id in ids:
            engine.edit(id, scope=ANN, text=engine.get(id, scope=ANN).text.replace("green", "blue"))
        engine.dump(tmp_path / "ann.jsonl", scope=ANN)
        bob = ("user", "bob")
        run = engine.load(tmp_path / "ann.jsonl", scope=bob, user="ann")
        brought = {record.text: record.id for record in engine.list(scope=bob).records}
        assert len(brought) == 2
        engine.edit(
            brought["Gate north, blue, at ten."], scope=bob, text="Gate north, red, at ten."
        )
        undone = engine.imports.undo(run.id, bob)
        assert undone.kept == (brought["Gate north, blue, at ten."],)
        assert [record.text for record in engine.list(scope=bob).records] == [
            "Gate north, red, at ten."
        ]
