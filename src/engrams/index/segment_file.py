"""Files of named arrays, checked by sums and mapped into memory.

``write_segment`` and ``map_segment`` are the ways in. Layout: eight magic bytes with the version,
length and CRC-32 of the head, the head (JSON), then each array from a page's start on. Behind an
array that may grow the file has room: whoever maps it appends there, in pages of its own, so the
file itself never changes.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import struct
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from engrams.frozen_data import dataclass

MAGIC = b"ENGIDX02"
"""Kind and version of the format: a file that starts otherwise is not read."""

_START = struct.Struct("<8sII")
_PAGE = 4096
_WORD = 8
"""Bytes of a word of a sum."""
_BLOCK = 512
"""Words that are summed at a time: a page."""
_READ_BYTES = 512 * _WORD * _BLOCK
"""Bytes that are read at a time, whole blocks."""
_CHECKED = "user.engrams.checked"
"""Attribute of a file whose sums were right: what it was then, and when."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_SECOND = 1_000_000_000
"""Nanoseconds."""
_CHECK_LIFE = 86_400 * _SECOND
"""Time for which sums count as right, in nanoseconds."""

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]


class SegmentFileError(Exception):
    """The file is damaged, or of another kind or version."""


@dataclass(frozen=True, slots=True)
class SegmentContent:
    """Named arrays of an index file, with metadata."""

    notes: Mapping[str, Any]
    """Metadata, as JSON."""
    arrays: Arrays
    growing: frozenset[str] = frozenset()
    """Names of arrays that get room for later rows behind them."""
    spare: int = 0
    """Rows of that room."""


