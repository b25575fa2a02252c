"""Match changed files to memories, and find the memories whose file is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engrams.core import Scope
from engrams.vault.files.changes import ChangedVaultFile
from engrams.vault.files.folder_access import hash_bytes
from engrams.vault.files.import_run import FileImportRun
from engrams.vault.files.sync_state import FileStateRow
from engrams.vault.files.vault_paths import DELETED

NO_SCOPE = "it names no owner: a line `scope:` is missing"


def find_missing(
    run: FileImportRun, rows: Sequence[FileStateRow], changed: Sequence[ChangedVaultFile]
) -> list[FileStateRow]:
    """Find the rows whose file is gone, except those that we were moving ourselves.

    A file is also gone where another memory's file took its path.
    """
    arrived = {(file.path, file.hash) for file in changed}
    taken_paths = {file.path for file in changed if file.row is None}
    return [
        row
        for row in rows
        if (row.path in taken_paths or run.deps.disk.stat(row.path) is None)
        and (row.next_path, row.next_hash) not in arrived
    ]


class FileMatcher:
    """Matches files to memories by the ids in them, so that a renamed file is known again."""

    def __init__(self, run: FileImportRun, missing: Sequence[FileStateRow]) -> None:
        """Set up the matcher. ``missing``: rows whose file is gone from its path."""
        self._run = run
        self._missing = {(row.owner, row.id): row for row in missing}

    def match(self, changed: Sequence[ChangedVaultFile]) -> list[ChangedVaultFile]:
        """Set the row of each file; leave out those that are no memory's, with a problem."""
        return [file for file in changed if self._match_file(file)]

    def _match_file(self, file: ChangedVaultFile) -> bool:
        if file.row is not None:
            return True
        if not file.content.id:
            if self._run.deps.settings.adopt_new_files:
                return True
            self._run.add_problem(file.path, "it has no id")
            return False
        if not self._run.has_scope(file):
            self._run.add_problem(file.path, NO_SCOPE)
            return False
        name = (self._run.find_scope(file).owner, file.content.id)
        row = self._find_row(name)
        if row is not None and (file.path, file.hash) == (row.next_path, row.next_hash):
            self._drop_unfinished_copy(file, row)
            return False
        if row is not None and self._is_second_file(name, file, row):
            self._run.add_problem(
                file.path,
                f"its id is that of {row.path}: remove the line `id:` to make it a memory of its"
                " own",
            )
            return False
        file.row = row
        self._missing.pop(name, None)
        return True

    def _find_row(self, name: tuple[Scope, str]) -> FileStateRow | None:
        if name in self._missing:
            return self._missing[name]
        owner, record_id = name
        rows: Mapping[str, FileStateRow] = self._run.deps.state.get(owner, [record_id])
        return rows.get(record_id)

    def _is_second_file(
        self, name: tuple[Scope, str], file: ChangedVaultFile, row: FileStateRow
    ) -> bool:
        """Return True where the memory's own file still stands at its path."""
        return bool(row.path) and name not in self._missing and not self._has_returned(file, row)

    def _has_returned(self, file: ChangedVaultFile, row: FileStateRow) -> bool:
        """Detect a restored file of a forgotten memory, and remove its tombstone's file."""
        disk = self._run.deps.disk
        if (
            file.location.deleted
            or not row.path.startswith(f"{DELETED}/")
            or hash_bytes(disk.read(row.path) or b"") != row.hash
        ):
            return False
        disk.remove(row.path)
        return True

    def _drop_unfinished_copy(self, file: ChangedVaultFile, row: FileStateRow) -> None:
        """Remove an interrupted move's copy if a hand edited the original."""
        disk = self._run.deps.disk
        if not row.path or disk.is_same(row.path, file.path):
            return
        original = disk.read(row.path)
        if original is not None and hash_bytes(original) != row.hash:
            disk.remove(file.path)
