"""Files below one root: read, written whole or not at all, listed. Nothing outside the root is ever touched."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import IO

from engrams.errors import InputError, StoreError

_MANY = 16
_STEP = 0.01


@dataclass(frozen=True, slots=True)
class FileStat:
    """What tells that a file was not written to: its time of change (ns) and its size (bytes)."""

    mtime: int
    size: int


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A file to write. ``expected``: what it should hold now (None: it is new, or does not matter)."""

    path: str
    data: bytes
    expected: bytes | None = None


class VaultDisk:
    """The vault's folder. Paths are relative to it, with ``/``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def locate(self, path: str) -> Path:
        """The file of a path. InputError: it would lie outside the root, or in a hidden folder."""
        parts = path.split("/")
        if not path or "\0" in path or "\\" in path or any(part in ("", ".", "..") or ":" in part for part in parts):
            raise InputError(f"{path!r:.200} is no path inside the vault.")
        return self.root.joinpath(*parts)

    def read(self, path: str) -> bytes | None:
        """None where there is no such file. A link is not followed: it may lead out of the root."""
        try:
            with map_errors(), os.fdopen(os.open(self.locate(path), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def stat(self, path: str) -> FileStat | None:
        try:
            found = self.locate(path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileStat(found.st_mtime_ns, found.st_size)

    def write(self, files: Sequence[FileWrite], secure: bool = True) -> dict[str, bytes]:
        """Each file whole or not at all, whatever happens; in place when this returns. ``secure``: after a power loss too.

        Gives what was replaced without being what was expected, by path: somebody wrote to those files just then.
        """
        with map_errors():
            made = [(self._write_temporary(file, secure and len(files) <= _MANY), self.locate(file.path), file) for file in files]
            if secure and len(files) > _MANY:
                _flush_files([temporary for temporary, _, _ in made])
            found: dict[str, bytes] = {}
            for temporary, path, file in made:
                held = self._replace(temporary, path, file.expected is not None)
                if held is not None and held != file.expected:
                    found[file.path] = held
            if secure and hasattr(os, "O_DIRECTORY"):
                for folder in {path.parent for _, path, _ in made}:
                    _flush_folder(folder)
        return found

    def take(self, path: str) -> bytes | None:
        """Remove a file; what it held."""
        aside = self._temporary_path(self.locate(path))
        try:
            with map_errors():
                self.locate(path).replace(aside)
        except (FileNotFoundError, NotADirectoryError):
            return None
        held = aside.read_bytes()
        aside.unlink()
        self.remove(path)
        return held

    def remove(self, path: str) -> None:
        """Take a file away, and the folders that become empty with it."""
        place = self.locate(path)
        with map_errors(), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            place.unlink()
        for folder in place.parents:
            if folder == self.root or not folder.is_relative_to(self.root):
                return
            try:
                folder.rmdir()
            except OSError:
                return

    def is_same(self, one: str, other: str) -> bool:
        """Whether two names are one file, as where case does not matter; False where one is not there."""
        try:
            return self.locate(one).samefile(self.locate(other))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def walk(self, top: str, every: bool = False, odd: list[str] | None = None) -> Iterator[tuple[str, FileStat]]:
        """The Markdown files below a folder, or ``every`` file. Hidden ones, temporary ones, links and names that are no text
        are passed over; the last are added to ``odd``, as they can be shown."""
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
                if not is_text(name):
                    if odd is not None:
                        odd.append(f"{folder}/{name}".encode("utf-8", "backslashreplace").decode())
                    continue
                if entry.is_dir(follow_symlinks=False):
                    stack.append(f"{folder}/{name}")
                elif is_memory(name) or (every and not name.endswith((".tmp", "~"))):
                    try:
                        stat = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    yield f"{folder}/{name}", FileStat(stat.st_mtime_ns, stat.st_size)

    def remove_temporary(self) -> None:
        """Remove what a crash left half written, and not what another process is writing now."""
        with contextlib.suppress(FileNotFoundError):
            for entry in os.scandir(self.root / ".engrams" / "tmp"):
                if entry.stat().st_mtime < time.time() - 600:
                    with contextlib.suppress(FileNotFoundError):
                        Path(entry.path).unlink()

    def _replace(self, temporary: Path, path: Path, watched: bool) -> bytes | None:
        """Put a file in its place. A second name keeps hold of what is replaced, where the file system has such."""
        aside = self._temporary_path(path)
        if watched:
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

    def _write_temporary(self, file: FileWrite, secure: bool) -> Path:
        place = self.locate(file.path)
        if not place.parent.resolve().is_relative_to(self.root.resolve()):
            raise StoreError(f"The folder of {file.path} is a link out of the vault.", hint="Replace the link with a folder.")
        make_private(place.parent)
        temporary = self._temporary_path(place)
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

    def _temporary_path(self, place: Path) -> Path:
        folder = self.root / ".engrams" / "tmp"
        make_private(folder)
        return folder / f"{place.name[:40]}.{os.urandom(6).hex()}.tmp"


class VaultLock:
    """One at a time, among the threads and processes that work on one vault. Freed by a crash. May be nested."""

    def __init__(self, path: Path) -> None:
        self._path, self._guard, self._depth = path, RLock(), 0
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
    """Failures of the disk as StoreError; a file that is not there stays what it is."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise
    except OSError as problem:
        hint = "Free some space; what waits is written then." if problem.errno == 28 else "See that the vault's folder can be written to."
        raise StoreError(f"The vault cannot use {problem.filename or 'a file'}: {problem.strerror}.", hint=hint) from None


def make_private(place: Path) -> None:
    """Make a folder, and those above it that are missing, for the owner alone."""
    if place.is_dir():
        return
    make_private(place.parent)
    place.mkdir(mode=0o700, exist_ok=True)


def is_text(name: str) -> bool:
    """Whether a file's name is Unicode: on some systems it may be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_memory(name: str) -> bool:
    """Whether a file of this name can be a memory's."""
    return name.endswith(".md") and not name.startswith((".", "~", "#"))


def hash_bytes(data: bytes) -> str:
    """What tells one content from another; 32 hex digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _flush_files(files: Sequence[Path]) -> None:
    """Many files at once: one flush of everything is far quicker than one each, where it waits until it is done."""
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
