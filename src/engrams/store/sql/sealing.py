"""Sealing of rows that are stored: one after a change, or all of a database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from engrams.store.sql.census import SealedRow, change_census, find_difference, take_census
from engrams.store.sql.head_file import HeadFile
from engrams.store.sql.named_queries import (
    SqlConnection,
    execute,
    fetch_all,
    fetch_composed,
    fetch_one,
    query,
)
from engrams.store.sql.row_seals import RowSeals

_MAX_NAMED = 20
"""Memories that a text names."""


class AlteredRow(NamedTuple):
    """Row whose seal does not fit."""

    id: str
    owner: str
    """Key of the owner's scope."""


def is_row_sound(connection: SqlConnection, seals: RowSeals, number: int) -> bool:
    """Test the seal of one row."""
    return seals.is_sound(_read_row(connection, number))


def seal_row(connection: SqlConnection, seals: RowSeals, number: int) -> tuple[str, bytes, bytes]:
    """Seal one row as it is; return its id, the seal that it had, and the new one."""
    return _seal_as_read(connection, seals, number, _read_row(connection, number))


def _seal_as_read(
    connection: SqlConnection, seals: RowSeals, number: int, row: tuple[Any, ...]
) -> tuple[str, bytes, bytes]:
    *_, owner_key, old_seal = row
    seal = seals.seal(row, owner_key)
    execute(connection, "set_seal", seal, number)
    return row[0], bytes(old_seal), seal


def seal_counted(
    connection: SqlConnection, seals: RowSeals, owner_key: str, numbers: Iterable[int]
) -> None:
    """Seal an owner's rows as they are, and count them in the census."""
    sealed = [seal_row(connection, seals, number) for number in numbers]
    before = [SealedRow(record_id, old) for record_id, old, _ in sealed]
    after = [SealedRow(record_id, new) for record_id, _, new in sealed]
    change_census(connection, seals, owner_key, before, after)


def seal_rows(connection: SqlConnection, seals: RowSeals, numbers: Iterable[int]) -> int:
    """Seal rows as they are; return how many have another seal now."""
    count = 0
    for number in numbers:
        row = _read_row(connection, number)
        if not seals.is_sound(row):
            _seal_as_read(connection, seals, number, row)
            count += 1
    return count


def seal_owner(connection: SqlConnection, seals: RowSeals, owner_key: str) -> int:
    """Trust all rows of an owner as they are; return how many had no seal that fits."""
    seals.forgive()
    fetch_one(connection, "lock_owner")
    numbers = [number for (number,) in fetch_all(connection, "owned_numbers", owner_key)]
    count = seal_rows(connection, seals, numbers)
    take_census(connection, seals, owner_key)
    return count


def find_altered(
    connection: SqlConnection, seals: RowSeals, owner_key: str = ""
) -> Iterator[AlteredRow]:
    """Find the rows whose seals do not fit: an owner's, or of all that the connection shows."""
    every_row = query("select_records")
    if owner_key:
        rows = connection.execute(f"{every_row} {query('owned_rows')}", (owner_key,))
    else:
        rows = connection.execute(every_row, ())
    for row in rows:
        if not _is_whole(seals, row):
            yield AlteredRow(row[0], row[-2])


def _read_row(connection: SqlConnection, number: int) -> tuple[Any, ...]:
    (row,) = fetch_composed(
        connection, f"{query('select_records')} {query('sealed_row')}", (number,)
    )
    return row


def _is_whole(seals: RowSeals, row: tuple[Any, ...]) -> bool:
    try:
        return seals.is_sound(row)
    except (TypeError, ValueError):
        return False


def describe_altered(
    connection: SqlConnection, seals: RowSeals, head: HeadFile | None, owner_key: str = ""
) -> list[str]:
    """Describe what another program changed: an owner's rows, or all that the connection shows.

    ``head``: the last changes that are kept elsewhere.
    """
    texts: list[str] = []
    if seals.is_blind:
        return texts
    by_owner: dict[str, list[str]] = {}
    for row in find_altered(connection, seals, owner_key):
        by_owner.setdefault(row.owner, []).append(row.id)
    for owner, record_ids in sorted(by_owner.items()):
        names = ", ".join(sorted(record_ids)[:_MAX_NAMED])
        texts.append(f"{len(record_ids):,} memories of {owner} were changed or added: {names}.")
    owners = (
        [owner_key] if owner_key else [key for (key,) in fetch_all(connection, "census_owners")]
    )
    if head is not None and not owner_key:
        owners = sorted({*owners, *head.list_owners()})
    for owner in owners:
        difference = head.find_difference(connection, owner) if head else ""
        if difference := difference or find_difference(connection, seals, owner):
            names = ", ".join(
                record_id for (record_id,) in fetch_all(connection, "set_back", owner, _MAX_NAMED)
            )
            behind = f" Older than their history: {names}." if names else ""
            texts.append(f"Of the memories of {owner}, {difference}.{behind}")
    return texts
