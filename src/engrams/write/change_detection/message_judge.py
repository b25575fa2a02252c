"""Reading and judging of messages by pure functions, which a helper process can run.

``find_news`` and ``judge_messages`` take a ``MessageTask``; task and answer can be pickled.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from threading import Lock
from typing import NamedTuple, TypeAlias

from engrams.core import MARK_TOLD_AT
from engrams.ports import Embedder
from engrams.text.text_caches import register_cache
from engrams.write.change_detection.boosted_trees import ScoredMessage, load_model
from engrams.write.change_detection.clause_pairs import find_clause_pair
from engrams.write.change_detection.distinct_things import is_about_another, is_placed_anew
from engrams.write.change_detection.features import read_messages
from engrams.write.change_detection.replacement_evidence import replaces_clause

Message: TypeAlias = tuple[str, str, datetime]
"""Text, speaker and time."""
_MAX_CACHED = 1024
"""Messages that are remembered: those of the parts under way, and their neighbours."""
_UNTOLD = MARK_TOLD_AT - 0.01
"""Most probability of a change of which no clause gives evidence: no reader is told of it."""
_PLACED_ANEW = 0.5
"""Least probability that a labelled thing is no longer where it was said to be."""


class MessageReader:
    """Reader of messages for the detector; caches the last ones. Thread safe."""

    def __init__(self, plain_embedder: Embedder) -> None:
        """Set up the reader. ``plain_embedder``: the weights were trained with it."""
        self._plain_embedder = plain_embedder
        self._cached: OrderedDict[Message, ScoredMessage] = OrderedDict()
        self._lock = Lock()
        register_cache(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the one reader of the process that takes it over."""
        return share_reader, (self._plain_embedder,)

    def read(self, messages: Sequence[Message]) -> dict[Message, ScoredMessage]:
        """Read messages; new ones are embedded all at once."""
        with self._lock:
            scored = {
                message: self._cached[message] for message in messages if message in self._cached
            }
        fresh = [message for message in dict.fromkeys(messages) if message not in scored]
        if fresh:
            features = read_messages(fresh, partial(self._plain_embedder.embed, purpose="query"))
            scored |= zip(fresh, map(load_model().weigh, features), strict=True)
        with self._lock:
            self._cached |= {message: scored[message] for message in fresh}
            for message in scored.keys() & self._cached.keys():
                self._cached.move_to_end(message)
            while len(self._cached) > _MAX_CACHED:
                self._cached.popitem(last=False)
        return scored

    def cache_clear(self) -> None:
        """Forget every message."""
        with self._lock:
            self._cached.clear()


@cache
def share_reader(plain_embedder: Embedder) -> MessageReader:
    """Return the one reader of a helper process."""
    return MessageReader(plain_embedder)


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
    return [model.is_news(scored[new]) for new, _ in task.pairs]


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
    """Judge one pair: the model's probability, limited by rules.

    They tell things of one kind apart, and say which clauses can end and what may end them.
    """
    if is_placed_anew(old.features, new.features):
        probability = max(probability, _PLACED_ANEW)
    if probability < task.mark_at or is_about_another(old.features, new.features):
        return None
    pair = find_clause_pair(task.reader, old.features, new.features)
    if pair is None:
        return None
    if not replaces_clause(old.features, new.features):
        # Two long messages share words by chance: the clauses must show the change by themselves.
        probability = min(probability, max(_UNTOLD, pair.probability))
    return JudgedMessage(probability, pair.ending, pair.news, is_partial=pair.is_partial)
