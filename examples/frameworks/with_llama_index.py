"""A memory block of LlamaIndex over memory, without a model:
pip install '.[llama-index]' and run this.
"""

import asyncio

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory

import engrams
from engrams.adapters import LlamaIndexMemoryBlock

ALICE = ("user", "alice")


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        first = Memory.from_defaults(
            session_id="monday",
            token_limit=40,
            token_flush_size=10,
            memory_blocks=[LlamaIndexMemoryBlock(memory, ALICE)],
        )
        await first.aput_messages(
            [
                ChatMessage(
                    role="user",
                    content="I am allergic to nuts, so please never suggest a recipe with almonds.",
                ),
                ChatMessage(role="assistant", content="Understood."),
                ChatMessage(
                    role="user",
                    content=(
                        "Tell me a long story about the lighthouse on the island, with a keeper and"
                        " a storm."
                    ),
                ),
            ]
        )
        second = Memory.from_defaults(
            session_id="tuesday", memory_blocks=[LlamaIndexMemoryBlock(memory, ALICE)]
        )
        await second.aput(
            ChatMessage(role="user", content="Which recipes can I cook with my allergy?")
        )
        for message in await second.aget():
            print(f"{message.role.value}: {message.content}")


asyncio.run(main())
