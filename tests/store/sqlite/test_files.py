"""Files and folders:
what is created when, with which rights, and what happens when they change under the store.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.store.make import ALICE, START, Time, add, found, get, reach, record, seek, texts

from engrams.errors import StoreError
from engrams.ports import JobClaim, JobFailure, RecordQuery
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore


def opened(path: Path, clock: Time, **settings: object) -> SqliteStore:
    return SqliteStore.open(path, StoreSettings(**settings), clock)  # type: ignore[arg-type]


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_nothing_is_created_before_the_first_write(home: Path, clock: Time) -> None:
    """Opening, reading, searching, and work that finds nothing to do leave no file behind."""
    store = opened(home / "deep" / "memory.db", clock)
    assert store.find(RecordQuery(reach())).records == ()
    assert seek(store, "x") == {}
    assert store.claim(JobClaim("w", START)) is None
    assert not store.finish("x", START)
    assert not store.renew("x", START)
    assert not store.fail(JobFailure("x", "", START, None))
    assert store.retry([], START) == 0
    assert store.enqueue([], START) == ()
    store.clear([1])
    store.purge(ALICE, ["x"], START)
    assert store.check(True)["ok"]
    store.close()
    assert not home.exists()


def test_the_first_write_creates_private_files(home: Path, clock: Time) -> None:
    """The folder is for its owner only, and so are the database and its logs."""
    os.umask(0o022)
    store = opened(home / "memory.db", clock)
    add(store, record("x"))
    assert mode(home) == 0o700
    made = {path.name: mode(path) for path in home.iterdir() if path.name != ".lock"}
    assert made == {
        "memory.db": 0o600,
        "memory.db-wal": 0o600,
        "memory.db-shm": 0o600,
        "seal.key": 0o600,
    }
    store.close()
    assert {path.name for path in home.iterdir()} == {".lock", "memory.db", "seal.key"}


def test_an_existing_folder_keeps_its_rights(home: Path, clock: Time) -> None:
    """A folder that is there already is used as it is."""
    home.mkdir(mode=0o755)
    store = opened(home / "memory.db", clock)
    add(store, record("x"))
    assert mode(home) == 0o755
    store.close()


@pytest.mark.parametrize(
    "name", ["a b.db", "per%20cent?.db", "hash#.db", "ünï-東京.db", "file:odd.db", "'quote\".db"]
)
def test_any_file_name_works(home: Path, clock: Time, name: str) -> None:
    """Blanks, percent signs, question marks and other scripts in a path are just letters."""
    store = opened(home / name, clock)
    tea = record("Alice likes tea")
    add(store, tea)
    store.close()
    again = opened(home / name, clock)
    assert get(again, tea) == tea
    again.close()
    assert {path.name for path in home.iterdir()} == {".lock", "seal.key", name}


def test_what_another_store_writes_is_seen(home: Path, clock: Time) -> None:
    """A store opened before anything was there, and one opened twice, see each other's writes at
    once, searching too.
    """
    early = opened(home / "memory.db", clock)
    late = opened(home / "memory.db", clock)
    assert found(early, "tea") == set()
    tea = record("Alice likes tea")
    add(late, tea)
    assert found(early, "tea") == found(late, "tea") == {tea.id}
    two = record("Alice grows tea")
    add(early, two)
    assert found(early, "tea") == found(late, "tea") == {tea.id, two.id}
    early.close()
    assert get(late, two) == two
    late.close()


def test_a_deleted_home_is_noticed(home: Path, clock: Time) -> None:
    """After its folder was deleted a store is empty, and the next write starts a new one instead of
    being lost.
    """
    store = opened(home / "memory.db", clock)
    add(store, record("old tea"))
    assert len(found(store, "tea")) == 1
    shutil.rmtree(home)
    assert texts(store) == []
    assert found(store, "tea") == set()
    add(store, record("new tea"))
    assert texts(store) == ["new tea"]
    assert len(found(store, "tea")) == 1
    store.close()
    fresh = opened(home / "memory.db", clock)
    assert texts(fresh) == ["new tea"]
    fresh.close()


def test_a_replaced_file_is_noticed(home: Path, clock: Time) -> None:
    """A backup that was put in the file's place is what the store reads and writes from then on."""
    second_store = opened(home / "other.db", clock)
    add(second_store, record("from the backup"))
    second_store.close()
    store = opened(home / "memory.db", clock)
    add(store, record("before"))
    assert texts(store) == ["before"]
    (home / "other.db").replace(home / "memory.db")
    for log in ("-wal", "-shm"):
        (home / f"memory.db{log}").unlink()
    assert texts(store) == ["from the backup"]
    add(store, record("after"))
    assert sorted(texts(store)) == ["after", "from the backup"]
    store.close()
    again = opened(home / "memory.db", clock)
    assert sorted(texts(again)) == ["after", "from the backup"]
    again.close()


