"""A memory store of Strands Agents, with its memory manager:
pip install '.[strands]' and run this.
"""

import asyncio

from strands.memory import MemoryManager

import engrams
from engrams.adapters import StrandsMemoryStore

ALICE = ("user", "alice")


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        store = StrandsMemoryStore(memory, ALICE, description="What is known about Alice.")
        manager = MemoryManager(stores=[store])
        await manager.add("I am allergic to nuts.")
        for entry in await manager.search("What am I allergic to?"):
            print(f"{entry.store_name}: {entry.content}")


asyncio.run(main())
