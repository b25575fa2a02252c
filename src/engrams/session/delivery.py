"""Context delivery per turn: immediate or late, without repeats."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING

from engrams.core import Context
from engrams.core.process_peers import ProcessPeers
from engrams.errors import ModelError
from engrams.frozen_data import dataclass
from engrams.ports import Clock, Embedder, TokenCounter
from engrams.session.prefetch import ContextPrefetcher
from engrams.settings import DeliverySettings

if TYPE_CHECKING:
    from engrams.ports.candidate_search import Floats


EMPTY_CONTEXT = Context("", "", 0, "", abstain=True)

_CONVERSATIONS = 10_000

ContextReader = Callable[[frozenset[str], bool], Context]
"""Reads a context without the given ids; also whether the topic changed."""


_SAME = timedelta(seconds=90)
_ALIKE = timedelta(seconds=180)
_OVERLAP = 0.8
_MOST = 10_000
"""Conversations kept at most; least recently active evicted first."""


class ContextDeliverer:
    """Contexts by conversation, in memory only. Thread safe."""

    def __init__(
        self,
        settings: DeliverySettings,
        embedder: Embedder,
        counter: TokenCounter,
        clock: Clock,
        peers: ProcessPeers | None = None,
    ) -> None:
        self._settings = settings
        self._embedder = embedder
        self._counter = counter
        peers = peers or ProcessPeers()
        self._started = peers.table("started", _CONVERSATIONS)
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
            known = bool(self._started.get(session, False))
            if not known:
                self._started.put(session, True)
        return not known

    def deliver(self, session: str, query: str, read: ContextReader) -> Context:
        """Return the context of this turn.

        One turn late, ``read`` runs in the background for the next turn; without a result this turn
        gets an empty context.
        """
        if self._settings.mode == "sync":
            return self._record_shown(session, self._read_context(session, query, read))
        ready = self._pending.take(session)
        made = EMPTY_CONTEXT if ready is None else self._record_shown(session, ready)
        self._pending.submit(session, lambda: self._read_context(session, query, read))
        return made

    def close(self) -> None:
        self._pending.close()

    def _read_context(self, session: str, query: str, read: ContextReader) -> Context:
        if not self._settings.shown_minutes:
            return read(frozenset(), False)
        changed = self._shown.detect_topic_change(session, self._embed_query(query))
        return read(self._shown.shown_ids(session), changed)

    def _record_shown(self, session: str, made: Context) -> Context:
        """Return the context and record its hits; repeated hits are removed."""
        ids = [hit.record.id for hit in made.hits]
        if not self._settings.shown_minutes or not (ids or made.standing):
            return made
        if ids and not self._shown.filter_new(session, ids):
            made = replace(made, tail=made.summary, hits=())
            made = replace(made, tokens=self._counter.count(made.text))
            ids = []
        self._shown.mark_shown(session, [*ids, *made.standing])
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


@dataclass(slots=True)
class _ShownState:
    """Memories shown in one conversation, with times, and its topic vector."""

    at: dict[str, datetime] = field(default_factory=dict)
    last: frozenset[str] = frozenset()
    when: datetime | None = None
    about: Floats | None = None


class RecentlyShownMemories:
    """Shown memories by conversation; ``memory`` is how long. Thread safe."""

    def __init__(
        self, memory: timedelta, topic: float, clock: Clock, peers: ProcessPeers | None = None
    ) -> None:
        self._memory = memory
        self._topic = topic
        self._clock = clock
        self._lock = Lock()
        self._states = (peers or ProcessPeers()).table("shown", _MOST)

    def detect_topic_change(self, session: str, about: Floats | None) -> bool:
        """Record the turn's topic, a unit vector. True: it changed.

        A change of topic clears what counts as shown.
        """
        with self._lock:
            seen = self._get_state(session)
            before = seen.about
            seen.about = about if about is not None else seen.about
            changed = (
                before is not None
                and about is not None
                and len(before) == len(about)
                and float(before @ about) < self._topic
            )
            if changed:
                seen.at.clear()
                seen.last = frozenset()
                seen.when = None
            self._states.put(session, seen)
            return changed

    def filter_new(self, session: str, ids: Sequence[str]) -> tuple[str, ...]:
        """Return ids that may be shown now, in their order.

        Empty where they repeat the last set: the same set waits 90 seconds, one that overlaps it by
        0.8 waits 180.
        """
        now = self._clock()
        with self._lock:
            seen = self._get_state(session)
            some = frozenset(ids)
            if seen.when is not None and some:
                ago = now - seen.when
                alike = len(some & seen.last) >= _OVERLAP * len(some | seen.last)
                if (some == seen.last and ago < _SAME) or (alike and ago < _ALIKE):
                    return ()
            return tuple(
                name for name in ids if name not in seen.at or now - seen.at[name] >= self._memory
            )

    def shown_ids(self, session: str) -> frozenset[str]:
        """Return ids shown so recently that they need not be searched."""
        now = self._clock()
        with self._lock:
            return frozenset(
                name for name, at in self._get_state(session).at.items() if now - at < self._memory
            )

    def mark_shown(self, session: str, ids: Collection[str]) -> None:
        now = self._clock()
        with self._lock:
            seen = self._get_state(session)
            seen.at = {
                name: at for name, at in seen.at.items() if now - at < self._memory
            } | dict.fromkeys(ids, now)
            if ids:
                seen.last = frozenset(ids)
                seen.when = now
            self._states.put(session, seen)

    def _get_state(self, session: str) -> _ShownState:
        return self._states.get(session) or _ShownState()
