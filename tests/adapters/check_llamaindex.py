"""The block shortens what it recalls where tokens are short, and stores only what was said."""

import asyncio

from llama_index.core.llms import ChatMessage

import engrams
from engrams.adapters import LlamaIndexMemoryBlock

ANN = ("user", "ann")


async def main() -> None:
    with engrams.open(store__url=":memory:") as memory:
        block = LlamaIndexMemoryBlock(memory, ANN, priority=1)
        messages = [
            ChatMessage(role="user", content=f"My cousin number {n} lives in town number {n}.")
            for n in range(30)
        ]
        await block.aput(
            [
                *messages,
                ChatMessage(role="tool", content="secret output"),
                ChatMessage(role="system", content="be brief"),
            ],
            session_id="s1",
        )
        turns = memory.list(scope=ANN, kinds=("turn",), limit=100).records
        assert len(turns) == 30 and {turn.session for turn in turns} == {"s1"}
        question = [ChatMessage(role="user", content="Where does my cousin number 7 live?")]
        whole = await block.aget(question)
        assert "town number 7" in whole
        shorter = await block.atruncate(whole, 100)
        assert shorter and "town number 7" in shorter and len(shorter) < len(whole)
        assert await block.atruncate(whole, 1_000_000) is None
        assert await LlamaIndexMemoryBlock(memory, ("user", "bob")).aget(question) == ""


asyncio.run(main())
