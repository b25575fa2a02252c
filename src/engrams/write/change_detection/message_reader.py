"""Reader of messages for the detector: enter at ``MessageReader.read``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from functools import cache, partial
from threading import Lock
from typing import TypeAlias

from engrams.ports import Embedder
from engrams.text.text_caches import register_cache
from engrams.write.change_detection.boosted_trees import ScoredMessage, load_model
from engrams.write.change_detection.features import read_messages

Message: TypeAlias = tuple[str, str, datetime]
"""Text, speaker and time."""
_MAX_CACHED = 1024
"""Messages that are remembered: those of the parts under way, and their neighbours."""


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
