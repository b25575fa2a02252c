"""Judging of messages by pure functions, which a helper process can run.

``find_news`` and ``judge_messages`` take a ``MessageTask``; task and answer can be pickled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engrams.core import MARK_TOLD_AT
from engrams.write.change_detection.abandoned_things import find_abandoned_use, names_abandoned
from engrams.write.change_detection.boosted_trees import ScoredMessage, load_model
from engrams.write.change_detection.clause_pairs import EXPLICIT, ClausePair, find_clause_pair
from engrams.write.change_detection.distinct_things import is_about_another, is_placed_anew
from engrams.write.change_detection.explicit_endings import tells_end
from engrams.write.change_detection.message_reader import Message, MessageReader
from engrams.write.change_detection.replacement_evidence import (
    is_long,
    puts_right,
    replaces_another,
    says_the_same,
    shows_common_ground,
    shows_replacement,
    tells_other_value,
)

_UNTOLD = MARK_TOLD_AT - 0.01
"""Most probability of a change of which no clause gives evidence: no reader is told of it."""
_LEAST = 0.6
"""Share of the least probability of a mark from which a pair of messages is looked at by clauses."""
_PUT_RIGHT = 0.6
"""Least probability that a value was put right, where a newer message gives another of its type."""
_POSSIBLE = 0.25
"""Probability from which another day or time, beside a word of change, makes a mark."""
_ABANDONED = 0.9
"""Probability that the use of a thing is over which a message says to be used no longer."""
_PLACED_ANEW = 0.5
"""Least probability that a labelled thing is no longer where it was said to be."""


class JudgedMessage(NamedTuple):
    """Earlier message that a new one probably ends."""

    probability: float
    """0..1."""
    clause: str
    """The clause that ends."""
    news: str
    """The clause of the new message that ends it."""
    is_partial: bool
    """The message says something else besides."""


@dataclass(frozen=True, slots=True)
class MessageTask:
    """New messages, each with earlier ones to compare it with."""

    reader: MessageReader
    pairs: Sequence[tuple[Message, Sequence[Message]]]
    """A new message, and earlier ones."""
    mark_at: float = 0.0
    """Probability from which an earlier message counts as ended."""
    crowded: Sequence[bool] = ()
    """Of each new message, whether it was compared with the nearest of many; empty: of few."""


def find_news(task: MessageTask) -> list[bool]:
    """Tell which new messages may be news of a change."""
    model = load_model()
    scored = task.reader.read([new for new, _ in task.pairs])
    return [
        model.is_news(scored[new]) or tells_end(new[0]) or names_abandoned(new[0])
        for new, _ in task.pairs
    ]


def judge_messages(task: MessageTask) -> list[list[JudgedMessage | None]]:
    """Judge which earlier messages each new message ends; None: not that one."""
    scored = task.reader.read(
        [message for new, earlier in task.pairs for message in (new, *earlier)]
    )
    pairs = [([scored[old] for old in earlier], scored[new]) for new, earlier in task.pairs]
    return [
        [
            _judge(task, old, new, probability, is_one_of_many=is_crowded)
            for old, probability in zip(earlier, probabilities, strict=True)
        ]
        for (earlier, new), probabilities, is_crowded in zip(
            pairs, load_model().judge(pairs), task.crowded or [False] * len(pairs), strict=True
        )
    ]


def _judge(
    task: MessageTask,
    old: ScoredMessage,
    new: ScoredMessage,
    probability: float,
    *,
    is_one_of_many: bool,
) -> JudgedMessage | None:
    """Judge one pair: what the model says of the messages and of their clauses, limited by rules.

    The rules tell things of one kind apart, and say which clauses can end and what may end them.
    """
    is_anew = is_placed_anew(old.features, new.features)
    is_likely = probability >= _LEAST * task.mark_at
    minutes = (new.features.at - old.features.at).total_seconds() / 60
    is_put_right = puts_right(old.features, new.features, minutes)
    abandoned = None
    if old.features.people == new.features.people:
        abandoned = find_abandoned_use(old.features.text, new.features.text)
    is_explicit = abandoned is not None or tells_end(new.features.text)
    if not (is_likely or is_anew or is_put_right or is_explicit):
        return None
    if is_about_another(old.features, new.features):
        return None
    if abandoned is not None:
        return JudgedMessage(_ABANDONED, *abandoned, is_partial=abandoned[0] != old.features.text)
    pair = find_clause_pair(task.reader, old.features, new.features)
    if pair is None or not _may_end(old, pair):
        return None
    if pair.probability == EXPLICIT:
        return JudgedMessage(*pair)
    joined = _join_chances(probability, pair.probability)
    if is_one_of_many and not _shows_change(old, new, pair, probability, minutes):
        joined = min(joined, _UNTOLD)
    elif is_put_right:
        joined = max(joined, _PUT_RIGHT)
    elif joined >= _POSSIBLE and tells_other_value(old.features, new.features):
        joined = max(joined, MARK_TOLD_AT)
    if is_anew:
        joined = max(joined, _PLACED_ANEW)
    if joined < task.mark_at:
        return None
    return JudgedMessage(joined, pair.ending, pair.news, is_partial=pair.is_partial)


def _may_end(old: ScoredMessage, pair: ClausePair) -> bool:
    """False if the newer clause repeats the older, or says that it replaces something else."""
    repeats = says_the_same(pair.ending, pair.news)
    return not repeats and not replaces_another(old.features.text, pair.news)


def _shows_change(
    old: ScoredMessage,
    new: ScoredMessage,
    pair: ClausePair,
    probability: float,
    minutes: float,
) -> bool:
    """True if the clauses show the change: two of many messages, or long ones, are alike by chance."""
    if not shows_common_ground(pair.ending, pair.news, minutes):
        return False
    is_any_long = is_long(old.features.text) or is_long(new.features.text)
    return not is_any_long or shows_replacement(pair.ending, pair.news, probability)


def _join_chances(of_messages: float, of_clauses: float) -> float:
    """Join two probabilities by the mean of their log odds: they rest on much the same words."""
    odds = [math.log(chance / (1 - chance)) for chance in (of_messages, of_clauses)]
    return 1 / (1 + math.exp(-sum(odds) / len(odds)))
