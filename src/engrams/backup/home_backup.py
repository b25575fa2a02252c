"""Back up a home in use into one file, and restore such a file into a home without memory.

``back_up`` and ``restore`` are the entries. A purge rewrites unsealed backups by
``replace_backup``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from engrams import encryption
from engrams.backup.archive import MANIFEST, open_private, pack, unpack
from engrams.backup.home_paths import HomePaths
from engrams.backup.sealing import MAGIC, open_sealed, seal
from engrams.backup.work_folders import make_work_folder
from engrams.encryption import HEADER
from engrams.encryption.file_ledger import seal_files
from engrams.encryption.seal_keys import read_key
from engrams.errors import ConflictError, InputError, RefusedError, StoreError

UNFINISHED = "engrams-restore-unfinished"
"""Folder in a home in which a backup is unpacked; one that stays behind belongs to a restore that
was killed.
"""
_GZIP_MAGIC = b"\x1f\x8b"
_PATIENCE = 10.0
"""Seconds to wait for others that use the home."""


@dataclass(frozen=True, slots=True)
class BackupResult:
    """A backup that was written and read again."""

    path: Path
    files: int
    """Number of files in it."""
    bytes: int
    sealed: bool
    """It needs a passphrase."""


def back_up(paths: HomePaths, target: Path, passphrase: str = "") -> BackupResult:
    """Write a backup and read it again to verify it.

    Call with the vault's lock held where there is a vault. ConflictError: the target exists.
    InputError: it lies in the vault, or in no folder. StoreError: there is nothing to back up, or
    the backup cannot be read back.
    """
    _check_target(paths, target)
    with (
        encryption.share_home(paths.database),
        make_work_folder("backup", target.parent) as folder,
    ):
        plain = folder / "plain"
        complete = folder / "whole"
        count = pack(paths, folder, plain, passphrase)
        if passphrase:
            with plain.open("rb") as source, open_private(complete) as out:
                seal(source, out, passphrase)
        else:
            plain.replace(complete)
        _verify(complete, passphrase, folder)
        with complete.open("rb") as file:
            os.fsync(file.fileno())
        # Only a verified and durable file gets the name that the caller asked for.
        complete.replace(target)
    return BackupResult(target, count, target.stat().st_size, bool(passphrase))


def restore(source: Path, paths: HomePaths, passphrase: str = "") -> int:
    """Restore a backup into a home without memory; return its file count.

    Repeating a restore that was killed finishes it. InputError: the file is no backup, or is
    damaged. ConflictError: there is memory already. RefusedError: the passphrase is wrong or
    missing. StoreError: another program uses the home.
    """
    home = paths.database.parent
    if _holds_memory(paths) and not (home / UNFINISHED).exists():
        raise _make_conflict()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _hold_home(home):
        work = home / UNFINISHED
        finished_manifest = _finish_unpacked(work, paths)
        if not finished_manifest and _holds_memory(paths):
            raise _make_conflict()
        work.mkdir(mode=0o700)
        try:
            manifest = unpack(_open_plain_archive(source, passphrase, work), work / "new")
            if not finished_manifest:
                (work / MANIFEST).write_text(json.dumps(manifest))
                # From this rename on the restore is finished by whoever comes next.
                (work / "new").rename(work / "whole")
                _finish_unpacked(work, paths)
            elif manifest != finished_manifest:
                # The killed restore was one of another backup.
                raise _make_conflict()
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return len(manifest)


def finish_restore(paths: HomePaths) -> None:
    """Finish a restore that was killed, or undo its beginning.

    StoreError: it is still at work.
    """
    with _hold_home(paths.database.parent):
        _finish_unpacked(paths.database.parent / UNFINISHED, paths)


def replace_backup(path: Path, change: Callable[[HomePaths], object]) -> None:
    """Rewrite the contents of an unsealed backup, keeping its file time."""
    with make_work_folder("purge", path.parent) as folder:
        paths = HomePaths.below(folder)
        restore(path, paths)
        change(paths)
        rewritten = folder / "new"
        stat = path.stat()
        back_up(paths, rewritten)
        # A rescue takes the newest backup, by the time of its file.
        os.utime(rewritten, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        rewritten.replace(path)


def is_backup(path: Path) -> bool:
    """Return True where a file begins as a backup does."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)).startswith((MAGIC, _GZIP_MAGIC))
    except (FileNotFoundError, IsADirectoryError):
        return False


