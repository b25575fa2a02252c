"""Rows of a damaged database, read from its b-tree pages without SQLite.

Needs neither a header nor a schema: each leaf page of a b-tree is read by itself, with what the log
holds laid over the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from engrams import encryption
from engrams.frozen_data import dataclass
from engrams.store.sqlite.rescue.wal_reader import read_log, read_versions

RawRow: TypeAlias = tuple[int, int | None, list[Any]]
"""Page of a row, its number (None: in a b-tree of keys), and its values."""

_MAGIC = b"SQLite format 3\0"
_SIZES = frozenset(1 << power for power in range(9, 17))
_USUAL_SIZE = 4096
_LEAF = 13
_KEY_LEAF = 10
_KEY_INNER = 2
_INNER = 5
_WHOLE_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class UnreadableCellError(Exception):
    """Bytes that are no row."""


@dataclass(frozen=True, slots=True)
class PageCell:
    """Place of one row in a page.

    ``start`` of its record and ``size`` as written; ``bytes`` it takes in the page.
    """

    number: int | None
    start: int
    size: int
    bytes: int


class RawDatabasePages:
    """Pages of a database file and its WAL.

    Numbers begin at 1.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        with encryption.open_beside(path) as file:
            self.data = file.read()
        written = int.from_bytes(self.data[16:18], "big") if self.data.startswith(_MAGIC) else 0
        if written == 1:
            known = 65536
        elif written in _SIZES:
            known = written
        else:
            known = 0
        self._path = path
        log = read_log(path, size or known)
        self.size = size or known or log.size or _USUAL_SIZE
        self._logged = log.newest
        self._keys = () if self.data.startswith(_MAGIC) else encryption.find_raw_keys(path)
        reserved = bool(self._keys) or self.data[20:21] == bytes((encryption.RESERVED,))
        self.usable = self.size - encryption.RESERVED * reserved
        self._first_spare = max(-(-len(self.data) // self.size), *self._logged, 0) + 1
        # A page without its number cannot be decrypted.
        self._spare = log.doubtful if not self._keys else type(log.doubtful)()
        self.count = self._first_spare - 1 + len(self._spare)

    def page(self, number: int) -> bytes:
        """Read a page; a truncated one is padded with zeros.

        The WAL's page wins. The last numbers are older versions and pages of damaged frames.
        """
        if number >= self._first_spare:
            return self._spare[number - self._first_spare][: self.usable]
        return self._decrypt(self._logged.get(number) or self._read_below(number), number)

    def _read_below(self, number: int) -> bytes:
        return self.data[(number - 1) * self.size : number * self.size].ljust(self.size, b"\0")

    def _decrypt(self, held: bytes, number: int) -> bytes:
        return (
            encryption.decrypt_any(held, number, self._keys)
            if self._keys and any(held)
            else held[: self.usable]
        )

    def older_pages(self) -> Iterator[bytes]:
        """Pages as they were before the WAL's newest ones."""
        below = ((number, self._read_below(number)) for number in sorted(self._logged))
        for number, held in chain(below, read_versions(self._path, self.size)):
            yield self._decrypt(held, number)

    def rows(self) -> Iterator[RawRow]:
        """Rows that are in order, page by page; each once."""
        seen = set[tuple[int | None, bytes]]()
        for number in range(1, self.count + 1):
            page = self.page(number)
            for cell in list_cells(page, number == 1):
                key = cell.number, page[cell.start : cell.start + cell.bytes]
                if key in seen:
                    continue
                seen.add(key)
                try:
                    yield number, cell.number, decode_values(self.payload(page, cell))
                except UnreadableCellError:
                    continue

    def suspect_pages(self) -> Iterator[int]:
        """Numbers of inconsistent pages.

        rows may lie in them that no pointer finds.
        """
        for number in range(1, self.count + 1):
            page = self.page(number)
            if any(page) and not self._is_sound(page, number == 1):
                yield number

    def payload(self, page: bytes, cell: PageCell) -> bytes:
        """Read a record with its overflow pages.

        UnreadableCellError: a page of it is missing.
        """
        local = _local_size(cell.size, self.usable, cell.number is not None)
        taken = page[cell.start : cell.start + local]
        if local == cell.size:
            if len(taken) < local:
                raise UnreadableCellError
            return taken
        return b"".join((taken, *self._follow(self._first_overflow(page, cell), cell.size - local)))

    def mended_payloads(self, page: bytes, cell: PageCell) -> Iterator[bytes]:
        """Possible contents of a record with one damaged pointer.

        The last one is the part in its own page.
        """
        local = _local_size(cell.size, self.usable, cell.number is not None)
        parts = [page[cell.start : cell.start + local]]
        if local == cell.size:
            return
        with suppress(UnreadableCellError):
            parts.extend(self._follow(self._first_overflow(page, cell), cell.size - local))
        for end in range(1, len(parts) + 1):
            left = cell.size - sum(map(len, parts[:end]))
            for orphan in self._orphans if left else ():
                with suppress(UnreadableCellError):
                    yield b"".join((*parts[:end], *self._follow(orphan, left)))
        yield parts[0]

    def _first_overflow(self, page: bytes, cell: PageCell) -> int:
        at = cell.start + _local_size(cell.size, self.usable, cell.number is not None)
        return int.from_bytes(page[at : at + 4], "big")

    def _follow(self, number: int, left: int, claimed: set[int] | None = None) -> Iterator[bytes]:
        """Read overflow pages one after the other; noted in ``claimed``."""
        for _ in range(-(-left // (self.usable - 4)) if left < self.count * self.usable else 0):
            if not 0 < number <= self.count:
                raise UnreadableCellError
            held = self.page(number)
            if claimed is not None:
                claimed.add(number)
            yield (part := held[4 : 4 + min(left, self.usable - 4)])
            left -= len(part)
            if left <= 0:
                return
            number = int.from_bytes(held[:4], "big")
        raise UnreadableCellError

    @cached_property
    def _orphans(self) -> list[int]:
        """Pages that hold something and belong to no tree or record."""
        claimed = set[int]()
        for number in range(1, self.count + 1):
            page = self.page(number)
            if page[100 if number == 1 else 0] in (_LEAF, _KEY_LEAF, _KEY_INNER, _INNER):
                claimed.add(number)
            for cell in list_cells(page, number == 1):
                local = _local_size(cell.size, self.usable, cell.number is not None)
                with suppress(UnreadableCellError):
                    for _ in (
                        self._follow(self._first_overflow(page, cell), cell.size - local, claimed)
                        if local < cell.size
                        else ()
                    ):
                        pass
        return [
            number
            for number in range(1, self.count + 1)
            if number not in claimed and any(self.page(number))
        ]

    def _is_sound(self, page: bytes, first: bool) -> bool:
        start = 100 if first else 0
        kind = page[start]
        if kind == _INNER:
            return _fills(page, start, _inner_sizes(page, start))
        if kind not in (_LEAF, _KEY_LEAF, _KEY_INNER):
            return False
        cells = list_cells(page, first)
        spare = 4 if kind == _KEY_INNER else 0
        if len({cell.start for cell in cells}) != len(cells) or not _fills(
            page, start, [cell.bytes + spare for cell in cells]
        ):
            return False
        if kind == _LEAF:
            try:
                for cell in cells:
                    decode_values(self.payload(page, cell))
            except UnreadableCellError:
                return False
        return True


def _fills(page: bytes, start: int, sizes: list[int]) -> bool:
    """Check that cells fill exactly the space that a page's header says."""
    count, content = struct.unpack_from(">HH", page, start + 3)
    return len(sizes) == count and sum(sizes) + _free_bytes(page, start) + (
        content or 65536
    ) == len(page)


def _inner_sizes(page: bytes, start: int) -> list[int]:
    """Sizes of the entries of a page that only points to others."""
    count = min(int.from_bytes(page[start + 3 : start + 5], "big"), (len(page) - start - 12) // 2)
    return [
        read_varint(page, place + 4)[1] - place
        for place in struct.unpack_from(f">{count}H", page, start + 12)
    ]


def list_cells(page: bytes, first: bool) -> list[PageCell]:
    """List the rows that a page points to."""
    start = 100 if first else 0
    kind = page[start]
    if kind not in (_LEAF, _KEY_LEAF, _KEY_INNER):
        return []
    head = start + (12 if kind == _KEY_INNER else 8)
    count = min(int.from_bytes(page[start + 3 : start + 5], "big"), (len(page) - head) // 2)
    found = []
    for place in struct.unpack_from(f">{count}H", page, head):
        cell = read_cell(page, place + 4 if kind == _KEY_INNER else place, kind == _LEAF)
        if cell is not None and place >= head:
            found.append(cell)
    return found


def read_cell(page: bytes, place: int, numbered: bool) -> PageCell | None:
    """Read where a cell's record lies; None where nothing can."""
    size, at = read_varint(page, place)
    number: int | None = None
    if numbered:
        number, at = read_varint(page, at)
        number -= (number >> 63) << 64
    if size < 2 or at >= len(page):
        return None
    local = _local_size(size, len(page), numbered)
    taken = at - place + local + (4 if local < size else 0)
    return PageCell(number, at, size, max(4, taken)) if place + taken <= len(page) else None


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read SQLite's variable-length integer; its value and the place behind it."""
    value = 0
    for step, byte in enumerate(data[at : at + 9]):
        if step == 8:
            return (value << 8) | byte, at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + step + 1
    return 0, len(data)


def read_types(record: bytes, at: int, end: int) -> list[int]:
    """Read the serial types in a part of a record's header."""
    types = []
    while at < end <= len(record):
        kind, at = read_varint(record, at)
        types.append(kind)
    if at != end:
        raise UnreadableCellError
    return types


def decode_values(record: bytes) -> list[Any]:
    """Decode a whole record. UnreadableCellError: it is none."""
    end, at = read_varint(record, 0)
    types = read_types(record, at, end)
    if not types or end + sum(map(value_size, types)) != len(record):
        raise UnreadableCellError
    return decode_body(record, types, end)


def decode_body(record: bytes, types: list[int], at: int) -> list[Any]:
    """Decode the values of these serial types from a place on."""
    values = []
    for kind in types:
        size = value_size(kind)
        values.append(_decode_value(kind, record[at : at + size]))
        at += size
    return values


def value_size(kind: int) -> int:
    """Bytes of a value by its serial type."""
    if kind >= 12:
        return (kind - 12) // 2
    if kind == 7:
        return 8
    return _WHOLE_BYTES.get(kind, 0)


def _decode_value(kind: int, data: bytes) -> Any:
    if kind >= 12:
        try:
            return data.decode() if kind % 2 else data
        except UnicodeDecodeError:
            return data.decode(errors="replace")
    if kind == 7:
        return struct.unpack(">d", data)[0]
    if kind in _WHOLE_BYTES:
        return int.from_bytes(data, "big", signed=True)
    if kind in (10, 11):
        raise UnreadableCellError
    return {0: None, 8: 0, 9: 1}[kind]


def _local_size(size: int, page: int, numbered: bool) -> int:
    """Bytes of a record in its own page.

    Source: SQLite's file format, 1.6.
    """
    most = page - 35 if numbered else (page - 12) * 64 // 255 - 23
    if size <= most:
        return size
    least = (page - 12) * 32 // 255 - 23
    local = least + (size - least) % (page - 4)
    return local if local <= most else least


def _free_bytes(page: bytes, start: int) -> int:
    """Bytes on the list of free blocks, and fragments."""
    total = page[start + 7]
    at = int.from_bytes(page[start + 1 : start + 3], "big")
    for _ in range(len(page) // 4):
        if not 0 < at <= len(page) - 4:
            break
        total += int.from_bytes(page[at + 2 : at + 4], "big")
        at = int.from_bytes(page[at : at + 2], "big")
    return total
