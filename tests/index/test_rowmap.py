"""Where the rows of the store are in the index."""

from __future__ import annotations

import random

import pytest

from engrams.index import number_maps
from engrams.index.number_maps import RowSlotMap


@pytest.mark.parametrize("seed", range(5))
def test_a_place_is_the_last_one_said_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Against a dict:
    put in order and out of it, moved, dropped and put again, over many settlings.
    """
    monkeypatch.setattr(number_maps, "_MOST_RECENT", 50)
    dice = random.Random(seed)
    expected = dict[int, int]()
    slots = RowSlotMap()
    for slot in range(3000):
        row = slot * 3 if dice.random() < 0.8 else dice.randrange(9000)
        if dice.random() < 0.2:
            expected.pop(row, None)
            slots.drop(row)
        else:
            expected[row] = slot
            slots.extend((row,), slot)
    assert {row: slots.get(row) for row in range(-1, 9001) if row in slots} == expected
    assert all((row in slots) == (row in expected) for row in range(9001))
    assert slots.bytes > 0
