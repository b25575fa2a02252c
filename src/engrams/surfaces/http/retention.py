"""What is too old in the logs goes, also where nothing new is written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Protocol

from engrams.errors import StoreError

_HOUR = 3600.0

_log = logging.getLogger(__name__)


class Log(Protocol):
    """The part of a log that is needed here."""

    def sweep(self) -> int: ...


async def swept(logs: Iterable[Log], seconds: float = _HOUR) -> None:
    """Sweep them at once, and then so often; without an end."""
    kept = tuple(logs)
    while True:
        for log in kept:
            try:
                await asyncio.to_thread(log.sweep)
            except StoreError as problem:
                _log.error("a log keeps what is too old: %s", problem)
        await asyncio.sleep(seconds)
