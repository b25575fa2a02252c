"""Uploads in a folder of the home: ``OWNER/UPLOAD/about.json`` and ``file``.

``UploadFolder`` is the upload storage of a home without a shared database. An owner's folder is
named by a hash, so that no name of a person stands in a path.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

from engrams.core import Scope
from engrams.encryption import file_encryption
from engrams.errors import ConflictError
from engrams.ports import StoredUpload, build_missing_upload

_ID = re.compile(r"[0-9a-z]{26}")
"""ULID in lower case."""
_ABOUT = "about.json"
_FILE = "file"


class UploadFolder:
    """Uploads of one home (the port ``UploadStorage``); sealed where the home is encrypted."""

    is_shared = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._home = folder.parent

    def create(self, owner: Scope, id: str, about: str) -> None:
        folder = self._owner_folder(owner) / id
        folder.mkdir(parents=True, mode=0o700)
        file_encryption.write_file(self._home, folder / _ABOUT, about.encode())

    def read(self, owner: Scope, id: str) -> str:
        return self._read_about(self._find_folder(owner, id))

    def write(self, owner: Scope, id: str, about: str) -> None:
        file_encryption.write_file(
            self._home, self._find_folder(owner, id) / _ABOUT, about.encode()
        )

    def list(self, owner: Scope) -> tuple[str, ...]:
        paths = sorted(self._owner_folder(owner).glob(f"*/{_ABOUT}"), reverse=True)
        folders = [path.parent for path in paths]
        return tuple(self._read_about(folder) for folder in folders if _ID.fullmatch(folder.name))

    def measure(self, owner: Scope, id: str) -> int:
        return file_encryption.measure(self._find_folder(owner, id) / _FILE)

    def append(self, owner: Scope, id: str, offset: int, piece: bytes) -> None:
        file = self._find_folder(owner, id) / _FILE
        size = file_encryption.measure(file)
        if size != offset:
            raise ConflictError(
                f"The file has {size} bytes, not {offset}.", hint="Continue at that offset."
            )
        file_encryption.append_frame(self._home, file, piece)

    def open(self, owner: Scope, id: str) -> AbstractContextManager[Path]:
        file = self._find_folder(owner, id) / _FILE
        file.touch()
        return file_encryption.open_plain(self._home, file)

    def erase(self, owner: Scope, id: str) -> None:
        (self._find_folder(owner, id) / _FILE).unlink(missing_ok=True)

    def drop(self, owner: Scope, id: str) -> None:
        shutil.rmtree(self._find_folder(owner, id))

    def iter_all(self) -> Iterator[StoredUpload]:
        for about in self._folder.glob(f"*/*/{_ABOUT}"):
            folder = about.parent
            touched = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
            yield StoredUpload(self._read_about(folder), (folder / _FILE).exists(), touched)

    def _read_about(self, folder: Path) -> str:
        return file_encryption.read_file(self._home, folder / _ABOUT).decode()

    def _owner_folder(self, owner: Scope) -> Path:
        return self._folder / hashlib.blake2b(owner.key.encode("utf-8"), digest_size=16).hexdigest()

    def _find_folder(self, owner: Scope, id: str) -> Path:
        if not _ID.fullmatch(id):  # an id comes from outside: it must not climb out of the folder
            raise build_missing_upload()
        folder = self._owner_folder(owner) / id
        if not (folder / _ABOUT).is_file():
            raise build_missing_upload()
        return folder
