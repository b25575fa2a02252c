"""Delivery of a context with each turn: at once or one turn late, without repeats."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from engrams.core import Context
from engrams.core.process_peers import ProcessPeers
from engrams.frozen_data import dataclass
from engrams.ports import Clock, TokenCounter
from engrams.read.conversation_topics import has_topic, read_answer, read_topic
from engrams.read.query_vectors import QueryVectors
from engrams.session.prefetch import ContextPrefetcher
from engrams.session.recently_shown import RecentlyShownMemories
from engrams.settings import DeliverySettings

EMPTY_CONTEXT = Context("", "", 0, "", abstain=True)

ContextReader = Callable[[frozenset[str], bool], Context]
"""Reads a context without the given ids; also told whether the topic changed."""
ContextRefresher = Callable[[Context], Context]
"""Leaves out of a context what was edited or forgotten after it was read."""

_MAX_CONVERSATIONS = 10_000
"""Conversations whose beginning is known; the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class DeliveryQuery:
    """Turn that a context is delivered with."""

    text: str
    conversation: str = ""
    """The messages before it, newest first."""


class ContextDeliverer:
    """Contexts by conversation, in memory only. Thread safe."""

    def __init__(
        self,
        settings: DeliverySettings,
        query_vectors: QueryVectors,
        counter: TokenCounter,
        clock: Clock,
        peers: ProcessPeers | None = None,
    ) -> None:
        self._settings = settings
        self._query_vectors = query_vectors
        self._counter = counter
        peers = peers or ProcessPeers()
        self._started = peers.table("started", _MAX_CONVERSATIONS)
        self._lock = threading.Lock()
        self._shown = RecentlyShownMemories(
            timedelta(minutes=settings.shown_minutes), settings.topic_change_cosine, clock, peers
        )
        self._pending: ContextPrefetcher[Context] = ContextPrefetcher(
            timedelta(seconds=settings.prefetch_ttl_seconds), clock, peers
        )

    def is_first_turn(self, session: str) -> bool:
        """Return True once per conversation, for a first turn that catches up."""
        if not self._settings.catch_up:
            return False
        with self._lock:
            is_started = bool(self._started.get(session, False))
            if not is_started:
                self._started.put(session, True)
        return not is_started

    def deliver(
        self,
        session: str,
        query: DeliveryQuery,
        read: ContextReader,
        refresh: ContextRefresher,
    ) -> Context:
        """Return the context of this turn.

        One turn late, ``read`` runs in the background for the next turn; without a result this turn
        gets an empty context. ``refresh`` takes out of the result what changed since.
        """
        if self._settings.mode == "sync":
            return self._drop_repeated(session, self._read_context(session, query, read))
        prefetched = self._pending.take(session)
        context = EMPTY_CONTEXT
        if prefetched is not None:
            # Marked as shown before the next one is read, which then leaves it out.
            context = self._drop_repeated(session, refresh(prefetched))
        self._pending.submit(session, lambda: self._read_context(session, query, read))
        return context

    def close(self) -> None:
        self._pending.close()

    def _read_context(self, session: str, query: DeliveryQuery, read: ContextReader) -> Context:
        if not self._settings.shown_minutes:
            return read(frozenset(), False)
        topic = None
        if has_topic(query.text):
            vector = self._query_vectors.embed(query.text).vector
            topic = read_topic(query.text, vector, self._query_vectors.card)
        answer = read_answer(query.conversation) if query.conversation else None
        is_new_topic = self._shown.detect_topic_change(session, topic, answer)
        return read(self._shown.shown_ids(session), is_new_topic)

    def _drop_repeated(self, session: str, context: Context) -> Context:
        """Return the context without hits that are repeated, and mark the others as shown.

        The read has left out what was shown recently, so all hits stay if some are new. This only
        stops the last set from coming back at once after a change of topic, which clears that list.
        """
        hit_ids = [hit.record.id for hit in context.hits]
        if not self._settings.shown_minutes or not (hit_ids or context.standing):
            return context
        if hit_ids and not self._shown.filter_new(session, hit_ids):
            context = replace(context, tail=context.summary, hits=())
            context = replace(context, tokens=self._counter.count(context.text))
            hit_ids = []
        self._shown.mark_shown(session, [*hit_ids, *context.standing])
        return context
