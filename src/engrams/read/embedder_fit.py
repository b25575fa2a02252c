"""Fit of an embedder to one owner's memory, measured without labels.

``EmbedderFits.measure`` is the way in. The yardstick is memory itself: turns that follow each other
in a session are about the same, turns drawn at random are not. An embedder that tells them apart
well deserves more weight; one that tells them apart worse than the built-in table does not know the
language, and words take its part.
"""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from engrams.core import Kind, Record, Scope
from engrams.frozen_data import dataclass
from engrams.ports import (
    CandidatePool,
    CandidateSearch,
    Embedder,
    EmbedderCard,
    RecordQuery,
    RecordStore,
    ScopeReach,
)
from engrams.text.text_caches import register_cache

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats

_SAMPLE = 200
"""Newest turns of an owner that are looked at."""
_SAMPLE_CHARS = 600
"""Characters of a turn that the yardstick embeds: it takes some milliseconds for all of them."""
_FEWEST_PAIRS = 40
"""Neighbours in a sample from which a separation says something."""
_STRANGERS = 2_000
_USUAL_SEPARATION = 1.45
"""Separation of all-MiniLM-L6-v2 on the chats for which the weights of ``read.weights`` were set."""
_MOST_GAIN = 2.0
_LEAST_RATIO = 0.85
"""Separation, as a share of the built-in table's, up to which vectors count nothing."""
_FULL_RATIO = 1.05
"""The same share from which they count fully."""
_MOST_OWNERS = 256
_LAST_LATIN = "\u024f"
_FOREIGN_SHARE = 0.5
"""Share of a query's letters beyond Latin from which it is not in English."""


@dataclass(frozen=True, slots=True)
class EmbedderFit:
    """Fit of an embedder to a memory and a query."""

    gain: float = 1.0
    """Factor on the weights of meaning, 1..2."""
    trust: float = 1.0
    """Share, 0..1, of meaning that the vectors tell; words tell the rest."""
    has_usual_cosines: bool = True
    """The cosines are spread as those for which the weights were set."""


@dataclass(frozen=True, slots=True)
class _MeasuredFit:
    total: int
    """Records that the owner had in reach when it was measured."""
    gain: float
    trust: float


class EmbedderFits:
    """Fits of the embedder to its owners' memories; threads share it.

    A fit is measured at the first search, and anew when the memory has doubled. It holds figures
    alone, and no text.
    """

    def __init__(
        self,
        records: RecordStore,
        search: CandidateSearch,
        embedder: Embedder,
        yardstick: Embedder | None = None,
    ) -> None:
        """Set up. ``yardstick``: the built-in table; None: every embedder is trusted."""
        self._records = records
        self._search = search
        self._embedder = embedder
        self._yardstick = yardstick
        self._lock = threading.Lock()
        self._fits: OrderedDict[Scope, _MeasuredFit] = OrderedDict()
        register_cache(self)

    def measure(self, query: str, owner: Scope, pool: CandidatePool) -> EmbedderFit:
        """Measure the fit for a query over the candidates in ``pool``.

        The built-in table and other embedders that run inside of a write are what the weights were
        set for: they fit.
        """
        card = self._embedder.card
        if card.inline or not card.dimension:
            return EmbedderFit()
        fit = self._find_fit(owner, pool.total)
        trust = fit.trust
        if card.is_english and _is_foreign(query):
            trust = 0.0
        return EmbedderFit(fit.gain, trust, _has_usual_cosines(card))

    def cache_clear(self) -> None:
        """Forget all fits."""
        with self._lock:
            self._fits.clear()

    def _find_fit(self, owner: Scope, total: int) -> _MeasuredFit:
        if total <= _FEWEST_PAIRS:
            return _MeasuredFit(total, 1.0, 1.0)
        with self._lock:
            fit = self._fits.get(owner)
        if fit is not None and total < 2 * fit.total:
            return fit
        gain, trust = self._measure_memory(owner)
        fit = _MeasuredFit(total, gain, trust)
        with self._lock:
            self._fits[owner] = fit
            while len(self._fits) > _MOST_OWNERS:
                self._fits.popitem(last=False)
        return fit

    def _measure_memory(self, owner: Scope) -> tuple[float, float]:
        """Measure gain and trust from a sample of an owner's turns."""
        card_id = self._embedder.card.id
        if self._yardstick is None:
            turns = sample_turns(self._records, owner)
            rows = self._search.vectors(owner, [turn.id for turn in turns], card_id)
            separation = measure_separation(turns, rows)
            return (1.0 if separation is None else _to_gain(separation)), 1.0
        compared = compare_separations(self._records, self._search, owner, card_id, self._yardstick)
        if compared is None:
            return 1.0, 1.0
        return _to_gain(compared.stored), compared.trust


