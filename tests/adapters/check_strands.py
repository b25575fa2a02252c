"""Batches that are sent again store nothing twice, equal words of a conversation are two messages,
and a manager stores by itself.
"""

import asyncio

from strands.memory import MemoryManager
from strands.memory.types import AddMessagesContext

import engrams
from engrams.adapters import StrandsMemoryStore

ANN = ("user", "ann")


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        store = StrandsMemoryStore(memory, ANN, max_search_results=1)
        messages = [
            {"role": "user", "content": [{"text": "I moved to Oslo."}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"name": "x", "toolUseId": "1", "input": {}}}],
            },
            {"role": "user", "content": [{"text": "I moved to Oslo."}]},
        ]
        for _ in range(2):
            await store.add_messages(messages, AddMessagesContext(sequence_numbers=[0, 1, 2]))
        assert len(memory.list(scope=ANN, kinds=("turn",)).records) == 2
        await store.add("Ann plays the cello.", {"source": "form"})
        (entry,) = await store.search("Which instrument does Ann play: the cello?")
        assert "cello" in entry.content and entry.metadata["source"] == "form"
        assert len(await store.search("Oslo", {"max_search_results": 2})) == 2
        assert await store.search("Refactor the parser module") == []
        assert MemoryManager(stores=[store])


asyncio.run(main())
