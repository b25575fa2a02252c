"""Exports that are one memory in several files, read as one.

Such an export has a manifest; ``find_bundles`` finds it in a folder or zip, and lists the files that
hold memories in the order in which they are to be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.transfer.formats.import_sources import ImportFile

_MANIFEST = "manifest.json"
_MANIFEST_BYTES = 1 << 20
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class _ArchiveKind:
    """Kind of export."""

    mark: str
    """Key that only its manifest has."""
    files: tuple[str, ...]
    """Files that hold memories, in the order to read them; ``…/``: all JSON of a folder."""


_KINDS = (
    _ArchiveKind(  # cognee; entities first, because facts name them by id
        "cogx_version",
        (
            "entities.jsonl",
            "facts.jsonl",
            "memories.jsonl",
            "memory_blocks.jsonl",
            "documents.jsonl",
            "episodes.jsonl",
        ),
    ),
    _ArchiveKind(  # Hindsight
        "source_bank_id",
        ("documents/", "observations.json", "data/invalidated_memory_units.json"),
    ),
)


@dataclass(frozen=True, slots=True)
class ArchiveBundle:
    """Files of one export, to be read one after the other."""

    name: str
    files: tuple[ImportFile, ...]

    def chunks(self) -> Iterator[bytes]:
        """Yield the contents, with a line end after each file."""
        for file in self.files:
            with _open_source(file) as stream:
                while data := stream.read(_CHUNK):
                    yield data.encode() if isinstance(data, str) else data
            yield b"\n"


def find_bundles(files: Sequence[ImportFile]) -> tuple[list[ArchiveBundle], list[ImportFile]]:
    """Split files into exports of several files, and those that stand alone.

    Of such an export only what holds memories is read: not its settings, logs and accounts.
    """
    bundles = []
    single_files = list(files)
    for manifest in files:
        if manifest.name.rpartition("/")[2] != _MANIFEST:
            continue
        kind = _find_kind(manifest)
        if kind is None:
            continue
        folder = manifest.name[: -len(_MANIFEST)]
        inside = [file for file in single_files if file.name.startswith(folder)]
        bundled = [
            file
            for pattern in kind.files
            for file in inside
            if _matches(file.name[len(folder) :], pattern)
        ]
        single_files = [file for file in single_files if file not in inside]
        if bundled:
            name = f"{folder}{kind.files[0]}" if folder else "archive"
            bundles.append(ArchiveBundle(name, tuple(bundled)))
    return bundles, single_files


def _find_kind(manifest: ImportFile) -> _ArchiveKind | None:
    try:
        with _open_source(manifest) as stream:
            data = json.loads(stream.read(_MANIFEST_BYTES))
    except InputError:  # it cannot be opened, which its user must hear
        raise
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    return next((kind for kind in _KINDS if kind.mark in data), None)


def _matches(name: str, pattern: str) -> bool:
    """Match a file's name with a name, or with a folder whose JSON is meant."""
    if pattern.endswith("/"):
        return name.startswith(pattern) and name.endswith(".json")
    return name == pattern


@contextmanager
def _open_source(file: ImportFile) -> Iterator[IO[Any]]:
    """Open a file; a stream is left open, for its owner closes it."""
    source = file.open()
    if isinstance(source, str | Path):
        with Path(source).open("rb") as stream:
            yield stream
    else:
        yield source
