"""The settable clock and the embedder from hashed words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrams.errors import InputError
from engrams.testing import HashEmbedder, SettableClock


def test_a_clock_moves_only_when_told() -> None:
    """It stands still, goes forwards and backwards, and can be set; all times are UTC."""
    clock = SettableClock("2026-03-01T12:00")
    assert clock() == clock() == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert clock.forward(90) == clock() == datetime(2026, 3, 1, 12, 1, 30, tzinfo=UTC)
    assert clock.back(days=2, seconds=30) == datetime(2026, 2, 27, 12, 1, tzinfo=UTC)
    assert clock.set("2026-06-01T10:00+02:00") == clock() == datetime(2026, 6, 1, 8, tzinfo=UTC)
    assert clock().tzinfo is UTC
    assert SettableClock(datetime(2026, 1, 1))().tzinfo is UTC
    assert SettableClock()() == SettableClock()()


def test_a_clock_can_move_by_itself() -> None:
    """With a step no two looks see the same time, whatever the threads."""
    clock = SettableClock("2026-03-01", step=1)
    with ThreadPoolExecutor(8) as pool:
        moments = set(pool.map(lambda _: clock(), range(400)))
    assert len(moments) == 400
    assert max(moments) - min(moments) == timedelta(seconds=399)


def test_texts_that_share_words_are_near() -> None:
    """The same words in any case and punctuation give the same vector;
    shared words a high cosine, others a low one.
    """
    embedder = HashEmbedder(512)
    rows = embedder.embed(
        [
            "Alice lives in Lisbon",
            "alice LIVES... in Lisbon",
            "Alice lives in Porto",
            "quantum chromodynamics",
            "東京に住む",
            "東京",
        ]
    )
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    cosines = rows @ rows.T
    assert cosines[0, 1] == pytest.approx(1)
    assert 0.5 < cosines[0, 2] < 0.95
    assert abs(cosines[0, 3]) < 0.3
    assert cosines[4, 5] > 0.5
    assert embedder.calls == {"query": 0, "document": 6}


@given(st.text(), st.integers(1, 40))
def test_any_text_in_any_dimension(text: str, dimension: int) -> None:
    """Rows have length one, or zero where no word was found or its places cancelled out;
    a second embedder agrees.
    """
    rows = HashEmbedder(dimension).embed([text], "query")
    assert rows.shape == (1, dimension)
    length = float(np.linalg.norm(rows[0]))
    assert length == 0 or length == pytest.approx(1, abs=1e-5)
    assert np.array_equal(rows, HashEmbedder(dimension).embed([text]))


def test_no_text_and_no_dimension() -> None:
    """No texts give no rows; no dimension is an input error; the card says what it is."""
    assert HashEmbedder(8).embed([]).shape == (0, 8)
    assert HashEmbedder(8).embed(["", "\0 \ud800 !?"]).tolist() == [[0.0] * 8] * 2
    with pytest.raises(InputError):
        HashEmbedder(0)
    card = HashEmbedder(8).card
    assert (card.id, card.dimension, card.inline) == ("hash-8", 8, True)
    assert not HashEmbedder(8, inline=False).card.inline
