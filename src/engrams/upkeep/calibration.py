"""Nearness floor of an owner, chosen by asking memory."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from importlib import resources
from itertools import pairwise

from engrams.core import Meta, Scope
from engrams.errors import InputError
from engrams.frozen_data import dataclass
from engrams.ports import CALIBRATION, Clock, EmbedderCard, RecordQuery, Store
from engrams.read.floors import MOST_FLOOR, default_floor
from engrams.read.request import visible_scopes
from engrams.text.terms import terms

FALSE_SILENCES = 0.02
"""Most questions about what is there that may find nothing near."""

_PROBES = 150
_FEWEST = 30
_SAMPLE = 2_000
_WORDS = 4
"""Words that a probe has of a memory, and as many of another: with those a probe is as near as
people's questions are (on the development sets, 2, 20 and 50 % lie below 0.22, 0.37 and 0.45; of
the questions below 0.22, 0.36 and 0.46).
"""

_WORD = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]{2}|[^\\W\\d_]{3,}")


@dataclass(frozen=True, slots=True)
class OwnerSimilarityThreshold:
    """Similarity threshold of an owner, 0..1, and where it comes from.

    ``source``: setting, calibration, or model. Of a calibration: its time, the number of ``known``
    and ``unknown`` questions asked, and the shares that would be silent, 0..1.
    """

    floor: float
    source: str
    model: str
    at: str = ""
    known: int = 0
    unknown: int = 0
    known_silent: float = 0.0
    unknown_silent: float = 0.0

    def to_json(self) -> Meta:
        return asdict(self)


class ThresholdCalibrator:
    """Floors of all owners, and their calibration.

    ``measure``: nearness of what an owner's memory holds to a question.
    """

    def __init__(
        self,
        store: Store,
        card: EmbedderCard,
        clock: Clock,
        setting: float | None,
        measure: Callable[[str, Scope], float],
    ) -> None:
        self._store = store
        self._card = card
        self._clock = clock
        self._setting = setting
        self._measure = measure

    def get(self, scope: Scope | tuple[str, ...] | str) -> OwnerSimilarityThreshold:
        """The floor that reads of this owner use."""
        if self._setting is not None:
            return OwnerSimilarityThreshold(self._setting, "setting", self._card.id)
        kept = self._store.load_state(Scope.of(scope).owner, CALIBRATION).data
        return (
            OwnerSimilarityThreshold(**kept)
            if kept.get("model") == self._card.id
            else OwnerSimilarityThreshold(default_floor(self._card), "model", self._card.id)
        )

    def calibrate(self, scope: Scope | tuple[str, ...] | str) -> OwnerSimilarityThreshold:
        """Choose an owner's threshold by test questions, and save it.

        At most 2 % of the questions about what is there are silent. A setting ``read.abstain``
        still comes first. InputError: memory holds fewer than 30 texts to ask about, or is off.
        """
        owner = Scope.of(scope).owner
        page = self._store.find(RecordQuery(visible_scopes(owner), limit=_SAMPLE))
        probes = make_probes([record.text for record in page.records])
        if len(probes) < _FEWEST:
            raise InputError(
                f"Calibration asks about {_FEWEST} memories of four words or more; here are"
                f" {len(probes)}. Try again with more."
            )
        known = [self._measure(probe, owner) for probe in probes]
        if not max(known):
            raise InputError(
                "No memory is found at all: turn memory on (`enabled`) before calibrating."
            )
        unknown = [self._measure(text, owner) for text in load_general_questions()]
        made = _choose_floor(known, unknown, self._card, self._clock())
        row = self._store.load_state(owner, CALIBRATION)
        self._store.save_state(replace(row, data=made.to_json()))
        return made


def make_probes(texts: Sequence[str]) -> list[str]:
    """Make test questions about some stored texts.

    Half of their words are rarer ones of one text, half of another.
    """
    order = random.Random(0)  # noqa: S311 - the same choice each time
    counts = Counter(term for text in texts for term in set(terms(text)))
    rarer = [
        words for words in (_rarer_words(text, counts) for text in texts) if len(words) >= _WORDS
    ]
    order.shuffle(rarer)
    some = rarer[: _PROBES + 1]
    return [
        " ".join(order.sample(one, _WORDS) + order.sample(other, _WORDS))
        for one, other in pairwise(some)
    ]


def _rarer_words(text: str, counts: Counter[str]) -> list[str]:
    words = {
        word: counts[found[0]]
        for word in dict.fromkeys(_WORD.findall(text.lower()))
        if (found := terms(word))
    }
    return sorted(words, key=words.__getitem__)[: max(_WORDS, len(words) // 2)]


def load_general_questions() -> list[str]:
    """Questions in six languages about what nobody tells a memory."""
    return (resources.files(__package__) / "general.txt").read_text("utf-8").splitlines()


def _choose_floor(
    known: Sequence[float], unknown: Sequence[float], card: EmbedderCard, at: datetime
) -> OwnerSimilarityThreshold:
    """Choose the highest floor that few known questions miss.

    It is no higher than unknown ones need, nor than the model's. Probes are rougher than people's
    questions: they can show that the model's floor is too high here, not that it is too low.
    """
    highest = sorted(known)[int(FALSE_SILENCES * len(known))]
    floor = (
        int(1000 * min(highest, max(unknown) + 0.01, card.floors.get("near", MOST_FLOOR))) / 1000
    )
    silent = [
        round(sum(value < floor for value in values) / len(values), 4)
        for values in (known, unknown)
    ]
    return OwnerSimilarityThreshold(
        floor, "calibration", card.id, at.isoformat(), len(known), len(unknown), *silent
    )
