"""Time to wait for a model, adapted to how long its last answers took.

A fixed time-out is too short for a slow model on a busy machine, and all its work is lost; it is
too long for a server that hangs. So an answer may take three times as long as the slow ones of the
model have taken (the 95th percentile), and at least the time-out of the settings.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engrams.ports import ModelUsageLedger

_FACTOR = 3.0
_SLOW_SHARE = 0.95
_MAX_SECONDS = 3600.0
_TIMED_OUT_SHARE = 0.95
"""Share of the allowed time from which a failure counts as a time-out."""


class ModelLatencyTracker:
    """Seconds of a model's last answers, kept in a ledger.

    An answer that did not come in time counts with the time it had, so that a model which is slower
    than the setting gets more.
    """

    def __init__(self, ledger: ModelUsageLedger, model: str, seconds: float) -> None:
        """Set up the tracker. ``seconds``: the least time that an answer gets."""
        self._ledger = ledger
        self._model = model
        self._least_seconds = seconds
        self._lock = threading.Lock()
        self._latencies: tuple[float, ...] | None = None

    def allowed_seconds(self) -> float:
        """Return the seconds that one answer gets."""
        with self._lock:
            if self._latencies is None:
                self._latencies = self._ledger.load_pace(self._model)
            slow_seconds = percentile(self._latencies, _SLOW_SHARE)
            return max(self._least_seconds, min(_FACTOR * slow_seconds, _MAX_SECONDS))

    def record(self, seconds: float, allowed: float, *, answered: bool) -> None:
        """Record the time of an answer, or of a time-out; other failures tell nothing."""
        if answered or seconds >= allowed * _TIMED_OUT_SHARE:
            self._ledger.record_pace(self._model, seconds)
            with self._lock:
                self._latencies = self._ledger.load_pace(self._model)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that a share (0 to 1) of all do not exceed; 0 without any values."""
    if not values:
        return 0.0
    ranked = sorted(values)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)]
