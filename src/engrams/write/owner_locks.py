"""Locks of owners whose memory is being changed in this process."""

from __future__ import annotations

from threading import Lock
from weakref import WeakValueDictionary

from engrams.core import Scope


class OwnerLocks:
    """One lock for each owner, as long as somebody holds it. Thread safe."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._guard = Lock()

    def get(self, owner: Scope) -> Lock:
        """Return the lock of an owner."""
        with self._guard:
            return self._locks.setdefault(owner.key, Lock())
