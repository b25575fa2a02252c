"""Nearness of memory to a query, and its floor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from engrams.ports import CALIBRATION, EmbedderCard, OwnerState, Pool
from engrams.read.score import fill_column
from engrams.types import Scope

if TYPE_CHECKING:
    from engrams.ports.search import Flags

UNKNOWN_MODEL = 0.1
"""Floor for models whose card has none: low, so that nothing known is passed over."""

MOST_FLOOR = 0.4
"""Highest floor that a calibration chooses; from here on nothing is looked up."""

_WORDS_ALONE = 2.0
"""Factor on the words of a memory without a vector: they rarely reach half of the best score."""

_ANSWERING = 0.25
"""Nearness of a fact with the asked predicate about the asked person."""


def measure_nearness(pool: Pool, passes: Flags, answering: Mapping[str, float], meaning: bool) -> float:
    """Nearness of the nearest memory, 0..1.

    The mean of its cosine and of its BM25 as a share of the most that the query could score. One memory must have both: words in one and
    meaning in another say little. ``meaning``: the query has a vector."""
    if not passes.any():
        return 0.0
    both = (np.maximum(pool.cos, 0) + pool.bm) / 2
    near = np.where(pool.embedded & meaning, both, _WORDS_ALONE * pool.bm)
    if answering:
        near = near + _ANSWERING * fill_column(pool, answering)
    return min(float(near[passes].max()), 1.0)


def is_near(nearness: float, setting: float | None, card: EmbedderCard, states: OwnerState | None, owner: Scope) -> bool:
    """Test for the floor.
    It is the setting, else the owner's calibrated one for this model, else the card's."""
    if setting is not None:
        return nearness >= setting
    if nearness >= MOST_FLOOR:
        return True
    known = {} if states is None else states.load_state(owner, CALIBRATION).data
    return nearness >= (known["floor"] if known.get("model") == card.id else default_floor(card))


def default_floor(card: EmbedderCard) -> float:
    """Floor of a model where its owner has calibrated none."""
    return card.floors.get("near", UNKNOWN_MODEL)
