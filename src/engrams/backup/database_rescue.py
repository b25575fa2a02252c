"""Replace a damaged database by the newest backup, or else by the vault's files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engrams.backup.home_backup import is_backup, restore
from engrams.backup.home_paths import HomePaths
from engrams.backup.work_folders import make_work_folder
from engrams.encryption.rekey import adopt_database
from engrams.errors import EngramsError, StoreError

_NO_WAY = (
    "Restore a backup into a fresh home: engrams recover FILE --home FOLDER. Nothing here was"
    " changed."
)


def rescue(paths: HomePaths, suffix: str, read_files: Callable[[], int]) -> tuple[str, bool]:
    """Replace the database by the newest backup or the files; the damaged one is kept aside.

    Returns a note, and True where everything may have come back. ``suffix``: of the damaged file's
    new name. ``read_files``: opens memory anew from the vault; returns how many memories it has
    then. StoreError: there is neither a backup nor a vault; nothing was changed.
    """
    database = paths.database
    for source in _list_backups(database.parent):
        with make_work_folder("rescue", database.parent) as folder:
            backup_paths = HomePaths.below(folder)
            try:
                restore(source, backup_paths)
            except EngramsError:
                continue
            if not backup_paths.database.exists():
                continue
            damaged_name = _move_aside(paths, suffix)
            adopt_database(backup_paths.database, database)
            note = (
                f"The database was put back from the backup {source.name}. Later changes are missing."
                f" The damaged file is {damaged_name}."
            )
            return note, False
    if not paths.vault.is_dir() or not any(paths.vault.rglob("*.md")):
        raise StoreError(
            f"{database} is damaged, and there is neither a backup in {database.parent} nor a"
            " vault.",
            hint=_NO_WAY,
        )
    damaged_name = _move_aside(paths, suffix)
    note = (
        f"{read_files():,} memories were read from the files of the vault. The damaged file is"
        f" {damaged_name}."
    )
    return note, True


def _list_backups(home: Path) -> list[Path]:
    """List the backups in a home, newest first."""
    backups = [path for path in home.iterdir() if path.name != "memory.db" and is_backup(path)]
    return sorted(backups, key=lambda path: path.stat().st_mtime, reverse=True)


def _move_aside(paths: HomePaths, suffix: str) -> str:
    """Rename the database, its write-ahead log and the files' state; return the new name.

    The state tells of rows that are gone.
    """
    for path in (paths.database, paths.state):
        for ending in ("-wal", "-shm", ""):
            file = path.with_name(path.name + ending)
            if file.exists():
                file.rename(file.with_name(f"{path.name}.{suffix}.rescued{ending}"))
    return f"{paths.database.name}.{suffix}.rescued"
