"""Search indexes in files beside a store:
the same answers as without them, whatever becomes of the files.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.store.make import ALICE, BOB, START, Time, add, at, change, record, turn, vector

from engrams.core import Record, Scope, Status
from engrams.index import segment_file
from engrams.ports import CandidateSearchQuery, NewRecord, RecordQuery, ScopeReach
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore
from engrams.text.terms import terms

WORDS = [f"word{number}" for number in range(300)]
Scores = dict[str, tuple[float, ...]]
SIZE = 2_200


def opened(home: Path) -> SqliteStore:
    return SqliteStore.open(home / "memory.db", StoreSettings(), Time())


def fill(store: SqliteStore, owner: Scope, size: int, seed: int = 1) -> list[Record]:
    """Turns in sessions, with facts among them."""
    pick = random.Random(seed)
    records = []
    for number in range(size):
        text = " ".join(pick.choices(WORDS, k=pick.randint(3, 12)))
        make = turn if number % 4 else record
        when = START + timedelta(minutes=number)
        fields = (
            {"session": f"s{number // 9}", "speaker": pick.choice(["Ann", "Zoë"])}
            if number % 4
            else {}
        )
        records.append(make(text, owner, recorded_at=when, **fields))
    for start in range(0, size, 500):
        some = records[start : start + 500]
        add(
            store,
            *(
                NewRecord(hits, vector=vector(hits, *(pick.gauss(0, 1) for _ in range(8))))
                for hits in some
            ),
        )
    return records


def ask(store: SqliteStore, owner: Scope, seed: int) -> Scores:
    """Scores of every candidate, by id."""
    pick = random.Random(seed)
    direction = np.array([pick.gauss(0, 1) for _ in range(8)], np.float32)
    query = CandidateSearchQuery(
        reach=ScopeReach(owner, (owner,), tree=True),
        now=at(days=365),
        terms=tuple((term, 1.0) for term in terms(" ".join(pick.choices(WORDS, k=4)))),
        vector=direction / np.linalg.norm(direction),
        model="tiny",
        history=bool(seed % 2),
    )
    pool = store.seek(query)
    columns = (
        pool.cos,
        pool.cosctx,
        pool.cosnext,
        pool.bm,
        pool.bmctx,
        pool.bmses,
        pool.times,
        pool.importance,
    )
    return {
        name: tuple(map(float, row))
        for name, row in zip(pool.ids, zip(*columns, strict=True), strict=True)
    }


def answers(home: Path, owner: Scope = ALICE, queries: int = 6) -> list[Scores]:
    store = opened(home)
    try:
        return [ask(store, owner, seed) for seed in range(queries)]
    finally:
        store.close()


def files(home: Path) -> list[Path]:
    return sorted((home / "memory.db.index").glob("*"))


def mapped() -> bool:
    """True if this process has an index file mapped."""
    return ".segment" in Path("/proc/self/maps").read_text("utf-8")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two owners' records, each searched once."""
    home = tmp_path_factory.mktemp("index") / "home"
    store = opened(home)
    for owner, seed in ((ALICE, 1), (BOB, 2)):
        fill(store, owner, SIZE, seed)
        ask(store, owner, 0)
    store.close()
    return home


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "home"))


def plain(home: Path) -> Path:
    """A copy of a home without its index files."""
    bare = Path(shutil.copytree(home, home.with_name(f"bare{time.monotonic_ns()}")))
    shutil.rmtree(bare / "memory.db.index")
    return bare


linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")


@linux
def test_a_search_maps_what_another_process_wrote(home: Path) -> None:
    """The next process maps the file instead of reading every record, and says exactly the same."""
    assert len(files(home)) == 2
    store = opened(home)
    assert ask(store, ALICE, 0) and mapped()
    store.close()
    assert answers(home) == answers(plain(home))


@pytest.mark.slow
def test_ten_thousand_records_rank_alike(tmp_path: Path) -> None:
    """At 10,000 records, 300 queries find the same ids with the same scores from the file as from
    the store.
    """
    store = opened(tmp_path / "home")
    fill(store, ALICE, 10_000)
    ask(store, ALICE, 0)
    store.close()
    assert answers(tmp_path / "home", queries=300) == answers(plain(tmp_path / "home"), queries=300)


