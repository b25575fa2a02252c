"""Damage that SQLite does not notice:
words, times, JSON and vectors that nobody wrote; and memories that no repair brings back.
"""

from __future__ import annotations

import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.faults.test_damage import OWNER, run

import engrams
from engrams import Turn
from engrams.core import EdgeType, Status
from engrams.errors import StoreError

BOAT = "The boat Swallow lies in the harbour of Kiel."
GOAT = "A goat called Greta lives behind the house."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with memories, a link, a session and a waiting job."""
    home = tmp_path / "home"
    with engrams.open(home=home, jobs__workers=0) as memory:
        boat, goat = (memory.add(text, scope=OWNER).id for text in (BOAT, GOAT))
        memory.links.link(boat, goat, scope=OWNER)
        memory.observe(Turn("Hello there.", "user", session="monday"), scope=OWNER)
    return home


def change(home: Path, *statements: str) -> None:
    # Triggers use functions that an older SQLite lacks.
    with closing(apsw.Connection(str(home / "memory.db"))) as connection:
        for statement in statements:
            connection.execute(statement)


DAMAGE = {
    "a link's type": "UPDATE edges SET type = 'rflates_to' WHERE type = 'relates_to'",
    "a link's weight": "UPDATE edges SET weight = 9e300",
    "a job's state": "UPDATE jobs SET state = 'waitinh'",
    "a job's work": "UPDATE jobs SET payload = '{' || payload",
    "a session's state": "UPDATE sessions SET state = 'bctive'",
    "a time": "UPDATE records SET recorded_at = 9000000000000000000 WHERE text LIKE '%boat%'",
    "a confidence": "UPDATE records SET confidence = 9e300 WHERE text LIKE '%boat%'",
    "the name of a source": (
        "UPDATE records SET provenance = '{\"chbnnel\":\"user\"}' WHERE text LIKE '%boat%'"
    ),
    "an entry of the history": "UPDATE history SET after = '{'",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.covers("S1.54")
def test_a_value_that_nobody_wrote_is_replaced_and_told(home: Path, damage: str) -> None:
    """It is found on opening; every memory is there afterwards, and every link but one whose type
    nobody can tell; what was lost is told.
    """
    change(home, DAMAGE[damage])
    with engrams.open(home=home) as memory:
        records = memory.list(scope=OWNER, limit=100).records
        assert {BOAT, GOAT} <= {record.text for record in records}
        assert memory.search("boat", scope=OWNER).hits[0].record.text == BOAT
        ids = {record.text: record.id for record in records}
        linked = {edge.type for edge in memory.store.edges(engrams.Scope.of(OWNER), [ids[BOAT]])}
        assert (EdgeType.RELATES_TO in linked) == (damage != "a link's type")
        assert all(memory.history(record.id, scope=OWNER) for record in records)
        memory.drain()
        report = memory.check()
        assert report["ok"]
        (loss,) = report["lost"]
        assert "are lost" in loss
        is_of_a_memory = damage in ("a time", "a confidence", "the name of a source")
        assert (f"{ids[BOAT]} of user/ada" in loss) == is_of_a_memory


def test_a_memory_whose_status_is_unreadable_is_kept_and_not_recalled(home: Path) -> None:
    """Its text is there, archived, as it may have been forgotten; it is told until it is edited.
    One whose history tells the status has that.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        goat = memory.search("goat", scope=OWNER).hits[0].record
        memory.forget(goat.id, scope=OWNER)
    change(home, "UPDATE records SET status = 'bctive'")
    with engrams.open(home=home, jobs__workers=0) as memory:
        records = memory.list(scope=OWNER, statuses=tuple(Status), limit=100).records
        statuses = {record.text: record.status for record in records}
        assert statuses[BOAT] == Status.ARCHIVED
        assert statuses[GOAT] == Status.FORGOTTEN
        (loss,) = memory.check()["lost"]
        (boat,) = (record.id for record in records if record.text == BOAT)
        assert boat in loss
        assert goat.id not in loss
        memory.edit(boat, scope=OWNER, text=f"{BOAT} Still.")
        assert boat not in memory.check()["lost"][0]


