"""Back up and restore a memory in use, encrypted where asked."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path, PurePosixPath
from typing import IO, Any

from engrams import encryption
from engrams.encryption import HEADER
from engrams.errors import (
    ConflictError,
    ExtraError,
    InputError,
    RefusedError,
    StoreError,
    install_hint,
)
from engrams.frozen_data import dataclass

FORMAT = 1
_MANIFEST = "manifest.json"
_PART = 1 << 20
_PATIENCE = 10.0
"""Seconds to wait for others that use the home."""
UNFINISHED = "engrams-restore-unfinished"
"""Folder in a home in which a backup is unpacked; what is left of it belongs to a restore that was
killed.
"""


MAGIC = b"engrams sealed 1\n"
_CHUNK = 1 << 20
_SALT = 16
_COST = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 64 << 20}
_TAG = 16
_CHECK = b"\xff" * 12
"""Nonce of the passphrase check: no chunk has that number."""


@dataclass(frozen=True, slots=True)
class BackupPaths:
    """Parts of a home; ``state``: the vault's database of its files."""

    database: Path
    vault: Path
    state: Path


@dataclass(frozen=True, slots=True)
class BackupResult:
    """Number of files in a backup, and its size in bytes."""

    path: Path
    files: int
    bytes: int
    sealed: bool


def backup(places: BackupPaths, target: Path, passphrase: str = "") -> BackupResult:
    """Write a backup and read it again to verify it.

    Call with the vault's lock held where there is a vault. ConflictError: the target exists.
    InputError: it lies in the vault, or in no folder. StoreError: there is nothing to back up, or
    what was written cannot be read back.
    """
    if target.exists():
        raise ConflictError(f"{target} exists already.", hint="Choose another name.")
    if not places.database.exists() and not places.vault.exists():
        raise StoreError("There is no memory to back up.", hint="See `engrams config home`.")
    if target.resolve().is_relative_to(places.vault.resolve()):
        raise InputError(
            f"{target} lies in the vault, which is what is backed up.",
            hint="Choose a place outside of it.",
        )
    if not target.parent.is_dir():
        raise InputError(
            f"The folder {target.parent} does not exist.",
            hint="Create it, or choose another place.",
        )
    with (
        encryption.share_home(places.database),
        tempfile.TemporaryDirectory(prefix="engrams-backup-", dir=target.parent) as folder,
    ):
        plain = Path(folder) / "plain"
        whole = Path(folder) / "whole"
        count = _pack(places, Path(folder), plain, passphrase)
        if passphrase:
            with plain.open("rb") as source, _open_private(whole) as out:
                seal(source, out, passphrase)
        else:
            plain.replace(whole)
        _verify(whole, passphrase, Path(folder))
        with whole.open("rb") as file:
            os.fsync(file.fileno())
        whole.replace(target)
    return BackupResult(target, count, target.stat().st_size, bool(passphrase))


def restore(source: Path, places: BackupPaths, passphrase: str = "") -> int:
    """Restore a backup into a home without memory; return its file count.

    Repeating one that was killed finishes it. InputError: it is no backup, or is damaged.
    ConflictError: there is memory already. RefusedError: the passphrase is wrong or missing.
    StoreError: another program uses the home.
    """
    home = places.database.parent
    if _holds_memory(places) and not (home / UNFINISHED).exists():
        raise _memory_here()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _hold(home):
        work = home / UNFINISHED
        finished = _finish(work, places)
        if not finished and _holds_memory(places):
            raise _memory_here()
        work.mkdir(mode=0o700)
        try:
            manifest = _unpack(_decrypt(source, passphrase, work), work / "new")
            if finished == {}:
                (work / _MANIFEST).write_text(json.dumps(manifest))
                (work / "new").rename(work / "whole")
                _finish(work, places)
            elif manifest != finished:
                raise _memory_here()
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return len(manifest)


def finish_restore(places: BackupPaths) -> None:
    """Finish a restore that was killed, or undo its beginning.

    StoreError: it is still at work.
    """
    with _hold(places.database.parent):
        _finish(places.database.parent / UNFINISHED, places)


def _finish(work: Path, places: BackupPaths) -> dict[str, str]:
    """Move unpacked files of a restore into place; return the manifest."""
    whole = work / "whole"
    manifest = dict[str, str]()
    if whole.exists():
        manifest = json.loads((work / _MANIFEST).read_text())
        header = places.database.parent / HEADER
        for name, place in (
            (HEADER, header),
            ("vault", places.vault),
            ("state.db", places.state),
            ("memory.db", places.database),
        ):
            held = whole / name
            if held.is_dir() and place.is_dir():
                shutil.copytree(held, place, dirs_exist_ok=True)
            elif held.exists():
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.move(held, place)
        if (places.vault / ".git" / "HEAD").exists():
            # Folders that may be empty, and without which git knows no repository.
            for name in ("refs", "objects"):
                (places.vault / ".git" / name).mkdir(exist_ok=True)
    shutil.rmtree(work, ignore_errors=True)
    return manifest


