"""Read, write and list files below one root, and nothing else.

``VaultFolder`` follows no links, writes files whole or not at all, and tells a writer if somebody
else wrote at the same moment. ``VaultLock`` keeps threads and processes apart.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import IO

from engrams.errors import InputError, StoreError

_MANY = 16
"""Files from which one flush of the whole disk is quicker than one of each file."""
_STEP = 0.01
"""Seconds between two tries for a lock on Windows."""


@dataclass(frozen=True, slots=True)
class FileStat:
    """Time of change and size of a file."""

    mtime: int
    """Nanoseconds since 1970."""
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class PlannedFileWrite:
    """File to write."""

    path: str
    data: bytes
    expected: bytes | None = None
    """Content that it should have now; None: any."""


class VaultFolder:
    """File access below the vault's root; paths are relative, with ``/``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def locate(self, path: str) -> Path:
        """Return the file of a path. InputError: the path leads out of the root."""
        parts = path.split("/")
        if (
            not path
            or "\0" in path
            or any(part in ("", ".", "..") or not has_plain_characters(part) for part in parts)
        ):
            raise InputError(f"{path!r:.200} is not a path inside the vault.")
        return self.root.joinpath(*parts)

    def read(self, path: str) -> bytes | None:
        """Read a file, following no link; None where there is none."""
        try:
            with (
                map_errors(),
                os.fdopen(
                    os.open(
                        self.locate(path),
                        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0),
                    ),
                    "rb",
                ) as file,
            ):
                return file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def stat(self, path: str) -> FileStat | None:
        try:
            status = self.locate(path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if (
            not stat.S_ISREG(status.st_mode)
            and not stat.S_ISLNK(status.st_mode)
            and not stat.S_ISDIR(status.st_mode)
        ):
            return None
        return FileStat(status.st_mtime_ns, status.st_size)

    def write(self, files: Sequence[PlannedFileWrite], secure: bool = True) -> dict[str, bytes]:
        """Write files, each whole or not at all, in place on return.

        ``secure``: after a power loss too. Returns by path the contents that were replaced and were
        not the expected ones: somebody wrote to those files just then.
        """
        flushes_disk = secure and len(files) > _MANY
        flushes_each = secure and not flushes_disk
        with map_errors():
            prepared = [
                (self._write_temporary(file, flushes_each), self.locate(file.path), file)
                for file in files
            ]
            if flushes_disk:
                _flush_files([temporary for temporary, _, _ in prepared])
            unexpected: dict[str, bytes] = {}
            for temporary, path, file in prepared:
                replaced = self._replace(temporary, path, file.expected is not None)
                if replaced is not None and replaced != file.expected:
                    unexpected[file.path] = replaced
            if secure and hasattr(os, "O_DIRECTORY"):
                for folder in {path.parent for _, path, _ in prepared}:
                    _flush_folder(folder)
        return unexpected

    def take(self, path: str) -> bytes | None:
        """Remove a file; return its content."""
        aside = self._temporary_path(self.locate(path))
        try:
            with map_errors():
                self.locate(path).replace(aside)
        except (FileNotFoundError, NotADirectoryError):
            return None
        data = aside.read_bytes()
        aside.unlink()
        self.remove(path)
        return data

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that become empty."""
        file = self.locate(path)
        with map_errors(), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            file.unlink()
        for folder in file.parents:
            if folder == self.root or not folder.is_relative_to(self.root):
                return
            try:
                folder.rmdir()
            except OSError:
                return

    def is_same(self, path: str, other_path: str) -> bool:
        """Return True where two existing names are one file."""
        try:
            return self.locate(path).samefile(self.locate(other_path))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def walk(
        self, top: str, every: bool = False, unusable: list[str] | None = None
    ) -> Iterator[tuple[str, FileStat]]:
        """Yield the Markdown files below a folder, or ``every`` file.

        Hidden and temporary ones and links are passed over, and so are files that are not plain or
        whose name no path can hold (``is_usable``): their paths are added to ``unusable``, as they
        can be shown.
        """
        stack = [top]
        while stack:
            folder = stack.pop()
            try:
                entries = list(os.scandir(self.root / folder))
            except (FileNotFoundError, NotADirectoryError):
                continue
            for entry in entries:
                name = entry.name
                if name.startswith(".") or entry.is_symlink():
                    continue
                if not is_usable(name):
                    if unusable is not None:
                        printable_path = f"{folder}/{name}".encode(
                            "utf-8", "backslashreplace"
                        ).decode()
                        unusable.append(printable_path)
                    continue
                if entry.is_dir(follow_symlinks=False):
                    stack.append(f"{folder}/{name}")
                elif not entry.is_file(follow_symlinks=False):
                    if unusable is not None:
                        unusable.append(f"{folder}/{name}")
                elif is_memory(name) or (every and not name.endswith((".tmp", "~"))):
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    yield f"{folder}/{name}", FileStat(status.st_mtime_ns, status.st_size)

    def _replace(self, temporary: Path, path: Path, watched: bool) -> bytes | None:
        """Move a file into place; return the content that it replaced, where ``watched``."""
        aside = self._temporary_path(path)
        if watched:
            # A second name keeps the old file: a writer that has it open writes into that one.
            with contextlib.suppress(OSError):
                os.link(path, aside)
        temporary.replace(path)
        if not watched:
            return None
        try:
            return aside.read_bytes()
        except FileNotFoundError:
            return None
        finally:
            aside.unlink(missing_ok=True)

    def _write_temporary(self, file: PlannedFileWrite, secure: bool) -> Path:
        target = self.locate(file.path)
        if not target.parent.resolve().is_relative_to(self.root.resolve()):
            raise StoreError(
                f"The folder of {file.path} is a link out of the vault.",
                hint="Replace the link with a folder.",
            )
        make_private(target.parent)
        temporary = self._temporary_path(target)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(file.data)
                opened.flush()
                if secure:
                    os.fsync(handle)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        return temporary

    def _temporary_path(self, target: Path) -> Path:
        folder = self.root / ".engrams" / "tmp"
        make_private(folder)
        return folder / f"{target.name[:40]}.{os.urandom(6).hex()}.tmp"


class VaultLock:
    """Lock among threads and processes, nestable, freed by a crash."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = RLock()
        self._depth = 0
        self._file: IO[bytes] | None = None

    def __enter__(self) -> VaultLock:
        self._guard.acquire()
        try:
            if self._depth == 0:
                make_private(self._path.parent)
                self._file = self._path.open("ab")
                _lock_file(self._file)
            self._depth += 1
        except BaseException:
            self._guard.release()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._file is not None:
            self._file.close()
            self._file = None
        self._guard.release()


@contextlib.contextmanager
def map_errors() -> Iterator[None]:
    """Raise disk failures as StoreError, except for missing files."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise
    except OSError as problem:
        hint = (
            "Free some space; the waiting files are written then."
            if problem.errno == 28
            else "See that the vault's folder can be written to."
        )
        raise StoreError(
            f"The vault cannot use {problem.filename or 'a file'}: {problem.strerror}.", hint=hint
        ) from None


def make_private(folder: Path) -> None:
    """Make a folder and its missing parents for the owner alone."""
    if folder.is_dir():
        return
    make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def is_text(name: str) -> bool:
    """Return True where a file's name is Unicode, not other bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_plain_characters(name: str) -> bool:
    """True without ``:`` and backslashes, which lead elsewhere on other systems."""
    return not any(character in name for character in ":\\")


def is_usable(name: str) -> bool:
    """True where a path in the vault can hold this name of a file or folder."""
    return is_text(name) and has_plain_characters(name)


def is_memory(name: str) -> bool:
    """True where a file of this name can be a memory's."""
    return name.endswith(".md") and not name.startswith((".", "~", "#"))


def hash_bytes(data: bytes) -> str:
    """Hash a content into 32 hex digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _flush_files(files: Sequence[Path]) -> None:
    """Flush many files at once, which is quicker than one by one."""
    if sys.platform == "linux":
        os.sync()
        return
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lock_file(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        while True:
            try:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            except OSError:
                time.sleep(_STEP)
            else:
                return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)
