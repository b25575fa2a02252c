"""The archive of a backup: a compressed tar of a home's files, the manifest of their hashes last.

``pack`` writes one from a home in use. ``unpack`` extracts one and checks every hash.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from engrams import encryption
from engrams.backup.home_paths import HomePaths
from engrams.encryption import HEADER
from engrams.errors import InputError, StoreError

MANIFEST = "manifest.json"
_FORMAT = 1
_CHUNK = 1 << 20
_TEMPORARY = (".tmp", ".lock", ".new")


def pack(paths: HomePaths, folder: Path, target: Path, passphrase: str) -> int:
    """Pack a home into one archive; return its number of files.

    ``folder``: for copies of the databases while they are packed. ``passphrase``: where there is
    one, it also opens the key of an encrypted home.
    """
    hashes: dict[str, str] = {}
    with (
        open_private(target) as out,
        tarfile.open(
            fileobj=out, mode="w:gz", compresslevel=6, format=tarfile.PAX_FORMAT
        ) as archive,
    ):
        if encryption.write_backup_header(paths.database.parent, folder / HEADER, passphrase):
            hashes[HEADER] = _add_file(archive, folder / HEADER, HEADER)
        for name, database in (("memory.db", paths.database), ("state.db", paths.state)):
            if database.exists():
                copy = folder / name
                _copy_database(database, copy)
                hashes[name] = _add_file(archive, copy, name)
                copy.unlink()
        if paths.seal_key.exists():
            hashes[paths.seal_key.name] = _add_file(archive, paths.seal_key, paths.seal_key.name)
        for folder_name, below in (("vault", paths.vault), ("attachments", paths.attachments)):
            for path in _iter_folder_files(below):
                name = f"{folder_name}/{path.relative_to(below).as_posix()}"
                digest = _add_file(archive, path, name)
                if digest:
                    hashes[name] = digest
        manifest = json.dumps({"engrams": _FORMAT, "files": hashes}, ensure_ascii=False).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size = len(manifest)
        info.mode = 0o600
        archive.addfile(info, io.BytesIO(manifest))
    return len(hashes)


def unpack(archive_path: Path, folder: Path) -> dict[str, str]:
    """Extract an archive's files, each checked by its hash; return the hashes by name.

    InputError: it is no whole backup.
    """
    hashes: dict[str, str] = {}
    manifest: dict[str, Any] = {}
    try:
        with (
            gzip.open(archive_path) as stream,
            tarfile.open(fileobj=stream, mode="r:") as archive,
        ):
            for member in archive:
                parts = _split_member_name(member)
                data = archive.extractfile(member)
                assert data is not None
                if member.name == MANIFEST:
                    manifest = json.loads(data.read())
                else:
                    path = folder.joinpath(*parts)
                    hashes[member.name] = _extract_file(data, path, member.mtime)
            # Read on to the end of the stream, where its checksum stands: the tar ends before it.
            while stream.read(_CHUNK):
                pass
    except (tarfile.TarError, zlib.error, OSError, EOFError, ValueError, KeyError) as problem:
        raise InputError(
            f"The file is not a backup, or it is damaged: {problem}.", hint="Use another backup."
        ) from None
    if not isinstance(manifest.get("engrams"), int) or manifest["engrams"] > _FORMAT:
        raise InputError(
            "The file is not a backup, or it is from a newer engrams.",
            hint="Install the newest engrams.",
        )
    if manifest.get("files") != hashes:
        raise InputError(
            "The backup is damaged: a file is missing or changed.",
            hint="Use another backup.",
        )
    return hashes


def open_private(path: Path) -> IO[bytes]:
    """Create a file that only its owner can read, and open it for writing."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _split_member_name(member: tarfile.TarInfo) -> tuple[str, ...]:
    """Split a member's name. InputError: it is no plain file, or leads out of the folder."""
    parts = PurePosixPath(member.name).parts
    if (
        not member.isfile()
        or member.name.startswith("/")
        or ".." in parts
        or "\\" in member.name
        or "\0" in member.name
    ):
        raise InputError(
            f"The backup contains {member.name!r}, which is not a file of a memory.",
            hint="Use another backup.",
        )
    return parts


def _add_file(archive: tarfile.TarFile, path: Path, name: str) -> str:
    """Add one file to the archive; return its hash, empty if the file is gone."""
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


def _extract_file(data: IO[bytes], path: Path, mtime: float) -> str:
    """Write one file with its time of change; return its hash."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.blake2b(digest_size=32)
    with open_private(path) as out:
        while chunk := data.read(_CHUNK):
            digest.update(chunk)
            out.write(chunk)
    os.utime(path, (mtime, mtime))
    return digest.hexdigest()


def _copy_database(database: Path, copy: Path) -> None:
    """Copy a database that others write to, as of one moment."""
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
            hint="`engrams doctor --repair` may repair it.",
        ) from None


def _iter_folder_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, without temporary ones and links."""
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name != "tmp" or Path(base).name != ".engrams"
        )
        for name in sorted(names):
            path = Path(base) / name
            if not path.is_symlink() and path.is_file() and not name.endswith(_TEMPORARY):
                yield path
