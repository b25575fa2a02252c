"""Places: where devices leave files for each other. A place is not trusted, and need not lock.

Files are named ``devices/<id>/<number>.<kind>``, and each is written by one device alone. A place may
show a file late, or in part: readers check that it is whole.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

from engrams.errors import StoreError

FileKind: TypeAlias = Literal["seg", "key", "att"]
_FOLDER = "devices"
_KINDS: Mapping[str, FileKind] = {"seg": "seg", "key": "key", "att": "att"}
_NAME = re.compile(rf"([0-9a-f]{{20}})/(\d{{1,12}})\.({'|'.join(_KINDS)})")


class PlaceFile(NamedTuple):
    """Name of a file in a place."""

    member: str
    """Id of the member that writes it."""
    number: int
    kind: FileKind
    """seg: a segment. key: a statement about members and keys. att: the file of a picture or sound."""

    @property
    def path(self) -> str:
        return f"{_FOLDER}/{self.member}/{self.number}.{self.kind}"

    @classmethod
    def parse(cls, path: str) -> PlaceFile | None:
        """Read a name; None: it is no file of a synchronised memory."""
        match = _NAME.fullmatch(path.removeprefix(f"{_FOLDER}/"))
        if match is None:
            return None
        return cls(match[1], int(match[2]), _KINDS[match[3]])


@dataclass(frozen=True, slots=True)
class PlaceAccess:
    """Name and password by which a place lets somebody in."""

    user: str = ""
    """Name at the place; of S3 the id of the access key."""
    password: str = field(default="", repr=False)
    """Password; of another engrams its API key, of S3 the secret key."""


NO_ACCESS = PlaceAccess()


class Place(Protocol):
    """Port of a place that carries files between devices.

    Every method raises StoreError where the place cannot be reached.
    """

    @property
    def address(self) -> str:
        """Address that means this place from every working folder."""
        ...

    @property
    def remains(self) -> str:
        """Sentence about files that were replaced and that this place keeps; empty: it keeps none."""
        ...

    def prepare(self) -> None:
        """Make what the place needs before its first file, where that can be made: a folder."""
        ...

    def list(self) -> frozenset[PlaceFile]:
        """List the files that are there."""
        ...

    def read(self, file: PlaceFile) -> bytes | None:
        """Return the contents of a file as far as they have arrived; None: it is not there."""
        ...

    def write(self, files: Mapping[PlaceFile, bytes]) -> None:
        """Write or replace files in their order, each whole or not at all."""
        ...

    def remove(self, files: Collection[PlaceFile]) -> None:
        """Remove files; those that are not there do not matter."""
        ...


class FolderPlace:
    """A folder: of Syncthing, a share, a stick, a mounted disk."""

    remains = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = str(folder)

    def prepare(self) -> None:
        """Make the folder."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise _unreachable(self.folder, problem) from problem

    def list(self) -> frozenset[PlaceFile]:
        return frozenset(self._iter_files())

    def _iter_files(self) -> Iterator[PlaceFile]:
        try:
            if not self.folder.is_dir():
                raise StoreError(
                    f"The place {self.folder} is not there.",
                    hint="Attach the disk, or start the program that carries the folder.",
                )
            for path in self.folder.glob(f"{_FOLDER}/*/*"):
                file = PlaceFile.parse(path.relative_to(self.folder).as_posix())
                if file is not None:
                    yield file
        except OSError as problem:
            raise _unreachable(self.folder, problem) from problem

    def read(self, file: PlaceFile) -> bytes | None:
        try:
            return (self.folder / file.path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise _unreachable(self.folder, problem) from problem

    def write(self, files: Mapping[PlaceFile, bytes]) -> None:
        for file, data in files.items():
            self._write(file, data)

    def remove(self, files: Collection[PlaceFile]) -> None:
        for file in files:
            self._remove(file)

    def _remove(self, file: PlaceFile) -> None:
        try:
            (self.folder / file.path).unlink(missing_ok=True)
        except OSError as problem:
            raise _unreachable(self.folder, problem) from problem

    def _write(self, file: PlaceFile, data: bytes) -> None:
        path = self.folder / file.path
        # Its name is none of a segment: a carrier may carry it, and nobody reads it.
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with fresh.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            fresh.replace(path)
        except OSError as problem:
            with suppress(OSError):
                fresh.unlink()
            raise _unreachable(self.folder, problem) from problem


def _unreachable(folder: Path, problem: OSError) -> StoreError:
    return StoreError(
        f"The place {folder} cannot be used: {problem.strerror or problem}.",
        hint="Repeat it when the folder can be read and written.",
    )
