"""Calibration of an owner's nearness floor, by asking their memory test questions.

The floor parts "memory knows something about it" from "it knows nothing". ``ThresholdCalibrator``
asks about what is stored (probes of its own words) and about what nobody tells a memory (general
questions), and chooses a floor between the two. ``read.floors`` applies it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib import resources
from itertools import pairwise

from engrams.core import Meta, Scope
from engrams.errors import InputError
from engrams.ports import CALIBRATION, Clock, EmbedderCard, RecordQuery, Store
from engrams.read.floors import MOST_FLOOR, default_floor
from engrams.read.request import visible_scopes
from engrams.text.terms import terms

MAX_FALSE_SILENCES = 0.02
"""Share of the questions about what is there that may find nothing near, at most."""

_MAX_PROBES = 150
_MIN_PROBES = 30
_MAX_TEXTS = 2_000
"""Memories that probes are made of: the latest."""
_PROBE_WORDS = 4
"""Words that a probe has of a memory, and as many of another: with those a probe is as near as
people's questions are (on the development sets, 2, 20 and 50 % lie below 0.22, 0.37 and 0.45; of
the questions below 0.22, 0.36 and 0.46).
"""
_FLOOR_MARGIN = 0.01
"""By which the floor is above the nearest general question."""
_FLOOR_STEPS = 1000
"""A floor is rounded down to a thousandth."""

_WORD = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]{2}|[^\\W\\d_]{3,}")


@dataclass(frozen=True, slots=True)
class OwnerSimilarityThreshold:
    """Nearness floor of an owner, and where it comes from. The names of its fields are stored."""

    floor: float
    """0 to 1: memory below it is not near enough to answer."""
    source: str
    """``setting`` (``read.abstain``), ``calibration``, or ``model`` (its card)."""
    model: str
    """Embedder that it holds for."""
    at: str = ""
    """Time of the calibration, ISO."""
    known: int = 0
    """Number of questions asked about what is there."""
    unknown: int = 0
    """Number of general questions asked."""
    known_silent: float = 0.0
    """Share of the former that would find nothing near, 0 to 1."""
    unknown_silent: float = 0.0
    """Share of the latter."""

    def to_json(self) -> Meta:
        return asdict(self)


class ThresholdCalibrator:
    """Floors of all owners, and their calibration."""

    def __init__(
        self,
        store: Store,
        card: EmbedderCard,
        clock: Clock,
        setting: float | None,
        measure: Callable[[str, Scope], float],
    ) -> None:
        """Set up the calibrator.

        ``setting``: ``read.abstain``, which comes before any calibration (None: not set).
        ``measure``: returns the nearness, 0 to 1, of an owner's memory to a question.
        """
        self._store = store
        self._card = card
        self._clock = clock
        self._setting = setting
        self._measure = measure

    def get(self, scope: Scope | tuple[str, ...] | str) -> OwnerSimilarityThreshold:
        """Return the floor that reads of this owner use."""
        if self._setting is not None:
            return OwnerSimilarityThreshold(self._setting, "setting", self._card.id)
        saved = self._store.load_state(Scope.of(scope).owner, CALIBRATION).data
        if saved.get("model") == self._card.id:
            return OwnerSimilarityThreshold(**saved)
        return OwnerSimilarityThreshold(default_floor(self._card), "model", self._card.id)

    def calibrate(self, scope: Scope | tuple[str, ...] | str) -> OwnerSimilarityThreshold:
        """Choose an owner's threshold by test questions, and save it.

        At most 2 % of the questions about what is there are silent. A setting ``read.abstain``
        still comes first. InputError: memory holds fewer than 30 texts to ask about, or is off.
        """
        owner = Scope.of(scope).owner
        page = self._store.find(RecordQuery(visible_scopes(owner), limit=_MAX_TEXTS))
        probes = make_probes([record.text for record in page.records])
        if len(probes) < _MIN_PROBES:
            raise InputError(
                f"Calibration asks about {_MIN_PROBES} memories of four words or more; here are"
                f" {len(probes)}. Try again with more."
            )
        known_nearness = [self._measure(probe, owner) for probe in probes]
        if not max(known_nearness):
            raise InputError(
                "No memory is found at all: turn memory on (`enabled`) before calibrating."
            )
        unknown_nearness = [self._measure(text, owner) for text in load_general_questions()]
        threshold = _choose_floor(known_nearness, unknown_nearness, self._card, self._clock())
        row = self._store.load_state(owner, CALIBRATION)
        self._store.save_state(replace(row, data=threshold.to_json()))
        return threshold


def make_probes(texts: Sequence[str]) -> list[str]:
    """Make test questions about some stored texts.

    Half of their words are rarer ones of one text, half of another.
    """
    generator = random.Random(0)  # noqa: S311 - the same choice each time
    counts = Counter(term for text in texts for term in set(terms(text)))
    word_lists = [_find_rarer_words(text, counts) for text in texts]
    word_lists = [words for words in word_lists if len(words) >= _PROBE_WORDS]
    generator.shuffle(word_lists)
    return [
        " ".join(generator.sample(first, _PROBE_WORDS) + generator.sample(second, _PROBE_WORDS))
        for first, second in pairwise(word_lists[: _MAX_PROBES + 1])
    ]


def _find_rarer_words(text: str, counts: Counter[str]) -> list[str]:
    """Return the rarer half of a text's words (four at least), the rarest first."""
    word_counts = {}
    for word in dict.fromkeys(_WORD.findall(text.lower())):
        word_terms = terms(word)
        if word_terms:
            word_counts[word] = counts[word_terms[0]]
    return sorted(word_counts, key=word_counts.__getitem__)[
        : max(_PROBE_WORDS, len(word_counts) // 2)
    ]


def load_general_questions() -> list[str]:
    """Load questions in six languages about what nobody tells a memory."""
    return (resources.files(__package__) / "general.txt").read_text("utf-8").splitlines()


def _choose_floor(
    known_nearness: Sequence[float],
    unknown_nearness: Sequence[float],
    card: EmbedderCard,
    at: datetime,
) -> OwnerSimilarityThreshold:
    """Choose the highest floor that few known questions miss.

    It is no higher than unknown ones need, nor than the model's. Probes are rougher than people's
    questions: they can show that the model's floor is too high here, not that it is too low.
    """
    highest_for_known = sorted(known_nearness)[int(MAX_FALSE_SILENCES * len(known_nearness))]
    needed_for_unknown = max(unknown_nearness) + _FLOOR_MARGIN
    model_floor = card.floors.get("near", MOST_FLOOR)
    floor = min(highest_for_known, needed_for_unknown, model_floor)
    floor = int(_FLOOR_STEPS * floor) / _FLOOR_STEPS
    return OwnerSimilarityThreshold(
        floor=floor,
        source="calibration",
        model=card.id,
        at=at.isoformat(),
        known=len(known_nearness),
        unknown=len(unknown_nearness),
        known_silent=_measure_silence(known_nearness, floor),
        unknown_silent=_measure_silence(unknown_nearness, floor),
    )


def _measure_silence(nearness: Sequence[float], floor: float) -> float:
    """Return the share of questions below the floor, 0 to 1."""
    return round(sum(value < floor for value in nearness) / len(nearness), 4)
