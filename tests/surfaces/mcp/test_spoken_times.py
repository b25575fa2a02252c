"""A message that a tool brings keeps the clock of whoever said it."""

from __future__ import annotations

from tests.surfaces.mcp.conftest import Open, call

from engrams.core import Kind, Scope
from engrams.engine import MemoryEngine


async def test_tomorrow_on_the_tellers_clock(
    client: Open, engine: MemoryEngine, root: Scope
) -> None:
    """Tomorrow is the day after on the clock that ``at`` names."""
    message = {
        "role": "user",
        "content": "I'm flying to Rome tomorrow.",
        "at": "2025-06-11T23:30:00-07:00",
    }
    async with client() as tools:
        await call(tools, "memory_add", messages=[message])
    engine.drain()
    (fact,) = engine.list(scope=root, kinds=(Kind.FACT,)).records
    assert fact.meta["times"][0]["start"] == "2025-06-12T00:00:00-07:00"
