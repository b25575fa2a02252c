"""Sweep of an owner's seals: rows that another program hid are named, though no read meets them.

A read decodes what its filters let through. Whoever changes the status, the kind, the scope or the end
of a memory takes it out of lists and searches, and its seal would be compared by nobody.
"""

from __future__ import annotations

from engrams.store.sql.named_queries import SqlConnection, fetch_composed, query
from engrams.store.sql.row_seals import READ_COLUMNS, Row, RowSeals, describe_misfit

MAX_ROWS = 2_000
"""Rows of an owner whose seals are compared at one look: it takes 10 µs a row."""
_START = (-(1 << 63), 0)
_COLUMNS = ("changed", "number", *READ_COLUMNS)


class SealSweep:
    """The seals of owners' rows, compared in the order of their changes, a part at each look."""

    def __init__(self, seals: RowSeals) -> None:
        self._seals = seals
        self._next_rows: dict[str, tuple[int, int]] = {}
        """Change and number of the row that was looked at last, by key of the owner."""

    def forget(self) -> None:
        """Begin with the first row of every owner again."""
        self._next_rows.clear()

    def look(self, connection: SqlConnection, owner_key: str) -> None:
        """Compare the next rows of an owner with their seals, and name those that were changed.

        AlteredError: there is one, and reads are to be refused.
        """
        if self._seals.is_foreign or self._seals.includes_altered:
            return
        statement = f"SELECT {', '.join(_COLUMNS)} FROM ({query('rows_after')}) AS owned"  # noqa: S608 - column names come from the fields of Record
        start = self._next_rows.get(owner_key, _START)
        rows = fetch_composed(connection, statement, (owner_key, *start, MAX_ROWS))
        for _, _, *columns in rows:
            row = tuple(columns)
            if not self._fits(row):
                problem = describe_misfit(row)
                if self._seals.refuses:
                    raise problem
                self._seals.tell(row, problem)
        if len(rows) == MAX_ROWS:
            self._next_rows[owner_key] = rows[-1][:2]
        else:
            self._next_rows.pop(owner_key, None)

    def _fits(self, row: Row) -> bool:
        try:
            return self._seals.is_sound(row)
        except (TypeError, ValueError):
            return False
