"""MemoryEngine for asyncio: each method runs on a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from engrams.engine import MemoryEngine


class AsyncMemoryEngine:
    """``await AsyncMemoryEngine(engine).search("…", scope=…)``:

    same methods, same arguments, same errors.
    """

    def __init__(self, engine: MemoryEngine) -> None:
        self.engine = engine

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method = getattr(self.engine, name)
        if name.startswith("_") or not callable(method):
            raise AttributeError(f"MemoryEngine has no method {name!r}")

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        return call

    async def __aenter__(self) -> AsyncMemoryEngine:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await asyncio.to_thread(self.engine.close)