def is_sealed(path: Path) -> bool:
    """Return True for a backup that only its passphrase opens."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _check_target(paths: HomePaths, target: Path) -> None:
    if target.exists():
        raise ConflictError(f"{target} exists already.", hint="Choose another name.")
    if not paths.database.exists() and not paths.vault.exists():
        raise StoreError("There is no memory to back up.", hint="See `engrams config home`.")
    if target.resolve().is_relative_to(paths.vault.resolve()):
        raise InputError(
            f"{target} is in the vault, which the backup contains.",
            hint="Choose a file outside the vault.",
        )
    if not target.parent.is_dir():
        raise InputError(
            f"The folder {target.parent} does not exist.",
            hint="Create it, or choose another place.",
        )


def _finish_unpacked(work: Path, paths: HomePaths) -> dict[str, str]:
    """Move the completely unpacked files of a restore into place; return their manifest.

    Empty: the restore was cut short before that. Its files are deleted.
    """
    complete = work / "whole"
    manifest = dict[str, str]()
    if complete.exists():
        manifest = json.loads((work / MANIFEST).read_text())
        header = paths.database.parent / HEADER
        _carry_key_files(complete / paths.seal_key.name, paths)
        # The database comes last: a home is opened by it.
        for name, target in (
            (HEADER, header),
            ("vault", paths.vault),
            ("attachments", paths.attachments),
            ("state.db", paths.state),
            (paths.seal_key.name, paths.seal_key),
            ("memory.db", paths.database),
        ):
            unpacked = complete / name
            if unpacked.is_dir() and target.is_dir():
                shutil.copytree(unpacked, target, dirs_exist_ok=True)
            elif unpacked.exists():
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.move(unpacked, target)
        if (paths.vault / ".git" / "HEAD").exists():
            # Folders that may be empty, and without which git knows no repository.
            for name in ("refs", "objects"):
                (paths.vault / ".git" / name).mkdir(exist_ok=True)
    shutil.rmtree(work, ignore_errors=True)
    return manifest


def _carry_key_files(new_seal_key: Path, paths: HomePaths) -> None:
    """Let API keys of a home stay valid when the key of its seals is replaced by a backup's."""
    if not new_seal_key.exists():
        return
    try:
        old_key = read_key(paths.seal_key)
    except StoreError:
        return  # damaged: nobody can tell which key files are sound
    new_key = read_key(new_seal_key)
    seal_files(paths.database.parent, new_key, old_key=old_key, needs_ledger=True)


def _hold_home(home: Path) -> AbstractContextManager[None]:
    """Lock the home folder against other processes."""
    return encryption.hold_home(home, _PATIENCE) if os.name == "posix" else nullcontext()


def _holds_memory(paths: HomePaths) -> bool:
    return (
        paths.database.exists()
        or (paths.database.parent / HEADER).exists()
        or (paths.vault.exists() and any(paths.vault.iterdir()))
    )


def _make_conflict() -> ConflictError:
    return ConflictError(
        "This home already contains memories.", hint="Restore into a fresh home: --home FOLDER."
    )


def _verify(path: Path, passphrase: str, folder: Path) -> None:
    """Read a new backup back. StoreError: it cannot be read."""
    try:
        unpack(_open_plain_archive(path, passphrase, folder), folder / "again")
    except InputError as problem:
        raise StoreError(
            f"The backup cannot be read back: {problem.message}",
            hint="Check that the disk works and has free space.",
        ) from None
    shutil.rmtree(folder / "again")


def _open_plain_archive(source: Path, passphrase: str, folder: Path) -> Path:
    """Return the path of the plain archive: the file itself, or its opened copy in ``folder``."""
    try:
        file = source.open("rb")
    except OSError as problem:
        raise InputError(
            f"{source} cannot be read: {problem.strerror}.",
            hint="Give the file that `engrams backup` wrote.",
        ) from None
    with file:
        if file.read(len(MAGIC)) != MAGIC:
            return source
        if not passphrase:
            raise RefusedError(
                "The backup is encrypted with a passphrase.", hint="Give it with --passphrase."
            )
        plain = folder / "opened"
        with open_private(plain) as out:
            open_sealed(file, out, passphrase)
        return plain
