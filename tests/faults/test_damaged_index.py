"""A damaged search index, through the command and the engine:
right answers, or a doctor who tells and mends; never a traceback.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engrams
from engrams.index import segment_file

OWNER = ("user", "ada")
SIZE = 2_100
CHECKED = "user.engrams.checked"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sums are noted on Linux")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose owner has an index file, which was checked."""
    home = tmp_path_factory.mktemp("index") / "home"
    with engrams.open(home=home, write__extract="off") as memory:
        memory.observe(
            [
                engrams.Turn(f"Parcel r{n}x waits in the hall of house {n % 40}.")
                for n in range(SIZE)
            ],
            scope=OWNER,
        )
        memory.drain()
        memory.search("parcel", scope=OWNER)
    assert find_file(home)
    search(home)
    return home


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(whole, tmp_path / "home"))
    search(copy)
    try:
        os.getxattr(find_file(copy), CHECKED)
    except OSError:
        pytest.skip("this file system keeps no attributes")
    return copy


def search(home: Path) -> None:
    """Ask as a user does; the answer must be right."""
    told = run(home, "search", "parcel r77x", "--user", "ada", "--limit", "1")
    assert told.returncode == 0 and "Parcel r77x waits" in told.stdout, told.stderr
    assert "Traceback" not in told.stderr


def find_file(home: Path) -> Path:
    (path,) = (home / "memory.db.index").glob("*.segment")
    return path


def damage(path: Path, *, age: float | None = 0) -> None:
    """Overwrite all ids in place, as a disk does that rots: the file tells no change.

    ``age``: hours since the sums were last right; None: the note of it is kept, which a write from
    outside belies.
    """
    data = path.read_bytes()
    state = path.stat()
    ids = segment_file.map_segment(path).arrays["id"]
    place = data.index(np.ascontiguousarray(ids[:SIZE]).tobytes())
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"\xff" * ids[:SIZE].nbytes)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    if age is not None:
        noted = os.getxattr(path, CHECKED).rpartition(b" ")[0]
        os.setxattr(path, CHECKED, noted + b" %d" % int(time.time_ns() - age * 3.6e12))


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "engrams.program.entry", *words, "--home", str(home)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


def test_a_write_from_outside_is_noticed(home: Path) -> None:
    """A file that was overwritten and tells its old time is checked again, and replaced."""
    time.sleep(1.1)
    damage(find_file(home), age=None)
    search(home)
    assert run(home, "doctor", "--offline").returncode == 0


def test_silent_rot_ends_no_search(home: Path) -> None:
    """Damage behind a fresh note:
    the command finds unreadable ids, drops the index and answers from the store.
    """
    damage(find_file(home))
    search(home)
    search(home)


def test_sums_are_checked_every_day(home: Path) -> None:
    """What was right yesterday is checked again;
    what is noted for tomorrow, by a clock that went backwards, too.
    """
    for hours in (25, -2):
        kept = find_file(home).read_bytes()
        damage(find_file(home), age=hours)
        with pytest.raises(segment_file.SegmentFileError):
            segment_file.map_segment(find_file(home))
        find_file(home).write_bytes(kept)
        segment_file.map_segment(find_file(home))


def test_an_open_engine_answers_from_the_store(home: Path) -> None:
    """The file is damaged under an engine that has it mapped: its searches go on."""
    with engrams.open(home=home) as memory:
        memory.search("parcel", scope=OWNER)
        damage(find_file(home))
        for _ in range(2):
            assert "r77x" in memory.search("parcel r77x", scope=OWNER).hits[0].record.text


def test_changes_are_found_in_spite_of_damage(home: Path) -> None:
    """A message that is compared with earlier ones by a damaged index replaces what it corrects, in
    the first attempt.
    """
    with engrams.open(home=home) as memory:
        memory.observe([engrams.Turn("I live in Rome.")], scope=OWNER)
        memory.drain()
    with engrams.open(home=home) as memory:
        damage(find_file(home))
        memory.observe([engrams.Turn("I moved to Naples last week.")], scope=OWNER)
        memory.drain()
        assert not [job for job in memory.inspect.jobs() if job.attempt > 1 or job.error]
        hit = memory.search("Where do I live?", scope=OWNER).hits[0]
    assert "Naples" in hit.record.text


def test_the_doctor_tells_and_mends(home: Path) -> None:
    """Damage that no search meets is found by `engrams doctor`, and `--repair` removes the file."""
    damage(find_file(home))
    told = run(home, "doctor", "--offline")
    assert told.returncode != 0 and "search index" in told.stdout + told.stderr, (
        told.stdout + told.stderr
    )
    mended = run(home, "doctor", "--offline", "--repair")
    assert mended.returncode == 0, mended.stdout + mended.stderr
    search(home)
    assert run(home, "doctor", "--offline").returncode == 0
