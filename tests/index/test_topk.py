"""Top-k selection among many scores."""

from __future__ import annotations

from threading import enumerate as enumerate_threads

import numpy as np
import pytest

from engrams.index.ann import AnnIndex
from engrams.index.columns import IndexColumns
from engrams.index.nearest import CodeUnpacker, NearestVectorSearcher, PackedCodes
from engrams.index.slots import top_slots, unique_sorted


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 1.0])
@pytest.mark.parametrize("levels", [3, 1_000_000])
def test_the_highest_of_many_are_found_however_they_are_spread(share: float, levels: int) -> None:
    """As a whole sort would choose them, for rare scores and common ones, all different or nearly
    all equal; zeros never.
    """
    dice = np.random.default_rng(7)
    scores = (dice.integers(1, levels, 50_000) / levels * (dice.random(50_000) < share)).astype(
        np.float32
    )
    for width in (1, 10, 400):
        slots = top_slots(scores, width)
        wanted = np.sort(scores[scores > 0])[::-1][:width]
        assert len(set(slots.tolist())) == len(slots) == len(wanted)
        assert np.array_equal(np.sort(scores[slots])[::-1], wanted)


def test_distinct_keeps_each_once_in_order() -> None:
    """Sorted, each once; nothing of nothing."""
    assert unique_sorted(np.array([5, 1, 5, 3, 1])).tolist() == [1, 3, 5]
    assert unique_sorted(np.array([], np.int64)).tolist() == []


@pytest.mark.parametrize(("rank", "bits"), [(6, 2), (64, 4)])
def test_codes_have_as_many_bits_as_tell_the_nearest(rank: int, bits: int) -> None:
    """Two where vectors differ in few ways, as those of texts do, four where they are random;
    the nearest are found by both.
    """
    pytest.importorskip("turbovec")
    random = np.random.default_rng(5)
    spread = random.standard_normal((20_000, rank)) @ random.standard_normal((rank, 64))
    vectors = (spread / np.linalg.norm(spread, axis=1, keepdims=True)).astype(np.float32)
    columns = IndexColumns(64)
    columns.extend(len(vectors))
    columns.set_vectors(slice(0, len(vectors)), vectors)
    codes = AnnIndex.build(columns.vectors)
    assert codes is not None
    assert codes.bits == bits
    columns.quantize()
    searcher = NearestVectorSearcher(codes)
    mask = np.ones(len(vectors), np.bool_)
    shares = []
    for vector in vectors[::1_000]:
        scores = vectors @ vector
        bound = np.sort(scores)[-100] - 0.001
        shares.append(
            np.count_nonzero(scores[searcher.find(columns, vector, mask, 400)] >= bound) / 100
        )
    assert np.mean(np.minimum(shares, 1)) >= 0.98


def test_codes_are_used_as_soon_as_they_are_unpacked() -> None:
    """No search scans all vectors when the thread that the second one began is done."""
    pytest.importorskip("turbovec")
    columns = IndexColumns(64)
    columns.extend(3_000)
    columns.set_vectors(slice(0, 3_000), np.eye(64, dtype=np.float32)[np.arange(3_000) % 64])
    codes = AnnIndex.build(columns.vectors)
    assert codes is not None
    columns.quantize()
    searcher = NearestVectorSearcher(
        packed=PackedCodes(np.frombuffer(codes.encode(), np.uint8), 3_000)
    )
    mask = np.ones(3_000, np.bool_)
    vector = columns.get_vectors(np.array([17]))[0]
    for _ in range(2):
        searcher.find(columns, vector, mask, 40)
        assert searcher.codes is None
    for thread in enumerate_threads():
        if isinstance(thread, CodeUnpacker):
            thread.join()
    assert set((searcher.find(columns, vector, mask, 40) % 64).tolist()) == {17}
    assert searcher.codes is not None


def test_the_first_searches_scan_and_later_ones_use_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes of a file are left packed by one search and unpacked once;
    those of another version are made anew; all find alike.
    """
    pytest.importorskip("turbovec")
    random = np.random.default_rng(3)
    columns = IndexColumns(64)
    columns.extend(3_000)
    vectors = random.standard_normal((3_000, 64)).astype(np.float32)
    columns.set_vectors(slice(0, 3_000), vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    codes = AnnIndex.build(columns.vectors)
    assert codes is not None
    columns.quantize()
    decoded: list[int] = []
    decode = AnnIndex.decode
    monkeypatch.setattr(AnnIndex, "decode", lambda data: decoded.append(len(data)) or decode(data))
    vector = columns.get_vectors(np.array([17]))[0]
    mask = np.ones(3_000, np.bool_)
    packed = np.frombuffer(codes.encode(), np.uint8)
    for codes_of_file, times in ((packed, 1), (packed[:100], 2)):
        searcher = NearestVectorSearcher(packed=PackedCodes(codes_of_file, 3_000))
        first = searcher.find(columns, vector, mask, 40)
        assert len(decoded) == times - 1
        assert searcher.codes is None
        for _ in range(9):
            later = searcher.find(columns, vector, mask, 40)
        assert len(decoded) == times and searcher.codes is not None
        assert len(set(first.tolist()) & set(later.tolist())) >= 36
        assert 17 in first
        assert 17 in later
