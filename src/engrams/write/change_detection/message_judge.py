"""Judging of messages by pure functions, which a helper process can run.

``find_news`` and ``judge_messages`` take a ``MessageTask``; task and answer can be pickled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engrams.core import MARK_TOLD_AT
from engrams.write.change_detection.boosted_trees import ScoredMessage, load_model
from engrams.write.change_detection.clause_pairs import EXPLICIT, find_clause_pair
from engrams.write.change_detection.distinct_things import is_about_another, is_placed_anew
from engrams.write.change_detection.explicit_endings import tells_end
from engrams.write.change_detection.message_reader import Message, MessageReader
from engrams.write.change_detection.replacement_evidence import (
    is_long,
    says_the_same,
    shows_replacement,
)

_UNTOLD = MARK_TOLD_AT - 0.01
"""Most probability of a change of which no clause gives evidence: no reader is told of it."""
_LEAST = 0.6
"""Share of the least probability of a mark from which a pair of messages is looked at by clauses."""
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


def find_news(task: MessageTask) -> list[bool]:
    """Tell which new messages may be news of a change."""
    model = load_model()
    scored = task.reader.read([new for new, _ in task.pairs])
    return [model.is_news(scored[new]) or tells_end(new[0]) for new, _ in task.pairs]


def judge_messages(task: MessageTask) -> list[list[JudgedMessage | None]]:
    """Judge which earlier messages each new message ends; None: not that one."""
    scored = task.reader.read(
        [message for new, earlier in task.pairs for message in (new, *earlier)]
    )
    pairs = [([scored[old] for old in earlier], scored[new]) for new, earlier in task.pairs]
    return [
        [
            _judge(task, old, new, probability)
            for old, probability in zip(earlier, probabilities, strict=True)
        ]
        for (earlier, new), probabilities in zip(pairs, load_model().judge(pairs), strict=True)
    ]


def _judge(
    task: MessageTask, old: ScoredMessage, new: ScoredMessage, probability: float
) -> JudgedMessage | None:
    """Judge one pair: what the model says of the messages and of their clauses, limited by rules.

    The rules tell things of one kind apart, and say which clauses can end and what may end them.
    """
    is_anew = is_placed_anew(old.features, new.features)
    is_likely = probability >= _LEAST * task.mark_at
    if not is_likely and not is_anew and not tells_end(new.features.text):
        return None
    if is_about_another(old.features, new.features):
        return None
    pair = find_clause_pair(task.reader, old.features, new.features)
    if pair is None or says_the_same(pair.ending, pair.news):
        return None
    if pair.probability == EXPLICIT:
        return JudgedMessage(*pair)
    joined = _join_chances(probability, pair.probability)
    # Long messages are like each other by chance: their clauses must show the change.
    if (is_long(old.features.text) or is_long(new.features.text)) and not shows_replacement(
        pair.ending, pair.news, probability
    ):
        joined = min(joined, _UNTOLD)
    if is_anew:
        joined = max(joined, _PLACED_ANEW)
    if joined < task.mark_at:
        return None
    return JudgedMessage(joined, pair.ending, pair.news, is_partial=pair.is_partial)


def _join_chances(of_messages: float, of_clauses: float) -> float:
    """Join two probabilities by the mean of their log odds: they rest on much the same words."""
    odds = [math.log(chance / (1 - chance)) for chance in (of_messages, of_clauses)]
    return 1 / (1 + math.exp(-sum(odds) / len(odds)))
