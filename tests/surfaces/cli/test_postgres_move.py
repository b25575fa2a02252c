"""The command line on Postgres:
tables are made once, memory is there, and what needs a file says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.store import postgres

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING),
]


def run(home: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "ENGRAMS_HOME": str(home),
        "ENGRAMS_STORE__URL": url,
        "ENGRAMS_USER": "ann",
    }
    command = [sys.executable, "-m", "engrams.program.entry", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_commands_on_postgres(home: Path) -> None:
    """A memory that one command adds is found by the next and moves to a file;
    a backup is the database's own matter.
    """
    url = postgres.empty_database()
    assert "up to date" in run(home, url, "migrate").stdout
    assert run(home, url, "add", "I keep bees in Porto.").returncode == 0
    finished = run(home, url, "search", "bees")
    assert "bees in Porto" in finished.stdout and "no memory yet" not in finished.stderr
    refused = run(home, url, "backup", str(home.parent / "x.bak"))
    assert refused.returncode == 1 and "tools of the database server" in refused.stderr
    assert "of 1 owners" in run(home, url, "move", "--to", str(home.parent / "back.db")).stdout
    assert "bees in Porto" in run(home, str(home.parent / "back.db"), "search", "bees").stdout


def test_a_move_from_nowhere_or_onto_itself(home: Path) -> None:
    """A home that is not there is named, and no memory moves onto itself, in a file or a database;
    nothing is made.
    """
    url = postgres.empty_database()
    missing = home.parent / "mistyped"
    refused = run(missing, "", "move", "--to", url)
    assert refused.returncode != 0
    assert str(missing / "memory.db") in refused.stderr
    assert not missing.exists()
    assert run(home, "", "add", "I keep bees in Porto.").returncode == 0
    for source, target in (("", str(home / "memory.db")), (url, url)):
        refused = run(home, source, "move", "--to", target)
        assert refused.returncode != 0
        assert "onto itself" in refused.stderr


def test_a_doctor_mends_counts_and_vectors(home: Path) -> None:
    """Counts and vectors that were lost are told;
    `--repair` counts again for each owner, and asks for the vectors, which a job makes.
    """
    import psycopg

    url = postgres.empty_database()
    embedder = ("--set", "embed.provider=builtin", "--set", "jobs.workers=0")
    for text in ("I keep bees in Porto.", "My boat is called Wren."):
        assert run(home, url, "add", text, *embedder).returncode == 0
    with psycopg.connect(url, autocommit=True) as connection:
        vectors = "SELECT count(*) FROM engrams.vectors"
        tallies = "SELECT * FROM engrams.tallies ORDER BY 1, 2, 3, 4, 5, 6, 7"
        before = (
            connection.execute(vectors.encode()).fetchall(),
            connection.execute(tallies.encode()).fetchall(),
        )
        connection.execute(
            "DELETE FROM engrams.vectors; UPDATE engrams.tallies SET total = total + 5"
        )
        connection.execute(
            "INSERT INTO engrams.tallies SELECT 'user/nobody', 'user/nobody', kind, layer, tier,"
            " status, speaker, 1, 1 FROM engrams.tallies LIMIT 1"
        )
        finished = run(home, url, "doctor", *embedder)
        assert finished.returncode == 1
        assert "counts of records are wrong" in finished.stdout
        assert "3 memories have no vector" in finished.stdout
        mended = run(home, url, "doctor", "--repair", *embedder)
        assert mended.returncode == 0
        assert "counted again" in mended.stdout
        assert run(home, url, "status", "--wait", *embedder[:2]).returncode == 0
        assert (
            connection.execute(vectors.encode()).fetchall(),
            connection.execute(tallies.encode()).fetchall(),
        ) == before
    assert "no vector" not in run(home, url, "doctor", *embedder).stdout
