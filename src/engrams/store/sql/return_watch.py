"""Notice of a database that went back to an earlier state under a process that runs.

A restore by hand and a failover to a copy that lags both take changes away, and their numbers are
given out again. A process that trusts the numbers alone would then miss what is stored next.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from engrams.store.sql.named_queries import SqlConnection, fetch_first

_MAX_OWNERS = 1024
"""Owners whose last change is remembered; the one seen longest ago is forgotten first."""


class ReturnWatch:
    """The last change that was seen of each owner.

    A record keeps its id, and the number of its last change only grows. So the record that was
    changed last is still there with this number or a higher one, unless the database went back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._newest: OrderedDict[str, tuple[int, str]] = OrderedDict()
        """By key of the owner: number of the change, and id of its record."""

    def look(self, connection: SqlConnection, owner_key: str) -> bool:
        """Note the last change of an owner; True if one that was seen is gone."""
        seen = self._newest.get(owner_key)
        newest = fetch_first(connection, "newest_change", owner_key) or (0, "")
        is_gone = False
        if seen is not None and seen != newest:
            row = fetch_first(connection, "change_of", seen[1], owner_key)
            is_gone = row is None or row[0] < seen[0]
        with self._lock:
            if is_gone:
                self._newest.clear()
            if newest[0]:
                self._newest[owner_key] = newest
                self._newest.move_to_end(owner_key)
            while len(self._newest) > _MAX_OWNERS:
                self._newest.popitem(last=False)
        return is_gone
