"""What the server did, minute by minute: for charts, and for each owner apart."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

MINUTES = 24 * 60
_OWNERS = 1000
_TIMES = 500


@dataclass(slots=True)
class Minute:
    """``at``: minutes since 1970. ``times``: milliseconds of its searches, the first 500."""

    at: int
    requests: int = 0
    errors: int = 0
    writes: int = 0
    searches: int = 0
    times: list[float] = field(default_factory=list)

    def share(self, part: float) -> float:
        """The time below which that share of the searches stayed; 0 without any."""
        return sorted(self.times)[min(len(self.times) - 1, int(part * len(self.times)))] if self.times else 0.0


class Pulse:
    """The last day, in this process's memory; of the thousand owners that were last seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, deque[Minute]] = OrderedDict()

    def note(self, owner: str, minute: int, *, status: int, search: bool, write: bool, milliseconds: float) -> None:
        with self._lock:
            held = self._owners.setdefault(owner, deque(maxlen=MINUTES))
            self._owners.move_to_end(owner)
            while len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)
            # A clock that goes backwards adds to the minute that is there.
            if not held or held[-1].at < minute:
                held.append(Minute(minute))
            now = held[-1]
            now.requests += 1
            now.errors += status >= 500
            now.writes += write
            now.searches += search
            if search and len(now.times) < _TIMES:
                now.times.append(milliseconds)

    def last(self, owner: str, since: int) -> Sequence[Minute]:
        """The minutes from ``since`` on in which there was something."""
        with self._lock:
            return [minute for minute in self._owners.get(owner, ()) if minute.at >= since]