def test_closing_leaves_a_new_files_log_alone(home: Path, clock: Time) -> None:
    """A store that is closed after its file was replaced does not take the log of the new file with
    it.
    """
    old = opened(home / "memory.db", clock)
    add(old, record("old"))
    for path in list(home.iterdir()):
        path.rename(home / f"aside-{path.name}")
    new = opened(home / "memory.db", clock)
    add(new, record("new"))
    old.close()
    assert (home / "memory.db-wal").stat().st_size > 0
    third = opened(home / "memory.db", clock)
    assert texts(third) == ["new"]
    third.close()
    new.close()


@pytest.mark.covers("S1.47")
@pytest.mark.parametrize(("durability", "level"), [("full", 2), ("normal", 1)])
def test_durability(home: Path, clock: Time, durability: str, level: int) -> None:
    """The log is synced with every write by default, and less often if asked;
    it is a write-ahead log in both cases.
    """
    store = opened(home / "memory.db", clock, durability=durability)
    add(store, record("x"))
    assert (
        store._database.run_exclusive(lambda connection: connection.pragma("synchronous")) == level
    )
    is_synced_fully = store._database.run_exclusive(
        lambda connection: connection.pragma("fullfsync")
    )
    assert is_synced_fully == (durability == "full")
    with store._database.reading() as connection:
        assert connection.pragma("journal_mode") == "wal"
    store.close()


def test_a_file_in_the_folders_place(home: Path, clock: Time) -> None:
    """Where the home is a file, writing says what is wrong and what to do, and reading finds
    nothing.
    """
    home.write_text("I am not a folder")
    store = opened(home / "memory.db", clock)
    assert texts(store) == []
    with pytest.raises(StoreError) as caught:
        add(store, record("x"))
    assert str(home) in caught.value.message
    assert caught.value.hint
    assert home.read_text() == "I am not a folder"


READ_ONLY = """
import os, sys
from pathlib import Path
from engrams.errors import StoreError
from engrams.ports import JobClaim
from engrams.settings import StoreSettings
from engrams.store.sqlite import SqliteStore
from tests.store.make import START, Time, add, found, record, texts
warm = SqliteStore.open(":memory:", StoreSettings(), Time())
found(warm, "everything is imported while it may be read")
warm.check(False)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
store = SqliteStore.open(Path(sys.argv[1]), StoreSettings(), Time())
assert texts(store) == ["Alice likes tea"], texts(store)
assert len(found(store, "tea")) == 1
assert store.claim(JobClaim("w", START)) is None
assert store.check(False)["ok"]
try:
    add(store, record("no"))
except StoreError as problem:
    assert "permission" in problem.hint, problem.hint
    print("refused")
store.close()
"""


def test_a_read_only_home_can_be_read(request: pytest.FixtureRequest, clock: Time) -> None:
    """From a folder that may not be written to, everything can be read and found;
    a write says why it cannot be.
    """
    # Not below pytest's own folder, which other users may not enter.
    home = Path(tempfile.mkdtemp(prefix="readonly-"))
    request.addfinalizer(lambda: shutil.rmtree(home))
    home.chmod(0o755)
    store = opened(home / "memory.db", clock)
    add(store, record("Alice likes tea"))
    store.close()
    (home / "memory.db").chmod(0o444)
    home.chmod(0o555)
    try:
        completed = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(home / "memory.db")],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        home.chmod(0o755)
    assert completed.stdout == "refused\n", completed.stderr
    assert {path.name for path in home.iterdir()} == {".lock", "memory.db", "seal.key"}


