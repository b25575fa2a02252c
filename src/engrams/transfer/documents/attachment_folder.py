"""Files of pictures and sounds in a folder of the home: ``OWNER/DIGEST``, previews ``OWNER/DIGEST.preview``.

An owner's folder is named by a hash, so that no name of a person stands in a path. The same contents
of two owners are two files: nobody learns by a file what another owner has.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from engrams.core import Scope
from engrams.encryption import file_encryption
from engrams.errors import InputError

_DIGEST = re.compile(r"[0-9a-f]{32}")
_PREVIEW = ".preview"


class AttachmentFolder:
    """Attachments of one home (the port ``AttachmentFiles``); sealed where the home is encrypted."""

    def __init__(self, folder: Path) -> None:
        """Set the folder up, which the first file makes."""
        self._folder = folder
        self._home = folder.parent

    def write(self, owner: Scope, digest: str, data: bytes, preview: bytes) -> None:
        path = self._find_path(owner, digest)
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        if preview:
            self._write(path.with_suffix(_PREVIEW), preview)
        self._write(path, data)

    def read(self, owner: Scope, digest: str) -> bytes | None:
        return self._read(self._find_path(owner, digest))

    def read_preview(self, owner: Scope, digest: str) -> bytes | None:
        return self._read(self._find_path(owner, digest).with_suffix(_PREVIEW))

    def has(self, owner: Scope, digest: str) -> bool:
        return self._find_path(owner, digest).is_file()

    def erase(self, owner: Scope, digest: str) -> bool:
        path = self._find_path(owner, digest)
        is_kept = path.is_file()
        for file in path.parent.glob(f"{digest}*"):  # with what a killed write left
            file.unlink(missing_ok=True)
        with suppress(OSError):  # the owner has other files
            path.parent.rmdir()
        return is_kept

    def measure(self, owner: Scope) -> Mapping[str, int]:
        folder = self._find_path(owner, "0" * 32).parent
        paths = list(folder.iterdir()) if folder.is_dir() else []
        return {path.name: path.stat().st_size for path in paths if _DIGEST.fullmatch(path.name)}

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file at once, also while another thread writes the same one."""
        new_path = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
        file_encryption.append_frame(self._home, new_path, data)
        new_path.replace(path)

    def _read(self, path: Path) -> bytes | None:
        try:
            return file_encryption.read_file(self._home, path)
        except FileNotFoundError:
            return None

    def _find_path(self, owner: Scope, digest: str) -> Path:
        """Find the path of a file. InputError: a digest from outside that leads out of the folder."""
        if not _DIGEST.fullmatch(digest):
            raise InputError("This is no hash of a file.", hint="Give the `version` of a document.")
        name = hashlib.blake2b(owner.key.encode("utf-8"), digest_size=16).hexdigest()
        return self._folder / name / digest
