"""Rescue of memory from a backup or the vault's files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from engrams.encryption.rekey import adopt_database
from engrams.errors import EngramsError, StoreError
from engrams.vault.backup import BackupPaths, is_backup, restore

_NO_WAY = (
    "Restore a backup into a fresh home: engrams recover FILE --home FOLDER. Nothing here was"
    " changed."
)


def rescue(places: BackupPaths, suffix: str, read_files: Callable[[], int]) -> tuple[str, bool]:
    """Replace the database by the newest backup or the files.

    Returns a note, and True where everything may have come back.

    ``suffix``: of the damaged file's new name. ``read_files``: opens memory anew from the vault;
    how many memories it has then.
    """
    database = places.database
    for source in _list_backups(database.parent):
        with tempfile.TemporaryDirectory(prefix="engrams-rescue-", dir=database.parent) as folder:
            home = Path(folder)
            try:
                restore(source, BackupPaths(home / "memory.db", home / "vault", home / "vault.db"))
            except EngramsError:
                continue
            if not (home / "memory.db").exists():
                continue
            kept = _move_aside(places, suffix)
            adopt_database(home / "memory.db", database)
            note = (
                f"The database was put back from the backup {source.name}; what came after it is"
                f" missing. The damaged file is {kept}."
            )
            return note, False
    if not places.vault.is_dir() or not any(places.vault.rglob("*.md")):
        raise StoreError(
            f"{database} is damaged, and there is neither a backup in {database.parent} nor a"
            " vault.",
            hint=_NO_WAY,
        )
    kept = _move_aside(places, suffix)
    return (
        (
            f"{read_files():,} memories were read from the files of the vault. The damaged file is"
            f" {kept}."
        ),
        True,
    )


def _list_backups(home: Path) -> list[Path]:
    """Backups in a home, newest first."""
    found = [path for path in home.iterdir() if path.name != "memory.db" and is_backup(path)]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def _move_aside(places: BackupPaths, suffix: str) -> str:
    """Rename the database, its WAL and the files' state.

    That state tells of rows that are gone.
    """
    kept = places.database.name + f".{suffix}.rescued"
    for path in (places.database, places.state):
        for end in ("-wal", "-shm", ""):
            held = path.with_name(path.name + end)
            if held.exists():
                held.rename(held.with_name(f"{path.name}.{suffix}.rescued{end}"))
    return kept
