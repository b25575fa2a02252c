"""Memories that a conversation was shown lately, so that it is not shown them again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock

from engrams.core.process_peers import ProcessPeers
from engrams.ports import Clock
from engrams.read.conversation_topics import CONTEXT_TURNS, TurnTopic, is_new_topic

_MAX_CONVERSATIONS = 10_000
"""Conversations kept at most; least recently active evicted first."""
_SAME_SET_PAUSE = timedelta(seconds=90)
_SIMILAR_SET_PAUSE = timedelta(seconds=180)
_MIN_OVERLAP = 0.8
"""Jaccard of two sets of memories from which they are similar."""


@dataclass(slots=True)
class _ShownState:
    """Memories shown in one conversation, with times, and what it is about."""

    shown_at: dict[str, datetime] = field(default_factory=dict)
    last_ids: frozenset[str] = frozenset()
    """The set that was shown last."""
    last_shown_at: datetime | None = None
    context: tuple[TurnTopic, ...] = ()
    """Latest turns since its topic changed."""


class RecentlyShownMemories:
    """Shown memories by conversation, in memory and shared by the processes of a server.

    Thread safe.
    """

    def __init__(
        self,
        duration: timedelta,
        topic_change_cosine: float,
        clock: Clock,
        peers: ProcessPeers | None = None,
    ) -> None:
        """Set up the marks.

        ``duration``: how long a memory counts as shown. ``topic_change_cosine``: cosine of two
        turns below which they are not about the same.
        """
        self._duration = duration
        self._topic_change_cosine = topic_change_cosine
        self._clock = clock
        self._lock = Lock()
        self._states = (peers or ProcessPeers()).table("shown", _MAX_CONVERSATIONS)

    def detect_topic_change(
        self, session: str, topic: TurnTopic | None, answer: TurnTopic | None = None
    ) -> bool:
        """Record the turn's topic; None: it only goes on. True: the topic changed.

        ``answer``: what the turn before was answered.

        A change of topic clears what counts as shown; the set that was shown last still waits its
        pause (``filter_new``), since it stands a few messages above.
        """
        if topic is None:
            return False
        with self._lock:
            state = self._get_state(session)
            context = state.context if answer is None else (*state.context, answer)
            is_changed = is_new_topic(topic, context, self._topic_change_cosine)
            if is_changed:
                state.shown_at.clear()
                state.context = ()
            state.context = (*state.context, topic)[-CONTEXT_TURNS:]
            self._states.put(session, state)
            return is_changed

    def filter_new(self, session: str, ids: Sequence[str]) -> tuple[str, ...]:
        """Return ids that may be shown now, in their order.

        Empty where they repeat the last set: the same set waits 90 seconds, one that overlaps it by
        0.8 waits 180.
        """
        now = self._clock()
        with self._lock:
            state = self._get_state(session)
            new_ids = frozenset(ids)
            if state.last_shown_at is not None and new_ids:
                elapsed = now - state.last_shown_at
                shared = len(new_ids & state.last_ids)
                is_similar = shared >= _MIN_OVERLAP * len(new_ids | state.last_ids)
                if new_ids == state.last_ids and elapsed < _SAME_SET_PAUSE:
                    return ()
                if is_similar and elapsed < _SIMILAR_SET_PAUSE:
                    return ()
            return tuple(id for id in ids if not self._is_recent(state, id, now))

    def shown_ids(self, session: str) -> frozenset[str]:
        """Return ids shown so recently that they need not be searched."""
        now = self._clock()
        with self._lock:
            state = self._get_state(session)
            return frozenset(id for id in state.shown_at if self._is_recent(state, id, now))

    def mark_shown(self, session: str, ids: Collection[str]) -> None:
        """Record that memories were shown now; marks that are over are dropped."""
        now = self._clock()
        with self._lock:
            state = self._get_state(session)
            recent = {
                id: shown_at
                for id, shown_at in state.shown_at.items()
                if now - shown_at < self._duration
            }
            state.shown_at = recent | dict.fromkeys(ids, now)
            if ids:
                state.last_ids = frozenset(ids)
                state.last_shown_at = now
            self._states.put(session, state)

    def _is_recent(self, state: _ShownState, id: str, now: datetime) -> bool:
        return id in state.shown_at and now - state.shown_at[id] < self._duration

    def _get_state(self, session: str) -> _ShownState:
        return self._states.get(session) or _ShownState()
