"""A large move to Postgres and back that is killed on its way:
what arrives is the same, byte for byte of the export.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from tests.store import postgres

import engrams
from engrams import Turn

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]
PROGRAM = [sys.executable, "-m", "engrams.program.entry"]
RECORDS = int(os.environ.get("MOVE_RECORDS", "4000"))
"""How many memories are moved; the figures in the guide are of 100,000."""
OWNERS = 40
KILLS = 3


def digest(home: Path, url: str) -> str:
    """Hash of everything that every owner has, in order of their names."""
    found = hashlib.sha256()
    with engrams.open(home=home, store={"url": url}, jobs__workers=0) as memory:
        for number in range(OWNERS):
            target = home.parent / "export.jsonl"
            memory.dump(target, scope=("user", f"u{number}"))
            found.update(b"".join(sorted(target.read_bytes().splitlines(keepends=True))))
    return found.hexdigest()


def count_arrived(target: str) -> int:
    """Owners of whom the target has memories by now."""
    if target.startswith("postgresql:"):
        with psycopg.connect(target) as connection:
            return len(
                connection.execute("SELECT owner FROM engrams.records GROUP BY owner").fetchall()
            )
    if not Path(target).exists():
        return 0
    with (
        closing(sqlite3.connect(f"file:{target}?mode=ro", uri=True)) as file,
        suppress(sqlite3.OperationalError),
    ):
        return len(file.execute("SELECT owner FROM records GROUP BY owner").fetchall())
    return 0


def move(home: Path, source: str, target: str) -> tuple[int, float]:
    """Move, killed three times on the way, each time after more has arrived;
    kills, and seconds of the last run.
    """
    env = {**os.environ, "ENGRAMS_HOME": str(home), "ENGRAMS_STORE__URL": source}
    command = [*PROGRAM, "move", "--to", target]
    kills = 0
    while kills < KILLS:
        running = subprocess.Popen(
            command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while count_arrived(target) < (kills + 1) * OWNERS // (KILLS + 2):
            if running.poll() is not None:
                return kills, 0.0
            time.sleep(0.01)
        running.kill()
        running.wait()
        kills += 1
    begun = time.monotonic()
    finished = subprocess.run(command, env=env, capture_output=True, text=True, timeout=3600)
    assert finished.returncode == 0, finished.stderr
    return kills, time.monotonic() - begun


@pytest.mark.slow
def test_a_killed_move_arrives_whole(home: Path, tmp_path: Path) -> None:
    """Killed three times there and three times back, both are identical to where they came from."""
    url = postgres.empty_database()
    back = str(tmp_path / "back.db")
    with engrams.open(home=home, jobs__workers=0, write__extract="off") as memory:
        records_per_owner = RECORDS // OWNERS
        for number in range(OWNERS):
            for first in range(0, records_per_owner, 500):
                numbers = range(first, min(first + 500, records_per_owner))
                turns = [
                    Turn(
                        f"Day {n}: somebody walked to harbour {n % 97}.",
                        session=f"s{n // 50}",
                        external_id=f"t{n}",
                    )
                    for n in numbers
                ]
                memory.observe(turns, scope=("user", f"u{number}"))
    expected = digest(home, "")
    moved_counts, seconds = move(home, "", url)
    assert digest(home, url) == expected
    again, more = move(home, url, back)
    assert digest(home, back) == expected
    print(
        f"{RECORDS:,} there: {moved_counts} kills, last run {seconds:.0f} s; back: {again} kills,"
        f" {more:.0f} s"
    )
    assert moved_counts == again == KILLS
