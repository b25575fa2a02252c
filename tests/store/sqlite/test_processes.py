"""Several processes on one home, killed processes, and forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.store.make import ALICE, Time, add, found, get, reach, record, texts

import engrams
from engrams import admin
from engrams.core import Scope
from engrams.ports import RecordQuery
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore

START = """
import os, sys
from pathlib import Path
from engrams.ports import JobClaim, JobFailure, JobSpec
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore
from engrams.core import Scope
from tests.store.make import ALICE, START, Time, add, found, reach, record, texts, turn
store = SqliteStore.open(Path(sys.argv[1]), StoreSettings(), Time())
name = sys.argv[2]
"""

WRITER = """
for number in range(60):
    add(store, turn(f"{name} says number {number}", external_id=f"{name}-{number}"), record("shared tea", Scope(("user", name))))
    assert len(found(store, "number")) >= number + 1
store.close()
"""

WORKER = """
done = []
while (job := store.claim(JobClaim(name, START, 60))) is not None:
    done.append(job.key)
    assert store.finish(job.lease, START)
print(" ".join(done))
store.close()
"""

ENDLESS = """
number = 0
while True:
    one = record(f"{name} {number}", meta={"n": number})
    add(store, one, jobs=(JobSpec("extract", "k", {"items": [one.id]}),))
    print(one.id, flush=True)
    number += 1
"""


def start(script: str, home: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", START + script, str(home / "memory.db"), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def opened(home: Path, clock: Time) -> SqliteStore:
    return SqliteStore.open(home / "memory.db", StoreSettings(), clock)


@pytest.mark.covers("S1.47")
def test_processes_write_side_by_side(home: Path, clock: Time) -> None:
    """Three processes that create a home and write to it at once all finish, find what they wrote,
    and lose nothing.
    """
    running = [start(WRITER, home, name) for name in ("one", "two", "three")]
    for process in running:
        _, problem = process.communicate(timeout=120)
        assert process.returncode == 0, problem
    store = opened(home, clock)
    assert store.counts(reach())["status"] == {"active": 180}
    with store._database.reading() as connection:
        changes = connection.execute(
            "SELECT count(DISTINCT changed), count(*) FROM records GROUP BY owner"
        ).fetchall()
    assert sum(total for _, total in changes) == 360 and all(
        different == total for different, total in changes
    )
    assert len(found(store, "says")) == 180
    assert store.check(False)["ok"]
    store.close()


def test_processes_share_jobs(home: Path, clock: Time) -> None:
    """Workers in several processes do each job exactly once."""
    from engrams.ports import JobSpec

    store = opened(home, clock)
    store.enqueue([JobSpec("extract", f"k{number}") for number in range(60)], clock())
    running = [start(WORKER, home, name) for name in ("one", "two", "three")]
    outcomes: list[str] = []
    for process in running:
        output, problem = process.communicate(timeout=120)
        assert process.returncode == 0, problem
        outcomes += output.split()
    assert sorted(outcomes) == sorted(f"k{number}" for number in range(60))
    store.close()


def test_a_killed_writer_loses_nothing(home: Path, clock: Time) -> None:
    """A process killed in the middle of writing loses no acknowledged write, leaves no half one,
    and blocks nobody.
    """
    acknowledged: list[str] = []
    for attempt in range(4):
        process = start(ENDLESS, home, f"run{attempt}")
        assert process.stdout is not None
        acknowledged += [process.stdout.readline().strip() for _ in range(20)]
        time.sleep(0.02 * attempt)
        process.send_signal(signal.SIGKILL)
        acknowledged += [line for line in process.stdout.read().split("\n") if len(line) == 26]
        process.wait()
        process.communicate()
        store = opened(home, clock)
        assert len(store.get(ALICE, acknowledged)) == len(acknowledged)
        kept = store.find(RecordQuery(reach(), limit=1000)).records
        (job,) = store.queue()
        assert set(job.payload["items"]) == {stored.id for stored in kept}
        assert len(found(store, f"run{attempt}")) > 0
        report = store.check(False)
        assert report["ok"], report
        assert report["repaired"] == []
        add(store, record("after the crash", Scope(("user", "bob"))))
        store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("memory", [False, True])
def test_a_fork_is_safe(home: Path, clock: Time, memory: bool) -> None:
    """After a fork parent and child both read and write: the same file, or each its own memory."""
    store = SqliteStore.open(":memory:" if memory else home / "memory.db", StoreSettings(), clock)
    early = record("before the fork")
    add(store, early)
    assert len(found(store, "fork")) == 1
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert get(store, early) == early
            add(store, record("from the child of the fork", id="01child"))
            assert len(found(store, "child")) == 1
            store.close()
            code = 0
        finally:
            os._exit(code)
    add(store, record("from the parent of the fork"))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(texts(store)) == len(found(store, "fork")) == (2 if memory else 3)
    assert store.check(False)["ok"]
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("vault", [False, True])
def test_a_purge_keeps_the_locks_of_its_process(tmp_path: Path, vault: bool) -> None:
    """After a purge has looked at the bytes of the database, another process that opens and closes
    it still knows that it is in use.
    """
    home = tmp_path / "home"
    owner = ("user", "ann")

    # A process of its own: in a forked one SQLite would still count its parent's connections.
    opening = f"engrams.open(home={str(home)!r}, jobs__workers=0, vault__enabled={vault})"
    line = f"import engrams\nwith {opening} as other:\n    other.list(scope={owner})"
    with engrams.open(home=home, jobs__workers=0, vault__enabled=vault) as memory:
        gone = memory.add("Ann grows tall beans behind the house.", scope=owner).id
        kept = [path for path in home.glob("*.db-*") if not path.name.endswith("journal")]
        before = {path: path.stat().st_ino for path in kept}
        assert memory.purge(gone, scope=owner).proven
        admin.read_encryption_status(memory.settings)
        with engrams.open(
            home=home, jobs__workers=0, vault__enabled=vault
        ) as second:  # of this process too
            assert second.list(scope=owner).records == ()
        subprocess.run([sys.executable, "-c", line], check=True, timeout=120)
        assert before and {path: path.stat().st_ino for path in kept if path.exists()} == before, (
            "a log was deleted under this process"
        )
        memory.add("Cleo paints the kitchen.", scope=owner)
        assert len(memory.list(scope=owner).records) == 1
    with engrams.open(home=home, jobs__workers=0, vault__enabled=vault) as memory:
        assert len(memory.list(scope=owner).records) == 1 and memory.check()["ok"]
