"""Judgement of a search: which hits help with the prompt, and why none does.

``judge_search`` is the way in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engrams.frozen_data import dataclass
from engrams.read.relevance.features import (
    HIT_FEATURES,
    PROMPT_FEATURES,
    JudgedSearch,
    SearchFeatures,
    describe_search,
)
from engrams.read.relevance.model import load_model
from engrams.read.relevance.text_traits import PromptTraits

if TYPE_CHECKING:
    from engrams.read.relevance.model import Columns

_PROMPT_COLUMNS = {name: index for index, name in enumerate(PROMPT_FEATURES)}
_EXPLAINED = 12
"""Hits, best first, whose reasons are told."""
_SURELY_HELPS = 0.3
"""Chance from which a hit helps however much more probable the best one is."""
_NEAR_COSINE = 0.3
_STANDING_OUT = 2.0
"""Deviations above the usual cosine of this memory from which a hit stands out."""
_USUAL = 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Judgement of one hit."""

    probability: float
    """0..1, calibrated: that it helps."""
    helps: bool
    """The prompt needs memory, and no other hit is far more probable."""
    reasons: tuple[str, ...]
    """What speaks for and against it; of the first few hits only."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of one search."""

    need: float
    """Probability, 0..1, that the prompt needs memory at all."""
    verdicts: tuple[Verdict, ...]
    """Of each hit."""
    silence: str
    """Why nothing helps; empty: something does."""


def judge_search(search: JudgedSearch, least_need: float, helpful_share: float) -> Judgement:
    """Judge the hits of a search.

    Thanks, greetings and farewells need nothing, whatever they resemble. ``least_need`` and
    ``helpful_share``: of the settings of reads.
    """
    features = describe_search(search)
    model = load_model()
    need = float(model.prompts.judge(features.prompt[None])[0])
    if features.traits.is_social:
        need = 0.0
    chances = model.judge_hits(features.hits)
    probabilities = model.calibrate(need * chances)
    least_chance = min(helpful_share * float(chances.max()), _SURELY_HELPS)
    is_needed = need >= least_need
    verdicts = [
        Verdict(
            probability=round(float(probability), 4),
            helps=is_needed and bool(chance >= least_chance),
            reasons=_list_reasons(row) if index < _EXPLAINED else (),
        )
        for index, (probability, chance, row) in enumerate(
            zip(probabilities, chances, features.hits, strict=True)
        )
    ]
    return Judgement(need, tuple(verdicts), "" if is_needed else _explain_silence(features))


def _explain_silence(features: SearchFeatures) -> str:
    traits = features.traits
    if traits.is_social:
        return "the prompt is a greeting, thanks or a farewell"
    if traits.points_back:
        return "the prompt picks from what was just said"
    if _is_task(traits):
        return "the prompt is a task that brings what it needs"
    if features.prompt[_PROMPT_COLUMNS["impersonal_alone"]]:
        return "the prompt asks about the world, not about what was told"
    return "nothing that was told stands out for this prompt"


def _is_task(traits: PromptTraits) -> bool:
    return traits.is_arithmetic or traits.has_payload or bool(traits.text.has("transform"))


def _list_reasons(row: Columns) -> tuple[str, ...]:
    """Tell what speaks for a hit and against it, from its features."""
    values = dict(zip(HIT_FEATURES, row.tolist(), strict=True))
    shared = f"has {values['shared_share']:.0%} of the words asked for"
    is_near = values["cos"] >= _NEAR_COSINE or values["cos_z"] >= _STANDING_OUT
    reasons = {
        "near in meaning": is_near,
        shared: values["shared"],
        "names who or what is asked about": values["name_shared"],
        "is the kind of fact asked for": values["slot"],
        "says what somebody may not eat": values["food_diet"],
        "has a topic of the prompt": values["common_topics"],
        "no nearer than other memories": values["cos_z"] < _USUAL and not values["shared"],
        "no longer so": values["is_over"],
        "tells nothing by itself": values["is_hollow"] or values["is_asking"],
    }
    return tuple(reason for reason, holds in reasons.items() if holds)
