"""Killed between any two steps, again and again: files and memory come to say the same, and no word is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engrams.types import Status
from engrams.vault import entry
from tests.vault.conftest import Desk, opened

CRASH = Path(__file__).with_name("crash.py")

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")


def crash(home: Path, rounds: int, seed: int, git: str = "") -> list[str]:
    """The words that were written before each death."""
    acks = home.parent / "acks.jsonl"
    command = [sys.executable, str(CRASH), str(home), str(acks), str(rounds), str(seed), git]
    subprocess.run(command, check=True, timeout=rounds * 5 + 60)
    told: list[Any] = [json.loads(line) for line in acks.read_text("utf-8").splitlines()]
    failed = [row for row in told if isinstance(row, dict)]
    assert not failed, failed[0]["where"]
    removed = {word for row in told if isinstance(row, list) for word in row}
    return [word for word in told if isinstance(word, str) and word not in removed]


def converged(desk: Desk) -> None:
    """Files and memories are alike, one to one, and a second look finds nothing to do."""
    assert desk.vault.work.drain(60)
    desk.sync()
    again = desk.sync()
    assert (again.total, again.written, again.conflicts, again.problems) == (0, 0, 0, {})
    desk.vault.work.drain(60)
    assert desk.engine.store.outbox(1) == ()
    records = {record.id: record for record in desk.everything()}
    held = {}
    for path in desk.files():
        found = entry.read(path.read_text("utf-8"))
        record = found.record({})
        assert record.id not in held
        assert entry.same(record, records[record.id])
        assert record.version == records[record.id].version
        assert (path.relative_to(desk.root).parts[0] == "deleted") == (record.status is Status.FORGOTTEN)
        held[record.id] = path
    missing = [record for record in records.values() if record.id not in held and record.status is not Status.FORGOTTEN]
    assert missing == []


def nothing_lost(desk: Desk, words: list[str]) -> None:
    """Every word that was written is in a memory, in the history of one, or kept aside in sight."""
    texts = [record.text for record in desk.everything()]
    for record in desk.everything():
        for change in desk.engine.history(record.id, scope=("user", "alice")):
            texts += [str(change.before.get("text", "")), str(change.after.get("text", ""))]
    texts += [path.read_text("utf-8") for path in (desk.root / "conflicts").rglob("*.md")]
    found = set("\n".join(texts).split())
    assert [word for word in words if word not in found] == []


def storm(home: Path, rounds: int, seed: int, git: str = "") -> None:
    words = crash(home, rounds, seed, git)
    settings: dict[str, Any] = {
        "vault__git": bool(git),
        "vault__git_seconds": 0,
        "write__extract": "off",
        "jobs__lease": 0.3,
        "vault__guard": 1.0,
    }
    with opened(home, **settings) as desk:
        converged(desk)
        nothing_lost(desk, words)
        before = {record.id: record for record in desk.everything() if record.status is not Status.FORGOTTEN}
    for path in home.glob("memory.db*"):
        path.unlink()
    with opened(home, **settings) as desk:
        converged(desk)
        after = {record.id: record for record in desk.everything()}
        assert [record for record in before.values() if not entry.same(record, after[record.id])] == []


@pytest.mark.parametrize("git", ["", "git"])
def test_killed_between_two_steps_it_converges(home: Path, git: str) -> None:
    """After 30 SIGKILLs, each just before some step, nothing that memory or a hand wrote is lost, and all is alike again."""
    if git:
        pytest.importorskip("dulwich")
    storm(home, 30, 1, git)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_killed_hundreds_of_times_it_converges(tmp_path: Path, seed: int) -> None:
    """The same for 80 deaths on each of eight homes (640 in all), half of them with git."""
    git = "git" if seed % 2 else ""
    if git:
        pytest.importorskip("dulwich")
    storm(tmp_path / "home", 80, seed, git)
