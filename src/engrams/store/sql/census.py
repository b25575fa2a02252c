"""Census of an owner's rows: which there are, each with its seal, in one number.

A seal tells of a row that is there. The census tells of one that was taken away, added, or put back
to an earlier state. It is a sum of keyed hashes, so that a commit changes it by what it changed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import NamedTuple

from engrams.core import Meta
from engrams.errors import AlteredError
from engrams.store.sql.head_file import HeadFile
from engrams.store.sql.named_queries import SqlConnection, execute, fetch_all, fetch_first
from engrams.store.sql.row_seals import DOCTOR, RowSeals

_SUM_BYTES = 16
_MAX_COUNTED = 2_000
"""Rows of an owner that are counted when they are read."""
_MAX_OWNERS = 1_000
"""Owners whose last look is remembered; then all are forgotten."""
_SECONDS = 60.0
"""Seconds until an owner's rows are counted again."""
_MODULUS = 1 << 8 * _SUM_BYTES
_log = logging.getLogger(__name__)


class SealedRow(NamedTuple):
    """Id and seal of a row."""

    id: str
    seal: bytes


class Census(NamedTuple):
    """Number of an owner's rows, and the sum of their hashes."""

    total: int = 0
    sum: int = 0

    def with_changes(
        self, seals: RowSeals, before: Iterable[SealedRow], after: Iterable[SealedRow]
    ) -> Census:
        """Count rows that changed: as they were, and as they are."""
        total, sum_ = self
        for row in before:
            total -= 1
            sum_ -= seals.hash_row(row.id, row.seal)
        for row in after:
            total += 1
            sum_ += seals.hash_row(row.id, row.seal)
        return Census(total, sum_ % _MODULUS)


def change_census(
    connection: SqlConnection,
    seals: RowSeals,
    owner_key: str,
    before: Iterable[SealedRow],
    after: Iterable[SealedRow],
) -> None:
    """Count an owner's changed rows, inside the transaction that changed them.

    A census whose own seal does not fit stays as it is: no write makes it look sound.
    """
    census = _read(connection, seals, owner_key)
    if census is not None:
        _save(connection, seals, owner_key, census.with_changes(seals, before, after))


def take_census(connection: SqlConnection, seals: RowSeals, owner_key: str) -> None:
    """Count all rows of an owner anew, and trust them."""
    _save(connection, seals, owner_key, _measure(connection, seals, owner_key))


def find_difference(connection: SqlConnection, seals: RowSeals, owner_key: str) -> str:
    """Say how an owner's rows differ from their census; empty: they do not."""
    census = _read(connection, seals, owner_key)
    if census is None:
        return "their census was changed"
    measured = _measure(connection, seals, owner_key)
    if census == measured:
        return ""
    if census.total != measured.total:
        return f"there are {measured.total:,}, and there should be {census.total:,}"
    return "some were put back to an earlier state, or exchanged"


def read_head(connection: SqlConnection, owner_key: str) -> Meta:
    """Read the head of an owner's memory: number and census of the rows, last change."""
    total, sum_, _ = fetch_first(connection, "read_census", owner_key) or (0, b"", b"")
    change, record_id = fetch_first(connection, "newest_change", owner_key) or (0, "")
    return {
        "memories": total,
        "census": bytes(sum_).hex(),
        "change": change,
        "last": record_id,
    }


class CensusWatch:
    """Comparison of owners' rows with their census when they are read, now and then.

    Large memories are left to the doctor: counting takes 2 µs a row.
    """

    def __init__(self, seals: RowSeals, head: HeadFile | None = None) -> None:
        self._seals = seals
        self._head = head
        self._next_look: dict[str, float] = {}
        """By key of the owner, on the monotonic clock."""
        self._told: set[str] = set()

    def is_due(self, owner_key: str) -> bool:
        """Test whether it is time to look at an owner's rows."""
        is_soon = time.monotonic() < self._next_look.get(owner_key, 0.0)
        return not is_soon and not self._seals.is_blind

    def look(self, connection: SqlConnection, owner_key: str) -> None:
        """Compare an owner's rows on one state of them, and name a difference in the log once.

        AlteredError: there is one, and reads are to be refused.
        """
        now = time.monotonic()
        if len(self._next_look) >= _MAX_OWNERS:
            self._next_look.clear()
            self._told.clear()
        difference = self._head.find_difference(connection, owner_key) if self._head else ""
        row = fetch_first(connection, "read_census", owner_key)
        if not difference and row is not None and row[0] <= _MAX_COUNTED:
            difference = find_difference(connection, self._seals, owner_key)
        if not difference:
            self._next_look[owner_key] = now + _SECONDS
            return
        problem = AlteredError(
            f"Another program changed the memories of {owner_key}: {difference}.", hint=DOCTOR
        )
        older = fetch_all(connection, "set_back", owner_key, _MAX_COUNTED)
        self._seals.distrust(owner_key, (record_id for (record_id,) in older))
        if self._seals.refuses:
            raise problem
        self._next_look[owner_key] = now + _SECONDS
        if owner_key not in self._told and not self._seals.is_foreign:
            self._told.add(owner_key)
            _log.warning("%s %s", problem.message, DOCTOR)


def _measure(connection: SqlConnection, seals: RowSeals, owner_key: str) -> Census:
    rows = fetch_all(connection, "owned_seals", owner_key)
    return Census().with_changes(
        seals, (), (SealedRow(record_id, bytes(seal)) for record_id, seal in rows)
    )


def _read(connection: SqlConnection, seals: RowSeals, owner_key: str) -> Census | None:
    """Read the census that was counted last; None: another program changed it."""
    row = fetch_first(connection, "read_census", owner_key)
    if row is None or not bytes(row[2]):
        return Census()
    census = Census(row[0], int.from_bytes(bytes(row[1]), "big"))
    return census if bytes(row[2]) == _seal(seals, owner_key, census) else None


def _save(connection: SqlConnection, seals: RowSeals, owner_key: str, census: Census) -> None:
    total, sum_ = census
    seal = _seal(seals, owner_key, census)
    execute(connection, "save_census", owner_key, total, sum_.to_bytes(_SUM_BYTES, "big"), seal)


def _seal(seals: RowSeals, owner_key: str, census: Census) -> bytes:
    return seals.seal_values("census", [owner_key, census.total, str(census.sum)])
