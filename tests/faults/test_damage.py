"""A damaged database file:
what its bytes still hold comes back and is counted, or the open is refused; never an empty memory.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import engrams
from engrams.errors import StoreError

OWNER = ("user", "ada")
TURNS = 300
PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of 300 memories, closed."""
    home = tmp_path_factory.mktemp("damage") / "home"
    with engrams.open(home=home) as memory:
        for number in range(TURNS):
            memory.add(
                f"Parcel r{number}x{number * 31} waits in the hall of house {number % 40}.",
                scope=OWNER,
            )
    return home


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "home"))


def texts(home: Path) -> set[str]:
    with engrams.open(home=home) as memory:
        return {record.text for record in memory.list(scope=OWNER, limit=1000).records}


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, as a process."""
    line = [sys.executable, "-m", "engrams.program.entry", *words, "--home", str(home)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


NAMED: dict[str, Callable[[bytes], bytes]] = {
    "a byte of the schema": lambda data: data[:105] + bytes((data[105] ^ 0xFF,)) + data[106:],
    "a byte of a table's name": lambda data: data.replace(
        b"CREATE TABLE records", b"CREATE TABLF records", 1
    ),
    "a byte of a column's name": lambda data: data.replace(
        b"    before TEXT", b"    befora TEXT", 1
    ),
    "no header": lambda data: bytes(100) + data[100:],
    "no schema page": lambda data: data[:100] + b"\xff" * (PAGE - 100) + data[PAGE:],
    "pages 2 to 5 zeroed": lambda data: data[:PAGE] + bytes(4 * PAGE) + data[5 * PAGE :],
    "its last page cut": lambda data: data[: -PAGE - 100],
    "cut in half": lambda data: data[: len(data) // 2 + 100],
}
FAST = ("a byte of the schema", "a byte of a column's name", "cut in half")


@pytest.mark.parametrize(
    "damage",
    [each if each in FAST else pytest.param(each, marks=pytest.mark.slow) for each in NAMED],
)
@pytest.mark.covers("S1.54")
def test_a_damaged_file_is_rescued_with_a_count(home: Path, damage: str) -> None:
    """The command lists what the bytes still hold, says how much came back, and keeps the damaged
    file.
    """
    file = home / "memory.db"
    spoilt = NAMED[damage](file.read_bytes())
    file.write_bytes(spoilt)
    readable = sum(
        spoilt.count(f"Parcel r{number}x{number * 31} waits".encode()) > 0
        for number in range(TURNS)
    )
    listed = run(home, "list", "--limit", "1000", "--user", "ada")
    assert listed.returncode == 0, listed.stderr
    assert "Nothing here." not in listed.stdout + listed.stderr
    assert "was damaged" in listed.stderr and "memories" in listed.stderr
    found = texts(home)
    assert len(found) >= min(readable, TURNS) - 3, (len(found), readable)
    assert spoilt in [path.read_bytes() for path in home.glob("memory.db.corrupt-*.rescued")]
    told = run(home, "doctor", "--offline")
    assert (told.returncode != 0) == ("are lost" in told.stdout), told.stdout
    assert run(home, "doctor", "--offline", "--accept").returncode == 0


def test_the_cut_log_of_a_killed_process_is_noticed(tmp_path: Path) -> None:
    """Of a write whose last page is cut off the log, what its other pages hold comes back, and the
    loss is told.
    """
    source = tmp_path / "source"
    home = tmp_path / "home"
    with engrams.open(home=source, jobs__workers=0, write__extract="off") as memory:
        for _ in range(3):
            memory.observe(
                [engrams.Turn(f"Parcel {number} {'waits ' * 60}") for number in range(60)],
                scope=OWNER,
            )
        shutil.copytree(source, home)  # as a kill leaves it: the log, and its index
    log = home / "memory.db-wal"
    log.write_bytes(log.read_bytes()[: -PAGE // 2])
    with engrams.open(home=home, jobs__workers=0, write__extract="off") as memory:
        assert "was damaged" in str(memory.check()["repaired"])
        assert len(memory.list(scope=OWNER, limit=1000).records) > 120


def test_a_whole_copy_of_a_record_wins_over_an_overwritten_one(home: Path) -> None:
    """Of two copies that a damaged file holds of one record, the one whose text is whole comes
    back.
    """
    path = home / "memory.db"
    data = bytearray(path.read_bytes())
    kept, other = (
        bytes(data).index(b"Parcel r%dx%d waits" % (number, number * 31)) for number in (20, 250)
    )
    row = data[kept - 400 : kept + 4]
    data[other - 400 : other + 400] = row + b"x" * 396
    path.write_bytes(data)
    assert {f"Parcel r20x620 waits in the hall of house {20 % 40}."} <= texts(home)


def test_an_overwritten_byte_of_the_marks_is_damage(home: Path) -> None:
    """A header that names another program over tables that are ours is mended:
    nothing is refused, nothing lost.
    """
    path = home / "memory.db"
    content = bytearray(path.read_bytes())
    content[69] ^= 0x40
    path.write_bytes(content)
    assert len(texts(home)) == TURNS


def test_an_overwritten_id_of_an_index_names_no_record(home: Path) -> None:
    """The index of ids holds a byte that no id has: the record keeps its own id."""
    path = home / "memory.db"
    with closing(apsw.Connection(str(path))) as connection:
        ((number,),) = connection.execute(
            "SELECT min(pageno) FROM dbstat WHERE name = 'records_id' AND pagetype = 'leaf'"
        ).fetchall()
        ids = {id for (id,) in connection.execute("SELECT id FROM records")}
    content = bytearray(path.read_bytes())
    at = min(
        place
        for id in ids
        if (place := bytes(content).find(id.encode(), (number - 1) * PAGE, number * PAGE)) > 0
    )
    content[at + 22] = 0xC3
    path.write_bytes(content)
    with engrams.open(home=home) as memory:
        assert {record.id for record in memory.list(scope=OWNER, limit=1000).records} <= ids
        assert len(memory.list(scope=OWNER, limit=1000).records) == TURNS


@pytest.mark.parametrize(
    "content",
    [
        b"Dear diary, today it rained.\n" * 900,
        pytest.param(os.urandom(40_000), marks=pytest.mark.slow),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left(home: Path, content: bytes) -> None:
    """A text in the database's place:
    code 5, a hint that names commands that exist, and the file stays.
    """
    (home / "memory.db").write_bytes(content)
    for words in (("list",), ("add", "something new"), ("search", "parcel")):
        done = run(home, *words, "--user", "ada")
        assert done.returncode == 5, done
        assert "engrams doctor --repair" in done.stderr
    assert run(home, "doctor", "--offline").returncode != 0
    assert run(home, "doctor", "--offline", "--repair").returncode != 0
    assert (home / "memory.db").read_bytes() == content


@pytest.mark.slow
def test_repair_takes_the_newest_backup_where_no_byte_is_left(home: Path) -> None:
    """With nothing left of the database, `doctor --repair` puts the home's backup back and says so."""
    assert run(home, "backup", str(home / "monday.backup")).returncode == 0
    (home / "memory.db").write_bytes(b"\0" * 50_000)
    assert run(home, "list", "--user", "ada").returncode == 5
    done = run(home, "doctor", "--offline", "--repair")
    assert done.returncode != 0 and "Later changes are missing" in done.stdout
    assert "monday.backup" in done.stdout
    assert run(home, "doctor", "--offline", "--accept").returncode == 0
    assert run(home, "doctor", "--offline").returncode == 0
    assert len(texts(home)) == TURNS