def _hold(home: Path) -> AbstractContextManager[None]:
    """Lock the home folder against other processes."""
    return encryption.hold_home(home, _PATIENCE) if os.name == "posix" else nullcontext()


def _holds_memory(places: BackupPaths) -> bool:
    vault = places.vault
    return (
        places.database.exists()
        or (places.database.parent / HEADER).exists()
        or (vault.exists() and any(vault.iterdir()))
    )


def _memory_here() -> ConflictError:
    return ConflictError(
        "There is memory here already.", hint="Restore into a fresh home: --home FOLDER."
    )


def replace_backup(path: Path, change: Callable[[BackupPaths], object]) -> None:
    """Rewrite the contents of an unsealed backup, keeping its file time."""
    with tempfile.TemporaryDirectory(prefix="engrams-purge-", dir=path.parent) as folder:
        places = BackupPaths(
            Path(folder) / "memory.db", Path(folder) / "vault", Path(folder) / "vault.db"
        )
        restore(path, places)
        change(places)
        new = Path(folder) / "new"
        at = path.stat()
        backup(places, new)
        os.utime(new, ns=(at.st_atime_ns, at.st_mtime_ns))
        new.replace(path)


def is_backup(path: Path) -> bool:
    """Return True where a file begins as a backup does."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)).startswith((MAGIC, b"\x1f\x8b"))
    except (FileNotFoundError, IsADirectoryError):
        return False


def is_sealed(path: Path) -> bool:
    """Return True for a backup that only its passphrase opens."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _pack(places: BackupPaths, folder: Path, target: Path, passphrase: str) -> int:
    """Pack everything into one archive, the manifest of hashes last."""
    hashes: dict[str, str] = {}
    with (
        _open_private(target) as out,
        tarfile.open(
            fileobj=out, mode="w:gz", compresslevel=6, format=tarfile.PAX_FORMAT
        ) as archive,
    ):
        if encryption.write_backup_header(places.database.parent, folder / HEADER, passphrase):
            hashes[HEADER] = _add(archive, folder / HEADER, HEADER)
        for name, database in (("memory.db", places.database), ("state.db", places.state)):
            if database.exists():
                copy = folder / name
                _snapshot(database, copy)
                hashes[name] = _add(archive, copy, name)
                copy.unlink()
        for path in _iter_files(places.vault):
            name = f"vault/{path.relative_to(places.vault).as_posix()}"
            digest = _add(archive, path, name)
            if digest:
                hashes[name] = digest
        told = json.dumps({"engrams": FORMAT, "files": hashes}, ensure_ascii=False).encode()
        info = tarfile.TarInfo(_MANIFEST)
        info.size = len(told)
        info.mode = 0o600
        archive.addfile(info, io.BytesIO(told))
    return len(hashes)


def _add(archive: tarfile.TarFile, path: Path, name: str) -> str:
    """Add one file to the archive; return its hash, empty if gone."""
    try:
        data = path.read_bytes()
        stat = path.stat()
    except FileNotFoundError:
        return ""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = 0o600
    info.mtime = stat.st_mtime
    archive.addfile(info, io.BytesIO(data))
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def _snapshot(database: Path, copy: Path) -> None:
    import apsw

    try:
        source = encryption.connect(str(database), apsw.SQLITE_OPEN_READWRITE, database)
        target = encryption.connect_copy(copy, database)
        source.set_busy_timeout(10_000)
        with target.backup("main", source, "main") as steps:
            while not steps.done:
                steps.step(1000)
        target.execute("PRAGMA journal_mode = DELETE")
        source.close()
        target.close()
    except apsw.Error as problem:
        raise StoreError(
            f"{database} cannot be copied: {problem}.",
            hint="`engrams doctor --repair` may mend it.",
        ) from None


def _iter_files(folder: Path) -> Iterator[Path]:
    """Yield the vault's files, without temporary ones and links."""
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name != "tmp" or Path(base).name != ".engrams"
        )
        for name in sorted(names):
            path = Path(base) / name
            if not path.is_symlink() and path.is_file() and not name.endswith((".tmp", ".lock")):
                yield path


def _verify(path: Path, passphrase: str, folder: Path) -> None:
    try:
        plain = _decrypt(path, passphrase, folder)
        _unpack(plain, folder / "again")
    except InputError as problem:
        raise StoreError(
            f"The backup cannot be read back: {problem.message}",
            hint="See that the disk is sound and has room.",
        ) from None
    shutil.rmtree(folder / "again")


