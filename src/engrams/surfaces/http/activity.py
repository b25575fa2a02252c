"""Per-owner activity by minute, for charts."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

MINUTES = 24 * 60
_OWNERS = 1000
_TIMES = 500


@dataclass(slots=True)
class ActivityMinute:
    """``at``: minutes since 1970. ``times``: milliseconds of its searches, the first 500."""

    at: int
    requests: int = 0
    errors: int = 0
    writes: int = 0
    searches: int = 0
    times: list[float] = field(default_factory=list)

    def percentile(self, part: float) -> float:
        """Return the search time below which ``part`` of the searches stayed.

        ``part``: 0..1. Milliseconds; 0 without searches.
        """
        return sorted(self.times)[min(len(self.times) - 1, int(part * len(self.times)))] if self.times else 0.0


class ActivityChart:
    """Last day of activity, in memory, for the latest thousand owners."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, deque[ActivityMinute]] = OrderedDict()

    def record(self, owner: str, minute: int, *, status: int, search: bool, write: bool, milliseconds: float) -> None:
        with self._lock:
            held = self._owners.setdefault(owner, deque(maxlen=MINUTES))
            self._owners.move_to_end(owner)
            while len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)
            # A clock that goes backwards adds to the minute that is there.
            if not held or held[-1].at < minute:
                held.append(ActivityMinute(minute))
            now = held[-1]
            now.requests += 1
            now.errors += status >= 500
            now.writes += write
            now.searches += search
            if search and len(now.times) < _TIMES:
                now.times.append(milliseconds)

    def minutes_since(self, owner: str, since: int) -> Sequence[ActivityMinute]:
        """The minutes from ``since`` on in which there was something."""
        with self._lock:
            return [minute for minute in self._owners.get(owner, ()) if minute.at >= since]
