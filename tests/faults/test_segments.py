"""Files of search indexes under purges, damage, refusals and other processes;
`make campaign AT=segments` goes on for hours.
"""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.campaign import segment_damage, segment_look, segments, staleness
from tests.campaign.ledger import OWNERS, Ledger
from tests.campaign.process import ask
from tests.campaign.world import QUIET, World
from tests.store.make import ALICE, START
from tests.store.test_index_files import SIZE, files, fill, opened
from tests.store.test_index_files import ask as find_scores

import engrams
from engrams.index import segment_file
from engrams.ports import CandidatePool
from engrams.store.sql import index_cache
from engrams.store.sqlite import index_file_folder
from engrams.store.sqlite.index_files import SqliteIndexFiles
from engrams.vault.purge.purged_word_search import PurgedWordSearcher

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes are kept in files from forty records on."""
    monkeypatch.setattr(index_cache, "_MIN_ROWS", 40)
    monkeypatch.setattr(index_cache, "_CachedIndex", partial(index_cache._CachedIndex, due=40))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A home of two owners, each with a file."""
    made = World(
        tmp_path / "home",
        Ledger(tmp_path / "home.acks"),
        {**QUIET, "write__extract": "off"},
        random.Random(5),
    )
    segments.fill(made, 60)
    assert len(segment_look.files_of(made.home)) == 2
    return made


@pytest.mark.slow
def test_changes_are_seen_by_every_process_at_once(world: World) -> None:
    """While engines and an MCP server have the older file mapped, each change is in the next answer
    of all of them.
    """
    assert ask(lambda: staleness.look(world.life(1, "stale"), "")) == []
    assert segment_look.verify(world, world.home.parent, exact=True) == []


@pytest.mark.slow
def test_damage_changes_no_answer(world: World) -> None:
    """Whatever stands in a file's place, the answers are those of the store, through an engine that
    had it mapped and in a fresh one.
    """
    stranger = World(
        world.home.with_name("stranger"),
        Ledger(world.home.with_name("s.acks")),
        world.settings,
        world.dice,
        7,
    )
    segments.fill(stranger, 60)
    whole = segment_look.folder_of(world.home)
    shutil.copytree(whole, whole.with_name("whole"))
    segment_look.remove_files(world.home)
    right = find_pools(world)
    with world.open() as memory:
        for name, damage in segment_damage.DAMAGES.items():
            segment_look.remove_files(world.home)
            shutil.copytree(whole.with_name("whole"), whole)
            path = next(
                path for path in segment_look.files_of(world.home) if path.suffix == ".segment"
            )
            damage(world.dice, path, (stranger.home,))
            # A pipe would be waited for.
            assert ask(lambda: segment_look.differences(find_pools(world), right), 20) == [], name
            assert [*segment_look.ask_for_keys(world, memory, world.ledger.expect())] == [], name


def find_pools(world: World) -> list[CandidatePool]:
    world.dice.seed(1)
    return [pool for owner in OWNERS for pool in segment_look.pools(world, owner)]


def test_no_two_pages_can_change_places(tmp_path: Path) -> None:
    """Two neighbouring sectors of a file in each other's place, as of a disk that wrote to the
    wrong one, are noticed.
    """
    store = opened(tmp_path)
    fill(store, ALICE, SIZE)
    find_scores(store, ALICE, 0)
    store.close()
    (path,) = files(tmp_path)
    data = path.read_bytes()
    segment_file.map_segment(path)
    for size in (4096, 512):
        for place in range(4096, len(data) - 2 * size, 7 * size):
            one = data[place : place + size]
            other = data[place + size : place + 2 * size]
            # Room behind an array belongs to nothing.
            if one != other and any(one) and any(other):
                path.unlink()  # A file in its place was not looked at yet.
                path.write_bytes(data[:place] + other + one + data[place + 2 * size :])
                with pytest.raises(segment_file.SegmentFileError):
                    segment_file.map_segment(path)


