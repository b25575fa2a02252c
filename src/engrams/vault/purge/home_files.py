"""The files of a home, and the place that each belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engrams.backup.home_backup import is_backup
from engrams.backup.home_paths import HomePaths
from engrams.encryption import file_encryption
from engrams.vault.purge.purged_word_search import list_files

DATABASE = "database file"
STATE = "vault state"
FILES = "vault files"
GIT = "git history"
COPIES = "copies"
BACKUPS = "backups"
UPLOADS = "uploads"
ATTACHMENTS = "attachments"
LOGS = "logs"
OTHERS = "other files"
REMOTE = "git remote"
ADVICE = {
    DATABASE: "Close other programs that use this memory and purge again.",
    STATE: "Close other programs that use this memory and purge again.",
    FILES: "Edit or delete these files.",
    GIT: (
        "`engrams purge --git` with the same ids rewrites the history of the files without these"
        " words. A word of under 8 characters that stays after that cannot be told from other text:"
        " delete `.git` in the vault to be rid of it."
    ),
    COPIES: "Delete these files, or `engrams doctor --repair` and purge again.",
    BACKUPS: (
        "Delete these backups, or restore each into a home of its own, purge there, and back up"
        " anew."
    ),
    UPLOADS: "Drop these imports.",
    ATTACHMENTS: "Purge the documents of these files.",
    LOGS: "Delete these logs.",
    OTHERS: "These files are not of engrams' making: delete them yourself.",
}
"""Advice for each place in which a purge leaves words."""
_STALE_COPY = re.compile(
    r"\.(v\d+\.bak|old|rescue|purged|corrupt-[^/]*\.rescued|lost)(-wal|-shm)?$"
)
"""End of the name of a database that was put aside whole."""
_DAMAGED_DATABASE = re.compile(r"\.corrupt-[^/.]*$")
_DAMAGED_LOG = re.compile(r"\.corrupt-[^/.]*-(wal|shm)$")
_TEMPORARY_FOLDER = re.compile(r"^engrams-(backup|restore|rescue|purge|look)-")


@dataclass(frozen=True, slots=True)
class HomeFiles:
    """Lists the files of a home, of its database and its vault, with their places."""

    home: Path
    paths: HomePaths

    def iter_files(self) -> Iterator[tuple[Path, str]]:
        """Yield each file and its place, without the objects of git."""
        database = self.paths.database
        beside_database = [
            path for path in database.parent.glob(f"{database.name}*") if path.is_file()
        ]
        for path in dict.fromkeys((*list_files(self.home, self.paths.vault), *beside_database)):
            if not path.is_relative_to(self.paths.vault / ".git" / "objects"):
                yield path, self._find_place(path)

    def show(self, path: Path) -> str:
        """Return a path as a report names it."""
        return str(path.relative_to(self.home) if path.is_relative_to(self.home) else path)

    def _find_place(self, path: Path) -> str:
        folders = path.relative_to(self.home).parts if path.is_relative_to(self.home) else ()
        if self._is_copy(path, folders):
            return COPIES
        for place_name, database in ((DATABASE, self.paths.database), (STATE, self.paths.state)):
            names = (database.name, f"{database.name}-wal", f"{database.name}-shm")
            if path.parent == database.parent and path.name in names:
                return place_name
        if self._is_index_segment(path):
            return COPIES
        if path.is_relative_to(self.paths.vault):
            return GIT if path.is_relative_to(self.paths.vault / ".git") else FILES
        if folders and folders[0] == "uploads":
            return UPLOADS
        if folders and folders[0] == "attachments":
            return ATTACHMENTS
        if folders and folders[0] in ("ledgers", "logs"):
            return LOGS
        return BACKUPS if is_backup(path) or file_encryption.is_sealed(path) else OTHERS

    def _is_copy(self, path: Path, folders: tuple[str, ...]) -> bool:
        """Return True for databases that were put aside, and for temporary files."""
        return (
            any(_TEMPORARY_FOLDER.search(name) for name in folders)
            or any(
                pattern.search(path.name)
                for pattern in (_STALE_COPY, _DAMAGED_DATABASE, _DAMAGED_LOG)
            )
            or path.is_relative_to(self.paths.vault / ".engrams" / "tmp")
        )

    def _is_index_segment(self, path: Path) -> bool:
        return (
            path.suffix in (".segment", ".new")
            and path.parent.name == f"{self.paths.database.name}.index"
        )


def is_damaged_database(path: Path) -> bool:
    """Return True for a damaged database that lies aside, which can still be purged."""
    return _DAMAGED_DATABASE.search(path.name) is not None


def find_temporary_folder(path: Path) -> Path | None:
    """Find the temporary folder of ours that a file lies in."""
    return next((folder for folder in path.parents if _TEMPORARY_FOLDER.search(folder.name)), None)
