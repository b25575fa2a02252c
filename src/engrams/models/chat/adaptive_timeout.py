"""Pace of a model, and the time to wait for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from engrams.ports import ModelUsageLedger

_FACTOR = 3.0
_LONGEST = 3600.0
_SHARE = 0.95
_TIMED_OUT = 0.95


class ModelLatencyTracker:
    """Seconds of a model's last answers, kept in a ledger.

    An answer that did not come in time counts with the time it had, so that a model which is slower
    than the setting gets more.
    """

    def __init__(self, ledger: ModelUsageLedger, model: str, seconds: float) -> None:
        """Set up the pace. ``seconds``: the least time an answer gets."""
        self._ledger = ledger
        self._model = model
        self._seconds = seconds
        self._lock = threading.Lock()
        self._took: tuple[float, ...] | None = None

    def allowed_seconds(self) -> float:
        """Return the seconds that one answer gets.

        The setting, or three times the slow answers, up to an hour.
        """
        with self._lock:
            if self._took is None:
                self._took = self._ledger.load_pace(self._model)
            return max(self._seconds, min(_FACTOR * percentile(self._took, _SHARE), _LONGEST))

    def record(self, seconds: float, allowed: float, *, answered: bool) -> None:
        """Keep the time of an answer, or of a time-out."""
        if answered or seconds >= allowed * _TIMED_OUT:
            self._ledger.record_pace(self._model, seconds)
            with self._lock:
                self._took = self._ledger.load_pace(self._model)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all do not exceed.

    ``share``: 0 to 1. 0 without any values.
    """
    ranked = sorted(values)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)] if ranked else 0.0
