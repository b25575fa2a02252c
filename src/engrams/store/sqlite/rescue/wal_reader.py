"""Pages in a write-ahead log, read and verified without SQLite.

SQLite stops at the first frame whose checksum is wrong, and takes the log's rest for never written.
One overwritten byte would so undo what was acknowledged; here the frames behind it are read too.
Source of the format: SQLite's database file format, section 4, and its WAL-mode file format.
Enter at ``read_log``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from engrams import encryption
from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bytes: TypeAlias = npt.NDArray[np.uint8]
    Words: TypeAlias = npt.NDArray[np.uint32]

_HEADER = 32
"""Bytes of the log's header: magic, version, page size, sequence, salts (16 to 24), checksum."""
_FRAME_HEADER = 24
"""Bytes before each page: its number, the file's pages after a commit (else 0), salts, checksum."""
_MAGICS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_PAGE_SIZES = frozenset(1 << power for power in range(9, 17))
_USUAL_PAGE_SIZE = 4096
_INDEX_HEADER = 48
"""Bytes of one of the two equal headers of the log's index."""


@dataclass(frozen=True, slots=True)
class WalPages:
    """Newest version of each page in a write-ahead log."""

    size: int = 0
    """Bytes of a page; 0: there is no log."""
    newest: dict[int, bytes] = field(default_factory=dict)
    """The last committed page of each number."""
    doubtful: list[bytes] = field(default_factory=list)
    """Pages of damaged frames, and the ones they replaced."""
    damaged: bool = False
    """True if SQLite would leave out committed frames."""
    cut: bool = False
    """True if the log's index knows of frames that are gone.

    Opening the database makes that index anew, and forgets them.
    """


class _Frames(NamedTuple):
    """Frames of a log, with what was found about each."""

    content: Bytes
    """One row a frame: its header and its page."""
    numbers: list[int]
    """Numbers of the pages."""
    commits: list[int]
    """Pages of the file after a commit; 0: no commit."""
    are_own: list[bool]
    """True if a frame bears this log's salts; one byte of them may be the damaged one."""
    are_sound: list[bool]
    """True if salts and checksum are right."""


def read_log(database: Path, page_size: int = 0) -> WalPages:
    """Read the log beside a database.

    ``page_size``: bytes of a page, where the log does not tell it.
    """
    # The index first, as a writer may go on.
    promised_salts, promised_count = _read_index(database)
    data = _read_bytes(database, "-wal")
    size = page_size or _read_page_size(data)
    if len(data) < _HEADER + _FRAME_HEADER + size:
        return WalPages()
    frames, is_whole = _read_frames(data, size)
    last = max((index for index, is_own in enumerate(frames.are_own) if is_own), default=-1)
    bad = [index for index in range(last + 1) if not frames.are_sound[index]]
    cut = promised_salts == data[16:24] and promised_count > len(frames.numbers)
    # A transaction that was undone, as on a full disk, leaves frames without a commit behind those
    # of a smaller one that came after it.
    loses_commits = bool(bad) and any(frames.commits[bad[0] : last + 1])
    damaged = last >= 0 and (not is_whole or cut or loses_commits)
    pages = WalPages(size, damaged=damaged, cut=cut)
    if cut:
        frame_bytes = _FRAME_HEADER + size
        torn_page = data[_HEADER + len(frames.numbers) * frame_bytes + _FRAME_HEADER :]
        if torn_page:
            pages.doubtful.append(torn_page.ljust(size, b"\0"))
    # A damaged frame may name any page: none lies far beyond the file and what the log adds to it.
    sizes = [
        max(frames.numbers[index], frames.commits[index])
        for index in range(last + 1)
        if frames.are_sound[index]
    ]
    max_number = max((_count_pages(database, size), *sizes)) + len(frames.numbers)
    _collect_pages(pages, frames, last, max_number)
    return pages


def _collect_pages(pages: WalPages, frames: _Frames, last: int, max_number: int) -> None:
    """Fill in the pages of all frames up to the ``last`` one of this log, commit by commit."""
    uncommitted: dict[int, bytes] = {}
    for index in range(last + 1):
        number = frames.numbers[index]
        is_sound = frames.are_sound[index]
        page = frames.content[index, _FRAME_HEADER:].tobytes()
        if not is_sound:
            if not pages.damaged:
                break
            pages.doubtful.append(page)
        if frames.are_own[index] and 0 < number <= max_number:
            older = uncommitted.get(number) or pages.newest.get(number)
            if not is_sound and older:
                pages.doubtful.append(older)
            uncommitted[number] = page
        # The last commit of a damaged log may be what is gone.
        if frames.commits[index] or (pages.damaged and index == last):
            pages.newest.update(uncommitted)
            uncommitted.clear()


def read_versions(database: Path, page_size: int) -> Iterator[tuple[int, bytes]]:
    """Read number and content of every page in the log."""
    data = _read_bytes(database, "-wal")
    if len(data) <= _HEADER + _FRAME_HEADER + page_size:
        return
    for frame in _split_frames(data, page_size):
        yield int.from_bytes(frame[:4].tobytes(), "big"), frame[_FRAME_HEADER:].tobytes()


def _read_page_size(data: bytes) -> int:
    size = int.from_bytes(data[8:12], "big")
    return size if size in _PAGE_SIZES else _USUAL_PAGE_SIZE


