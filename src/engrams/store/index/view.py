"""Visible slots of a query with their statistics, cached between queries."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engrams.store.index.columns import IndexColumns
from engrams.store.index.gather import GatheredColumns, extend_gathered, gather


@dataclass(frozen=True, slots=True)
class IndexView:
    """Mask of ``total`` visible slots, with their length statistics.

    ``average``: terms a record. ``b``: BM25 length normalisation. ``session_terms``: terms by session number. ``sessions``: number of
    visible sessions; ``session_length``: terms a session. ``until``: seconds since 1970 at which a slot expires. ``gathered``: its
    columns, once asked for.
    """

    mask: npt.NDArray[np.bool_]
    total: int
    average: float
    b: float
    session_terms: npt.NDArray[np.float32]
    sessions: int
    session_length: float
    until: float
    gathered: list[GatheredColumns] = field(default_factory=list)

    def gather_all(self, columns: IndexColumns) -> GatheredColumns:
        """Columns of all visible slots, gathered once."""
        if not self.gathered:
            self.gathered.append(gather(columns, np.flatnonzero(self.mask)))
        return self.gathered[0]


def extend_view(columns: IndexColumns, old: IndexView, fresh: npt.NDArray[np.bool_], sessions: int, now: float) -> IndexView:
    """Extend a view by the mask of new slots, reusing gathered columns."""
    made = make_view(columns, np.concatenate([old.mask, fresh]), sessions, now)
    made.gathered.extend(extend_gathered(columns, known, len(old.mask) + np.flatnonzero(fresh)) for known in old.gathered)
    return made


def make_view(columns: IndexColumns, mask: npt.NDArray[np.bool_], sessions: int, now: float) -> IndexView:
    """View of ``mask`` at ``now``, with its statistics."""
    slots = np.flatnonzero(mask)
    lengths = columns["length"][slots]
    average, b = _measure_lengths(lengths)
    inside = columns["session"][slots]
    session_terms = np.bincount(inside, weights=lengths, minlength=sessions).astype(np.float32)
    sessions_in_view = int((np.bincount(inside, minlength=sessions) > 0).sum())
    ends = columns["valid_to"][slots]
    coming = ends[ends > now]
    until = float(coming.min()) if len(coming) else np.inf
    return IndexView(
        mask, len(slots), average, b, session_terms, sessions_in_view, float(session_terms.sum()) / max(sessions_in_view, 1), until
    )


def _measure_lengths(lengths: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Average length and b: low for similar lengths, as of chat turns."""
    average = float(lengths.mean()) if len(lengths) else 1.0
    spread = float(lengths.std()) / max(average, 1e-9) if len(lengths) else 0.0
    return average, 0.25 if spread < 1.0 and average < 40 else 0.75
