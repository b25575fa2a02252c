"""The door of the rescue: damage to a database is noticed here, and what is readable is brought back.

README.md tells the way from damage to a sound file. Nothing outside imports another module of this
folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.core import Json
from engrams.ports import Clock
from engrams.settings import StoreSettings
from engrams.store.sqlite.rescue.file_opening import prepare_file
from engrams.store.sqlite.rescue.file_replacement import name_damaged
from engrams.store.sqlite.rescue.lost_memories import remember as remember_loss

if TYPE_CHECKING:
    from engrams.store.sql.head_file import HeadFile
    from engrams.store.sqlite.rescue.database_check import CheckedDatabase

__all__ = [
    "check_database",
    "name_damaged",
    "prepare_file",
    "purge_damaged_file",
    "remember_loss",
]

# Imported when used: most processes meet no damage.


def check_database(
    database: CheckedDatabase, mend: bool, clock: Clock, head: HeadFile | None
) -> Mapping[str, Json]:
    """Check everything; with ``mend`` also repair it. Its module says what is returned."""
    from engrams.store.sqlite.rescue import database_check

    return database_check.check_database(database, mend, clock, head)


def purge_damaged_file(
    path: Path, settings: StoreSettings, purge: Callable[[Path], object]
) -> None:
    """Replace a damaged file that lies aside by what can be read of it, after ``purge``.

    ``purge``: is given the path of the copy. StoreError: nothing can be read.
    """
    from engrams.store.sqlite.rescue import damaged_file_purge

    damaged_file_purge.purge_damaged_file(path, settings, purge)
