"""The same engine from asyncio: every method is a coroutine that runs on a thread."""

import asyncio

import engrams
from engrams import AsyncMemoryEngine

TEAM = ("team", "kitchen")


async def main() -> None:
    async with AsyncMemoryEngine(engrams.open(store__url=":memory:")) as memory:
        notes = (
            "The oven is serviced on Tuesday",
            "Order lentils before Friday",
            "The dishwasher leaks again",
        )
        await asyncio.gather(*(memory.add(note, scope=TEAM) for note in notes))
        found = await memory.search("What do we have to order?", scope=TEAM, limit=1)
        print(found.hits[0].record.text)


asyncio.run(main())