def test_a_full_disk(home: Path, clock: Time) -> None:
    """When the disk is full a write says so, what was acknowledged stays, and with space again the
    next one works.
    """
    store = opened(home / "memory.db", clock)
    archived = record("Alice likes tea")
    add(store, archived)
    pages = store._database.run_exclusive(lambda connection: connection.pragma("page_count"))
    store._database.run_exclusive(lambda connection: connection.pragma("max_page_count", pages + 2))
    with pytest.raises(StoreError, match="full") as caught:
        add(store, record("word " * 20_000))
    assert "space" in caught.value.hint
    assert texts(store) == ["Alice likes tea"]
    assert len(found(store, "tea")) == 1
    store._database.run_exclusive(lambda connection: connection.pragma("max_page_count", 1 << 30))
    add(store, record("a word of tea"))
    assert len(found(store, "tea")) == 2
    assert len(found(store, "word")) == 1
    assert store.check(False)["ok"]
    store.close()


def test_a_full_disk_hits_only_the_write_that_does_not_fit(home: Path, clock: Time) -> None:
    """Of writes that were joined, those that fit are kept when another one fills the disk."""
    store = opened(home / "memory.db", clock)
    add(store, record("x"))
    pages = store._database.run_exclusive(lambda connection: connection.pragma("page_count"))
    store._database.run_exclusive(
        lambda connection: connection.pragma("max_page_count", pages + 30)
    )
    outcomes = together(
        store,
        [
            lambda: add(store, record("small one")),
            lambda: add(store, record("word " * 200_000)),
            lambda: add(store, record("small two")),
        ],
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), StoreError, type(None)]
    assert sorted(texts(store)) == ["small one", "small two", "x"]
    store.close()


def together(store: SqliteStore, calls: list[Callable[[], object]]) -> list[BaseException | None]:
    """Let all calls queue up before the first may write. What each of them raised."""
    outcomes: list[BaseException | None] = [None] * len(calls)

    def run(index: int) -> None:
        try:
            calls[index]()
        except BaseException as problem:
            outcomes[index] = problem

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    with store._database._writes.lock:
        for number, thread in enumerate(threads):
            thread.start()
            while len(store._database._writes._waiting) <= number:
                pass
    for thread in threads:
        thread.join()
    return outcomes


def test_writes_that_meet_share_one_transaction(home: Path, clock: Time) -> None:
    """Writes that queue up while another one is being synced go to disk together, each reporting
    for itself.
    """
    store = opened(home / "memory.db", clock)
    add(store, record("x"))
    commits: list[str] = []

    def note(_cursor: object, statement: str, _values: object) -> bool:
        commits.append(statement)
        return True

    store._database.run_exclusive(lambda connection: connection.set_exec_trace(note))
    outcomes = together(store, [lambda name=name: add(store, record(name)) for name in "abcdefgh"])  # type: ignore[misc]
    store._database.run_exclusive(lambda connection: connection.set_exec_trace(None))
    assert outcomes == [None] * 8
    assert commits.count("COMMIT") == 1
    assert len(texts(store)) == 9
    store.close()


def test_a_defect_in_one_write_stays_in_its_thread(home: Path, clock: Time) -> None:
    """An unforeseen exception reaches the thread that caused it;
    the writes joined with it are carried out.
    """
    store = opened(home / "memory.db", clock)
    broken = record("x", kind=None)
    outcomes = together(
        store,
        [
            lambda: add(store, record("a")),
            lambda: add(store, broken, at=None),
            lambda: add(store, record("b")),
        ],
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), AttributeError, type(None)]
    assert sorted(texts(store)) == ["a", "b"]
    store.close()


def test_a_busy_database(home: Path, clock: Time) -> None:
    """While another program holds the database for longer than allowed a write says so, and works
    afterwards; reads go on.
    """
    store = opened(home / "memory.db", clock, busy_seconds=0.1)
    add(store, record("x"))
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="busy") as caught:
        add(store, record("y"))
    assert "busy_seconds" in caught.value.hint
    assert texts(store) == ["x"]
    connection.execute("ROLLBACK")
    add(store, record("y"))
    assert sorted(texts(store)) == ["x", "y"]
    connection.close()
    store.close()


def test_indexes_in_memory_are_bounded(home: Path, clock: Time) -> None:
    """Searching for many owners drops the indexes that were used longest ago, and finds the same
    afterwards.
    """
    from engrams.core import Scope

    store = opened(home / "memory.db", clock, cache_bytes=1_000_000)
    owners = [Scope(("user", f"u{number}")) for number in range(200)]
    add(store, *(record(f"tea {number}", owner) for number, owner in enumerate(owners)))
    for _ in range(2):
        for owner in owners:
            assert len(found(store, "tea", reach=reach(owner))) == 1
    assert 0 < store._index_cache.bytes <= 1_000_000
    assert len(store._index_cache._indexes) < 200
    store.close()
