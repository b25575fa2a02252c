"""Folder of search index files beside a store, one file for each owner.

A process maps such a file instead of building the index. The files are derived from the store. A file
is used only if its checksums are right and it has the mark that the store keeps for this owner. A
purge deletes the mark. Otherwise the index is built from the store.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from engrams.store.sql.index_file_store import SegmentKey
from engrams.store.sqlite.folder_lock import lock_folder

if TYPE_CHECKING:
    from engrams.index.owner_index import OwnerSearchIndex

ENDING = ".index"
"""End of the folder's name, after the database's."""


def name_mark(owner_key: str) -> str:
    """Return the name of the counter that marks an owner's current file."""
    return f"index {name_owner(owner_key)}"


def name_owner(owner_key: str) -> str:
    """Hash an owner's key into the stem of its file name."""
    return blake2b(owner_key.encode(), digest_size=16).hexdigest()


class IndexFileFolder:
    """Folder of index files, one per owner; ``path`` None: nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def load(self, key: SegmentKey, mark: int) -> OwnerSearchIndex | None:
        """Map an owner's index, if its file has this mark."""
        from engrams.index.owner_index import OwnerSearchIndex
        from engrams.index.segment_file import SegmentFileError, map_segment

        if self._path is None or not mark:
            return None
        try:
            segment = map_segment(self._path / f"{name_owner(key.owner)}.segment")
            index = OwnerSearchIndex.from_segment(segment)
        except (OSError, SegmentFileError, ValueError, KeyError):
            return None
        return index if segment.notes["key"] == _describe(key, mark) else None

    def write(
        self,
        key: SegmentKey,
        index: OwnerSearchIndex,
        is_current: Callable[[], bool],
        accept: Callable[[int], bool],
    ) -> bool:
        """Write an owner's file, unless the store does not ``accept`` its mark.

        ``is_current``: nothing was purged since; a purge after it waits until the file is there, to
        remove it. OSError: it cannot be written.
        """
        from engrams.index.segment_file import write_segment

        if self._path is None:
            return False
        mark = int.from_bytes(os.urandom(7)) | 1
        segment = index.state.dump()
        segment = replace(segment, notes={**segment.notes, "key": _describe(key, mark)})
        self._path.mkdir(mode=0o700, exist_ok=True)
        name = name_owner(key.owner)
        fresh = self._path / f"{name}.{mark:x}.new"
        with lock_folder(self._path):
            # Left by whoever was killed while writing.
            for leftover in self._path.glob("*.new"):
                leftover.unlink(missing_ok=True)
            if not is_current():
                return False
            try:
                write_segment(fresh, segment)
                if not accept(mark):
                    return False
                fresh.replace(self._path / f"{name}.segment")
            finally:
                fresh.unlink(missing_ok=True)
        return True

    def list_damaged(self) -> list[Path]:
        """Find files whose sums are wrong; all are read."""
        from engrams.index.segment_file import find_damage

        paths = sorted(self._path.glob("*.segment")) if self._path is not None else []
        return [path for path in paths if find_damage(path)]

    def drop(self, owner_key: str) -> int:
        """Remove an owner's file; return the number of files perhaps left."""
        if self._path is None or not self._path.is_dir():
            return 0
        stem = name_owner(owner_key)
        with ExitStack() as stack:
            # No right to it, or a file system without locks: then nobody writes files here either.
            with suppress(OSError):
                stack.enter_context(lock_folder(self._path))
            for path in (self._path / f"{stem}.segment", *self._path.glob(f"{stem}.*")):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        try:
            return sum(path.name.startswith(stem) for path in self._path.iterdir())
        except FileNotFoundError:
            return 0
        except OSError:
            return 1


def _describe(key: SegmentKey, mark: int) -> list[object]:
    return [key.owner, key.model, key.dimension, mark]
