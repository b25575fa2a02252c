"""A short campaign; `make campaign` runs a long one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.store import postgres

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.slow
@pytest.mark.covers("S1.54")
def test_five_minutes_of_attacks_lose_nothing(tmp_path: Path) -> None:
    """Kills through every door, damage to every file, and what else goes wrong:
    nothing lost, doubled, leaked or silently empty.
    """
    told = tmp_path / "campaign.json"
    line = [
        sys.executable,
        "-m",
        "tests.campaign",
        "--minutes",
        "5",
        "--json",
        str(told),
        "--keep",
        str(tmp_path / "kept"),
    ]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=900, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    table = json.loads(told.read_text("utf-8"))["table"]
    assert {name.partition(":")[0] for name in table} >= {
        "kill",
        "damage",
        "clock",
        "full disk",
        "descriptors",
    }


@pytest.mark.slow
@pytest.mark.covers("S1.54")
def test_two_minutes_of_attacks_on_index_files(tmp_path: Path) -> None:
    """Kills, damage, full disks, lost rights and purges around the files of search indexes:
    nothing lost, stale or left.
    """
    line = [
        sys.executable,
        "-m",
        "tests.campaign",
        "--at",
        "segments",
        "--minutes",
        "2",
        "--keep",
        str(tmp_path / "kept"),
    ]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=900, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING)
@pytest.mark.covers("S1.62")
def test_two_minutes_of_attacks_on_a_fleet(tmp_path: Path) -> None:
    """Kills of APIs, workers and Postgres' own processes, and a wire that is cut:
    nothing lost, twice, stuck, leaked, or read too late.
    """
    told = tmp_path / "fleet.json"
    line = [sys.executable, "-m", "tests.campaign.fleet", "--minutes", "2", "--json", str(told)]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=900, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert json.loads(told.read_text("utf-8"))["kills"] >= 20
