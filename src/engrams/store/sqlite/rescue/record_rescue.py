"""Rescue of records from pages whose order is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, TypeAlias

from engrams.core import Record
from engrams.errors import EngramsError
from engrams.frozen_data import dataclass
from engrams.store.sql.row_conversion import FIELDS, decode_record
from engrams.store.sqlite.rescue.btree_page_decoder import (
    PageCell,
    RawDatabasePages,
    UnreadableCellError,
    decode_body,
    list_cells,
    read_varint,
    value_size,
)
from engrams.store.sqlite.rescue.value_repair import EMPTY_JSON, mend_row

TypesGuess: TypeAlias = tuple[list[int], int, int]
"""Serial types of a record, its values' start, and its size."""
_SERIALS = {0: 8, 1: 1, 2: 2, 3: 3, 4: 4, 6: 5, 8: 6}
"""Serial types of whole numbers by their bytes."""
_SLACK = 40
"""Serial types of more than one byte that a header may have."""
_ID = 13 + 2 * 26
"""Serial type of our ids."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """Columns of a table, and the types that each may hold."""

    name: str
    columns: tuple[str, ...]
    types: tuple[tuple[type, ...], ...]
    number: str = ""
    """Column that stands for the row's number, and is not stored."""

    def fits(self, values: list[Any]) -> bool:
        return len(values) == len(self.types) and all(map(isinstance, values, self.types))


def carve_records(
    pages: RawDatabasePages, page: bytes, shape: TableShape
) -> Iterator[tuple[Any, ...]]:
    """Find records anywhere in a page, whatever points to them."""
    pointed = {cell.start for cell in list_cells(page, first=False) if cell.number is not None}
    for start in sorted(
        pointed.union(found.start() for found in _header_pattern(len(shape.types)).finditer(page))
    ):
        number, at = _read_before(page, start)
        size, _ = _read_before(page, at)
        if values := _decode_damaged(pages, page, PageCell(number, start, size, 0), shape):
            yield (number, *values[1:])


def mend_record(shape: TableShape, values: list[Any]) -> tuple[Any, ...] | None:
    """Make a damaged record one that can be read.

    None where nothing says whose it is.
    """
    names = {name: place for place, name in enumerate(shape.columns)}
    owner = values[names["owner"]]
    scope = names["scope"]
    if not values[scope].startswith(owner):
        values[scope] = owner + values[scope][len(owner) :]
    row = mend_row("records", shape.columns, tuple(values))
    if row is None or decode_whole(shape, row) is not None:
        return row
    empty = {**EMPTY_JSON, "scope": owner}
    # One column at a time, so that the others keep what they hold; then all.
    for changed in (*({name: value} for name, value in empty.items()), empty):
        fresh = tuple(
            changed.get(name, value) for name, value in zip(shape.columns, row, strict=True)
        )
        if decode_whole(shape, fresh) is not None:
            return fresh
    return None


def is_whole(shape: TableShape, values: Sequence[Any]) -> bool:
    """Test that a row of ``records`` holds the text that was written."""
    record = decode_whole(shape, (1, *values[1:]))
    return record is not None and bytes.fromhex(record.hash) == values[shape.columns.index("hash")]


def decode_whole(shape: TableShape, row: tuple[Any, ...]) -> Record | None:
    """Decode a row of ``records``; None where it is nonsense."""
    try:
        held = dict(zip(shape.columns, row, strict=True))
        return decode_record(tuple(held[name] for name in FIELDS))
    except (EngramsError, ValueError, KeyError):
        return None


def _header_pattern(width: int) -> re.Pattern[bytes]:
    """Match the places where a record's header may begin.

    Three of its first four bytes are as they must be: size, number, id, owner.
    """
    size = rb"[\x%02x-\x%02x]" % (width + 1, width + _SLACK)
    id = rb"\x%02x" % _ID
    owner = b"[" + b"".join(rb"\x%02x" % kind for kind in range(13, 128, 2)) + rb"\x80-\xff]"
    return re.compile(
        rb"(?s)(?=%b\x00%b|%b\x00.%b|%b.%b%b|.\x00%b%b)"
        % (size, id, size, owner, size, id, owner, id, owner)
    )


def _read_before(page: bytes, end: int) -> tuple[int, int]:
    """Read the variable-length integer that ends before a place.

    Its value and start.
    """
    at = max(end - 1, 0)
    while 0 < at > end - 9 and page[at - 1] & 0x80:
        at -= 1
    return read_varint(page, at)[0], at


def _decode_damaged(
    pages: RawDatabasePages, page: bytes, cell: PageCell, shape: TableShape
) -> list[Any]:
    """Decode a record with one damaged byte before its values.

    Empty where nothing fits.
    """
    best: list[Any] = []
    guesses = _guess_types(page[cell.start :], cell.size, shape)
    for types, start, payload in _payloads(pages, page, cell, guesses):
        try:
            values = decode_body(payload, types, start)
        except UnreadableCellError:
            continue
        if not shape.fits(values):
            continue
        if is_whole(shape, values):
            return values
        if not best and (
            start == page[cell.start] or decode_whole(shape, (1, *values[1:])) is not None
        ):
            best = values
    return best


def _payloads(
    pages: RawDatabasePages, page: bytes, cell: PageCell, guesses: Iterator[TypesGuess]
) -> Iterator[tuple[list[int], int, bytes]]:
    """Contents of a record by each guess of its types.

    Then those with a damaged pointer to another page.
    """
    first = next(guesses)
    for types, start, size in chain((first,), guesses):
        with suppress(UnreadableCellError):
            yield types, start, pages.payload(page, replace(cell, size=size))
    types, start, size = first
    if 0 < start == page[cell.start] and size == cell.size:
        for payload in pages.mended_payloads(page, cell):
            yield types, start, payload


def _guess_types(record: bytes, size: int, shape: TableShape) -> Iterator[TypesGuess]:
    """Possible serial types of a record, most likely ones first."""
    width = len(shape.types)
    types = list[int]()
    at = 1
    while len(types) < width and at < len(record):
        kind, at = read_varint(record, at)
        types.append(kind)
    # The length of the header or of the record may be overwritten.
    yield types, at, at + sum(map(value_size, types))
    end = record[0]
    if width < end < min(width + _SLACK, len(record)):
        yield from reversed(list(_replace_one(record, end, size, shape)))


def _replace_one(record: bytes, end: int, size: int, shape: TableShape) -> Iterator[TypesGuess]:
    """Serial types with one of them derived from the record's size."""
    tails: dict[int, tuple[list[int], int]] = {end: ([], 0)}
    for at in range(end - 1, 0, -1):
        kind, follows = read_varint(record, at)
        if follows in tails:
            types, taken = tails[follows]
            tails[at] = [kind, *types], taken + value_size(kind)
    head = list[int]()
    left = size - end
    at = 1
    while at < end and left >= 0:
        for after, taken in (tails[at + step] for step in (1, 2, 3) if at + step in tails):
            if len(head) + 1 + len(after) == len(shape.types) and taken <= left:
                yield [*head, _serial_type(shape.types[len(head)], left - taken), *after], end, size
        kind, at = read_varint(record, at)
        head.append(kind)
        left -= value_size(kind)


def _serial_type(kinds: tuple[type, ...], length: int) -> int:
    """Serial type of a column's value by its length."""
    if str in kinds:
        return 13 + 2 * length
    if bytes in kinds:
        return 12 + 2 * length
    if type(None) in kinds and not length:
        return 0
    return 7 if float in kinds and length == 8 else _SERIALS.get(length, 0)
