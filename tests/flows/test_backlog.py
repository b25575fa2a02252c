"""A backlog of jobs is worked off at the same price for each, however long it is, and all of it is
done.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.flows.test_guardrails import watched

import engrams
from engrams import Turn

GROWTH = 1.3
"""Statements and rows of a job in a backlog of ten times the length, as a multiple."""


def cost(home: Path, number: int) -> tuple[float, float]:
    """Statements and rows of each job of a backlog, one a session."""
    with watched() as door, engrams.open(home=home, jobs__workers=0) as memory:
        for place in range(number):
            turn = Turn(
                f"I moved to Harbour {place} and my sister works as a nurse.", session=f"s{place}"
            )
            memory.observe(turn, scope=("user", f"u{place % 10}"))
        done: list[bool] = []
        statements, rows = door.cost(lambda: done.append(memory.drain(300)))
        assert done == [True]
        jobs = memory.status()["jobs"]
        assert set(jobs["extract"]) == {"done"}, jobs
        assert all(
            memory.search("where did they move", scope=("user", f"u{place}")).hits
            for place in range(10)
        )
    return statements.total() / number, rows / number


@pytest.mark.slow
def test_a_long_backlog_costs_as_much_a_job_as_a_short_one(home: Path, tmp_path: Path) -> None:
    """Of 500 jobs each asks the store as often, and gets about as many rows, as each of 50."""
    short = cost(tmp_path / "short", 50)
    long = cost(home, 500)
    assert long[0] <= short[0] * GROWTH, (short, long)
    assert long[1] <= short[1] * GROWTH + 50, (short, long)


def test_the_command_waits_for_a_backlog_to_its_end(home: Path) -> None:
    """`engrams status --wait` works off what another process left, and leaves nothing waiting or
    failed.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        for place in range(25):
            memory.observe(
                Turn(f"I moved to Harbour {place}.", session=f"s{place}"), scope=("user", "ann")
            )
        assert memory.status()["jobs"]["extract"] == {"waiting": 25}
    line = [
        sys.executable,
        "-m",
        "engrams.program.entry",
        "status",
        "--wait",
        "--json",
        "--home",
        str(home),
    ]
    done = subprocess.run(
        line,
        env={**os.environ, "ENGRAMS_USER": "ann"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["jobs"]["extract"]) == {"done"}, done.stdout
