"""Records carved out of pages whose order is lost.

A record of SQLite begins with a header of serial types: one number for each column, which tells its
type and its size. Headers of our records are found by pattern, whatever points to them; one damaged
byte of a header is mended by what the sizes of all values must add up to. Source of the format:
SQLite's database file format, section 2.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from engrams.core import Record
from engrams.errors import EngramsError
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
from engrams.store.sqlite.rescue.value_check import EMPTY_JSON, replace_unreadable

_NULL_TYPE = 0
_FLOAT_TYPE = 7
_INTEGER_TYPES = {0: 8, 1: 1, 2: 2, 3: 3, 4: 4, 6: 5, 8: 6}
"""Serial types of whole numbers by their bytes."""
_MAX_LONG_TYPES = 40
"""Bytes beyond one a column that a header may have: long texts have types of several bytes."""
_ID_LENGTH = 26
_ID_TYPE = 13 + 2 * _ID_LENGTH
"""Serial type of our ids: a text of 26 characters."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """Columns of a table, and the types that each may hold."""

    name: str
    columns: tuple[str, ...]
    types: tuple[tuple[type, ...], ...]
    number_column: str = ""
    """Column that stands for the row's number, and is not stored; empty: the table has none."""
    key: tuple[int, ...] = ()
    """Positions of the columns that name a row, without those that hold one of a few words."""

    def fits(self, values: list[Any]) -> bool:
        """True if the values of a row may be one of this table."""
        return len(values) == len(self.types) and all(map(isinstance, values, self.types))

    @property
    def older(self) -> TableShape | None:
        """The records of files that were made before rows had seals; None for other tables."""
        if self.name != "records" or self.columns[-1] != "seal":
            return None
        return replace(self, columns=self.columns[:-1], types=self.types[:-1])

    def complete(self, values: list[Any]) -> list[Any]:
        """Complete a record of an older file by an empty seal; other rows stay as they are."""
        older = self.older
        return [*values, b""] if older is not None and older.fits(values) else values

    def get_key(self, row: tuple[Any, ...]) -> object:
        """Return the values that copies of one row have in common."""
        return row[0] if self.number_column else tuple(row[position] for position in self.key)


class _HeaderGuess(NamedTuple):
    """Possible reading of a record's header."""

    types: list[int]
    """Serial types of the columns."""
    body_start: int
    """Offset of the values, from the start of the record."""
    size: int
    """Bytes of the record."""


def carve_records(
    pages: RawDatabasePages, page: bytes, shape: TableShape
) -> Iterator[tuple[Any, ...]]:
    """Find records anywhere in a page, whatever points to them."""
    pointed = {cell.start for cell in list_cells(page, first=False) if cell.number is not None}
    pattern = _header_pattern(len(shape.types))
    starts = pointed.union(match.start() for match in pattern.finditer(page))
    for start in sorted(starts):
        # A cell is the record's size, the row's number, the record.
        number, number_start = _read_varint_before(page, start)
        size, _ = _read_varint_before(page, number_start)
        if values := _decode_damaged(pages, page, PageCell(number, start, size, 0), shape):
            yield (number, *values[1:])


def mend_record(shape: TableShape, values: list[Any]) -> tuple[Any, ...] | None:
    """Return a record's row with defaults in place of what cannot be read.

    None where that gives no record.
    """
    row = replace_unreadable("records", shape.columns, tuple(values))
    if row is None or decode_whole(shape, row) is not None:
        return row
    defaults = {**EMPTY_JSON, "scope": values[shape.columns.index("owner")]}
    # One column at a time, so that the others keep what they hold; then all.
    for changed in (*({name: value} for name, value in defaults.items()), defaults):
        mended = tuple(
            changed.get(name, value) for name, value in zip(shape.columns, row, strict=True)
        )
        if decode_whole(shape, mended) is not None:
            return mended
    return None


def correct_scope(shape: TableShape, values: list[Any]) -> None:
    """Begin the scope of a record with its owner, as every scope does."""
    owner = values[shape.columns.index("owner")]
    scope_column = shape.columns.index("scope")
    scope = values[scope_column]
    if not scope.startswith(owner):
        values[scope_column] = owner + scope[len(owner) :]


def is_whole(shape: TableShape, values: Sequence[Any]) -> bool:
    """Test that a row of ``records`` holds the text that was written."""
    record = decode_whole(shape, (1, *values[1:]))
    return record is not None and bytes.fromhex(record.hash) == values[shape.columns.index("hash")]


def decode_whole(shape: TableShape, row: tuple[Any, ...]) -> Record | None:
    """Decode a row of ``records``; None where it is nonsense."""
    try:
        values = dict(zip(shape.columns, row, strict=True))
        return decode_record(tuple(values[name] for name in FIELDS))
    except (EngramsError, ValueError, KeyError):
        return None


