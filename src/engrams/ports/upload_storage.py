"""The port of uploads: files that wait to be imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from engrams.core import Scope
from engrams.errors import NotFoundError
from engrams.frozen_data import dataclass


def build_missing_upload() -> NotFoundError:
    """Build the error for an upload that is not there."""
    return NotFoundError("There is no such import here.", hint="GET /v1/imports lists them.")


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """Upload as it is stored."""

    about: str
    """JSON that describes it."""
    has_file: bool
    """False: its contents were erased already."""
    touched: datetime
    """Time of the last write to it."""


class UploadStorage(Protocol):
    """Port that stores uploads; another owner's id is not found.

    Any method but ``create``: NotFoundError where there is no such upload.
    """

    is_shared: bool
    """True where processes on other machines take its imports."""

    def create(self, owner: Scope, id: str, about: str) -> None:
        """Make an upload without contents, described by the JSON ``about``."""
        ...

    def read(self, owner: Scope, id: str) -> str:
        """Return the JSON that describes an upload."""
        ...

    def write(self, owner: Scope, id: str, about: str) -> None:
        """Replace the JSON that describes an upload."""
        ...

    def list(self, owner: Scope) -> tuple[str, ...]:
        """List the JSON of an owner's uploads, newest first."""
        ...

    def measure(self, owner: Scope, id: str) -> int:
        """Count the bytes that were received."""
        ...

    def append(self, owner: Scope, id: str, offset: int, piece: bytes) -> None:
        """Append a piece. ConflictError: ``offset`` is not the end."""
        ...

    def open(self, owner: Scope, id: str) -> AbstractContextManager[Path]:
        """Lend a path to the contents within the block."""
        ...

    def erase(self, owner: Scope, id: str) -> None:
        """Erase the contents; the JSON stays."""
        ...

    def drop(self, owner: Scope, id: str) -> None:
        """Remove an upload with its contents."""
        ...

    def iter_all(self) -> Iterator[StoredUpload]:
        """Yield the uploads of all owners."""
        ...


class UploadPieceStorage(UploadStorage, Protocol):
    """Port that stores uploads in pieces, which a purge rewrites."""

    def iter_pieces(self, owner: Scope, id: str) -> Iterator[tuple[int, bytes]]:
        """Read the contents piece by piece, each with its offset in bytes."""
        ...

    def replace_piece(self, owner: Scope, id: str, start: int, piece: bytes) -> None:
        """Overwrite a piece by one of the same length."""
        ...