@dataclass(frozen=True, slots=True)
class ComparedSeparations:
    """Separations of two embedders on the same turns."""

    turns: int
    stored: float
    """Separation of the vectors that memory has."""
    candidate: float
    """Separation of the candidate's vectors."""

    @property
    def trust(self) -> float:
        """Share, 0..1, of meaning that memory's vectors tell, where the candidate is the yardstick."""
        if self.candidate <= 0:
            return 1.0
        share = (self.stored / self.candidate - _LEAST_RATIO) / (_FULL_RATIO - _LEAST_RATIO)
        return min(max(share, 0.0), 1.0)


def compare_separations(
    records: RecordStore,
    search: CandidateSearch,
    owner: Scope,
    card_id: str,
    candidate: Embedder,
) -> ComparedSeparations | None:
    """Compare the stored vectors of an owner's newest turns with those of a candidate.

    ``card_id``: the card of the stored ones. None: memory has too few neighbours, or too few of
    their vectors. Errors as for ``Embedder.embed``.
    """
    turns = sample_turns(records, owner)
    rows = search.vectors(owner, [turn.id for turn in turns], card_id)
    stored = measure_separation(turns, rows)
    if stored is None:
        return None
    texts = [turn.search_text[:_SAMPLE_CHARS] for turn in turns]
    separation = measure_separation(turns, candidate.embed(texts))
    return None if separation is None else ComparedSeparations(len(turns), stored, separation)


def sample_turns(records: RecordStore, owner: Scope) -> list[Record]:
    """Get an owner's newest turns, in the order in which they were said."""
    query = RecordQuery(ScopeReach(owner, (owner,), tree=True), (Kind.TURN,), limit=_SAMPLE)
    return sorted(records.find(query).records, key=lambda record: record.story_key)


def _to_gain(separation: float) -> float:
    return min(max(separation / _USUAL_SEPARATION, 1.0), _MOST_GAIN)


def measure_separation(records: list[Record], rows: Floats) -> float | None:
    """Measure how far vectors keep neighbours of one session from strangers.

    The difference of the mean cosines, in standard deviations (Cohen's d). ``records``: in the order
    in which they were said, a row of ``rows`` for each; a row of zeros is left out. None: there are
    too few neighbours.
    """
    known = [index for index in range(len(records)) if rows[index].any()]
    # Sessions may overlap in time, so each is gone through by itself. The sort is stable.
    by_session = sorted(known, key=lambda index: records[index].session)
    neighbours = [
        (first, second)
        for first, second in pairwise(by_session)
        if records[first].session == records[second].session
    ]
    if len(neighbours) < _FEWEST_PAIRS:
        return None
    # Seeded: the same memory has the same fit in every process.
    chance = random.Random(0)  # noqa: S311 - a sample, no secret
    drawn = [(chance.choice(known), chance.choice(known)) for _ in range(_STRANGERS)]
    strangers = [pair for pair in drawn if records[pair[0]].session != records[pair[1]].session]
    if len(strangers) < _FEWEST_PAIRS:
        # One long session: what lies far apart in it.
        strangers = [pair for pair in drawn if abs(pair[0] - pair[1]) > len(known) // 4]
    near = _cosines(rows, neighbours)
    far = _cosines(rows, strangers)
    deviation = float(np.sqrt((near.var() + far.var()) / 2))
    return float(near.mean() - far.mean()) / max(deviation, 1e-6)


def _cosines(rows: Floats, pairs: list[tuple[int, int]]) -> Floats:
    first, second = np.array(pairs).T
    products: Floats = np.einsum("ij,ij->i", rows[first], rows[second])
    return products


def _has_usual_cosines(card: EmbedderCard) -> bool:
    """True for all-MiniLM-L6-v2 and what is spread as its cosines are."""
    places = len(card.scale) - 1
    return places > 0 and all(
        abs(cosine - index / places) < 1e-6 for index, cosine in enumerate(card.scale)
    )


def _is_foreign(query: str) -> bool:
    """True where most letters of a query are beyond Latin."""
    letters = [letter for letter in query if letter.isalpha()]
    foreign = sum(letter > _LAST_LATIN for letter in letters)
    return bool(letters) and foreign >= _FOREIGN_SHARE * len(letters)
