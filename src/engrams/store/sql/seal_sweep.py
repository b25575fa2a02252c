"""Sweep of an owner's seals: rows that another program hid are named, though no read meets them.

A read decodes what its filters let through. Whoever changes the status, the kind, the scope or the end
of a memory takes it out of lists and searches, and its seal would be compared by nobody.
"""

from __future__ import annotations

import time

from engrams.store.sql.named_queries import SqlConnection, fetch_composed, query
from engrams.store.sql.row_seals import READ_COLUMNS, Row, RowSeals, describe_misfit

MAX_ROWS = 200
"""Rows of an owner whose seals are compared at one look. It takes 10 µs a row, and a read waits for it."""
_PAUSE = 0.2
"""Seconds until the next rows of a larger memory are looked at."""
_SECONDS = 60.0
"""Seconds until a memory is looked at again from its first row."""
_MAX_OWNERS = 1_000
"""Owners whose last look is remembered; then all are forgotten."""
_START = (-(1 << 63), 0)
_COLUMNS = ("changed", "number", *READ_COLUMNS)


class SealSweep:
    """The seals of owners' rows, compared in the order of their changes, a part at each look."""

    def __init__(self, seals: RowSeals) -> None:
        self._seals = seals
        self._next_look: dict[str, float] = {}
        """By key of the owner, on the monotonic clock."""
        self._last_rows: dict[str, tuple[int, int]] = {}
        """Change and number of the row that was looked at last, by key of the owner."""

    def is_due(self, owner_key: str) -> bool:
        """Test whether it is time to look at the next rows of an owner."""
        seals = self._seals
        is_soon = time.monotonic() < self._next_look.get(owner_key, 0.0)
        return not (is_soon or seals.is_blind or seals.is_foreign or seals.includes_altered)

    def look(self, connection: SqlConnection, owner_key: str) -> None:
        """Compare the next rows of an owner with their seals, and name those that were changed.

        AlteredError: there is one, and reads are to be refused.
        """
        statement = f"SELECT {', '.join(_COLUMNS)} FROM ({query('rows_after')}) AS owned"  # noqa: S608 - column names come from the fields of Record
        start = self._last_rows.get(owner_key, _START)
        rows = fetch_composed(connection, statement, (owner_key, *start, MAX_ROWS))
        for _, _, *columns in rows:
            row = tuple(columns)
            if not self._fits(row):
                problem = describe_misfit(row)
                if self._seals.refuses:
                    raise problem
                self._seals.tell(row, problem)
        if len(self._next_look) >= _MAX_OWNERS:
            self._next_look.clear()
            self._last_rows.clear()
        if len(rows) == MAX_ROWS:
            self._last_rows[owner_key] = rows[-1][:2]
            self._next_look[owner_key] = time.monotonic() + _PAUSE
        else:
            self._last_rows.pop(owner_key, None)
            self._next_look[owner_key] = time.monotonic() + _SECONDS

    def _fits(self, row: Row) -> bool:
        try:
            return self._seals.is_sound(row)
        except (TypeError, ValueError):
            return False
