"""Judgement of a search: which hits help with the prompt, and why none does.

``judge_search`` is the way in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engrams.frozen_data import dataclass
from engrams.read.relevance.features import (
    HIT_FEATURES,
    PROMPT_FEATURES,
    JudgedSearch,
    SearchFeatures,
    describe_search,
)
from engrams.read.relevance.model import load_model, to_log_odds, to_probability
from engrams.read.relevance.text_traits import PromptTraits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engrams.ports.candidate_search import Flags
    from engrams.read.relevance.model import Columns

_PROMPT_COLUMNS = {name: index for index, name in enumerate(PROMPT_FEATURES)}
_MEAL = HIT_FEATURES.index("meal")
_ASSISTANT = HIT_FEATURES.index("assistant")
_USUAL_RECORDS = 100
"""Records up to which ``read.helpful_share`` holds as it is. In a larger memory more bears on a
prompt, and it is less sure which: the share falls with the size to the power ``_SHARE_POWER``.
"""
_SHARE_POWER = 0.7
_LEAST_SHARE = 0.2
"""Part of that share that is left in the largest memory."""
_GROWN_RECORDS = 12
"""Records from which the need of a prompt holds as the model says it."""
_YOUNG_LOG_ODDS = 1.04
"""Log odds added to it in an empty memory. Measured in memories of three messages: of the prompts with
.25 to .45 three in four need something.
"""
_MOST_HELPFUL = 18
"""Hits that help at most: a prompt for which more are equally probable asks for none of them."""
_MEAL_CHANCE = 0.1
"""Chance from which a hit helps that says what somebody may not eat, where food is asked about: a
line too many does less harm than a nut.
"""
_COOKED_CHANCE = 0.03
"""Such a chance where the prompt is about a meal, and the owner or a guest says it."""
_LEAST_CHANCE = 0.05
"""Chance below which a hit does not help, however improbable the best one is."""
_LEAST_OF_ASSISTANT = 0.3
"""Probability below which an assistant's message does not help, unless its words are asked for: it
mostly repeats what was said to it.
"""
_ANSWER_CHANCE = 0.7
"""Least chance of a fact about the asker that is of the kind asked for."""
_NEED_OF_ONESELF = 0.9
"""Least need of memory where a query asks for a kind of fact about the asker, which is known."""
_CHANCE_OF_ANOTHER = 0.04
"""Greatest chance of such a fact about somebody else, where the query asks of the asker alone."""
_EXPLAINED = 3
"""Hits, best first, whose reasons are told whether they help or not."""
_SURELY_HELPS = 0.3
"""Chance from which a hit helps however much more probable the best one is."""
_NEAR_COSINE = 0.3
_STANDING_OUT = 2.0
"""Deviations above the usual cosine of this memory from which a hit stands out."""
_USUAL = 1.0
_EXPLAINING = (
    "cos",
    "cos_z",
    "shared",
    "shared_share",
    "name_shared",
    "slot",
    "food_diet",
    "common_topics",
    "is_over",
    "is_hollow",
    "is_asking",
)
"""Features that reasons are made of."""
_REASONS = {
    "name_shared": "names who or what is asked about",
    "slot": "is the kind of fact asked for",
    "food_diet": "says what somebody may not eat",
    "common_topics": "has a topic of the prompt",
}
"""Features that are a reason as they are."""
_EXPLAINING_COLUMNS = [HIT_FEATURES.index(name) for name in _EXPLAINING]


class Verdict(NamedTuple):
    """Judgement of one hit."""

    probability: float
    """0..1, calibrated: that it helps."""
    helps: bool
    """The prompt needs memory, and no other hit is far more probable."""
    reasons: tuple[str, ...]
    """What speaks for and against it; of those that help, and of the nearest few."""


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

    Thanks, greetings, farewells and bare sums need nothing, whatever they resemble. ``least_need`` and
    ``helpful_share``: of the settings of reads.
    """
    features = describe_search(search)
    model = load_model()
    need = float(model.prompts.judge(features.prompt[None])[0])
    need = _raise_for_young(need, search.pool.total)
    if search.prepared.asks_of_oneself and _find_fit(search, 1.0).any():
        need = max(need, _NEED_OF_ONESELF)
    if _asks_for_nothing(features.traits):
        need = 0.0
    learned_chances = model.judge_hits(features.hits)
    chances = _judge_by_subject(learned_chances, search)
    probabilities = model.calibrate(need * chances)
    # What was raised for its subject hides nothing that the model finds likely beside it.
    least_chance = _find_least_chance(learned_chances, helpful_share, search.pool.total)
    least_chances = _lower_for_meals(least_chance, features)
    is_needed = need >= least_need
    is_shown = (chances >= least_chances) & ~_find_closed(features, search)
    if search.prepared.cues.role != "assistant":
        is_reply = features.hits[:, _ASSISTANT] > 0
        is_shown &= ~is_reply | (probabilities >= _LEAST_OF_ASSISTANT)
    explaining = features.hits[:, _EXPLAINING_COLUMNS].tolist()
    verdicts = []
    for index, (probability, is_likely) in enumerate(
        zip(probabilities.tolist(), is_shown.tolist(), strict=True)
    ):
        helps = is_needed and is_likely
        is_told = helps or index < _EXPLAINED
        reasons = _list_reasons(explaining[index]) if is_told else ()
        verdicts.append(Verdict(round(probability, 4), helps, reasons))
    return Judgement(need, tuple(verdicts), "" if is_needed else _explain_silence(features))