def test_later_writes_are_seen(home: Path) -> None:
    """Records that were added, edited, superseded and forgotten since the file was written count as
    they are now.
    """
    store = opened(home)
    held = store.find(RecordQuery(reach=ScopeReach(ALICE, (ALICE,)), limit=200)).records
    change(store, held[3], text="word1 word2 word299 word299", importance=0.9)
    change(store, held[5], importance=0.1)
    change(store, held[7], status=Status.FORGOTTEN)
    change(store, held[9], status=Status.SUPERSEDED)
    fill(store, ALICE, 40, seed=5)
    store.close()
    for one, expected_hits in zip(answers(home), answers(plain(home)), strict=True):
        assert one.keys() == expected_hits.keys()
        for name, scores in one.items():
            assert scores == pytest.approx(expected_hits[name], abs=1e-5)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(offset: float) -> Callable[[Path], None]:
    """Change the first byte from a place on that is not one of a hole."""

    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        start = int(offset * (len(data) - 1))
        data[next(number for number in range(start, len(data)) if data[number])] ^= 0x10
        path.write_bytes(data)

    return damage


DAMAGE: dict[str, Callable[[Path], object]] = {
    "another version": lambda path: path.write_bytes(
        path.read_bytes().replace(b"ENGIDX02", b"ENGIDX99", 1)
    ),
    "cut": cut,
    "empty": lambda path: path.write_bytes(b""),
    "no file": Path.unlink,
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "another file": lambda path: path.write_text("not an index\n" * 1000),
    "another owner's": lambda path: shutil.copyfile(
        next(hits for hits in files(path.parent.parent) if hits != path), path
    ),
    **{
        f"a byte at {offset:.0%}": flip(offset)
        for offset in (0, 0.0003, 0.001, 0.01, 0.2, 0.5, 0.9, 0.97)
    },
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_not_trusted(home: Path, damage: str) -> None:
    """Whatever the file holds, the answers are those without it, and a good file takes its place."""
    bare = answers(plain(home))
    for path in files(home):
        DAMAGE[damage](path)
    assert answers(home) == bare
    before = [path.read_bytes() for path in files(home)]
    assert answers(home) == bare
    assert [path.read_bytes() for path in files(home)] == before, (
        "the second time there was a good file"
    )


def test_a_file_of_another_form_is_written_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays of an older meaning are not searched:
    the index is built from the store, with the same answers and a new file.
    """
    known = answers(home)
    monkeypatch.setattr("engrams.index.state._FORM", 99)
    assert answers(home) == known
    assert 99 in [
        segment_file.map_segment(path).notes["form"]
        for path in files(home)
        if path.suffix == ".segment"
    ]
    assert answers(home) == known


@pytest.mark.parametrize(("times", "kind"), [(200, np.uint8), (300, np.float32)])
def test_counts_of_words_are_exact_in_a_file(tmp_path: Path, times: int, kind: type) -> None:
    """A byte for each count, unless a text has a word more often than that holds;
    scores are those of an index without a file.
    """
    store = opened(tmp_path / "home")
    fill(store, ALICE, SIZE)
    add(store, NewRecord(record("word1 " * times, ALICE)))
    ask(store, ALICE, 0)
    store.close()
    (path,) = (path for path in files(tmp_path / "home") if path.suffix == ".segment")
    assert segment_file.map_segment(path).arrays["counts"].dtype == kind
    assert answers(tmp_path / "home") == answers(plain(tmp_path / "home"))


@linux
def test_sums_are_checked_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose sums were right is mapped without them, until it is written to."""
    bare = answers(plain(home))
    assert answers(home) == bare
    looked: list[object] = []
    check = segment_file._check_sums
    monkeypatch.setattr(
        segment_file,
        "_check_sums",
        lambda *arguments: (looked.append(arguments), check(*arguments)),
    )
    assert answers(home) == bare
    try:
        os.getxattr(files(home)[0], "user.engrams.checked")
    except OSError:
        assert looked, "this file system keeps no attributes"
    else:
        assert not looked
    looked.clear()
    for path in files(home):
        with path.open("r+b") as file:  # in place: no other file
            file.seek(path.stat().st_size // 2)
            file.write(b"\xff" * 8192)
    assert answers(home) == bare and looked


def test_room_behind_the_rows_is_not_trusted(home: Path) -> None:
    """Bytes in the file's holes do not become part of later rows."""
    for path in files(home):
        data = bytearray(path.read_bytes())
        holes = [
            offset
            for offset in range(8192, len(data) - 4096, 4096)
            if not any(data[offset : offset + 4096])
        ]
        assert holes
        for place in holes:
            data[place : place + 4096] = b"\x41" * 4096
        path.write_bytes(data)
    store = opened(home)
    fill(store, ALICE, 40, seed=5)
    store.close()
    assert answers(home) == answers(plain(home))


def test_an_older_store_with_a_newer_file(home: Path) -> None:
    """A file that was written after the backup of the store is no part of the restored store."""
    shutil.copytree(home, home.with_name("backup"))
    store = opened(home)
    fill(store, ALICE, SIZE, seed=7)
    ask(store, ALICE, 0)
    store.close()
    for path in home.glob("memory.db*"):
        if path.is_file():
            path.unlink()
    shutil.copyfile(home.with_name("backup") / "memory.db", home / "memory.db")
    assert answers(home) == answers(plain(home))


def test_a_purge_takes_the_file(home: Path) -> None:
    """A purge removes the owner's file before it reports;
    an old copy of it counts no more; others keep theirs.
    """
    before = {path: path.read_bytes() for path in files(home)}
    store = opened(home)
    second_store = opened(home)
    gone = next(iter(ask(store, ALICE, 0)))
    ask(second_store, ALICE, 0)
    report = store.purge(ALICE, [gone], START)
    assert report.remaining["index"] == 0
    assert len(files(home)) == 1 and not any(
        gone.encode() in path.read_bytes() for path in files(home)
    )
    for path, data in before.items():
        path.write_bytes(data)
    assert gone not in ask(store, ALICE, 0) and gone not in ask(second_store, ALICE, 0)
    store.close()
    second_store.close()
    assert answers(home) == answers(plain(home)) and not any(gone in hits for hits in answers(home))
    assert not any(gone.encode() in path.read_bytes() for path in files(home)), (
        "the old copy was written anew"
    )


def test_no_word_stands_in_the_file(home: Path) -> None:
    """An index file holds numbers of words, none of their letters."""
    for path in files(home):
        data = path.read_bytes()
        assert not [word for word in WORDS if word.encode() in data]
        assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700


def test_what_cannot_be_written_is_done_without(home: Path) -> None:
    """A file in the folder's place changes nothing but the speed."""
    bare = answers(plain(home))
    shutil.rmtree(home / "memory.db.index")
    (home / "memory.db.index").write_text("")
    assert answers(home) == bare


def test_small_owners_have_none(tmp_path: Path) -> None:
    """Fewer records than are quickly read leave no file."""
    store = opened(tmp_path)
    fill(store, ALICE, 300)
    ask(store, ALICE, 0)
    store.close()
    assert files(tmp_path) == []


_WRITER = """
import sys
from pathlib import Path
from tests.store.make import ALICE
from tests.store.test_index_files import ask, fill, opened
home = Path(sys.argv[1])
for seed in range(100, 200):
    store = opened(home)
    fill(store, ALICE, 2100, seed)
    ask(store, ALICE, seed)
    print(seed, flush=True)
    store.close()
"""


@pytest.mark.slow
def test_killed_while_writing(home: Path) -> None:
    """After a kill at any moment of writing, the answers are those without files, and what was left
    is cleared away.
    """
    pick = random.Random(3)
    for _ in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(home)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert writer.stdout and writer.stdout.readline()
        time.sleep(pick.random() * 0.15)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert answers(home, queries=2)[0].keys() == answers(plain(home), queries=2)[0].keys()
    store = opened(home)
    fill(store, ALICE, 12_000, 9)
    ask(store, ALICE, 0)
    store.close()
    assert not [path for path in files(home) if path.suffix == ".new"]
    assert answers(home) == answers(plain(home))
