"""Killed between any two steps, again and again:
files and memory come to say the same, and no word is lost.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.vault.conftest import Desk, converged, nothing_lost, opened, says_same

from engrams.core import Status

CRASH = Path(__file__).with_name("crash.py")

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")


SETTINGS: dict[str, Any] = {
    "vault__git_seconds": 0,
    "write__extract": "off",
    "jobs__lease_seconds": 0.3,
    "vault__max_missing_share": 1.0,
}


def crash(*arguments: object, home: Path, seconds: float) -> tuple[list[str], list[str]]:
    """The words that were written before each death, and the step before which each came."""
    acks = home.parent / "acks.jsonl"
    command = [sys.executable, str(CRASH), *map(str, arguments)]
    subprocess.run(
        [word.replace("ACKS", str(acks)) for word in command], check=True, timeout=seconds
    )
    acknowledged: list[Any] = [json.loads(line) for line in acks.read_text("utf-8").splitlines()]
    failed = [row for row in acknowledged if isinstance(row, dict) and "failed" in row]
    assert not failed, failed[0]["where"]
    removed = {word for row in acknowledged if isinstance(row, list) for word in row}
    died = [row["died"] for row in acknowledged if isinstance(row, dict)]
    return [word for word in acknowledged if isinstance(word, str) and word not in removed], died


def settled(desk: Desk, words: list[str], git: str) -> None:
    """Files and memory are alike, no word is lost, and with git the last commit holds the files as
    they are.
    """
    converged(desk)
    nothing_lost(desk, words)
    if git:
        desk.vault.commit()
        assert desk.vault.git.diff() == ""


def storm(home: Path, rounds: int, seed: int, git: str = "") -> None:
    words, died = crash(home, "ACKS", rounds, seed, git, home=home, seconds=rounds * 5 + 60)
    assert len(died) == rounds
    settings = {**SETTINGS, "vault__git": bool(git)}
    with opened(home, **settings) as desk:
        settled(desk, words, git)
        before = {
            record.id: record
            for record in desk.everything()
            if record.status is not Status.FORGOTTEN
        }
    for path in home.glob("memory.db*"):
        path.unlink()
    with opened(home, **settings) as desk:
        converged(desk)
        after = {record.id: record for record in desk.everything()}
        assert [
            record for record in before.values() if not says_same(record, after[record.id])
        ] == []


def stepwise(home: Path, every: int, git: str) -> list[str]:
    """A day's work killed before each ``every``th of its steps, and each time brought to its end by
    the next start; the steps.
    """
    _, died = crash("each", home, "ACKS", every, git, home=home, seconds=300)
    tokens = [f"w{number}" for number in range(1, 5)]
    for number in range(len(died)):
        with opened(
            home.with_name(f"home-{1 + number * every}"), **SETTINGS, vault__git=bool(git)
        ) as desk:
            settled(desk, tokens, git)
    return died


@pytest.mark.slow
@pytest.mark.parametrize("git", ["", "git"])
def test_killed_in_the_midst_of_a_days_work(home: Path, git: str) -> None:
    """Killed before every 30th step of memory's and a hand's work, the next start brings all of it
    to its end.
    """
    if git:
        pytest.importorskip("dulwich")
    assert stepwise(home, 30, git)


@pytest.mark.slow
@pytest.mark.parametrize("git", ["", "git"])
def test_killed_before_every_single_step(home: Path, git: str) -> None:
    """The same before each step of outbox, file, git and clear, one after the other;
    none of them is left out.
    """
    if git:
        pytest.importorskip("dulwich")
    died = stepwise(home, 1, git)
    stored = {f"SqliteStore.{name}" for name in ("commit", "clear", "finish")}
    steps = stored | {
        "VaultStateDatabase.put",
        "VaultStateDatabase.touch",
        "open",
        "link",
        "replace",
    }
    assert steps | ({"VaultStateDatabase.untouch", "rename"} if git else set()) <= set(died)


@pytest.mark.parametrize("git", ["", pytest.param("git", marks=pytest.mark.slow)])
def test_killed_between_two_steps_it_converges(home: Path, git: str) -> None:
    """After 15 SIGKILLs, each just before some step, nothing that memory or a hand wrote is lost,
    and all is alike again.
    """
    if git:
        pytest.importorskip("dulwich")
    storm(home, 15, 1, git)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_killed_hundreds_of_times_it_converges(tmp_path: Path, seed: int) -> None:
    """The same for 80 deaths on each of eight homes (640 in all), half of them with git."""
    git = "git" if seed % 2 else ""
    if git:
        pytest.importorskip("dulwich")
    storm(tmp_path / "home", 80, seed, git)