def _header_pattern(width: int) -> re.Pattern[bytes]:
    """Match the places where a header of a record may begin; ``width``: its columns.

    Its first four bytes are its own size, the type of the number (0: it is not stored), of the id
    and of the owner (a text). One of them may be damaged.
    """
    size = rb"[\x%02x-\x%02x]" % (width + 1, width + _MAX_LONG_TYPES)
    id_type = rb"\x%02x" % _ID_TYPE
    owner_type = b"[" + b"".join(rb"\x%02x" % kind for kind in range(13, 128, 2)) + rb"\x80-\xff]"
    return re.compile(
        rb"(?s)(?=%b\x00%b|%b\x00.%b|%b.%b%b|.\x00%b%b)"
        % (size, id_type, size, owner_type, size, id_type, owner_type, id_type, owner_type)
    )


def _read_varint_before(page: bytes, end: int) -> tuple[int, int]:
    """Read the variable-length integer that ends before an offset; its value and start."""
    start = max(end - 1, 0)
    while 0 < start > end - 9 and page[start - 1] & 0x80:
        start -= 1
    return read_varint(page, start)[0], start


def _decode_damaged(
    pages: RawDatabasePages, page: bytes, cell: PageCell, shape: TableShape
) -> list[Any]:
    """Decode a record with at most one damaged byte before its values.

    Empty where nothing fits.
    """
    best: list[Any] = []
    guesses = _guess_headers(page[cell.start :], cell.size, shape)
    for guess, payload in _read_payloads(pages, page, cell, guesses):
        try:
            values = decode_body(payload, guess.types, guess.body_start)
        except UnreadableCellError:
            continue
        if not shape.fits(values):
            continue
        if is_whole(shape, values):
            return values
        is_sound = (
            guess.body_start == page[cell.start]
            or decode_whole(shape, (1, *values[1:])) is not None
        )
        if not best and is_sound:
            best = values
    return best


def _read_payloads(
    pages: RawDatabasePages, page: bytes, cell: PageCell, guesses: Iterator[_HeaderGuess]
) -> Iterator[tuple[_HeaderGuess, bytes]]:
    """Yield the bytes of a record by each guess of its header.

    Then those with a damaged pointer to another page, where the header is as it should be.
    """
    first_guess = next(guesses)
    for guess in chain((first_guess,), guesses):
        with suppress(UnreadableCellError):
            yield guess, pages.payload(page, replace(cell, size=guess.size))
    if 0 < first_guess.body_start == page[cell.start] and first_guess.size == cell.size:
        for payload in pages.mended_payloads(page, cell):
            yield first_guess, payload


def _guess_headers(record: bytes, size: int, shape: TableShape) -> Iterator[_HeaderGuess]:
    """Guess the header of a record: as it is written, then with one type of another size."""
    width = len(shape.types)
    types = list[int]()
    offset = 1
    while len(types) < width and offset < len(record):
        serial_type, offset = read_varint(record, offset)
        types.append(serial_type)
    # The length of the header or of the record may be overwritten.
    yield _HeaderGuess(types, offset, offset + sum(map(value_size, types)))
    header_end = record[0]
    if width < header_end < min(width + _MAX_LONG_TYPES, len(record)):
        yield from reversed(list(_replace_one_type(record, header_end, size, shape)))


def _replace_one_type(
    record: bytes, header_end: int, size: int, shape: TableShape
) -> Iterator[_HeaderGuess]:
    """Yield headers in which one type is derived from the size of the record.

    The damaged type may have been read with too many or too few bytes, so the types behind it are
    read from every offset (``tails``), and joined where the number of columns fits.
    """
    tails: dict[int, tuple[list[int], int]] = {header_end: ([], 0)}
    """Types from an offset to the header's end, and the bytes of their values."""
    for offset in range(header_end - 1, 0, -1):
        serial_type, next_offset = read_varint(record, offset)
        if next_offset in tails:
            types, body_bytes = tails[next_offset]
            tails[offset] = [serial_type, *types], body_bytes + value_size(serial_type)
    head = list[int]()
    bytes_left = size - header_end
    offset = 1
    while offset < header_end and bytes_left >= 0:
        # A type of one, two or three bytes is the damaged one.
        for tail, body_bytes in (tails[offset + n] for n in (1, 2, 3) if offset + n in tails):
            if len(head) + 1 + len(tail) == len(shape.types) and body_bytes <= bytes_left:
                derived = _derive_type(shape.types[len(head)], bytes_left - body_bytes)
                yield _HeaderGuess([*head, derived, *tail], header_end, size)
        serial_type, offset = read_varint(record, offset)
        head.append(serial_type)
        bytes_left -= value_size(serial_type)


def _derive_type(allowed: tuple[type, ...], length: int) -> int:
    """Return the serial type of a value of ``length`` bytes, in a column of the ``allowed`` types.

    A serial type is the number by which a record of SQLite gives the type and the length of a value
    (SQLite's file format, "Record Format").
    """
    if str in allowed:
        return 13 + 2 * length
    if bytes in allowed:
        return 12 + 2 * length
    if type(None) in allowed and not length:
        return _NULL_TYPE
    if float in allowed and length == 8:
        return _FLOAT_TYPE
    return _INTEGER_TYPES.get(length, _NULL_TYPE)
