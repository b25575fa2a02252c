"""Port of the files that keep owners' search indexes between processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    from engrams.index import OwnerSearchIndex


@dataclass(frozen=True, slots=True)
class SegmentKey:
    """Name of one index: an owner's, for the vectors of one model."""

    owner: str
    """Key of the owner's scope."""
    model: int
    """Number of the embedding model in this database; 0: none."""
    dimension: int
    """Numbers in one of the model's vectors."""


class IndexFileStore(Protocol):
    """Index files on disk, mapped by several processes."""

    def load(self, connection: Any, key: SegmentKey) -> OwnerSearchIndex | None:
        """Map an owner's index that the database marked, if any."""
        ...

    def read_epoch(self, connection: Any) -> int:
        """Read the number of purges; older indexes must not be written."""
        ...

    def write(self, key: SegmentKey, index: OwnerSearchIndex, epoch: int) -> bool:
        """Write an index of this epoch; False: it cannot be written."""
        ...

    def unmark(self, connection: Any, owner_key: str) -> None:
        """Invalidate an owner's index file."""
        ...

    def drop(self, owner_key: str) -> int:
        """Remove an owner's file; return the number of files perhaps left."""
        ...
