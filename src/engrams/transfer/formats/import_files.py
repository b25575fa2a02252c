"""Files of an import: one, or those of a folder or zip."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from engrams.errors import InputError
from engrams.transfer.formats.archive_bundles import ArchiveBundle, find_bundles
from engrams.transfer.formats.decode import STDIN, is_conversations, open_stdin
from engrams.transfer.formats.import_file import ImportFile

__all__ = ["ImportFile"]

_IN_MEMORY = 64 << 20
_UNPACKED = 1 << 30
_TIMES = 100
"""Bytes that a zip may always unpack to, and times its own size above it."""
_BESIDE_DATABASES = ("-wal", "-shm", "-journal", ".lock")
_CHAT_MEMORIES = ("memories.json", "memory.json")


@contextmanager
def open_parts(source: Path | str, name: str = "") -> Iterator[tuple[ImportFile, ...]]:
    """Open a file, folder, zip or ``-``; hidden files are passed over.

    ``name``: of the file, where its path does not tell it. InputError: there is nothing to import.
    """
    with ExitStack() as held:
        if str(source) == STDIN:
            yield (_copy_stream("standard input", open_stdin(), held),)
            return
        path = Path(source)
        found = tuple(
            _list_folder(path, held) if path.is_dir() else _list_file(path, name or path.name, held)
        )
        if not found:
            raise InputError(f"There is no file in {source}.", hint="Hidden files are passed over.")
        bundles, rest = find_bundles(found) if len(found) > 1 else ([], list(found))
        yield (*(_join_bundle(bundle, path.name, held) for bundle in bundles), *rest)


def _list_folder(folder: Path, held: ExitStack) -> Iterator[ImportFile]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not _is_hidden(name):
            yield from _list_file(path, name, held)


def _list_file(path: Path, name: str, held: ExitStack) -> Iterator[ImportFile]:
    if path.exists() and not path.is_file():
        yield _copy_stream(name, held.enter_context(path.open("rb")), held)
        return
    try:
        archive = held.enter_context(zipfile.ZipFile(path)) if zipfile.is_zipfile(path) else None
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        archive = None
    if archive is not None:
        _check_unpacked(archive, path, name)
    inside = [each.filename for each in archive.infolist() if not each.is_dir()] if archive else []
    if archive is None or not inside or any(map(is_conversations, inside)):
        # Reading it says what is wrong with it.
        yield ImportFile(name, lambda: path, path)
        if archive is not None:
            yield from (
                ImportFile(each, _opener(archive, each))
                for each in sorted(inside)
                if _is_chat_memory(each)
            )
    elif "[Content_Types].xml" in inside or "mimetype" in inside:
        raise InputError(
            f"{name} is an Office document or a book, not text.",
            hint="Save it as text or Markdown, then import that.",
        )
    else:
        yield from (
            ImportFile(each, _opener(archive, each))
            for each in sorted(inside)
            if not _is_hidden(each)
        )


def _check_unpacked(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    """Check what a zip unpacks to; its entries may share their bytes."""
    size = sum(each.file_size for each in archive.infolist())
    if size > max(_UNPACKED, _TIMES * path.stat().st_size):
        much = f"{size:,} bytes, more than {_TIMES} times its own size"
        raise InputError(
            f"{name} would unpack to {much}.", hint="Unpack it, and import what you need of it."
        )


def _opener(archive: zipfile.ZipFile, name: str) -> Callable[[], IO[Any]]:
    def open_member() -> IO[Any]:
        try:
            return archive.open(name)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
            raise InputError(
                f"It cannot be read: {problem}.", hint="Get a fresh copy without a password."
            ) from None

    return open_member


def _join_bundle(bundle: ArchiveBundle, source: str, held: ExitStack) -> ImportFile:
    """Copy the files of one export into one."""
    copy = held.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - ``held`` closes it
    for piece in bundle.pieces():
        copy.write(piece)
    return ImportFile(f"{source}/{bundle.name}", _rewinder(copy))


def _copy_stream(name: str, stream: IO[Any], held: ExitStack) -> ImportFile:
    """Copy what can be read only once."""
    copy = held.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - ``held`` closes it
    shutil.copyfileobj(stream, copy)
    return ImportFile(name, _rewinder(copy))


def _rewinder(copy: IO[Any]) -> Callable[[], IO[Any]]:
    def rewind() -> IO[Any]:
        copy.seek(0)
        return copy

    return rewind


def _is_chat_memory(name: str) -> bool:
    """Tell the file of a chat product's own memory, beside its conversations."""
    path = PurePosixPath(name)
    return path.name in _CHAT_MEMORIES or path.parent.name == "memories"


def _is_hidden(name: str) -> bool:
    return name.endswith(_BESIDE_DATABASES) or any(
        part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts
    )