def test_a_damaged_value_of_a_large_file_is_an_error_that_says_so(home: Path) -> None:
    """A file that is not read whole on opening:
    the read that meets the damage names the command that mends it, which does, and tells the loss.
    """
    with engrams.open(home=home, jobs__workers=0) as memory:
        change(home, DAMAGE["a link's type"], DAMAGE["the name of a source"])
        for read in (
            lambda: memory.list(scope=OWNER),
            lambda: memory.store.edges(engrams.Scope.of(OWNER), [memory_id(home)]),
        ):
            with pytest.raises(StoreError) as problem:
                read()
            assert "engrams doctor --repair" in problem.value.hint
    repaired = run(home, "doctor", "--offline", "--repair")
    assert "values of 1 links" in repaired.stdout
    assert run(home, "doctor", "--offline", "--accept").returncode == 0
    with engrams.open(home=home) as memory:
        assert len(memory.list(scope=OWNER, limit=100).records) >= 2


def memory_id(home: Path) -> str:
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        return str(
            connection.execute("SELECT source FROM edges WHERE type = 'rflates_to'").fetchone()[0]
        )


@pytest.mark.parametrize("data", ["zeroblob(1024 - 4) || x'0000807f'", "randomblob(1024)", "x'00'"])
def test_a_damaged_vector_is_made_again(home: Path, data: str) -> None:
    """No warning and no nonsense in a ranking:
    it counts as missing, the next job makes it, and the doctor sees it until it is repaired.
    """
    spoil = f"UPDATE vectors SET data = CAST({data} AS BLOB)"
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        before = dict(connection.execute("SELECT record, data FROM vectors").fetchall())
    change(home, spoil)
    with warnings.catch_warnings(), engrams.open(home=home, jobs__workers=0) as memory:
        warnings.simplefilter("error")
        assert not memory.check()["ok"]
        assert memory.search("a boat in a harbour", scope=OWNER).hits[0].record.text == BOAT
        memory.drain()
        assert memory.check()["problems"] == []
        assert memory.check(True)["ok"]
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        after = dict(connection.execute("SELECT record, data FROM vectors").fetchall())
    assert after.keys() == before.keys()
    assert all(
        np.allclose(
            np.frombuffer(after[one], np.float32), np.frombuffer(before[one], np.float32), atol=1e-5
        )
        for one in before
    )
    change(home, spoil)
    assert run(home, "doctor", "--offline").returncode != 0
    assert run(home, "doctor", "--offline", "--repair").returncode == 0


def test_a_full_disk_of_the_files_state_is_an_error_that_says_so(tmp_path: Path) -> None:
    """Where the state of the files cannot be written, StoreError names the disk;
    afterwards everything is written.
    """
    with engrams.open(home=tmp_path / "home", vault__enabled=True, jobs__workers=0) as memory:
        memory.add(BOAT, scope=OWNER)
        memory.vault.sync()
        state = memory.vault.deps.state
        connection: apsw.Connection = state._connection()
        connection.pragma("max_page_count", connection.pragma("page_count"))
        with pytest.raises(StoreError, match="is full") as problem:
            state.touch((f"entries/{number}.md", {"does": "add " * 50}) for number in range(500))
        assert "space" in problem.value.hint
        connection.pragma("max_page_count", 1 << 30)
        assert state.count_touched() < 500
        memory.add(GOAT, scope=OWNER)
        memory.vault.sync()
    texts = [path.read_text("utf-8") for path in (tmp_path / "home" / "vault").rglob("*.md")]
    assert any(BOAT in text for text in texts) and any(GOAT in text for text in texts)


@pytest.mark.covers("S1.54")
@pytest.mark.slow
def test_lost_memories_are_remembered_until_somebody_accepts_it(tmp_path: Path) -> None:
    """Each doctor names what a rescue could not bring back, and fails, until `--accept`."""
    home = tmp_path / "home"
    with engrams.open(home=home, jobs__workers=0, write__extract="off") as memory:
        ids = {
            memory.add(f"Parcel {number} waits in the hall. {'x' * 900}", scope=OWNER).id
            for number in range(40)
        }
    data = (home / "memory.db").read_bytes()
    page = data.index(b"Parcel 20 waits") // 4096 * 4096
    (home / "memory.db").write_bytes(data[:page] + bytes(4096) + data[page + 4096 :])
    with engrams.open(home=home, jobs__workers=0) as memory:
        lost = ids - {record.id for record in memory.list(scope=OWNER, limit=100).records}
    assert lost
    for _ in range(2):
        told = run(home, "doctor", "--offline")
        assert (
            told.returncode != 0 and f"{len(lost)} memories of memory.db.corrupt-" in told.stdout
        ), told.stdout
        assert all(f"{id} of user/ada" in told.stdout for id in lost)
    assert "Accepted" in run(home, "doctor", "--offline", "--accept").stdout
    done = run(home, "doctor", "--offline")
    assert done.returncode == 0 and "are lost" not in done.stdout
