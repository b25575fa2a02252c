"""Files of pictures and sounds, counted in the quota of their owner and checked when they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from engrams.core import Scope
from engrams.errors import StoreError
from engrams.ports import (
    AttachmentFiles,
    AttachmentLedger,
    AttachmentReservation,
    Clock,
    StorageUse,
)

_DIGEST_BYTES = 16


class CountedAttachments:
    """Attachments of a home or a fleet (the port ``AttachmentStore``).

    ``files``: keeps them; ``ledger``: counts them.
    """

    def __init__(
        self, files: AttachmentFiles, ledger: AttachmentLedger, quota: StorageUse, clock: Clock
    ) -> None:
        self._files = files
        self._ledger = ledger
        self._quota = quota
        self._clock = clock
        self.has = files.has
        self.read_preview = files.read_preview

    def reserve(self, owner: Scope, digest: str, size: int) -> None:
        sizes = self.measure(owner)
        reservation = AttachmentReservation(owner, digest, size, self._clock(), sizes)
        self._ledger.reserve_attachment(reservation, self._quota)

    def release(self, owner: Scope, digest: str) -> None:
        if not self._files.has(owner, digest):
            self._ledger.drop_attachment(owner, digest)

    def write(self, owner: Scope, digest: str, data: bytes, preview: bytes) -> None:
        self._files.write(owner, digest, data, preview)
        self._ledger.keep_attachment(owner, digest, len(data))

    def read(self, owner: Scope, digest: str) -> bytes | None:
        """Read a file. StoreError: another program changed it."""
        data = self._files.read(owner, digest)
        if data is not None:
            actual_digest = hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()
            if actual_digest != digest:
                raise StoreError(
                    "The file of a document was changed by another program than engrams.",
                    hint="Add the document again, or purge it.",
                )
        return data

    def erase(self, owner: Scope, digest: str) -> bool:
        is_erased = self._files.erase(owner, digest)
        self._ledger.drop_attachment(owner, digest)
        return is_erased

    def measure(self, owner: Scope) -> Mapping[str, int]:
        return self._files.measure(owner)
