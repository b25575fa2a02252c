"""Read the files whose content differs from their last synchronisation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from engrams.core import Scope
from engrams.vault.files import record_markdown
from engrams.vault.files.changes import ChangedVaultFile
from engrams.vault.files.folder_access import FileStat, hash_bytes
from engrams.vault.files.front_matter import FrontMatterError, decode_text
from engrams.vault.files.import_run import FileImportRun
from engrams.vault.files.record_links import to_link_rows
from engrams.vault.files.record_markdown import RecordFileContent
from engrams.vault.files.sync_state import FileStateRow
from engrams.vault.files.vault_paths import (
    FOLDERS,
    VaultFileLocation,
    parse_location,
    path_key,
    scope_folder,
)

_RACY = 2_000_000_000
"""Nanoseconds before a look at a file within which a write may have left its time as it was: some
file systems count time in steps of two seconds.
"""
_LARGEST = 32 << 20
"""Bytes of the largest file that can be a memory's."""


class ChangedFileReader:
    """Reads changed files. Problems go into the run's report."""

    def __init__(self, run: FileImportRun, rows: Mapping[str, FileStateRow]) -> None:
        """Set up the reader. ``rows``: states of the files, by the keys of their paths."""
        self._run = run
        self._rows = rows
        self._now = time.time_ns()
        self.changed: list[ChangedVaultFile] = []
        """Files with new content."""
        self.touched: list[FileStateRow] = []
        """New states of the files that were only touched, or that we wrote ourselves."""

    def read(self, stats: Mapping[str, FileStat]) -> None:
        """Read the files of these paths that have new content."""
        first_paths: dict[str, str] = {key: row.path for key, row in self._rows.items()}
        for path, stat in stats.items():
            first_path = first_paths.setdefault(path_key(path), path)
            if self._is_double(path, first_path, stats):
                self._run.add_problem(
                    path,
                    f"its name differs from that of {first_path} only in case or Unicode form: give"
                    " it another",
                )
            else:
                self._read_file(path, stat, self._rows.get(path_key(path)))

    def _is_double(self, path: str, first_path: str, stats: Mapping[str, FileStat]) -> bool:
        """Return True for a second file whose name another file system would take for the first."""
        disk = self._run.deps.disk
        return (
            first_path != path
            and (first_path in stats or disk.stat(first_path) is not None)
            and not disk.is_same(first_path, path)
        )

    def _read_file(self, path: str, stat: FileStat, row: FileStateRow | None) -> None:
        row_here = row if row is not None and row.path == path else None
        if row_here and row_here.stat == stat and stat.mtime < row_here.looked_at - _RACY:
            return
        data = self._read_data(path, stat)
        if data is None:
            return
        data_hash = hash_bytes(data)
        if row_here and data_hash == row_here.hash:
            self.touched.append(replace(row_here, stat=stat, looked_at=self._now))
            return
        location = parse_location(path)
        if location is None:
            self._run.add_problem(
                path, f"no memory belongs in this folder; the folders are {', '.join(FOLDERS)}"
            )
            return
        try:
            content = record_markdown.parse_entry(decode_text(data))
        except FrontMatterError as problem:
            self._run.add_problem(path, str(problem))
            return
        content = self._drop_foreign_scope(path, content, location, row)
        if row is not None and (path, data_hash) == (row.next_path, row.next_hash):
            # Our own write, interrupted before it was noted as done.
            links = to_link_rows(content.links, path, row.owner, self._run.deps.state)
            self.touched.append(
                replace(
                    row,
                    path=path,
                    hash=data_hash,
                    version=int(content.fields.get("version", 1)),
                    links=links,
                    stat=stat,
                    looked_at=self._now,
                )
            )
            return
        is_its_memory = row is not None and (not content.id or row.id == content.id)
        self.changed.append(
            ChangedVaultFile(
                path=path,
                stat=stat,
                hash=data_hash,
                content=content,
                location=location,
                row=row if is_its_memory else None,
                data=data,
            )
        )

    def _read_data(self, path: str, stat: FileStat) -> bytes | None:
        """Read a file; None where it is too large or gone."""
        if stat.size > _LARGEST:
            self._run.add_problem(path, f"it has {stat.size:,} bytes, more than a memory may have")
            return None
        return self._run.deps.disk.read(path)

    def _drop_foreign_scope(
        self,
        path: str,
        content: RecordFileContent,
        location: VaultFileLocation,
        row: FileStateRow | None,
    ) -> RecordFileContent:
        """Ignore a scope that would move somebody's memory to another owner.

        A file that names another owner's known memory keeps its scope: it was put into the wrong
        folder.
        """
        scope = content.fields.get("scope")
        if not isinstance(scope, Scope) or not _leaves_owner(scope, location, row):
            return content
        if self._run.deps.state.get(scope.owner, [content.id]):
            return content
        self._run.add_problem(
            path, "its line `scope:` names another owner: the owner of the folder counts"
        )
        fields = {name: value for name, value in content.fields.items() if name != "scope"}
        return replace(content, fields=fields)


def _leaves_owner(scope: Scope, location: VaultFileLocation, row: FileStateRow | None) -> bool:
    """Return True for a scope of another owner than the memory's and the folder's."""
    if row is not None and scope.owner == row.owner:
        return False
    owner_folder = f"{path_key(scope_folder(scope.owner))}/"
    return not f"{path_key(location.scope)}/".startswith(owner_folder)
