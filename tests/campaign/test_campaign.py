"""A short campaign; `make campaign` runs a long one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.slow
@pytest.mark.covers("S1.54")
def test_five_minutes_of_attacks_lose_nothing(tmp_path: Path) -> None:
    """Kills through every door, damage to every file, and what else goes wrong: nothing lost, doubled, leaked or silently empty."""
    told = tmp_path / "campaign.json"
    line = [sys.executable, "-m", "tests.campaign", "--minutes", "5", "--json", str(told), "--keep", str(tmp_path / "kept")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=900, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    table = json.loads(told.read_text("utf-8"))["table"]
    assert {name.partition(":")[0] for name in table} >= {"kill", "damage", "clock", "full disk", "descriptors"}
