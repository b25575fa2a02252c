"""Exports that are one memory in several files, read as one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from engrams.frozen_data import dataclass
from engrams.transfer.formats.import_file import ImportFile

MANIFEST = "manifest.json"
_MOST = 1 << 20


_COGNEE_FILES = (
    "entities.jsonl",
    "facts.jsonl",
    "memories.jsonl",
    "memory_blocks.jsonl",
    "documents.jsonl",
    "episodes.jsonl",
)
_HINDSIGHT_FILES = ("documents/", "observations.json", "data/invalidated_memory_units.json")


@dataclass(frozen=True, slots=True)
class _ArchiveKind:
    """Kind of export.

    ``mark``: a key of its manifest. ``files``: those that hold memories, in the order to read them.
    """

    mark: str
    files: tuple[str, ...]


_KINDS = (
    _ArchiveKind("cogx_version", _COGNEE_FILES),
    _ArchiveKind("source_bank_id", _HINDSIGHT_FILES),
)


@dataclass(frozen=True, slots=True)
class ArchiveBundle:
    """Files of one export, to be read one after the other."""

    name: str
    members: tuple[ImportFile, ...]

    def pieces(self) -> Iterator[bytes]:
        """Yield the contents, with a line end after each file."""
        for member in self.members:
            origin = member.open()
            if isinstance(origin, str | Path):
                with Path(origin).open("rb") as file:
                    yield from _read_all(file)
            else:
                yield from _read_all(origin)
            yield b"\n"


def find_bundles(parts: Sequence[ImportFile]) -> tuple[list[ArchiveBundle], list[ImportFile]]:
    """Split files into exports of several files, and those that stand alone.

    Of such an export only what holds memories is kept: not its settings, logs and accounts.
    """
    bundles = []
    rest = list(parts)
    for manifest in [part for part in parts if part.name.rpartition("/")[2] == MANIFEST]:
        folder = manifest.name[: -len(MANIFEST)]
        kind = _find_kind(manifest)
        if kind is None:
            continue
        inside = [part for part in rest if part.name.startswith(folder)]
        members = [
            part for name in kind.files for part in inside if _fits(part.name[len(folder) :], name)
        ]
        rest = [part for part in rest if part not in inside]
        if members:
            bundles.append(
                ArchiveBundle(f"{folder}{kind.files[0]}" if folder else "archive", tuple(members))
            )
    return bundles, rest


def _find_kind(manifest: ImportFile) -> _ArchiveKind | None:
    origin = manifest.open()
    try:
        if isinstance(origin, str | Path):
            with Path(origin).open("rb") as file:
                held = json.loads(file.read(_MOST))
        else:
            held = json.loads(origin.read(_MOST))
    except (OSError, ValueError, RecursionError):
        return None
    return next((kind for kind in _KINDS if isinstance(held, dict) and kind.mark in held), None)


def _fits(name: str, wanted: str) -> bool:
    return (
        name.startswith(wanted) and name.endswith(".json")
        if wanted.endswith("/")
        else name == wanted
    )


def _read_all(file: IO[Any]) -> Iterator[bytes]:
    while piece := file.read(1 << 20):
        yield piece.encode() if isinstance(piece, str) else piece
