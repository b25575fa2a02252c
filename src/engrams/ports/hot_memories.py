"""Memories that were recalled lately, which a search finds again without looking for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engrams.frozen_data import dataclass

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_TIE = 1e-6
"""Tolerance of the floor: cosines are float32, and the floor is inclusive."""


@dataclass(frozen=True, slots=True)
class HotMemories:
    """Memories at hand in one scope, as they were when the read began."""

    vectors: Mapping[str, Floats]
    """Unit vectors by record id; zeros match nothing."""
    floor: float
    """Least cosine that is near."""

    def find_near(self, vector: Floats | None) -> dict[str, float]:
        """Find the memories near a query: record id -> cosine, best first."""
        if vector is None:
            return {}
        cosines = {
            record_id: float(vector @ row)
            for record_id, row in self.vectors.items()
            if len(row) == len(vector)
        }
        near = [record_id for record_id in cosines if cosines[record_id] >= self.floor - _TIE]
        near.sort(key=lambda record_id: cosines[record_id])
        return {record_id: round(cosines[record_id], 4) for record_id in reversed(near)}
