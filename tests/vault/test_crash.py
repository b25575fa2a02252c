"""Killed between any two steps, again and again: files and memory come to say the same, and no word is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.vault.conftest import converged, nothing_lost, opened

from engrams.types import Status
from engrams.vault import entry

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
