"""Rows of a damaged database, read from its b-tree pages without SQLite.

Needs neither a header nor a schema: each leaf page of a b-tree is read by itself, with what the log
holds laid over the file. Source of the format: SQLite's database file format, sections 1.6 and 2.1.
Enter at ``RawDatabasePages.rows``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from engrams import encryption
from engrams.store.sqlite.rescue.wal_reader import read_log, read_versions

RawRow: TypeAlias = tuple[int, int | None, list[Any]]
"""Page of a row, its number (None: in a b-tree of keys), and its values."""

_MAGIC = b"SQLite format 3\0"
_PAGE_SIZES = frozenset(1 << power for power in range(9, 17))
_USUAL_PAGE_SIZE = 4096
_FILE_HEADER = 100
"""Bytes of the file's header, at the start of the first page."""
_LEAF = 13
_KEY_LEAF = 10
_KEY_INNER = 2
_INNER = 5
"""Types of pages, by their first byte. The pages of indexes and of tables without row numbers are
those of keys."""
_WHOLE_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of a whole number by its serial type."""


class UnreadableCellError(Exception):
    """Bytes that are no row."""


@dataclass(frozen=True, slots=True)
class PageCell:
    """Position of one row in a page."""

    number: int | None
    """Number of the row; None: in a b-tree of keys."""
    start: int
    """Offset of its record in the page."""
    size: int
    """Bytes of its record, as written, those on overflow pages included."""
    bytes: int
    """Bytes that the cell takes in the page."""


class RawDatabasePages:
    """Pages of a database file and its log; numbers begin at 1.

    ``page_size``: bytes of a page, where the header must not be believed; 0: as it says.
    """

    def __init__(self, path: Path, page_size: int = 0) -> None:
        with encryption.open_beside(path) as file:
            self.data = file.read()
        header_size = _read_page_size(self.data)
        self._path = path
        log = read_log(path, page_size or header_size)
        self.size = page_size or header_size or log.size or _USUAL_PAGE_SIZE
        self._logged = log.newest
        self._keys = () if self.data.startswith(_MAGIC) else encryption.find_raw_keys(path)
        has_reserve = bool(self._keys) or self.data[20:21] == bytes((encryption.RESERVED,))
        self.usable = self.size - encryption.RESERVED * has_reserve
        """Bytes of a page that hold content."""
        self._first_spare = max(-(-len(self.data) // self.size), *self._logged, 0) + 1
        """Number from which on pages are older versions and pages of damaged frames."""
        # A page without its number cannot be decrypted.
        self._spare: list[bytes] = [] if self._keys else log.doubtful
        self.count = self._first_spare - 1 + len(self._spare)

    def page(self, number: int) -> bytes:
        """Read a page; a truncated one is padded with zeros.

        The log's page wins. The last numbers are older versions and pages of damaged frames.
        """
        if number >= self._first_spare:
            return self._spare[number - self._first_spare][: self.usable]
        return self._decrypt(self._logged.get(number) or self._read_below(number), number)

    def _read_below(self, number: int) -> bytes:
        """Read a page of the file, whatever the log says."""
        return self.data[(number - 1) * self.size : number * self.size].ljust(self.size, b"\0")

    def _decrypt(self, content: bytes, number: int) -> bytes:
        if self._keys and any(content):
            return encryption.decrypt_any(content, number, self._keys)
        return content[: self.usable]

    def older_pages(self) -> Iterator[bytes]:
        """Yield pages as they were before the log's newest ones."""
        below = ((number, self._read_below(number)) for number in sorted(self._logged))
        for number, content in chain(below, read_versions(self._path, self.size)):
            yield self._decrypt(content, number)

    def rows(self) -> Iterator[RawRow]:
        """Yield the rows that are in order, page by page; each once."""
        yielded_keys = set[tuple[int | None, bytes]]()
        for number in range(1, self.count + 1):
            page = self.page(number)
            for cell in list_cells(page, number == 1):
                key = cell.number, page[cell.start : cell.start + cell.bytes]
                if key in yielded_keys:
                    continue
                yielded_keys.add(key)
                with suppress(UnreadableCellError):
                    yield number, cell.number, decode_values(self.payload(page, cell))

    def suspect_pages(self) -> Iterator[int]:
        """Yield the numbers of inconsistent pages: rows may lie in them that no pointer finds."""
        for number in range(1, self.count + 1):
            page = self.page(number)
            if any(page) and not self._is_sound(page, number == 1):
                yield number

    def payload(self, page: bytes, cell: PageCell) -> bytes:
        """Read a record with its overflow pages.

        UnreadableCellError: a page of it is missing.
        """
        local = self._local_size(cell)
        content = page[cell.start : cell.start + local]
        if local == cell.size:
            if len(content) < local:
                raise UnreadableCellError
            return content
        overflow = self._follow(self._first_overflow(page, cell), cell.size - local)
        return b"".join((content, *overflow))

    def mended_payloads(self, page: bytes, cell: PageCell) -> Iterator[bytes]:
        """Yield possible contents of a record with one damaged pointer to an overflow page.

        The last one is the part in its own page.
        """
        local = self._local_size(cell)
        pieces = [page[cell.start : cell.start + local]]
        if local == cell.size:
            return
        with suppress(UnreadableCellError):
            pieces.extend(self._follow(self._first_overflow(page, cell), cell.size - local))
        # The pointer behind any of the pieces may be the damaged one.
        for end in range(1, len(pieces) + 1):
            bytes_left = cell.size - sum(map(len, pieces[:end]))
            for orphan in self._orphans if bytes_left else ():
                with suppress(UnreadableCellError):
                    yield b"".join((*pieces[:end], *self._follow(orphan, bytes_left)))
        yield pieces[0]

    def _local_size(self, cell: PageCell) -> int:
        return _local_size(cell.size, self.usable, cell.number is not None)

    def _first_overflow(self, page: bytes, cell: PageCell) -> int:
        """Number of a record's first overflow page, which follows its local part."""
        pointer = cell.start + self._local_size(cell)
        return int.from_bytes(page[pointer : pointer + 4], "big")

    def _follow(
        self, number: int, bytes_left: int, claimed: set[int] | None = None
    ) -> Iterator[bytes]:
        """Read overflow pages one after the other; noted in ``claimed``.

        An overflow page is the number of the next one, and content.
        """
        content_size = self.usable - 4
        is_possible = bytes_left < self.count * self.usable
        # A chain of damaged pointers may be a circle: no more steps than there are pages to read.
        for _ in range(-(-bytes_left // content_size) if is_possible else 0):
            if not 0 < number <= self.count:
                raise UnreadableCellError
            page = self.page(number)
            if claimed is not None:
                claimed.add(number)
            piece = page[4 : 4 + min(bytes_left, content_size)]
            yield piece
            bytes_left -= len(piece)
            if bytes_left <= 0:
                return
            number = int.from_bytes(page[:4], "big")
        raise UnreadableCellError

    @cached_property
    def _orphans(self) -> list[int]:
        """Pages that hold something and belong to no tree or record."""
        claimed = set[int]()
        for number in range(1, self.count + 1):
            page = self.page(number)
            if page[_page_start(number == 1)] in (_LEAF, _KEY_LEAF, _KEY_INNER, _INNER):
                claimed.add(number)
            for cell in list_cells(page, number == 1):
                local = self._local_size(cell)
                if local == cell.size:
                    continue
                with suppress(UnreadableCellError):
                    first = self._first_overflow(page, cell)
                    for _ in self._follow(first, cell.size - local, claimed):
                        pass
        return [
            number
            for number in range(1, self.count + 1)
            if number not in claimed and any(self.page(number))
        ]

    def _is_sound(self, page: bytes, first: bool) -> bool:
        """True if a page's header, its cells and its free space add up to the page."""
        start = _page_start(first)
        page_type = page[start]
        if page_type == _INNER:
            return _fills(page, start, _list_inner_sizes(page, start))
        if page_type not in (_LEAF, _KEY_LEAF, _KEY_INNER):
            return False
        cells = list_cells(page, first)
        child_pointer = 4 if page_type == _KEY_INNER else 0
        if len({cell.start for cell in cells}) != len(cells) or not _fills(
            page, start, [cell.bytes + child_pointer for cell in cells]
        ):
            return False
        if page_type == _LEAF:
            try:
                for cell in cells:
                    decode_values(self.payload(page, cell))
            except UnreadableCellError:
                return False
        return True


def _read_page_size(data: bytes) -> int:
    """Bytes of a page as the file's header says; 0 where that cannot be."""
    size = int.from_bytes(data[16:18], "big") if data.startswith(_MAGIC) else 0
    if size == 1:
        return 65536  # which does not fit into two bytes
    return size if size in _PAGE_SIZES else 0


# --------------------------------------------------------------------------------------------------
# pages


def list_cells(page: bytes, first: bool) -> list[PageCell]:
    """List the rows that a page points to; ``first``: it is the first one of the file."""
    start = _page_start(first)
    page_type = page[start]
    if page_type not in (_LEAF, _KEY_LEAF, _KEY_INNER):
        return []
    # An inner page's header and its cells begin with a pointer to a page below.
    header_end = start + (12 if page_type == _KEY_INNER else 8)
    child_pointer = 4 if page_type == _KEY_INNER else 0
    count = min(int.from_bytes(page[start + 3 : start + 5], "big"), (len(page) - header_end) // 2)
    cells = []
    for offset in struct.unpack_from(f">{count}H", page, header_end):
        cell = read_cell(page, offset + child_pointer, page_type == _LEAF)
        if cell is not None and offset >= header_end:
            cells.append(cell)
    return cells


def read_cell(page: bytes, offset: int, numbered: bool) -> PageCell | None:
    """Read the position of a cell's record; None where there can be none."""
    size, start = read_varint(page, offset)
    number: int | None = None
    if numbered:
        number, start = read_varint(page, start)
        number -= (number >> 63) << 64  # it is signed
    if size < 2 or start >= len(page):
        return None
    local = _local_size(size, len(page), numbered)
    overflow_pointer = 4 if local < size else 0
    cell_bytes = start - offset + local + overflow_pointer
    if offset + cell_bytes > len(page):
        return None
    return PageCell(number, start, size, max(4, cell_bytes))


def _page_start(first: bool) -> int:
    return _FILE_HEADER if first else 0


def _fills(page: bytes, start: int, sizes: list[int]) -> bool:
    """Check that cells fill exactly the space that a page's header says."""
    count, content_start = struct.unpack_from(">HH", page, start + 3)
    used = sum(sizes) + _free_bytes(page, start)
    return len(sizes) == count and used + (content_start or 65536) == len(page)


def _list_inner_sizes(page: bytes, start: int) -> list[int]:
    """Sizes of the entries of a page that only points to others."""
    count = min(int.from_bytes(page[start + 3 : start + 5], "big"), (len(page) - start - 12) // 2)
    return [
        read_varint(page, offset + 4)[1] - offset
        for offset in struct.unpack_from(f">{count}H", page, start + 12)
    ]


def _free_bytes(page: bytes, start: int) -> int:
    """Bytes on the list of free blocks, and fragments."""
    total = page[start + 7]
    offset = int.from_bytes(page[start + 1 : start + 3], "big")
    # A damaged list may be a circle; a free block has four bytes at least.
    for _ in range(len(page) // 4):
        if not 0 < offset <= len(page) - 4:
            break
        total += int.from_bytes(page[offset + 2 : offset + 4], "big")
        offset = int.from_bytes(page[offset : offset + 2], "big")
    return total


def _local_size(size: int, usable: int, numbered: bool) -> int:
    """Bytes of a record in its own page; ``usable``: those of a page.

    The numbers are those of SQLite's file format, section 1.6.
    """
    largest = usable - 35 if numbered else (usable - 12) * 64 // 255 - 23
    if size <= largest:
        return size
    smallest = (usable - 12) * 32 // 255 - 23
    local = smallest + (size - smallest) % (usable - 4)
    return local if local <= largest else smallest


# --------------------------------------------------------------------------------------------------
# records


def read_varint(data: bytes, offset: int) -> tuple[int, int]:
    """Read SQLite's variable-length integer; its value and the offset behind it."""
    value = 0
    for index, byte in enumerate(data[offset : offset + 9]):
        if index == 8:
            return (value << 8) | byte, offset + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, offset + index + 1
    return 0, len(data)


def read_types(record: bytes, offset: int, end: int) -> list[int]:
    """Read the serial types in a part of a record's header."""
    types = []
    while offset < end <= len(record):
        serial_type, offset = read_varint(record, offset)
        types.append(serial_type)
    if offset != end:
        raise UnreadableCellError
    return types


def decode_values(record: bytes) -> list[Any]:
    """Decode a whole record. UnreadableCellError: it is none."""
    header_end, offset = read_varint(record, 0)
    types = read_types(record, offset, header_end)
    if not types or header_end + sum(map(value_size, types)) != len(record):
        raise UnreadableCellError
    return decode_body(record, types, header_end)


def decode_body(record: bytes, types: list[int], offset: int) -> list[Any]:
    """Decode the values of these serial types from an offset on."""
    values = []
    for serial_type in types:
        size = value_size(serial_type)
        values.append(_decode_value(serial_type, record[offset : offset + size]))
        offset += size
    return values


def value_size(serial_type: int) -> int:
    """Bytes of a value by its serial type."""
    if serial_type >= 12:
        return (serial_type - 12) // 2
    if serial_type == 7:
        return 8
    return _WHOLE_BYTES.get(serial_type, 0)


def _decode_value(serial_type: int, data: bytes) -> Any:
    if serial_type >= 12:
        # Odd: a text; even: bytes.
        return data.decode(errors="replace") if serial_type % 2 else data
    if serial_type == 7:
        return struct.unpack(">d", data)[0]
    if serial_type in _WHOLE_BYTES:
        return int.from_bytes(data, "big", signed=True)
    if serial_type in (10, 11):
        raise UnreadableCellError
    return {0: None, 8: 0, 9: 1}[serial_type]