def test_what_was_purged_is_not_even_written_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A purge that ends while another process is about to write its older index:
    no byte of that reaches the disk, where a kill left it.
    """
    home = tmp_path
    written = []
    with closing(opened(home)) as one, closing(opened(home)) as other:
        fill(one, ALICE, 50)
        (gone, *_) = find_scores(one, ALICE, 0)
        one._index_cache.close()

        def write(self: SqliteIndexFiles, *given: object) -> bool:
            one.purge(ALICE, [gone], START)
            return whole(self, *given)

        def keep(path: Path, content: segment_file.SegmentContent) -> None:
            put(path, content)
            written.append(path.read_bytes())

        whole = SqliteIndexFiles.write
        put = segment_file.write_segment
        fill(one, ALICE, 200, seed=3)
        monkeypatch.setattr(SqliteIndexFiles, "write", write)
        monkeypatch.setattr(segment_file, "write_segment", keep)
        find_scores(other, ALICE, 0)
        other._index_cache.close()
    assert not [data for data in written if gone.encode() in data]


def test_a_purge_tells_what_it_could_not_remove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the folder cannot be locked, listed or written, a purge ends with a report and no
    exception.
    """
    store = opened(tmp_path)
    fill(store, ALICE, 50)
    (first, second, third, *_) = find_scores(store, ALICE, 0)
    store._index_cache.close()
    assert files(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as held:
        held.setattr(index_file_folder, "lock_folder", refuse)
        assert store.purge(ALICE, [first], START).remaining["index"] == 0
    assert not files(tmp_path)
    find_scores(store, ALICE, 0)
    store._index_cache.close()
    with monkeypatch.context() as held:
        held.setattr(Path, "unlink", refuse)
        assert store.purge(ALICE, [second], START).remaining["index"] == 1
    with monkeypatch.context() as held:
        for name in ("listdir", "scandir"):
            held.setattr(os, name, refuse)
        assert store.purge(ALICE, [third], START).remaining["index"] == 1
    assert store.purge(ALICE, [third], START).remaining["index"] == 0
    store.close()


def test_a_purge_of_files_that_cannot_be_deleted_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the engine too it ends with a report, which names the folder."""
    whole = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".segment":
            raise PermissionError(13, "Permission denied")
        whole(path, missing_ok)

    with world.open() as memory:
        (record,) = memory.list(scope=("user", "ada"), limit=1).records
        monkeypatch.setattr(Path, "unlink", unlink)
        told = memory.purge(record.id, scope=("user", "ada"))
        assert not told.proven and told.remaining["index"] == 1
        assert memory.search(record.text, scope=("user", "ada")).hits
        assert record.id not in [
            hit.record.id for hit in memory.search(record.text, scope=("user", "ada")).hits
        ]


def test_a_file_that_goes_while_a_purge_looks_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process moves files of the vault while the purge reads them:
    it ends with its report.
    """
    whole = PurgedWordSearcher.find_in_file
    moved = []

    def find(searcher: PurgedWordSearcher, path: Path, home: Path) -> set[bytes]:
        found = whole(searcher, path, home)
        if path.suffix == ".md":
            moved.append(path.rename(path.with_suffix(".moved")))
        return found

    with engrams.open(home=tmp_path, vault__enabled=True, **QUIET) as memory:
        gone, _ = (
            memory.add(f"Parcel {number} waits in the hall.", scope=("user", "ada"), kind="note").id
            for number in range(2)
        )
        memory.vault.sync()
        monkeypatch.setattr(PurgedWordSearcher, "find_in_file", find)
        assert memory.purge(gone, scope=("user", "ada")).places and moved


def test_room_for_later_rows_is_taken_when_the_file_is_written(world: World) -> None:
    """A file has no holes:
    on a disk in memory that is full, to fill one later would end the process.
    """
    for path in segment_look.files_of(world.home):
        found = path.stat()
        assert found.st_blocks * 512 >= found.st_size


def test_forgotten_turns_leave_their_session_and_come_back(tmp_path: Path) -> None:
    """Scores of a turn's neighbours are those of an index built anew, after a turn between them was
    forgotten, and restored.
    """
    with engrams.open(home=tmp_path, write__extract="off", **QUIET) as memory:
        owner = ("user", "ada")
        receipts = memory.observe(
            [engrams.Turn(f"Parcel {n} of house {n % 7} waits.", session="s") for n in range(60)],
            scope=owner,
        )
        memory.search("parcel", scope=owner)
        names = [receipt.id for receipt in receipts]
        for places in ((), (5, 6), (0,), (59,), (30, 32)):
            for place in places:
                memory.forget(names[place], scope=owner)
            check_scores(tmp_path, memory)
        for place in (6, 59, 0, 32):
            memory.restore(names[place], scope=owner)
            check_scores(tmp_path, memory)


def check_scores(home: Path, memory: engrams.MemoryEngine) -> None:
    """Compare an engine's index with one of the store alone."""
    memory.store._index_cache.close()  # a file that is being written cannot be copied
    made = World(home, Ledger(home.with_name("none.acks")), {}, random.Random(1))
    bare = made.copy(home.with_name(f"bare{random.random()}"))
    bare.dice = random.Random(1)
    segment_look.remove_files(bare.home)
    assert (
        segment_look.differences(
            segment_look.pools(made, "ada", memory.store), segment_look.pools(bare, "ada")
        )
        == []
    )
