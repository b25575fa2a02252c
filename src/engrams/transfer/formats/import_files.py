"""Files of an import: one, or those of a folder or zip; the entry is ``open_files``."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from engrams.errors import InputError
from engrams.transfer.documents.document_kinds import find_zip_kind
from engrams.transfer.formats.archive_bundles import ArchiveBundle, find_bundles
from engrams.transfer.formats.decode import is_conversations
from engrams.transfer.formats.import_sources import STDIN, ImportFile, open_stdin

_IN_MEMORY = 64 << 20
"""Bytes of a copy that stay in memory; a larger one goes to a temporary file."""
_UNPACKED = 1 << 30
"""Bytes that a zip may always unpack to."""
_MAX_RATIO = 100
"""How many times its own size a zip may unpack to above that."""
_BESIDE_DATABASES = ("-wal", "-shm", "-journal", ".lock")
"""Ends of the names of files that belong to a database and are no files to import."""
_CHAT_MEMORIES = ("memories.json", "memory.json")


@contextmanager
def open_files(source: Path | str, name: str = "") -> Iterator[tuple[ImportFile, ...]]:
    """Open a file, folder, zip or ``-``; hidden files are passed over.

    ``name``: of the file, where its path does not tell it. InputError: there is nothing to import.
    """
    with ExitStack() as stack:
        if str(source) == STDIN:
            yield (_copy_stream("standard input", open_stdin(), stack),)
            return
        path = Path(source)
        if path.is_dir():
            files = tuple(_list_folder(path, stack))
        else:
            files = tuple(_list_file(path, name or path.name, stack))
        if not files:
            raise InputError(f"There is no file in {source}.", hint="Hidden files are passed over.")
        if len(files) == 1:
            yield files
            return
        bundles, single_files = find_bundles(files)
        yield (*(_join_bundle(bundle, path.name, stack) for bundle in bundles), *single_files)


def iter_folder(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a folder, each with its path below it; hidden files are passed over."""
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        # A link out of the folder shows a file that nobody chose, such as a key.
        leads_out = path.is_symlink() and not path.resolve().is_relative_to(root)
        if path.is_file() and not leads_out and not _is_hidden(name):
            yield path, name


def _list_folder(folder: Path, stack: ExitStack) -> Iterator[ImportFile]:
    for path, name in iter_folder(folder):
        yield from _list_file(path, name, stack)


def _list_file(path: Path, name: str, stack: ExitStack) -> Iterator[ImportFile]:
    """List a file, or the files in a zip; ``stack`` closes what is opened."""
    if path.exists() and not path.is_file():  # a pipe, which can be read only once
        yield _copy_stream(name, stack.enter_context(path.open("rb")), stack)
        return
    archive = _open_zip(path, stack)
    if archive is None:
        yield ImportFile(name, lambda: path, path)
        return
    _check_unpacked(archive, path, name)
    members = sorted(info.filename for info in archive.infolist() if not info.is_dir())
    if not members or any(map(is_conversations, members)):
        # ``decode`` opens the zip of a chat product, and says what is wrong with an empty one.
        yield ImportFile(name, lambda: path, path)
        members = [member for member in members if _is_chat_memory(member)]
    elif find_zip_kind(archive) is not None:
        yield ImportFile(name, lambda: path, path)
        return
    elif "[Content_Types].xml" in members or "mimetype" in members:
        raise InputError(
            f"{name} is a document of a kind that is not read.",
            hint="Save it as docx, ODT, PDF or text, then import that.",
        )
    else:
        members = [member for member in members if not _is_hidden(member)]
    for member in members:
        yield ImportFile(member, partial(_open_member, archive, member))


def _open_zip(path: Path, stack: ExitStack) -> zipfile.ZipFile | None:
    """Open a zip; None: it is none, or too damaged to tell."""
    try:
        return stack.enter_context(zipfile.ZipFile(path)) if zipfile.is_zipfile(path) else None
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return None


def _check_unpacked(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    """Check what a zip unpacks to; its entries may share their bytes. InputError: too much."""
    size = sum(info.file_size for info in archive.infolist())
    if size > max(_UNPACKED, _MAX_RATIO * path.stat().st_size):
        amount = f"{size:,} bytes, more than {_MAX_RATIO} times its own size"
        raise InputError(
            f"{name} would unpack to {amount}.",
            hint="Unpack it, and import the files that you need.",
        )


def _open_member(archive: zipfile.ZipFile, name: str) -> IO[Any]:
    try:
        return archive.open(name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
        raise InputError(
            f"It cannot be read: {problem}.", hint="Get a fresh copy without a password."
        ) from None


def _join_bundle(bundle: ArchiveBundle, source: str, stack: ExitStack) -> ImportFile:
    """Copy the files of one export into one."""
    copy = _open_copy(stack)
    for chunk in bundle.chunks():
        copy.write(chunk)
    return ImportFile(f"{source}/{bundle.name}", partial(_rewind, copy))


def _copy_stream(name: str, stream: IO[Any], stack: ExitStack) -> ImportFile:
    """Copy a stream that can be read only once."""
    copy = _open_copy(stack)
    shutil.copyfileobj(stream, copy)
    return ImportFile(name, partial(_rewind, copy))


def _open_copy(stack: ExitStack) -> IO[bytes]:
    return stack.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))


def _rewind(copy: IO[Any]) -> IO[Any]:
    copy.seek(0)
    return copy


def _is_chat_memory(name: str) -> bool:
    """Check for the file of a chat product's own memory, beside its conversations."""
    path = PurePosixPath(name)
    return path.name in _CHAT_MEMORIES or path.parent.name == "memories"


def _is_hidden(name: str) -> bool:
    return name.endswith(_BESIDE_DATABASES) or any(
        part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts
    )
