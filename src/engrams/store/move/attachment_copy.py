"""Copy of the files of documents, from a home's folder to a fleet's table or back."""

from __future__ import annotations

from collections.abc import Iterable

from engrams.core import Scope
from engrams.errors import ConflictError
from engrams.ports import AttachmentStore


def copy_attachments(
    source: AttachmentStore, target: AttachmentStore, owners: Iterable[Scope]
) -> int:
    """Copy the files that the target has not; return the number of all.

    StoreError: another program changed one. ConflictError: one was erased meanwhile.
    """
    count = 0
    for owner in owners:
        copied_digests = target.measure(owner).keys()
        for digest in source.measure(owner):
            count += 1
            if digest in copied_digests:
                continue
            data = source.read(owner, digest)
            if data is None:
                raise ConflictError(
                    "The file of a document was erased meanwhile.",
                    hint="Stop the programs that write to memory, and move again.",
                )
            preview = source.read_preview(owner, digest) or b""
            target.write(owner, digest, data, preview)
    return count
