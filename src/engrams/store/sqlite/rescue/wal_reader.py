"""Pages in a write-ahead log, read and verified without SQLite.

SQLite stops at the first frame whose checksum is wrong, and takes the log's rest for never written.
One overwritten byte would so undo what was acknowledged; here the frames behind it are read too.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engrams import encryption
from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    import numpy as np

_HEAD = 32
_FRAME = 24
_MAGICS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_SIZES = frozenset(1 << power for power in range(9, 17))
_USUAL_SIZE = 4096


@dataclass(frozen=True, slots=True)
class WalPages:
    """Newest version of each page in a write-ahead log.

    ``size``: bytes of a page, 0 for no log. ``newest``: the last committed page of each number.
    ``doubtful``: pages of damaged frames, and the ones they replaced. ``damaged``: SQLite would
    leave out committed frames. ``cut``: the log's index knows of frames that are gone; opening the
    database makes that index anew, and forgets them.
    """

    size: int = 0
    newest: dict[int, bytes] = field(default_factory=dict)
    doubtful: list[bytes] = field(default_factory=list)
    damaged: bool = False
    cut: bool = False


def read_log(database: Path, size: int = 0) -> WalPages:
    """Read the log beside a database.

    ``size``: bytes of a page, where the log does not tell it.
    """
    promised = _read_promise(database)  # first, as a writer may go on
    data = _read_bytes(database, "-wal")
    size = size or _page_size(data)
    if len(data) < _HEAD + _FRAME + size:
        return WalPages()
    frames = _split_frames(data, size)
    heads = frames[:, :_FRAME]
    sound, whole = _verify_frames(data, frames)
    salts = _find_salts(data, heads, whole)
    # A frame of this log bears its salts; one byte of them may be the damaged one.
    wrong = (heads[:, 8:16] != _as_bytes(salts)).sum(axis=1)
    own = wrong <= 1
    last = max((place for place in range(len(frames)) if own[place]), default=-1)
    bad = [place for place in range(last + 1) if wrong[place] or not sound[place]]
    numbers, commits = (_read_numbers(heads, place) for place in (0, 4))
    cut = promised[0] == data[16:24] and promised[1] > len(frames)
    # A transaction that was undone, as on a full disk, leaves frames without a commit behind those
    # of a smaller one that came after it.
    damaged = last >= 0 and (not whole or cut or (bool(bad) and any(commits[bad[0] : last + 1])))
    found = WalPages(size, damaged=damaged, cut=cut)
    if cut and (torn := data[_HEAD + len(frames) * (_FRAME + size) + _FRAME :]):
        found.doubtful.append(torn.ljust(size, b"\0"))
    told = [max(numbers[place], commits[place]) for place in range(last + 1) if place not in bad]
    most = max((_count_pages(database, size), *told)) + len(frames)
    waiting: dict[int, bytes] = {}
    for place in range(last + 1):
        page = frames[place, _FRAME:].tobytes()
        if place in bad:
            if not damaged:
                break
            found.doubtful.append(page)
        if own[place] and 0 < numbers[place] <= most:
            if place in bad and (
                older := waiting.get(numbers[place]) or found.newest.get(numbers[place])
            ):
                found.doubtful.append(older)
            waiting[numbers[place]] = page
        if commits[place] or (damaged and place == last):
            found.newest.update(waiting)
            waiting.clear()
    return found


def read_versions(database: Path, size: int) -> Iterator[tuple[int, bytes]]:
    """Read number and content of every page in the log."""
    data = _read_bytes(database, "-wal")
    for frame in _split_frames(data, size) if len(data) > _HEAD + _FRAME + size else ():
        yield int.from_bytes(frame[:4].tobytes(), "big"), frame[_FRAME:].tobytes()


def _page_size(data: bytes) -> int:
    told = int.from_bytes(data[8:12], "big")
    return told if told in _SIZES else _USUAL_SIZE


def _read_bytes(database: Path, end: str) -> bytes:
    try:
        return database.with_name(database.name + end).read_bytes()
    except FileNotFoundError:
        return b""


def _count_pages(database: Path, size: int) -> int:
    return database.stat().st_size // size if database.exists() else 0


def _read_promise(database: Path) -> tuple[bytes, int]:
    """Read the salts and the frames that a log's index knows.

    Source: SQLite's WAL-mode file format, 2.1.
    """
    index = encryption.peek(database.with_name(database.name + "-shm"), 96)
    if len(index) < 96 or index[:48] != index[48:] or not index[12]:
        return b"", 0
    return index[32:40], int.from_bytes(index[16:20], sys.byteorder)


def _split_frames(data: bytes, size: int) -> Any:
    import numpy as np

    count = (len(data) - _HEAD) // (_FRAME + size)
    return np.frombuffer(data, np.uint8, count * (_FRAME + size), _HEAD).reshape(
        count, _FRAME + size
    )


def _as_bytes(data: bytes) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.frombuffer(data, np.uint8)


def _read_numbers(heads: Any, place: int) -> list[int]:
    return [int.from_bytes(head[place : place + 4].tobytes(), "big") for head in heads]


def _find_salts(data: bytes, heads: Any, whole: bool) -> bytes:
    """Read the salts of the header.

    Where it is damaged: those of most of the first frames.
    """
    return (
        data[16:24]
        if whole
        else Counter(head[8:16].tobytes() for head in heads[:3]).most_common(1)[0][0]
    )


def _verify_frames(data: bytes, frames: Any) -> tuple[list[bool], bool]:
    """Verify each frame's checksum, and the header's."""
    import numpy as np

    # Words are in the order of the machine that began the log.
    order = ">u4" if data[3] & 1 else "<u4"
    words = (
        np.concatenate([frames[:, :8], frames[:, _FRAME:]], axis=1).view(order).astype(np.uint32)
    )
    stored = (
        np.frombuffer(np.ascontiguousarray(frames[:, 16:24]).tobytes(), ">u4")
        .reshape(-1, 2)
        .astype(np.uint32)
    )
    head = np.frombuffer(data[:24], order).astype(np.uint32)
    told = np.frombuffer(data[24:32], ">u4").astype(np.uint32)
    whole = data[:4] in _MAGICS and bool(
        (_add_words(head[None], np.zeros((1, 2), np.uint32)) == told).all()
    )
    before = np.concatenate([told[None], stored[:-1]])
    sound = (_add_words(words, before) == stored).all(axis=1).tolist()
    if not whole:
        sound[0] = True  # what it builds on is gone
    return sound, whole


def _add_words(words: Any, before: Any) -> Any:
    """Continue SQLite's checksums over rows of words.

    Each pair of words is one step of a linear recurrence modulo 2**32.
    """
    steps, first = _weigh_steps(words.shape[1] // 2)
    return before @ first + words @ steps


@lru_cache(maxsize=8)
def _weigh_steps(count: int) -> tuple[Any, Any]:
    """Weigh words and earlier sums in the sums after some steps."""
    import numpy as np

    powers = [(1, 0, 1)]  # of the symmetric matrix ((1, 1), (1, 2)): its three values
    for _ in range(count):
        a, b, d = powers[-1]
        powers.append(((a + b) % 2**32, (a + 2 * b) % 2**32, (b + 2 * d) % 2**32))
    # The first word of a pair is in both sums of a step, the second one in the later.
    weights = [(((a + b) % 2**32, (b + d) % 2**32), (b, d)) for a, b, d in reversed(powers[:-1])]
    a, b, d = powers[-1]
    return np.array(weights, np.uint32).reshape(-1, 2), np.array(((a, b), (b, d)), np.uint32)
