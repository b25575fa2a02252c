"""Read, write and list files below one root, and nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import IO

from engrams.errors import InputError, StoreError
from engrams.frozen_data import dataclass

_MANY = 16
_STEP = 0.01


@dataclass(frozen=True, slots=True)
class FileStat:
    """Time of change (ns) and size (bytes) of a file."""

    mtime: int
    size: int


@dataclass(frozen=True, slots=True)
class PlannedFileWrite:
    """File to write; ``expected``: its content now (None: any)."""

    path: str
    data: bytes
    expected: bytes | None = None


class VaultFolder:
    """File access below the vault's root; paths are relative, with ``/``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def locate(self, path: str) -> Path:
        """Return a path's file. InputError: outside the root, or hidden folder."""
        parts = path.split("/")
        if (
            not path
            or "\0" in path
            or "\\" in path
            or any(part in ("", ".", "..") or ":" in part for part in parts)
        ):
            raise InputError(f"{path!r:.200} is no path inside the vault.")
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
            found = self.locate(path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if (
            not stat.S_ISREG(found.st_mode)
            and not stat.S_ISLNK(found.st_mode)
            and not stat.S_ISDIR(found.st_mode)
        ):
            return None
        return FileStat(found.st_mtime_ns, found.st_size)

    def write(self, files: Sequence[PlannedFileWrite], secure: bool = True) -> dict[str, bytes]:
        """Write files, each whole or not at all, in place on return.

        ``secure``: after a power loss too. Returns what was replaced without being what was
        expected, by path: somebody wrote to those files just then.
        """
        with map_errors():
            made = [
                (
                    self._write_temporary(file, secure and len(files) <= _MANY),
                    self.locate(file.path),
                    file,
                )
                for file in files
            ]
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
        """Remove a file; return its content."""
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
        """Remove a file, and the folders that become empty."""
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
        """Return True where two existing names are one file."""
        try:
            return self.locate(one).samefile(self.locate(other))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def walk(
        self, top: str, every: bool = False, odd: list[str] | None = None
    ) -> Iterator[tuple[str, FileStat]]:
        """Yield the Markdown files below a folder, or ``every`` file.

        Hidden ones, temporary ones, links and names that are no text are passed over; the last are
        added to ``odd``, as they can be shown.
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
                if not is_text(name):
                    if odd is not None:
                        odd.append(f"{folder}/{name}".encode("utf-8", "backslashreplace").decode())
                    continue
                if entry.is_dir(follow_symlinks=False):
                    stack.append(f"{folder}/{name}")
                elif not entry.is_file(follow_symlinks=False):
                    if odd is not None:
                        odd.append(f"{folder}/{name}")
                elif is_memory(name) or (every and not name.endswith((".tmp", "~"))):
                    try:
                        found = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    yield f"{folder}/{name}", FileStat(found.st_mtime_ns, found.st_size)

    def _replace(self, temporary: Path, path: Path, watched: bool) -> bytes | None:
        """Move a file into place; return what it replaced, where watched."""
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

    def _write_temporary(self, file: PlannedFileWrite, secure: bool) -> Path:
        place = self.locate(file.path)
        if not place.parent.resolve().is_relative_to(self.root.resolve()):
            raise StoreError(
                f"The folder of {file.path} is a link out of the vault.",
                hint="Replace the link with a folder.",
            )
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
            "Free some space; what waits is written then."
            if problem.errno == 28
            else "See that the vault's folder can be written to."
        )
        raise StoreError(
            f"The vault cannot use {problem.filename or 'a file'}: {problem.strerror}.", hint=hint
        ) from None


def make_private(place: Path) -> None:
    """Make a folder and its missing parents for the owner alone."""
    if place.is_dir():
        return
    make_private(place.parent)
    place.mkdir(mode=0o700, exist_ok=True)


def is_text(name: str) -> bool:
    """Return True where a file's name is Unicode, not other bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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
