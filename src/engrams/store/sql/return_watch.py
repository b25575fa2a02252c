"""Notice of a database that went back to an earlier state under a process that runs.

A restore by hand and a failover to a copy that lags both take changes away, and their numbers are
given out again. A process that trusts the numbers alone would then miss what is stored next.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from engrams.store.sql.named_queries import SqlConnection, fetch_first

_MAX_OWNERS = 1024
"""Owners whose last change is remembered; the one seen longest ago is forgotten first."""


class LastChange(NamedTuple):
    """Number of an owner's last change, and id of its record; 0 and empty: there is none."""

    number: int = 0
    record_id: str = ""


class ReturnWatch:
    """The last change that was seen of each owner.

    A record keeps its id, and the number of its last change only grows. So the record that was
    changed last is still there with this number or a higher one, unless the database went back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._newest: OrderedDict[str, LastChange] = OrderedDict()
        """By key of the owner."""

    def get_seen(self, owner_key: str) -> LastChange:
        """Return the last change that was seen of an owner."""
        return self._newest.get(owner_key, LastChange())

    def look(self, connection: SqlConnection, owner_key: str) -> bool:
        """Note the last change of an owner; True if one that was seen is gone."""
        seen = self.get_seen(owner_key)
        row = fetch_first(connection, "newest_change_beside", seen.record_id, owner_key)
        number, record_id, kept_number = row or (0, "", 0)
        return self.note(owner_key, seen, LastChange(number, record_id), kept_number)

    def note(
        self, owner_key: str, seen: LastChange, newest: LastChange, kept_number: int | None
    ) -> bool:
        """Note the last change of an owner; True if the one that was seen is gone.

        ``kept_number``: what the record that was seen has now as the number of its last change; 0 or
        None without such a record.
        """
        is_gone = (kept_number or 0) < seen.number
        with self._lock:
            if is_gone:
                self._newest.clear()
            if newest.number:
                self._newest[owner_key] = newest
                self._newest.move_to_end(owner_key)
            while len(self._newest) > _MAX_OWNERS:
                self._newest.popitem(last=False)
        return is_gone
