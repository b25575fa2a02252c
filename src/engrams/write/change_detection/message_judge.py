"""Reading and judging of messages, by pure functions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from functools import cache, partial
from threading import Lock
from typing import NamedTuple, TypeAlias

from engrams.frozen_data import dataclass
from engrams.ports import Embedder
from engrams.text.text_caches import register_cache
from engrams.write.change_detection.boosted_trees import ScoredMessage, load_model, nearest_clause
from engrams.write.change_detection.distinct_things import is_about_another, is_placed_anew
from engrams.write.change_detection.features import read_messages

Message: TypeAlias = tuple[str, str, datetime]
"""Text, speaker and time."""
_MOST_READ = 1024
"""Messages that are remembered: those of the parts under way, and their neighbours."""


_PLACED_ANEW = 0.5
"""Least probability that a labelled thing is no longer where it was said to be."""


class MessageReader:
    """Reader of messages for the detector; caches the last ones."""

    def __init__(self, plain: Embedder) -> None:
        """Set up the reader.

        ``plain``: the embedder that the weights were trained with.
        """
        self._plain = plain
        self._read: OrderedDict[Message, ScoredMessage] = OrderedDict()
        self._lock = Lock()
        register_cache(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Stand for the one reader of whatever process takes it over."""
        return share_reader, (self._plain,)

    def read(self, said: Sequence[Message]) -> dict[Message, ScoredMessage]:
        """Read messages; new ones are embedded all at once."""
        with self._lock:
            found = {each: self._read[each] for each in said if each in self._read}
        fresh = [each for each in dict.fromkeys(said) if each not in found]
        if fresh:
            features = read_messages(fresh, partial(self._plain.embed, purpose="query"))
            found |= zip(fresh, map(load_model().weigh, features), strict=True)
        with self._lock:
            self._read |= {each: found[each] for each in fresh}
            for each in found.keys() & self._read.keys():
                self._read.move_to_end(each)
            while len(self._read) > _MOST_READ:
                self._read.popitem(last=False)
        return found

    def cache_clear(self) -> None:
        """Forget every message."""
        with self._lock:
            self._read.clear()


@cache
def share_reader(plain: Embedder) -> MessageReader:
    """Return the one reader of a helper process."""
    return MessageReader(plain)


class JudgedMessage(NamedTuple):
    """Earlier message that a new one probably ends.

    ``probability``: 0..1. ``clause``: what ends of it; ``partly``: it says something else besides.
    """

    probability: float
    clause: str
    partly: bool


@dataclass(frozen=True, slots=True)
class MessageTask:
    """New messages, each with earlier ones to compare it with.

    ``mark_at``: probability from which one is named.
    """

    reader: MessageReader
    pairs: Sequence[tuple[Message, Sequence[Message]]]
    mark_at: float = 0.0


def find_news(task: MessageTask) -> list[bool]:
    """Tell which new messages may be news of a change."""
    model = load_model()
    read = task.reader.read([new for new, _ in task.pairs])
    return [model.is_news(read[new]) for new, _ in task.pairs]


def judge_messages(task: MessageTask) -> list[list[JudgedMessage | None]]:
    """Judge what each new message ends; None: not that one."""
    model = load_model()
    read = task.reader.read([one for new, earlier in task.pairs for one in (new, *earlier)])
    pairs = [([read[old] for old in earlier], read[new]) for new, earlier in task.pairs]
    return [
        [
            _judge(old, new, chance, task.mark_at)
            for old, chance in zip(earlier, chances, strict=True)
        ]
        for (earlier, new), chances in zip(pairs, model.judge(pairs), strict=True)
    ]


def _judge(
    old: ScoredMessage, new: ScoredMessage, chance: float, mark_at: float
) -> JudgedMessage | None:
    if is_placed_anew(old.features, new.features):
        chance = max(chance, _PLACED_ANEW)
    if chance < mark_at or is_about_another(old.features, new.features):
        return None
    return JudgedMessage(
        chance, nearest_clause(old.features, new.features), len(old.features.clauses) > 1
    )
