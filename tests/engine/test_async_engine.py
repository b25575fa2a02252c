"""The engine for asyncio."""

from __future__ import annotations

import asyncio
import inspect

import pytest

import engrams
from engrams import AsyncMemoryEngine, MemoryEngine

ANN = ("user", "ann")


def test_every_method_is_a_coroutine_with_the_same_parameters() -> None:
    """Nothing that the engine can do is missing, and its calls look the same."""
    for name, method in inspect.getmembers(MemoryEngine, inspect.isfunction):
        if name.startswith("_"):
            continue
        twin = getattr(AsyncMemoryEngine, name)
        assert inspect.signature(twin).parameters == inspect.signature(method).parameters
        assert inspect.iscoroutinefunction(twin) or name == "now"


async def test_the_engine_and_its_parts_answer_on_threads() -> None:
    """A write, a search and a session go through, while the event loop goes on."""
    async with AsyncMemoryEngine(engrams.open(store__url=":memory:", jobs__workers=0)) as memory:
        receipt, _ = await asyncio.gather(
            memory.add("The oven is serviced on Tuesday.", scope=ANN),
            memory.add("Order lentils before Friday.", scope=ANN),
        )
        result = await memory.search("When is the oven serviced?", scope=ANN)
        assert result.hits[0].record.id == receipt.id
        info = await memory.sessions.begin("s1", scope=ANN)
        assert info.id == "s1"
        assert (await memory.inspect.get(receipt.id, scope=ANN)).text.startswith("The oven")
    with pytest.raises(engrams.EngramsError):
        await memory.search("oven", scope=ANN)