def _judge_by_subject(chances: Columns, search: JudgedSearch) -> Columns:
    """Judge hits by whom they are about, where a query asks of the asker alone.

    "My brother works at Airbus" shares every word with "Where do I work?", and answers it not.
    """
    if not search.prepared.asks_of_oneself:
        return chances
    is_answer = _find_fit(search, 1.0)
    is_of_another = _find_fit(search, -1.0) & ~is_answer
    raised = np.where(is_answer, np.maximum(chances, _ANSWER_CHANCE), chances)
    return np.where(is_of_another, np.minimum(raised, _CHANCE_OF_ANOTHER), raised)


def _find_fit(search: JudgedSearch, fit: float) -> Flags:
    """Find the hits that say, or taught, a statement of some fit to what is asked."""
    answering = search.prepared.answering
    return np.array(
        [
            any(answering.get(record.id) == fit for record in (hit.record, *hit.facts))
            for hit in search.hits
        ],
        np.bool_,
    )


def _raise_for_young(need: float, records: int) -> float:
    """Raise the need of a prompt in a memory of its first messages, in which little can stand out."""
    youth = max(1.0 - records / _GROWN_RECORDS, 0.0)
    log_odds = to_log_odds(np.array([need]))[0] + _YOUNG_LOG_ODDS * youth
    return float(to_probability(log_odds))


def _find_closed(features: SearchFeatures, search: JudgedSearch) -> Flags:
    """Find the hits that are kept as a record of the past alone, unless the past is asked about."""
    is_closed = np.array([memory.is_closed for memory in features.memories], np.bool_)
    return is_closed & (not search.prepared.cues.wants_past)


def _lower_for_meals(least_chance: float, features: SearchFeatures) -> Columns:
    """Lower the chance from which a hit helps that says what somebody may not eat [hits]."""
    is_diet = features.hits[:, _MEAL] > 0
    is_said = features.hits[:, _ASSISTANT] == 0
    is_cooked = "/meal" in features.traits.text.subjects
    diet_chances = np.where(is_said & is_cooked, _COOKED_CHANCE, _MEAL_CHANCE)
    return np.where(is_diet, np.minimum(diet_chances, least_chance), least_chance)


def _find_least_chance(chances: Columns, helpful_share: float, records: int) -> float:
    """Find the chance from which a hit helps beside the best one of a memory of so many records."""
    size = max(records, _USUAL_RECORDS) / _USUAL_RECORDS
    share = helpful_share * max(math.pow(size, -_SHARE_POWER), _LEAST_SHARE)
    least = max(min(share * float(chances.max()), _SURELY_HELPS), _LEAST_CHANCE / size)
    if len(chances) <= _MOST_HELPFUL:
        return least
    return max(least, float(np.partition(chances, -_MOST_HELPFUL)[-_MOST_HELPFUL]))


def _explain_silence(features: SearchFeatures) -> str:
    traits = features.traits
    if traits.is_social:
        return "the prompt is a greeting, thanks or a farewell"
    if traits.is_vague and not traits.points_back:
        return "the prompt says nothing without the conversation before it"
    if traits.points_back:
        return "the prompt picks from what was just said"
    if _is_task(traits):
        return "the prompt is a task that brings what it needs"
    if features.prompt[_PROMPT_COLUMNS["impersonal_alone"]]:
        return "the prompt asks about the world, not about what was told"
    return "nothing that was told stands out for this prompt"


def _asks_for_nothing(traits: PromptTraits) -> bool:
    """True for thanks, sums that are nobody's, changes to code it brings, and what says nothing alone."""
    if traits.is_social or (traits.is_arithmetic and not traits.text.has("self")):
        return True
    if traits.has_code and traits.text.has("transform") and not traits.text.has("self"):
        return True
    return traits.is_vague and not (traits.is_question or traits.text.has("recall"))


def _is_task(traits: PromptTraits) -> bool:
    return traits.is_arithmetic or traits.has_payload or bool(traits.text.has("transform"))


def _list_reasons(row: Sequence[float]) -> tuple[str, ...]:
    """Tell what speaks for a hit and against it, from the features of ``_EXPLAINING``."""
    values = dict(zip(_EXPLAINING, row, strict=True))
    shared = values["shared"]
    reasons = []
    if values["cos"] >= _NEAR_COSINE or values["cos_z"] >= _STANDING_OUT:
        reasons.append("near in meaning")
    if shared:
        reasons.append(f"has {values['shared_share']:.0%} of the words asked for")
    reasons += [reason for name, reason in _REASONS.items() if values[name]]
    if values["cos_z"] < _USUAL and not shared:
        reasons.append("no nearer than other memories")
    if values["is_over"]:
        reasons.append("no longer so")
    if values["is_hollow"] or values["is_asking"]:
        reasons.append("tells nothing by itself")
    return tuple(reasons)
