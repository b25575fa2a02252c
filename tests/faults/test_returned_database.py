"""A database that goes back to an earlier state under a process that runs:
a restore through SQLite's own backup, by hand, and a failover to a copy that lags.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.store import postgres

import engrams

OWNER = "ann"


def _copy(source: Path, target: Path) -> None:
    """Copy a database as ``.backup`` and ``.restore`` of SQLite's shell do."""
    with (
        closing(apsw.Connection(str(source))) as old,
        closing(apsw.Connection(str(target))) as new,
        new.backup("main", old, "main") as copying,
    ):
        while not copying.done:
            try:
                copying.step(-1)
            except apsw.BusyError:  # an engine holds it for a moment
                time.sleep(0.02)


def _tell(memory: engrams.MemoryEngine, thing: str, place: str, count: int) -> None:
    for number in range(count):
        memory.add(f"My {thing} {number} stands in the {place}.", scope=OWNER)


def _find(memory: engrams.MemoryEngine, thing: str, place: str) -> set[str]:
    """List the numbers of the things that a search finds."""
    hits = memory.search(f"{thing} {place}", scope=OWNER, limit=60).hits
    found = (re.search(rf"{thing} (\d+)", hit.record.text) for hit in hits)
    return {match[1] for match in found if match}


def _play(
    memory: engrams.MemoryEngine, save: Callable[[], None], restore: Callable[[], None]
) -> None:
    """Tell, save, tell what will be gone, go back, and tell what must be found."""
    _tell(memory, "gadget", "shed", 6)
    save()
    _tell(memory, "widget", "attic", 8)
    assert len(_find(memory, "widget", "attic")) == 8
    restore()
    assert _find(memory, "widget", "attic") == set()
    _tell(memory, "trinket", "cellar", 5)
    assert len(_find(memory, "trinket", "cellar")) == 5
    assert len(_find(memory, "gadget", "shed")) == 6
    # More changes than were taken away: their numbers come again.
    _tell(memory, "basket", "garage", 6)
    assert len(_find(memory, "basket", "garage")) == 6
    assert len(_find(memory, "trinket", "cellar")) == 5


def test_a_file_restored_under_a_process_is_noticed(tmp_path: Path) -> None:
    """What is acknowledged after the restore is found, and what is gone is not found."""
    database = tmp_path / "home" / "memory.db"
    old = tmp_path / "old.db"
    with engrams.open(home=database.parent) as memory:
        _play(memory, lambda: _copy(database, old), lambda: _copy(old, database))
    with engrams.open(home=database.parent) as memory:
        assert len(_find(memory, "trinket", "cellar")) == 5
        assert memory.check()["ok"]


def test_writes_after_a_restore_use_no_numbers_of_words_that_are_gone(tmp_path: Path) -> None:
    """A process that only writes meanwhile stores what another one finds by its words."""
    database = tmp_path / "home" / "memory.db"
    old = tmp_path / "old.db"
    with engrams.open(home=database.parent) as memory:
        _tell(memory, "gadget", "shed", 3)
        _copy(database, old)
        _tell(memory, "widget", "attic", 3)
        _copy(old, database)
        _tell(memory, "widget", "attic", 3)
    with engrams.open(home=database.parent) as memory:
        assert len(_find(memory, "widget", "attic")) == 3
        assert memory.check()["ok"]


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.skipif(not postgres.INSTALLED, reason=postgres.MISSING)
def test_a_failover_to_a_copy_that_lags_is_noticed(tmp_path: Path) -> None:
    """All tables go back, connections end, and the process finds what it acknowledges next."""
    url = postgres.empty_database()
    restores: list[Callable[[], None]] = []

    def save() -> None:
        restores.append(postgres.save_tables(url))

    def restore() -> None:
        restores.pop()()

    with engrams.open(home=tmp_path, store__url=url, background=False) as memory:
        _play(memory, save, restore)
