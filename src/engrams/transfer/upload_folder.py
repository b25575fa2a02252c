"""File uploads in a folder of the home, one folder per owner."""

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
_ABOUT = "about.json"
_FILE = "file"


class UploadFolder:
    """Uploads of one home; sealed where the home is encrypted."""

    is_shared = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._home = folder.parent

    def create(self, owner: Scope, id: str, about: str) -> None:
        place = self._owner_folder(owner) / id
        place.mkdir(parents=True, mode=0o700)
        file_encryption.write_file(self._home, place / _ABOUT, about.encode())

    def read(self, owner: Scope, id: str) -> str:
        return self._read_about(self._find_folder(owner, id))

    def write(self, owner: Scope, id: str, about: str) -> None:
        file_encryption.write_file(
            self._home, self._find_folder(owner, id) / _ABOUT, about.encode()
        )

    def list(self, owner: Scope) -> tuple[str, ...]:
        places = sorted(self._owner_folder(owner).glob(f"*/{_ABOUT}"), reverse=True)
        return tuple(
            self._read_about(place.parent) for place in places if _ID.fullmatch(place.parent.name)
        )

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
            place = about.parent
            touched = datetime.fromtimestamp(place.stat().st_mtime, UTC)
            yield StoredUpload(self._read_about(place), (place / _FILE).exists(), touched)

    def _read_about(self, place: Path) -> str:
        return file_encryption.read_file(self._home, place / _ABOUT).decode()

    def _owner_folder(self, owner: Scope) -> Path:
        return self._folder / hashlib.blake2b(owner.key.encode("utf-8"), digest_size=16).hexdigest()

    def _find_folder(self, owner: Scope, id: str) -> Path:
        place = self._owner_folder(owner) / id if _ID.fullmatch(id) else None
        if place is None or not (place / _ABOUT).is_file():
            raise build_missing_upload()
        return place