def write_segment(path: Path, segment: SegmentContent) -> None:
    """Write a new file (0600) that only its owner reads.

    OSError: it exists, or the disk is full. Not synced: a file that a crash tore fails its sums.
    The room behind arrays is taken too: on a disk in memory that is full, whoever touches a hole
    dies.
    """
    layout: dict[str, dict[str, Any]] = {}
    offset = 0
    for name, array in segment.arrays.items():
        rows = len(array) + (segment.spare if name in segment.growing else 0)
        layout[name] = {
            "dtype": array.dtype.str,
            "shape": array.shape,
            "rows": rows,
            "at": offset,
            "sum": sum_bytes(array),
        }
        offset = _round_up(offset + rows * array.dtype.itemsize * _multiply(array.shape[1:]))
    head = json.dumps(
        {"notes": segment.notes, "arrays": layout, "size": offset}, ensure_ascii=False
    ).encode()
    first_array = _round_up(_START.size + len(head))
    flags = (
        os.O_RDWR
        | os.O_CREAT
        | os.O_EXCL
        | getattr(os, "O_CLOEXEC", 0)
        | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        _reserve_space(file.fileno(), first_array + offset)
        file.write(_START.pack(MAGIC, len(head), zlib.crc32(head)) + head)
        for name, array in segment.arrays.items():
            file.seek(first_array + layout[name]["at"])
            file.write(_to_bytes(array).data)


def map_segment(path: Path) -> SegmentContent:
    """Map an index file into memory; changes do not reach the file.

    ``growing`` arrays come with their spare rows. OSError: there is none. SegmentFileError: it
    cannot be trusted.
    """
    with _open(path) as file:
        head, first_array = _read_head(file)
        if not _was_checked(file):
            _check_sums(file, head["arrays"], first_array)
            _note_checked(file)
        mapped = mmap.mmap(file.fileno(), first_array + head["size"], access=mmap.ACCESS_COPY)
    arrays = {}
    for name, entry in head["arrays"].items():
        row_shape = entry["shape"][1:]
        flat = np.frombuffer(
            mapped,
            dtype=np.dtype(entry["dtype"]),
            count=entry["rows"] * _multiply(row_shape),
            offset=first_array + entry["at"],
        )
        arrays[name] = flat.reshape(entry["rows"], *row_shape)
    return SegmentContent(head["notes"], arrays)


def find_damage(path: Path) -> str:
    """Check all sums of an index file, whatever was noted at it.

    Empty: they are right, or nobody uses it, as it is of another kind or version or gone.
    """
    try:
        with _open(path) as file:
            try:
                head, first_array = _read_head(file)
            except SegmentFileError:
                return ""
            _check_sums(file, head["arrays"], first_array)
    except OSError:
        return ""
    except SegmentFileError as problem:
        return str(problem)
    return ""


def _open(path: Path) -> FileIO:
    # A pipe in the file's place must not be waited for.
    flags = (
        os.O_RDONLY
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_CLOEXEC", 0)
        | getattr(os, "O_BINARY", 0)
    )
    return FileIO(os.open(path, flags), "rb")


def _read_head(file: FileIO) -> tuple[Any, int]:
    """Read a file's head, and the offset of its first array."""
    start = file.read(_START.size) or b""
    if len(start) < _START.size:
        raise SegmentFileError("too short")
    magic, length, checksum = _START.unpack(start)
    encoded = (file.read(length) or b"") if magic == MAGIC else b""
    if magic != MAGIC or len(encoded) != length or zlib.crc32(encoded) != checksum:
        raise SegmentFileError("another kind, version, or a damaged head")
    head = json.loads(encoded)
    first_array = _round_up(_START.size + length)
    if os.fstat(file.fileno()).st_size != first_array + head["size"]:
        raise SegmentFileError("another size than when it was written")
    return head, first_array


def release_pages(array: npt.NDArray[Any]) -> None:
    """Give the memory of a mapped array back, where possible.

    It is read from the file again when it is asked for. Only for arrays that nobody changes: a
    change would be lost.
    """
    buffer = array.base
    while isinstance(buffer, np.ndarray):
        buffer = buffer.base
    if isinstance(buffer, memoryview):
        buffer = buffer.obj
    if isinstance(buffer, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        # Whole pages only: the array shares the first and the last one with its neighbours.
        start = array.ctypes.data - np.frombuffer(buffer, np.uint8, 1).ctypes.data
        first_page = _round_up(start)
        length = (start + array.nbytes) // _PAGE * _PAGE - first_page
        if length > 0:
            buffer.madvise(mmap.MADV_DONTNEED, first_page, length)


def _check_sums(file: FileIO, layout: Mapping[str, Any], first_array: int) -> None:
    """Compare the sums of all arrays; SegmentFileError: one is damaged.

    Read in pieces, not through the map: what a process never asks for takes none of its memory.
    """
    buffer = memoryview(bytearray(_READ_BYTES))
    for name, entry in layout.items():
        remaining = np.dtype(entry["dtype"]).itemsize * _multiply(entry["shape"])
        file.seek(first_array + entry["at"])
        block_sum = _BlockSum()
        while remaining:
            wanted = min(remaining, _READ_BYTES)
            count = file.readinto(buffer[:wanted])
            # The last read of an array may end anywhere, others at the end of a block.
            if count != wanted:
                raise SegmentFileError(f"{name} is cut")
            block_sum.add(np.frombuffer(buffer[:count], np.uint8))
            remaining -= count
        if block_sum.finish() != entry["sum"]:
            raise SegmentFileError(f"{name} is damaged")


def _was_checked(file: FileIO) -> bool:
    """True if its sums were right today, since this machine started.

    What was written to it or took its place since is checked again, whatever time it tells; what
    rots in silence, a day later.
    """
    with suppress(OSError, ValueError):
        state, _, noted_at = os.getxattr(file.fileno(), _CHECKED).rpartition(b" ")
        age = time.time_ns() - int(noted_at)
        # The note itself changed the file's state, and is the last that did.
        is_untouched = abs(os.fstat(file.fileno()).st_ctime_ns - int(noted_at)) < _SECOND
        is_same = bool(state) and state == _describe_state(file)
        return is_same and is_untouched and 0 <= age < _CHECK_LIFE
    return False


def _note_checked(file: FileIO) -> None:
    """Note at the file that its sums were right, where possible."""
    state = _describe_state(file)
    with suppress(OSError):
        if state:
            os.setxattr(file.fileno(), _CHECKED, state + b" %d" % time.time_ns())


def _describe_state(file: FileIO) -> bytes:
    """Describe the machine's start, and the file's number, size and time.

    Empty where that cannot be told.
    """
    if sys.platform != "linux":
        return b""
    try:
        boot_id = _BOOT_ID.read_bytes().strip()
    except OSError:
        return b""
    stat = os.fstat(file.fileno())
    return boot_id + f" {stat.st_ino} {stat.st_size} {stat.st_mtime_ns}".encode()


class _BlockSum:
    """Checksum: a CRC over weighted sums of pages.

    Nearly at the speed of memory. Any change within one word is found, and others, as of words that
    changed places, but for one in four billion.
    """

    def __init__(self) -> None:
        self._crc = 0
        self._tail = b""
        """Bytes behind the last whole block."""

    def add(self, data: npt.NDArray[np.uint8]) -> None:
        """Add bytes; only the last ones may end within a block."""
        blocks = len(data) // (_WORD * _BLOCK)
        end = blocks * _WORD * _BLOCK
        words = data[:end].view(np.uint64).reshape(blocks, _BLOCK)
        self._crc = zlib.crc32(np.vecdot(words, _weights()).data, self._crc)
        self._tail = data[end:].tobytes()

    def finish(self) -> int:
        """Sum of all bytes that were added."""
        return zlib.crc32(self._tail, self._crc)


def sum_bytes(array: npt.NDArray[Any]) -> int:
    """Checksum of an array's bytes."""
    block_sum = _BlockSum()
    block_sum.add(_to_bytes(array))
    return block_sum.finish()


@cache
def _weights() -> npt.NDArray[np.uint64]:
    """Make odd weights without a pattern, one a word.

    They are mixed as in splitmix64 (Steele, Lea and Flood 2014); a weight must be odd, for else the
    highest bit of its word would count for nothing.
    """
    mixed = np.arange(1, _BLOCK + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31)) | np.uint64(1)


def _multiply(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _to_bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _reserve_space(file: int, size: int) -> None:
    """Make a new file this large, and reserve its space on the disk.

    So a full disk is noticed here and not while a mapped page is written. Some file systems cannot
    reserve space.
    """
    os.ftruncate(file, size)
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as problem:
            if problem.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise


def _round_up(number: int) -> int:
    return -(-number // _PAGE) * _PAGE
