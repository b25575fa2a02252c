"""What memory has to say to a conversation, turn by turn: at once or one turn behind, and not twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engrams.errors import ModelError
from engrams.ports import Clock, Embedder, TokenCounter
from engrams.session.prefetch import Pending
from engrams.session.seen import Shown
from engrams.settings import DeliverySettings
from engrams.types import Context

if TYPE_CHECKING:
    from engrams.ports.search import Floats

NOTHING = Context("", "", 0, "", abstain=True)

_CONVERSATIONS = 10_000

Read = Callable[[frozenset[str]], Context]
"""A context without what is known already."""


class Delivery:
    """By conversation; in this process only. Thread safe."""

    def __init__(self, settings: DeliverySettings, embedder: Embedder, counter: TokenCounter, clock: Clock) -> None:
        self._settings, self._embedder, self._counter = settings, embedder, counter
        self._begun: dict[str, None] = {}
        self._lock = threading.Lock()
        self._shown = Shown(timedelta(minutes=settings.shown_minutes), settings.topic, clock)
        self._pending: Pending[Context] = Pending(timedelta(seconds=settings.fresh_seconds), clock)

    def first(self, session: str) -> bool:
        """Whether this is a conversation's first turn, which is to catch up: true once for each."""
        if not self._settings.catch_up:
            return False
        with self._lock:
            known = session in self._begun
            self._begun[session] = None
            while len(self._begun) > _CONVERSATIONS:
                del self._begun[next(iter(self._begun))]
        return not known

    def deliver(self, session: str, query: str, read: Read) -> Context:
        """What this turn gets. One turn behind, ``read`` runs for the next one, and a turn without anything ready gets nothing."""
        if self._settings.mode == "sync":
            return self._give(session, self._find(session, query, read))
        ready = self._pending.take(session)
        self._pending.ask(session, lambda: self._find(session, query, read))
        return NOTHING if ready is None else self._give(session, ready)

    def close(self) -> None:
        """Nothing more is worked out."""
        self._pending.close()

    def _find(self, session: str, query: str, read: Read) -> Context:
        if not self._settings.shown_minutes:
            return read(frozenset())
        self._shown.turn(session, self._about(query))
        return read(self._shown.known(session))

    def _give(self, session: str, made: Context) -> Context:
        """The context, and note of what it shows; without what was recalled where that was shown just now."""
        ids = [hit.record.id for hit in made.hits]
        if not self._settings.shown_minutes or not ids:
            return made
        if not self._shown.fresh(session, ids):
            rest = replace(made, tail=made.summary, hits=())
            return replace(rest, tokens=self._counter.count(rest.text))
        self._shown.show(session, ids)
        return made

    def _about(self, query: str) -> Floats | None:
        """What a turn is about; unknown where the model cannot say now."""
        if not self._embedder.card.dimension or not query.strip():
            return None
        try:
            vector = self._embedder.embed([query], "query")[0]
        except ModelError:
            return None
        return vector if vector.any() else None
