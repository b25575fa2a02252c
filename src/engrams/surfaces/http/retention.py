"""Remove old log entries, also while nothing new is written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Protocol

from engrams.errors import StoreError

_HOUR = 3600.0

_log = logging.getLogger(__name__)


class SweepableLog(Protocol):
    """Log that deletes its expired entries."""

    def sweep(self) -> int:
        """Delete what is too old; return how many entries that were."""
        ...


async def sweep_logs(logs: Iterable[SweepableLog], seconds: float = _HOUR) -> None:
    """Sweep the logs at once and then every ``seconds``, until cancelled."""
    swept = tuple(logs)
    while True:
        for log in swept:
            try:
                await asyncio.to_thread(log.sweep)
            except StoreError as error:
                _log.error("a log keeps what is too old: %s", error)
        await asyncio.sleep(seconds)