def test_repair_brings_back_a_file_that_lies_aside(home: Path) -> None:
    """A file that was moved aside without a rescue fails the doctor;
    its repair adds what is missing, once.
    """
    file = home / "memory.db"
    (home / "memory.db.corrupt-20250101T000000000000Z").write_bytes(
        bytes(100) + file.read_bytes()[100:]
    )
    file.unlink()
    with engrams.open(home=home) as memory:
        memory.add("Said since then.", scope=OWNER)
    told = run(home, "doctor", "--offline")
    assert told.returncode != 0
    assert "moved aside" in told.stdout and "doctor --repair" in told.stdout
    assert run(home, "doctor", "--offline", "--repair").returncode == 0
    assert len(texts(home)) == TURNS + 1
    assert run(home, "doctor", "--offline").returncode == 0
    with engrams.open(home=home) as memory:
        hits = memory.search("parcel r7x217", scope=OWNER, limit=3).hits
        assert any("r7x217" in hit.record.text for hit in hits)
        assert memory.explain(hits[0].record.id, scope=OWNER) is not None


def test_repair_mends_the_index_of_words_whose_terms_were_overwritten(home: Path) -> None:
    """Where the terms of records are damaged, the index is made from the texts, and is found sound
    afterwards.
    """
    import apsw

    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(
        "UPDATE records SET lexemes = randomblob(length(lexemes)) WHERE number % 50 = 0"
    )
    connection.close()
    assert run(home, "doctor", "--offline").returncode != 0
    assert run(home, "doctor", "--offline", "--repair").returncode == 0
    assert run(home, "doctor", "--offline").returncode == 0
    assert len(texts(home)) == TURNS


SAME = """
import os, random, sys
os.urandom, os.getpid = random.Random(1).randbytes, lambda: 1000
from datetime import UTC, datetime
import engrams
from engrams.testing import SettableClock
with engrams.open(home=sys.argv[1], jobs__workers=0, clock=SettableClock(datetime(2026, 3, 1, tzinfo=UTC))) as memory:
    for number in range(300):
        memory.add(f"Parcel r{number}x{number * 31} waits in the hall of house {number % 40}.", scope=("user", "ada"))
"""
"""A program that writes the same file, byte by byte, each time."""
SEED = 20


@pytest.mark.slow
def test_single_bytes(tmp_path: Path) -> None:
    """Sixty bytes, each overwritten by itself:
    every text that is still in the file is listed, or the open is refused.
    """
    whole = tmp_path / "whole"
    subprocess.run(
        [sys.executable, "-c", SAME, str(whole)],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=True,
        timeout=300,
    )
    data = (whole / "memory.db").read_bytes()
    said = texts(whole)
    assert len(said) == TURNS
    print(f"seed {SEED}, file {hashlib.sha256(data).hexdigest()[:16]}")
    dice = random.Random(SEED)
    lost: list[tuple[int, int]] = []
    for turn in range(60):
        place = dice.randrange(len(data))
        mask = dice.randrange(1, 256)
        spoilt = bytearray(data)
        spoilt[place] ^= mask
        home = tmp_path / str(turn)
        home.mkdir()
        (home / "memory.db").write_bytes(spoilt)
        try:
            found = texts(home)
        except StoreError as problem:
            lost += [] if "engrams doctor --repair" in problem.hint else [(place, mask)]
            continue
        missing = {text for text in said - found if text.encode() in spoilt}
        if missing:
            lost.append((place, mask))
        shutil.rmtree(home)
    assert not lost, (SEED, lost)
