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
    """Port of a log that deletes its expired entries."""

    def sweep(self) -> int: ...


async def sweep_logs(logs: Iterable[SweepableLog], seconds: float = _HOUR) -> None:
    """Sweep the logs now and then every ``seconds``, for ever."""
    kept = tuple(logs)
    while True:
        for log in kept:
            try:
                await asyncio.to_thread(log.sweep)
            except StoreError as problem:
                _log.error("a log keeps what is too old: %s", problem)
        await asyncio.sleep(seconds)
