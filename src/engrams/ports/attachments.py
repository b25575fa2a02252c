"""The ports of attachments: the bytes of pictures and sounds that documents were made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from engrams.core import Scope
from engrams.ports.write_batch import StorageUse


class AttachmentFiles(Protocol):
    """Port of the files themselves, of owners and by the hash of their contents.

    ``digest``: 32 hex digits, the ``version`` of a document. Another owner's file is not found.
    """

    def write(self, owner: Scope, digest: str, data: bytes, preview: bytes) -> None:
        """Keep a file, and a small copy of a picture; empty: there is none."""
        ...

    def read(self, owner: Scope, digest: str) -> bytes | None:
        """Read a file; None: it is not kept here."""
        ...

    def read_preview(self, owner: Scope, digest: str) -> bytes | None:
        """Read the small copy of a picture, a JPEG; None: there is none."""
        ...

    def has(self, owner: Scope, digest: str) -> bool:
        """True for a file that is kept."""
        ...

    def erase(self, owner: Scope, digest: str) -> bool:
        """Erase a file and its small copy; False: neither is kept."""
        ...

    def measure(self, owner: Scope) -> Mapping[str, int]:
        """Return the hashes of an owner's files, with their sizes in bytes."""
        ...


class AttachmentStore(AttachmentFiles, Protocol):
    """Port that keeps files, and counts them in the quota of their owner."""

    def reserve(self, owner: Scope, digest: str, size: int) -> None:
        """Count a file before memory tells of it; ``write`` or ``release`` follows.

        BudgetError: the owner's memory would grow beyond its quota.
        """
        ...

    def release(self, owner: Scope, digest: str) -> None:
        """Count a file no more that was reserved and not written."""
        ...


@dataclass(frozen=True, slots=True)
class AttachmentReservation:
    """A file that is to be counted in its owner's quota."""

    owner: Scope
    digest: str
    bytes: int
    at: datetime
    stored_sizes: Mapping[str, int]
    """Hashes and sizes of the files that the owner has: what else is counted as kept is gone."""


class AttachmentLedger(Protocol):
    """Port that counts the files of owners where their texts are counted."""

    def reserve_attachment(self, reservation: AttachmentReservation, quota: StorageUse) -> None:
        """Count a file. BudgetError: the owner's memory would grow beyond the quota."""
        ...

    def keep_attachment(self, owner: Scope, digest: str, size: int) -> None:
        """Note that a file is written: it counts until it is dropped."""
        ...

    def drop_attachment(self, owner: Scope, digest: str) -> None:
        """Count a file no more."""
        ...
