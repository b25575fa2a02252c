"""Power failures: what is synced to disk, and what a job makes again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

import engrams
from engrams.core import Kind
from engrams.testing import SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


class SyncRecordingVfs(apsw.VFS):
    """File system of SQLite that records the size of the log at each sync."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._base = apsw.vfs_names()[0]
        super().__init__("recording", self._base, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> SyncRecordingFile:  # noqa: N802
        return SyncRecordingFile(self.sizes, self._base, name, flags)


class SyncRecordingFile(apsw.VFSFile):
    """File of ``SyncRecordingVfs``."""

    def __init__(
        self, sizes: list[int], base: str, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._sizes = (
            sizes
            if str(name.filename() if isinstance(name, apsw.URIFilename) else name).endswith("-wal")
            else None
        )
        super().__init__(base, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self._sizes is not None:
            self._sizes.append(self.xFileSize())
        super().xSync(flags)


@pytest.fixture
def syncs() -> Iterator[list[int]]:
    """Sizes of the log at each sync, in order."""
    vfs = SyncRecordingVfs()
    yield vfs.sizes
    vfs.unregister()


def test_a_settled_write_waits_once_for_the_disk(
    home: Path, tmp_path: Path, syncs: list[int]
) -> None:
    """The message and its facts are synced together:
    after a power failure both are there, and nothing is left to learn.
    """
    clock = SettableClock(START)
    with engrams.open(home=home, jobs__workers=0, clock=clock) as memory:
        memory.add("The first write makes the file.", scope=ANN)
        syncs.clear()
        receipt = memory.add("I live in Ghent and work as a baker.", scope=ANN)
        assert receipt.derived
        assert len(syncs) == 1
        left = tmp_path / "left"
        shutil.copytree(home, left)
    with (left / "memory.db-wal").open("r+b") as log:
        log.truncate(syncs[0])
    with engrams.open(home=left, jobs__workers=0, clock=clock, background=False) as memory:
        assert memory.get(receipt.id, scope=ANN).text == "I live in Ghent and work as a baker."
        clock.forward(days=1)
        memory.drain()
        facts = memory.list(scope=ANN, kinds=(Kind.FACT,)).records
        assert {fact.id for fact in facts} == {made.id for made in receipt.derived}


def test_what_a_job_learns_waits_for_no_disk(home: Path, tmp_path: Path, syncs: list[int]) -> None:
    """The message is synced when it is acknowledged;
    after a power failure its facts are learned again, with the same ids.
    """
    clock = SettableClock(START)
    with engrams.open(home=home, jobs__workers=0, clock=clock) as memory:
        memory.add("The first write makes the file.", scope=ANN)
        syncs.clear()
        said = memory.add("I live in Ghent and work as a baker.", scope=ANN, settle=False).id
        assert len(syncs) == 1
        assert memory.drain()
        learned = {fact.id for fact in memory.list(scope=ANN, kinds=(Kind.FACT,)).records}
        assert learned
        left = tmp_path / "left"
        shutil.copytree(home, left)
    with (left / "memory.db-wal").open("r+b") as log:
        log.truncate(syncs[0])
    with engrams.open(home=left, jobs__workers=0, clock=clock, background=False) as memory:
        assert memory.get(said, scope=ANN).text == "I live in Ghent and work as a baker."
        assert not memory.list(scope=ANN, kinds=(Kind.FACT,)).records
        clock.forward(days=1)
        assert memory.drain()
        assert {fact.id for fact in memory.list(scope=ANN, kinds=(Kind.FACT,)).records} == learned
