"""The port of attachments: the bytes of pictures and sounds that documents were made of."""

from __future__ import annotations

from typing import Protocol

from engrams.core import Scope


class AttachmentStore(Protocol):
    """Port that keeps files of owners by the hash of their contents.

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
