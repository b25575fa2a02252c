"""Files of named arrays, checked by sums and mapped into memory.

Layout: eight magic bytes with the version, length and CRC-32 of the head, the head (JSON), then each array from a page's start on.
Behind an array that may grow the file has room: whoever maps it appends there, in pages of its own, so the file itself never changes."""

from __future__ import annotations

import errno
import json
import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

MAGIC = b"ENGIDX02"
"""Kind and version of the format: a file that starts otherwise is not read."""

_START = struct.Struct("<8sII")
_PAGE = 4096
_BLOCK = 512
"""Words of eight bytes that are summed at a time: a page."""

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]


class SegmentFileError(Exception):
    """The file is damaged, or of another kind or version."""


@dataclass(frozen=True, slots=True)
class SegmentContent:
    """Named arrays of an index file, with metadata.

    ``spare``: rows of room behind those arrays that ``growing`` names."""

    notes: Mapping[str, Any]
    arrays: Arrays
    growing: frozenset[str] = frozenset()
    spare: int = 0


def write_segment(path: Path, segment: SegmentContent) -> None:
    """Write a new file (0600) that only its owner reads.

    OSError: it exists, or the disk is full. Not synced: a file that a crash tore fails its sums. The room behind arrays is taken too: on a
    disk in memory that is full, whoever touches a hole dies."""
    places: dict[str, dict[str, Any]] = {}
    at = 0
    for name, array in segment.arrays.items():
        rows = len(array) + (segment.spare if name in segment.growing else 0)
        places[name] = {"dtype": array.dtype.str, "shape": array.shape, "rows": rows, "at": at, "sum": sum_bytes(array)}
        at = _round_up(at + rows * array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=np.int64)))
    head = json.dumps({"notes": segment.notes, "arrays": places, "size": at}, ensure_ascii=False).encode()
    data = _round_up(_START.size + len(head))
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        _take_room(file.fileno(), data + at)
        file.write(_START.pack(MAGIC, len(head), zlib.crc32(head)) + head)
        for name, array in segment.arrays.items():
            file.seek(data + places[name]["at"])
            file.write(_to_bytes(array).data)


def map_segment(path: Path) -> SegmentContent:
    """Map an index file into memory; changes do not reach the file.

    ``growing`` arrays come with their spare rows. OSError: there is none. SegmentFileError: it cannot be trusted."""
    # A pipe in the file's place must not be waited for.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < _START.size:
            raise SegmentFileError("too short")
        whole = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
    magic, length, told = _START.unpack_from(whole)
    head = whole[_START.size : _START.size + length]
    if magic != MAGIC or len(head) != length or zlib.crc32(head) != told:
        raise SegmentFileError("another kind, version, or a damaged head")
    about = json.loads(head)
    data = _round_up(_START.size + length)
    if size != data + about["size"]:
        raise SegmentFileError("another size than when it was written")
    arrays = {}
    for name, place in about["arrays"].items():
        kind, (count, *inner) = np.dtype(place["dtype"]), place["shape"]
        width = int(np.prod(inner, dtype=np.int64))
        flat = np.frombuffer(whole, kind, place["rows"] * width, data + place["at"])
        if sum_bytes(flat[: count * width]) != place["sum"]:
            raise SegmentFileError(f"{name} is damaged")
        arrays[name] = flat.reshape(place["rows"], *inner)
    return SegmentContent(about["notes"], arrays)


def sum_bytes(array: npt.NDArray[Any]) -> int:
    """Sum bytes up: a CRC over weighted sums of pages.

    Nearly at the speed of memory. Any change within one word is found, and others, as of words that changed places, but for one in
    four billion."""
    data = _to_bytes(array)
    blocks = len(data) // (8 * _BLOCK)
    words = data[: blocks * 8 * _BLOCK].view(np.uint64).reshape(blocks, _BLOCK)
    return zlib.crc32(data[blocks * 8 * _BLOCK :].data, zlib.crc32(np.vecdot(words, _weights()).data))


@cache
def _weights() -> npt.NDArray[np.uint64]:
    """Make odd weights without a pattern (splitmix64), one a word."""
    mixed = np.arange(1, _BLOCK + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31)) | np.uint64(1)


def _to_bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _take_room(file: int, size: int) -> None:
    """Make a new file this large.

    Its zeros take their place on the disk, where the file system can do that."""
    os.ftruncate(file, size)
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as problem:
            if problem.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise


def _round_up(number: int) -> int:
    return -(-number // _PAGE) * _PAGE