def _decrypt(source: Path, passphrase: str, folder: Path) -> Path:
    """Return the archive itself, out of its seal where it has one."""
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
        plain = folder / "opened"
        if not passphrase:
            raise RefusedError(
                "The backup is sealed with a passphrase.", hint="Give it with --passphrase."
            )
        with _open_private(plain) as out:
            open_sealed(file, out, passphrase)
        return plain


def _unpack(plain: Path, below: Path) -> dict[str, str]:
    """Extract files, each checked by its hash. InputError: no whole backup."""
    found: dict[str, str] = {}
    manifest: dict[str, Any] = {}
    try:
        with gzip.open(plain) as whole, tarfile.open(fileobj=whole, mode="r:") as archive:
            for member in archive:
                parts = PurePosixPath(member.name).parts
                if (
                    not member.isfile()
                    or member.name.startswith("/")
                    or ".." in parts
                    or "\\" in member.name
                    or "\0" in member.name
                ):
                    raise InputError(
                        f"The backup holds {member.name!r}, which is no file of a memory.",
                        hint="Take another backup.",
                    )
                data = archive.extractfile(member)
                assert data is not None
                if member.name == _MANIFEST:
                    manifest = json.loads(data.read())
                else:
                    found[member.name] = _extract(data, below.joinpath(*parts), member.mtime)
            while whole.read(_PART):
                pass  # to the end, where the sum of everything stands: an archive's own end comes before it
    except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError, KeyError) as problem:
        raise InputError(
            f"It is no backup, or damaged: {problem}.", hint="Take another backup."
        ) from None
    if not isinstance(manifest.get("engrams"), int) or manifest["engrams"] > FORMAT:
        raise InputError(
            "It is no backup, or one of a newer engrams.", hint="Install the newest engrams."
        )
    if manifest.get("files") != found:
        raise InputError(
            "The backup is damaged: a file is missing or not as it was.",
            hint="Take another backup.",
        )
    return found


def _extract(data: IO[bytes], place: Path, mtime: float) -> str:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.blake2b(digest_size=32)
    with _open_private(place) as out:
        while part := data.read(_PART):
            digest.update(part)
            out.write(part)
    os.utime(place, (mtime, mtime))
    return digest.hexdigest()


def _open_private(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def seal(source: IO[bytes], target: IO[bytes], passphrase: str) -> None:
    """Encrypt ``source`` into ``target`` with the passphrase."""
    salt = os.urandom(_SALT)
    cipher = _make_cipher(passphrase, salt)
    target.write(MAGIC + salt + cipher.encrypt(_CHECK, b"", MAGIC))
    number = 0
    chunk = source.read(_CHUNK)
    while True:
        after = source.read(_CHUNK)
        target.write(cipher.encrypt(_make_nonce(number, not after), chunk, MAGIC))
        if not after:
            return
        number = number + 1
        chunk = after


def open_sealed(source: IO[bytes], target: IO[bytes], passphrase: str) -> None:
    """Decrypt a stream, after the magic was read.

    RefusedError: the passphrase is wrong. InputError: the file was changed or cut.
    """
    salt = source.read(_SALT)
    cipher = _make_cipher(passphrase, salt)
    from cryptography.exceptions import InvalidTag

    _check_passphrase(cipher, source.read(_TAG))
    number = 0
    chunk = source.read(_CHUNK + _TAG)
    while True:
        after = source.read(_CHUNK + _TAG)
        try:
            target.write(cipher.decrypt(_make_nonce(number, not after), chunk, MAGIC))
        except (InvalidTag, ValueError):
            raise InputError(
                "The backup was changed or cut short.", hint="Take another backup."
            ) from None
        if not after:
            return
        number = number + 1
        chunk = after


def _make_cipher(passphrase: str, salt: bytes) -> Any:
    if not passphrase:
        raise InputError("The passphrase is empty.", hint="Give one, or make the backup without.")
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ExtraError(
            "A passphrase needs the package cryptography.", hint=install_hint("vault")
        ) from None
    return AESGCM(hashlib.scrypt(passphrase.encode(), salt=salt, dklen=32, **_COST))


def _check_passphrase(cipher: Any, told: bytes) -> None:
    """Check the passphrase, apart from whether the rest is whole."""
    from cryptography.exceptions import InvalidTag

    if len(told) < _TAG:
        raise InputError("The backup was cut short.", hint="Take another backup.")
    try:
        cipher.decrypt(_CHECK, told, MAGIC)
    except InvalidTag:
        raise RefusedError(
            "The passphrase is wrong.", hint="Give the passphrase that the backup was made with."
        ) from None


def _make_nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])
