"""Reads of owners that hold until the owner's next commit.

The counterpart of ``sqlite/committed_reads``: processes on other machines commit too, so each use
asks for the mark of the last commit, together with what is read anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from engrams.ports import ReachSurvey, ScopeReach
from engrams.store.sql.owner_reads import OwnerReads
from engrams.text.text_caches import register_cache

MARK = "SELECT changed, CAST(xmin AS text) FROM owners WHERE owner = ?"
"""Statement for the mark of an owner's last commit: each one writes the owner's row, and says which
transaction it was.
"""

_MAX_ENTRIES = 8192
"""Records, edges and surveys of all owners that are kept."""
_MAX_OWNERS = 64


def read_commit(marks: Sequence[tuple[Any, ...]]) -> str:
    """Read the mark of an owner; "none" where nothing was written."""
    return "/".join(map(str, marks[0])) if marks else "none"


@dataclass(slots=True)
class MarkedReads(OwnerReads):
    """Reads of an owner, as of a commit or newer."""

    commit: str = ""
    """Mark of that commit; empty: nothing was read yet."""
    surveys: dict[ScopeReach, ReachSurvey] = field(default_factory=dict)


class OwnerReadCache:
    """Reads by owner, void once the owner's row has another mark.

    The mark is read before the rows: they may be newer than it says, never older. Whoever holds
    void reads goes on with them, and what is added to them is seen by nobody else.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._owners: dict[str, MarkedReads] = {}
        self._size = 0
        register_cache(self)

    def get(self, owner_key: str) -> MarkedReads:
        """Get the reads that held when the owner was asked for last."""
        return self._owners.get(owner_key) or MarkedReads()

    def accept(self, owner_key: str, reads: MarkedReads, commit: str) -> bool:
        """Test whether reads hold under a mark that was just read.

        Those without one get it, and take the place of others.
        """
        if reads.commit:
            return reads.commit == commit
        reads.commit = commit
        with self._lock:
            if self._size > _MAX_ENTRIES or len(self._owners) >= _MAX_OWNERS:
                self._owners = {}
                self._size = 0
            self._owners[owner_key] = reads
        return True

    def count(self, added: int) -> None:
        """Count what was added to reads; too many are dropped."""
        self._size += added
        if self._size > _MAX_ENTRIES:
            self.cache_clear()

    def cache_clear(self) -> None:
        """Forget all: purged texts must not stay in memory."""
        self._owners = {}
        self._size = 0
