"""Ledger of model usage in memory, for a process without a store."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from engrams.core import Json

_DAYS_KEPT = 16
_PACES_KEPT = 50


class InMemoryModelUsageLedger:
    """Port ``ModelUsageLedger`` in memory; a restart begins anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._days: dict[str, tuple[int, int]] = {}
        self._paces: dict[str, tuple[float, ...]] = {}
        self._mistakes: dict[str, Counter[str]] = {}
        self._forms: dict[str, Mapping[str, Json]] = {}

    def spend(self, day: str, calls: int, tokens: int) -> tuple[int, int]:
        """Add to a day's calls and tokens, and return the new totals."""
        with self._lock:
            spent_calls, spent_tokens = self._days.get(day, (0, 0))
            totals = spent_calls + calls, spent_tokens + tokens
            self._days[day] = totals
            for past_day in sorted(self._days)[:-_DAYS_KEPT]:
                del self._days[past_day]
            return totals

    def record_pace(self, model: str, seconds: float) -> None:
        """Store the seconds that one answer of a model took."""
        with self._lock:
            self._paces[model] = (*self._paces.get(model, ()), seconds)[-_PACES_KEPT:]

    def load_pace(self, model: str) -> tuple[float, ...]:
        """Return the seconds of a model's last answers, oldest first."""
        return self._paces.get(model, ())

    def count_mistakes(self, model: str, numbers: Mapping[str, int]) -> None:
        """Add to the mistakes of a model, by reason."""
        with self._lock:
            self._mistakes.setdefault(model, Counter()).update(numbers)

    def load_mistakes(self, model: str) -> Mapping[str, int]:
        """Return the mistakes of a model by reason."""
        with self._lock:
            return dict(self._mistakes.get(model, {}))

    def save_server_form(self, address: str, form: Mapping[str, Json]) -> None:
        """Store the form of request that a server takes."""
        self._forms[address] = form

    def load_server_form(self, address: str) -> Mapping[str, Json] | None:
        """Return the form of request that a server takes; None: it is not known."""
        return self._forms.get(address)
