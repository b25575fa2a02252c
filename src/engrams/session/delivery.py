"""Context delivery per turn: immediate or one turn late, without repeats."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from engrams.errors import ModelError
from engrams.ports import Clock, Embedder, TokenCounter
from engrams.session.prefetch import ContextPrefetcher
from engrams.session.seen import RecentlyShown
from engrams.settings import DeliverySettings
from engrams.types import Context

if TYPE_CHECKING:
    from engrams.ports.search import Floats

EMPTY_CONTEXT = Context("", "", 0, "", abstain=True)

_CONVERSATIONS = 10_000

ContextReader = Callable[[frozenset[str]], Context]
"""Reads a context without the given ids."""


class ContextDelivery:
    """Contexts by conversation, in this process only. Thread safe."""

    def __init__(self, settings: DeliverySettings, embedder: Embedder, counter: TokenCounter, clock: Clock) -> None:
        self._settings, self._embedder, self._counter = settings, embedder, counter
        self._started: dict[str, None] = {}
        self._lock = threading.Lock()
        self._shown = RecentlyShown(timedelta(minutes=settings.shown_minutes), settings.topic_change_cosine, clock)
        self._pending: ContextPrefetcher[Context] = ContextPrefetcher(timedelta(seconds=settings.prefetch_ttl_seconds), clock)

    def is_first_turn(self, session: str) -> bool:
        """Return True once per conversation, for a first turn that catches up."""
        if not self._settings.catch_up:
            return False
        with self._lock:
            known = session in self._started
            self._started[session] = None
            while len(self._started) > _CONVERSATIONS:
                del self._started[next(iter(self._started))]
        return not known

    def deliver(self, session: str, query: str, read: ContextReader) -> Context:
        """Return the context of this turn.

        One turn late, ``read`` runs in the background for the next turn; without a result this turn gets an empty context.
        """
        if self._settings.mode == "sync":
            return self._record_shown(session, self._read_context(session, query, read))
        ready = self._pending.take(session)
        self._pending.submit(session, lambda: self._read_context(session, query, read))
        return EMPTY_CONTEXT if ready is None else self._record_shown(session, ready)

    def close(self) -> None:
        self._pending.close()

    def _read_context(self, session: str, query: str, read: ContextReader) -> Context:
        if not self._settings.shown_minutes:
            return read(frozenset())
        self._shown.detect_topic_change(session, self._embed_query(query))
        return read(self._shown.shown_ids(session))

    def _record_shown(self, session: str, made: Context) -> Context:
        """Return the context and record its hits; repeated hits are removed."""
        ids = [hit.record.id for hit in made.hits]
        if not self._settings.shown_minutes or not ids:
            return made
        if not self._shown.filter_new(session, ids):
            rest = replace(made, tail=made.summary, hits=())
            return replace(rest, tokens=self._counter.count(rest.text))
        self._shown.mark_shown(session, ids)
        return made

    def _embed_query(self, query: str) -> Floats | None:
        """Embed the query; None where the model fails or has no vector."""
        if not self._embedder.card.dimension or not query.strip():
            return None
        try:
            vector = self._embedder.embed([query], "query")[0]
        except ModelError:
            return None
        return vector if vector.any() else None
