"""Mapped arrays leave a process's memory when they are released, and are read again."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from engrams.index.segment_file import SegmentContent, map_segment, release_pages, write_segment

SIZE = 16_000_000


def mapped_mb() -> float:
    """Resident memory of this process that belongs to files."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    # Files in memory count as shared memory.
    kinds = ("RssFile", "RssShmem")
    return sum(int(line.split()[1]) / 1e3 for line in lines if line.startswith(kinds))


@pytest.mark.skipif(sys.platform != "linux", reason="told by /proc")
def test_released_pages_take_no_memory_and_come_back(tmp_path: Path) -> None:
    """Of a released array nothing is resident;
    it reads as before, and changes of its neighbours stay.
    """
    codes = np.random.default_rng(1).integers(0, 256, SIZE, np.uint8)
    write_segment(
        tmp_path / "a",
        SegmentContent({}, {"before": np.zeros(100), "codes": codes, "after": np.zeros(100)}),
    )
    arrays = map_segment(tmp_path / "a").arrays
    arrays["before"][:] = arrays["after"][:] = 7
    start = mapped_mb()
    assert arrays["codes"].tobytes() == codes.tobytes()
    assert mapped_mb() > start + 0.9 * SIZE / 1e6
    release_pages(arrays["codes"])
    assert mapped_mb() < start + 0.1 * SIZE / 1e6
    assert arrays["codes"].tobytes() == codes.tobytes()
    assert (arrays["before"] == 7).all() and (arrays["after"] == 7).all()


def test_an_array_that_is_not_mapped_stays() -> None:
    """Releasing an array of this process's own memory changes nothing."""
    array = np.arange(10_000)
    release_pages(array[100:])
    assert (array == np.arange(10_000)).all()
