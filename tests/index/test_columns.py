"""Vectors in a quarter of the memory."""

from __future__ import annotations

import numpy as np

from engrams.index.columns import IndexColumns


def test_vectors_of_eight_bits_keep_their_products() -> None:
    """Within 0.001 of the whole ones where all have a large part in common, those that come later
    too; one unlike all others is told more coarsely.
    """
    dice = np.random.default_rng(3)
    common = np.eye(1, 64, dtype=np.float32)[0]
    whole = dice.standard_normal((500, 64)).astype(np.float32) * 0.05 + common
    whole /= np.linalg.norm(whole, axis=1, keepdims=True)
    columns = IndexColumns(64)
    columns.extend(400)
    columns.set_vectors(slice(0, 400), whole[:400])
    columns.quantize()
    columns.extend(100)
    columns.set_vectors(slice(400, 500), whole[400:])
    columns.set_vectors(np.array([7]), -whole[7:8])
    whole[7] *= -1
    slots = np.arange(500)
    for query in (whole[3], common, dice.standard_normal(64).astype(np.float32) / 8):
        off = np.abs(columns.dots(slots, query) - whole @ query)
        assert off[7] < 0.01
        assert np.delete(off, 7).max() < 0.001
    assert np.abs(columns.get_vectors(slots) - whole).max() < 0.01
    assert columns.bytes < 500 * 64 * 4 + columns.size * 400
