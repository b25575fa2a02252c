"""Base of the classes of ``async_engine``: it runs calls of an engine or its part on threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


class AsyncPart(Generic[Part]):
    """A part of an engine for asyncio."""

    def __init__(self, find_part: Callable[[], Part]) -> None:
        """Wrap a part, which ``find_part`` makes when its first method is called."""
        self._find_part = find_part

    async def _run(self, call: Callable[[Part], Result]) -> Result:
        """Call the part on a thread. A cancelled caller leaves the call running to its end."""
        return await asyncio.to_thread(lambda: call(self._find_part()))
