"""Requests and search times by minute of the last day, per owner; the web page draws them."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from engrams.core.process_peers import ProcessPeers
from engrams.ports import Clock
from engrams.surfaces.http.telemetry import ObservedRequest, Observer

CHART_MINUTES = 24 * 60
_MAX_OWNERS = 1000
"""Owners whose activity is kept; the one without a request for longest is dropped."""
_MAX_TIMES = 500
"""Search times that are kept of one minute; its percentiles are of these."""


@dataclass(frozen=True, slots=True)
class ActivitySample:
    """One request, as the chart counts it."""

    minute: int
    """Minutes since 1970."""

    status: int
    is_search: bool
    is_write: bool
    milliseconds: float


@dataclass(slots=True)
class ActivityMinuteCounts:
    """Requests, errors, writes and search times of one minute."""

    minute: int
    """Minutes since 1970."""

    requests: int = 0
    errors: int = 0
    """Requests that were answered with a status of 500 or more."""

    writes: int = 0
    searches: int = 0
    times: list[float] = field(default_factory=list)
    """Milliseconds of the first searches of the minute."""

    def percentile(self, share: float) -> float:
        """Return the search time below which a share (0..1) of the searches stayed.

        In milliseconds; 0 without searches.
        """
        if not self.times:
            return 0.0
        return sorted(self.times)[min(len(self.times) - 1, int(share * len(self.times)))]


class OwnerActivityChart:
    """Activity of each owner by minute, over all processes of the server."""

    def __init__(self, peers: ProcessPeers | None = None) -> None:
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, deque[ActivityMinuteCounts]] = OrderedDict()
        self._send_to_peers = (peers or ProcessPeers()).share(
            "activity", self._count, can_wait=True
        )

    def record(self, owner: str, sample: ActivitySample) -> None:
        """Count a request, here and in the server's other processes."""
        self._count(owner, sample)
        self._send_to_peers(owner, sample)

    def _count(self, owner: str, sample: ActivitySample) -> None:
        with self._lock:
            minutes = self._owners.setdefault(owner, deque(maxlen=CHART_MINUTES))
            self._owners.move_to_end(owner)
            while len(self._owners) > _MAX_OWNERS:
                self._owners.popitem(last=False)
            # A clock that goes backwards adds to the minute that is there.
            if not minutes or minutes[-1].minute < sample.minute:
                minutes.append(ActivityMinuteCounts(sample.minute))
            current = minutes[-1]
            current.requests += 1
            current.errors += sample.status >= 500
            current.writes += sample.is_write
            current.searches += sample.is_search
            if sample.is_search and len(current.times) < _MAX_TIMES:
                current.times.append(sample.milliseconds)

    def minutes_since(self, owner: str, first_minute: int) -> Sequence[ActivityMinuteCounts]:
        """List the minutes with activity, from ``first_minute`` (since 1970) on."""
        with self._lock:
            minutes = self._owners.get(owner, ())
            return [counts for counts in minutes if counts.minute >= first_minute]


def chart_observer(chart: OwnerActivityChart, clock: Clock) -> Observer:
    """Create an observer that fills the chart; requests that concern no owner are left out."""

    def observe(request: ObservedRequest) -> None:
        if not request.owner:
            return
        sample = ActivitySample(
            minute=int(clock().timestamp() // 60),
            status=request.status,
            is_search=request.permission.is_search,
            is_write=request.permission.right == "write",
            milliseconds=request.seconds * 1000,
        )
        chart.record(request.owner, sample)

    return observe
