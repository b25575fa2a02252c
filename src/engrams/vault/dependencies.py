"""Dependencies that the rooms of the vault share: the store, the folder, its state, and callbacks.

``VaultDeps`` also has the few operations on the folder that every room needs: making it, and writing
into it without losing what somebody wrote at the same moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from engrams.backup.home_paths import HomePaths
from engrams.core import Json, Record, Vector
from engrams.core.ids import new_id
from engrams.errors import StoreError
from engrams.ports import Clock, JobSpec, RecordChange, Store
from engrams.settings import VaultSettings
from engrams.vault.files.folder_access import (
    PlannedFileWrite,
    VaultFolder,
    VaultLock,
    hash_bytes,
    make_private,
)
from engrams.vault.files.sync_state import VaultStateDatabase
from engrams.vault.files.vault_paths import CONFLICTS, ENTRIES

Prepare: TypeAlias = Callable[[Record, dict[str, Any]], tuple[dict[str, Any], tuple[Vector, ...]]]
FindJobs: TypeAlias = Callable[[Sequence[Record]], tuple[JobSpec, ...]]
FindRipples: TypeAlias = Callable[[Record, Mapping[str, Any]], tuple[RecordChange, ...]]
Forget: TypeAlias = Callable[[Sequence[Record], str, str], object]

MARK = ".engrams/vault"
"""File by which a vault's folder is recognised: an id, and the format of the files."""
FORMAT = 1
"""Format of the files; a newer one is left alone."""
_SAMPLE = 200
"""Files of a folder without a mark that are looked for."""


@dataclass(frozen=True, slots=True)
class VaultEditCallbacks:
    """Functions of the engine that check and apply edits made by hand."""

    prepare: Prepare
    """Turns new fields of a record into those to store, and their vectors."""
    find_jobs: FindJobs
    """Makes the jobs that texts written by hand call for."""
    find_ripples: FindRipples
    """Finds what new values of a record change in others."""
    forget: Forget
    """Forgets memories, with all that follows; gets the memories, the actor and the reason."""
    embed: JobSpec | None = None
    """The job that embeds texts; None: they have vectors at once."""
    lease: float = 120.0
    """Seconds for which a job may be silent."""
    database: Path | None = None
    """The memory's database; None: ``memory.db`` in the home."""


@dataclass(frozen=True, slots=True)
class VaultDeps:
    """Dependencies of the rooms of a vault."""

    store: Store
    """The store whose writes the files follow."""
    plain_store: Store
    """The same store without that: for what no file shows, such as pieces of notes."""
    disk: VaultFolder
    state: VaultStateDatabase
    lock: VaultLock
    clock: Clock
    settings: VaultSettings
    callbacks: VaultEditCallbacks
    paths: HomePaths

    @classmethod
    def open(
        cls,
        store: Store,
        plain_store: Store,
        home: Path,
        settings: VaultSettings,
        clock: Clock,
        callbacks: VaultEditCallbacks,
    ) -> VaultDeps:
        """Open the vault of a home folder."""
        folder = find_vault_folder(settings, home)
        state_path = home / "vault.db"
        return cls(
            store=store,
            plain_store=plain_store,
            disk=VaultFolder(folder),
            state=VaultStateDatabase(state_path),
            lock=VaultLock(home / "vault.lock"),
            clock=clock,
            settings=settings,
            callbacks=callbacks,
            paths=HomePaths(callbacks.database or home / "memory.db", folder, state_path),
        )

    @property
    def truth(self) -> Literal["files", "db"]:
        """The side that wins where a file and its memory differ."""
        return self.settings.source_of_truth

    @property
    def is_there(self) -> bool:
        """True where the vault's folder exists and is the known one.

        StoreError: it should exist and does not, or is another one.
        """
        mark, _, file_format = (
            (self.disk.read(MARK) or b"").decode("utf-8", "replace").strip().partition(" format ")
        )
        if file_format.isdigit() and int(file_format) > FORMAT:
            raise StoreError(
                f"The vault has format {file_format}; this engrams supports {FORMAT}.",
                hint="Install the newest engrams.",
            )
        known_mark = self.state.get_fact("vault")
        if mark and not known_mark:
            self.state.set_fact("vault", mark)
        if mark in (known_mark, "") and (mark or self._has_known_files()):
            # A folder without our mark may be one that was copied or cloned from elsewhere.
            return bool(mark) or any(
                (self.disk.root / name).exists() for name in (ENTRIES, "memory", "MEMORY.md")
            )
        if not known_mark:
            return True
        state = "another one" if mark else "missing or empty"
        raise StoreError(
            f"The vault's folder {self.disk.root} is {state}; {self.state.count()} memories have"
            " files in it.",
            hint=(
                "Mount it or put it back. If it is gone for good: `engrams reindex --files` writes"
                " every file again."
            ),
        )

    def make_folder(self) -> None:
        """Make the folder, with the mark by which it is recognised."""
        if not self.is_there or self.disk.read(MARK) is None:
            mark = new_id(self.clock())
            make_private(self.disk.root)
            self.disk.write([PlannedFileWrite(MARK, f"{mark} format {FORMAT}\n".encode())])
            self.state.set_fact("vault", mark)

    def keep_aside(self, path: str, data: bytes, why: str) -> str:
        """Save displaced content once in the folder ``conflicts``; return its path."""
        name = (path.partition("/")[2] or path).removesuffix(".md")
        conflict_path = f"{CONFLICTS}/{name}.{hash_bytes(data)[:8]}.md"
        self.state.touch([(conflict_path, {"does": "keep", "why": why})])
        self.disk.write([PlannedFileWrite(conflict_path, data)])
        return conflict_path

    def replace_file(self, path: str, data: bytes, expected: bytes | None, note: Json) -> None:
        """Write a file that is no memory's, noted for the history first.

        ``expected``: its content when it was read. If somebody wrote to it since, their content is
        kept aside.
        """
        self.state.touch([(path, note)])
        replaced = self.disk.write([PlannedFileWrite(path, data, expected or b"")]).get(path)
        if replaced is not None and replaced != data:
            self.keep_aside(path, replaced, "written while engrams wrote the file")

    def _has_known_files(self) -> bool:
        """Return True where an unmarked folder holds some of the files it should."""
        rows = [
            row for _, row in zip(range(_SAMPLE), self.state.all_rows(), strict=False) if row.path
        ]
        return not rows or any(self.disk.stat(row.path) for row in rows)


def find_vault_folder(settings: VaultSettings, home: Path) -> Path:
    """Find where settings put the vault's folder."""
    return Path(settings.path).expanduser() if settings.path else home / "vault"
