"""Search pieces of notes: none outlives the lines that it holds, whenever a process is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn

ANN = ("user", "ann")

_KILLED = """
import os, sys
from engrams.vault.notes.note_index import NoteSearchIndexer
from tests.vault.test_note_pieces import ANN, open_home
step = sys.argv[2]
whole = getattr(NoteSearchIndexer, step)
def die(*given):
    if step == "_store_pieces":
        whole(*given)
    os._exit(9)
setattr(NoteSearchIndexer, step, die)
with open_home(sys.argv[1]) as memory:
    memory.sessions.end("s1", scope=ANN)
    memory.drain()
"""


def open_home(home: object) -> MemoryEngine:
    return engrams.open(
        home=str(home),
        vault__enabled=True,
        vault__watch="off",
        jobs__workers=0,
        jobs__lease_seconds=0.1,
    )


def find_pieces(memory: MemoryEngine, key: str) -> list[str]:
    """Ids of the pieces that hold a key; searches drop those that repeat a message."""
    return [
        record.id
        for record in memory.list(scope=ANN, kinds=("summary",), limit=50).records
        if key in record.text
    ]


@pytest.mark.parametrize("step", ["_store_pieces", "_purge_pieces"])
@pytest.mark.slow
def test_a_kill_leaves_no_piece_that_nobody_removes(tmp_path: Path, step: str) -> None:
    """Killed when the pieces of a note are stored and not yet noted:
    what is forgotten later is found nowhere.
    """
    with open_home(tmp_path) as memory:
        ids = [
            memory.add(Turn(f"Parcel q{n}x waits in hall {n}.", session="s1"), scope=ANN).id
            for n in range(3)
        ]
    line = [sys.executable, "-c", _KILLED, str(tmp_path), step]
    result = subprocess.run(
        line, cwd=Path(__file__).parents[2], timeout=120, env={**os.environ, "PYTHONPATH": "."}
    )
    assert result.returncode == 9
    with open_home(tmp_path) as memory:
        memory.drain()
        memory.vault.sync()
        assert len(find_pieces(memory, "q1x")) == 1
        memory.forget(ids[1], scope=ANN)
        assert find_pieces(memory, "q1x") == []
        assert not [
            hit
            for hit in memory.search("Where is parcel q1x?", scope=ANN, limit=50).hits
            if "q1x" in hit.record.text
        ]
        assert memory.check()["problems"] == []


def test_a_repair_removes_pieces_of_no_file(tmp_path: Path) -> None:
    """Pieces that an earlier release left behind go with `engrams doctor --repair`;
    those of notes stay.
    """
    with open_home(tmp_path) as memory:
        memory.add(Turn("Parcel q1x waits in the hall.", session="s1"), scope=ANN)
        memory.sessions.end("s1", scope=ANN)
        memory.drain()
        state = memory.vault.deps.state
        (old,) = find_pieces(memory, "q1x")
        state.set_fact("notes", "{}")
        memory.vault.sync()
        assert len(find_pieces(memory, "q1x")) == 2
    line = [
        sys.executable,
        "-m",
        "engrams.program.entry",
        "doctor",
        "--offline",
        "--repair",
        "--home",
        str(tmp_path),
    ]
    subprocess.run(
        line, env={**os.environ, "ENGRAMS_VAULT__ENABLED": "true"}, timeout=120, capture_output=True
    )
    with open_home(tmp_path) as memory:
        (piece,) = find_pieces(memory, "q1x")
        assert piece != old


def test_what_was_forgotten_before_the_note_was_written_is_not_in_it(tmp_path: Path) -> None:
    """A message that is forgotten while the job of its note waits is left out of the file."""
    with open_home(tmp_path) as memory:
        ids = [
            memory.add(Turn(f"Parcel q{n}x waits in hall {n}.", session="s1"), scope=ANN).id
            for n in range(3)
        ]
        memory.sessions.end("s1", scope=ANN)
        memory.forget(ids[1], scope=ANN)
        memory.drain()
        (note,) = (tmp_path / "vault/memory").rglob("*.md")
        assert "q0x" in note.read_text() and "q1x" not in note.read_text()