def _read_bytes(database: Path, ending: str) -> bytes:
    try:
        return database.with_name(database.name + ending).read_bytes()
    except FileNotFoundError:
        return b""


def _count_pages(database: Path, page_size: int) -> int:
    return database.stat().st_size // page_size if database.exists() else 0


def _read_index(database: Path) -> tuple[bytes, int]:
    """Read the salts and the number of frames that the log's index knows.

    Source: SQLite's WAL-mode file format, section 2.1.
    """
    index = encryption.peek(database.with_name(database.name + "-shm"), 2 * _INDEX_HEADER)
    is_initialised = len(index) == 2 * _INDEX_HEADER and bool(index[12])
    if not is_initialised or index[:_INDEX_HEADER] != index[_INDEX_HEADER:]:
        return b"", 0
    return index[32:40], int.from_bytes(index[16:20], sys.byteorder)


def _read_frames(data: bytes, page_size: int) -> tuple[_Frames, bool]:
    """Split a log into frames and verify each; False: the log's header is damaged."""
    content = _split_frames(data, page_size)
    headers = content[:, :_FRAME_HEADER]
    have_checksum, is_whole = _verify_frames(data, content)
    salts = _find_salts(data, headers, is_whole)
    wrong_salts = (headers[:, 8:16] != _as_bytes(salts)).sum(axis=1)
    frames = _Frames(
        content,
        numbers=_read_numbers(headers, 0),
        commits=_read_numbers(headers, 4),
        are_own=[wrong <= 1 for wrong in wrong_salts],
        are_sound=[
            not wrong and is_right
            for wrong, is_right in zip(wrong_salts, have_checksum, strict=True)
        ],
    )
    return frames, is_whole


def _split_frames(data: bytes, page_size: int) -> Bytes:
    """Array of bytes, one row a frame."""
    import numpy as np

    frame_bytes = _FRAME_HEADER + page_size
    count = (len(data) - _HEADER) // frame_bytes
    return np.frombuffer(data, np.uint8, count * frame_bytes, _HEADER).reshape(count, frame_bytes)


def _as_bytes(data: bytes) -> Bytes:
    import numpy as np

    return np.frombuffer(data, np.uint8)


def _read_numbers(headers: Bytes, offset: int) -> list[int]:
    """Read four bytes of each frame's header as a number."""
    return [int.from_bytes(header[offset : offset + 4].tobytes(), "big") for header in headers]


def _find_salts(data: bytes, headers: Bytes, is_whole: bool) -> bytes:
    """Read the salts of the log's header; where it is damaged, those of most of the first frames."""
    if is_whole:
        return data[16:24]
    first_salts = Counter(bytes(header[8:16]) for header in headers[:3])
    return first_salts.most_common(1)[0][0]


def _verify_frames(data: bytes, frames: Bytes) -> tuple[Sequence[bool], bool]:
    """Verify each frame's checksum, and the header's.

    A checksum is two words. It goes on from the one before, which is taken as stored: so a damaged
    frame makes no later one look damaged, but for the next if it is the stored sum that is wrong.
    """
    import numpy as np

    # Words are in the order of the machine that began the log.
    order = ">u4" if data[3] & 1 else "<u4"
    checked = np.concatenate([frames[:, :8], frames[:, _FRAME_HEADER:]], axis=1)
    words = checked.view(order).astype(np.uint32)
    stored = np.frombuffer(np.ascontiguousarray(frames[:, 16:24]).tobytes(), ">u4")
    stored = stored.reshape(-1, 2).astype(np.uint32)
    header_words = np.frombuffer(data[:24], order).astype(np.uint32)
    header_sum = np.frombuffer(data[24:32], ">u4").astype(np.uint32)
    no_sum = np.zeros((1, 2), np.uint32)
    is_whole = data[:4] in _MAGICS and bool(
        (_add_words(header_words[None], no_sum) == header_sum).all()
    )
    before = np.concatenate([header_sum[None], stored[:-1]])
    are_right: list[bool] = (_add_words(words, before) == stored).all(axis=1).tolist()
    if not is_whole:
        are_right[0] = True  # what it builds on is gone
    return are_right, is_whole


def _add_words(words: Any, before: Any) -> Any:
    """Continue SQLite's checksums over rows of words.

    Each pair of words is one step of a linear recurrence modulo 2**32: s0 += x + s1, s1 += y + s0.
    So a sum is a product of matrices, for all frames at once.
    """
    word_weights, before_weights = _weigh_steps(words.shape[1] // 2)
    return before @ before_weights + words @ word_weights


@lru_cache(maxsize=8)
def _weigh_steps(count: int) -> tuple[Any, Any]:
    """Weights of the words, and of the sums before, in the sums after ``count`` steps.

    One step multiplies the sums by ((1, 1), (1, 2)); its powers are symmetric, and kept as their
    three values.
    """
    import numpy as np

    powers = [(1, 0, 1)]
    for _ in range(count):
        a, b, d = powers[-1]
        powers.append(((a + b) % 2**32, (a + 2 * b) % 2**32, (b + 2 * d) % 2**32))
    # The first word of a pair is in both sums of a step, the second one in the later.
    weights = [(((a + b) % 2**32, (b + d) % 2**32), (b, d)) for a, b, d in reversed(powers[:-1])]
    a, b, d = powers[-1]
    return np.array(weights, np.uint32).reshape(-1, 2), np.array(((a, b), (b, d)), np.uint32)
