"""A cycle whose process was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engrams
from engrams.errors import ConflictError

ANN = ("user", "ann")
KILLED = """
import os, signal, sys
from engrams.upkeep.garden.cycle import GardenCycleRunner
from engrams.program.main import main
GardenCycleRunner.run = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
main(["garden", "run", "--user", "ann", "--home", sys.argv[1]])
"""


def test_a_killed_cycle_is_told_and_let_go_of(home: Path) -> None:
    """Right after the kill the next run says for how long;
    once that is over it runs, and nothing is left waiting.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        memory.add("I like green tea.", scope=ANN)
        memory.drain()
    completed = subprocess.run(
        [sys.executable, "-c", KILLED, str(home)],
        timeout=60,
        check=False,
        capture_output=True,
        text=True,
    )
    assert completed.returncode == -signal.SIGKILL, completed.stderr
    with engrams.open(home=home, jobs__workers=0) as memory:
        with pytest.raises(ConflictError) as refused:
            memory.garden.run(ANN)
        assert "killed" in refused.value.message and "60 s" in refused.value.hint
    later = time.time() + 70
    with engrams.open(
        home=home, jobs__workers=0, clock=lambda: datetime.fromtimestamp(later, UTC)
    ) as memory:
        assert memory.garden.run(ANN).id
        assert not memory.status()["dead"]
