"""What a seek may see, with the statistics of it: kept while nothing changes, for many seeks see the same."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engrams.store.index.columns import Columns
from engrams.store.index.gather import Told, told
from engrams.store.index.gather import grown as more


@dataclass(frozen=True, slots=True)
class View:
    """``mask``: what is seen, ``total`` slots. ``average``: terms a record. ``b``: how much length is normalised. By session number:
    ``spoken``, its terms; ``talks``: how many sessions there are, ``talk``: terms a session. ``until``: seconds since 1970 from which
    something in it no longer holds. ``kept``: what was gathered of it."""

    mask: npt.NDArray[np.bool_]
    total: int
    average: float
    b: float
    spoken: npt.NDArray[np.float32]
    talks: int
    talk: float
    until: float
    kept: list[Told] = field(default_factory=list)

    def everything(self, columns: Columns) -> Told:
        """All that is seen, gathered once."""
        if not self.kept:
            self.kept.append(told(columns, np.flatnonzero(self.mask)))
        return self.kept[0]


def grown(columns: Columns, old: View, fresh: npt.NDArray[np.bool_], sessions: int, now: float) -> View:
    """The view with slots that were added since; ``fresh``: which of them are seen. What was gathered is gathered on."""
    made = view(columns, np.concatenate([old.mask, fresh]), sessions, now)
    made.kept.extend(more(columns, known, len(old.mask) + np.flatnonzero(fresh)) for known in old.kept)
    return made


def view(columns: Columns, mask: npt.NDArray[np.bool_], sessions: int, now: float) -> View:
    """The view of ``mask`` at ``now``."""
    slots = np.flatnonzero(mask)
    lengths = columns["length"][slots]
    average, b = _shape(lengths)
    inside = columns["session"][slots]
    spoken = np.bincount(inside, weights=lengths, minlength=sessions).astype(np.float32)
    talks = int((np.bincount(inside, minlength=sessions) > 0).sum())
    ends = columns["valid_to"][slots]
    coming = ends[ends > now]
    until = float(coming.min()) if len(coming) else np.inf
    return View(mask, len(slots), average, b, spoken, talks, float(spoken.sum()) / max(talks, 1), until)


def _shape(lengths: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Average length and b: chat turns are alike in length and want little normalising; mixed documents want much."""
    average = float(lengths.mean()) if len(lengths) else 1.0
    spread = float(lengths.std()) / max(average, 1e-9) if len(lengths) else 0.0
    return average, 0.25 if spread < 1.0 and average < 40 else 0.75
