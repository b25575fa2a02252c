"""Recently shown memories, not repeated in a conversation for a while (003)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING

from engrams.ports import Clock

if TYPE_CHECKING:
    from engrams.ports.search import Floats

_SAME = timedelta(seconds=90)
_ALIKE, _OVERLAP = timedelta(seconds=180), 0.8
_MOST = 10_000
"""Conversations kept at most; least recently active evicted first."""


@dataclass(slots=True)
class _ShownState:
    """State of one conversation: times shown, last set shown, topic vector."""

    at: dict[str, datetime] = field(default_factory=dict)
    last: frozenset[str] = frozenset()
    when: datetime | None = None
    about: Floats | None = None


class RecentlyShown:
    """Shown memories by conversation; ``memory`` is how long. Thread safe."""

    def __init__(self, memory: timedelta, topic: float, clock: Clock) -> None:
        self._memory, self._topic, self._clock = memory, topic, clock
        self._lock = Lock()
        self._states: dict[str, _ShownState] = {}

    def detect_topic_change(self, session: str, about: Floats | None) -> bool:
        """Record the turn's topic, a unit vector. True: it changed.

        A change of topic clears what counts as shown.
        """
        with self._lock:
            seen = self._get_state(session)
            before, seen.about = seen.about, about if about is not None else seen.about
            changed = before is not None and about is not None and len(before) == len(about) and float(before @ about) < self._topic
            if changed:
                seen.at.clear()
                seen.last, seen.when = frozenset(), None
            return changed

    def filter_new(self, session: str, ids: Sequence[str]) -> tuple[str, ...]:
        """Return ids that may be shown now, in their order.

        Empty where they repeat the last set: the same set waits 90 seconds, one that overlaps it by 0.8 waits 180.
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
            return tuple(name for name in ids if name not in seen.at or now - seen.at[name] >= self._memory)

    def shown_ids(self, session: str) -> frozenset[str]:
        """Return ids shown so recently that they need not be searched."""
        now = self._clock()
        with self._lock:
            return frozenset(name for name, at in self._get_state(session).at.items() if now - at < self._memory)

    def mark_shown(self, session: str, ids: Collection[str]) -> None:
        now = self._clock()
        with self._lock:
            seen = self._get_state(session)
            seen.at = {name: at for name, at in seen.at.items() if now - at < self._memory} | dict.fromkeys(ids, now)
            if ids:
                seen.last, seen.when = frozenset(ids), now

    def mark_said(self, session: str, ids: Collection[str]) -> None:
        """Record ids that the conversation said itself; they count as shown."""
        now = self._clock()
        with self._lock:
            self._get_state(session).at.update(dict.fromkeys(ids, now))

    def _get_state(self, session: str) -> _ShownState:
        seen = self._states.pop(session, None) or _ShownState()
        self._states[session] = seen
        while len(self._states) > _MOST:
            del self._states[next(iter(self._states))]
        return seen
