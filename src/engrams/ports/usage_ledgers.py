"""The ports that count requests and model use, over all processes on a store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from engrams.core import Json
from engrams.core.usage_accounts import RequestWindow


class RequestLedger(Protocol):
    """Requests by account and window, shared by every process on the store."""

    def count_requests(
        self, window: RequestWindow, now: datetime, account: str, number: int
    ) -> int:
        """Add to the requests of this window, and return the new total.

        Both happen in one step, which no other caller can come between. ``number`` 0 only looks.
        """
        ...


class ModelUsageLedger(Protocol):
    """Model use by day, shared by every process on the store."""

    def spend(self, day: str, calls: int, tokens: int) -> tuple[int, int]:
        """Add to a day's calls and tokens, and return the new totals.

        Both happen in one step, which no other caller can come between. Numbers may be negative; 0
        only looks. ``day``: such as ``2026-11-21``; the last few days are stored.
        """
        ...

    def record_pace(self, model: str, seconds: float) -> None:
        """Store the seconds that one answer of a model took."""
        ...

    def load_pace(self, model: str) -> tuple[float, ...]:
        """Return the seconds of a model's last answers: at most 50, oldest first."""
        ...

    def count_mistakes(self, model: str, numbers: Mapping[str, int]) -> None:
        """Add to the mistakes of a model, by reason; they count since the home began."""
        ...

    def load_mistakes(self, model: str) -> Mapping[str, int]:
        """Return the mistakes of a model by reason."""
        ...

    def save_server_form(self, address: str, form: Mapping[str, Json]) -> None:
        """Store the form of request that a model server takes.

        ``address``: of the server, and the model's name.
        """
        ...

    def load_server_form(self, address: str) -> Mapping[str, Json] | None:
        """Return the form of request that a model server takes; None: it is not known."""
        ...
