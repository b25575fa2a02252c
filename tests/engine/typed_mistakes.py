# ruff: noqa: PGH003
"""Calls that a type checker refuses: each comment would itself be an error if it did not."""

from typing import assert_type

import engrams
from engrams import AsyncMemoryEngine, adapters
from engrams.types import Receipt

ANN = ("user", "ann")


async def main() -> None:
    async with AsyncMemoryEngine(engrams.open(store__url=":memory:")) as memory:
        receipt = await memory.add("I keep bees.", scope=ANN)
        result = await memory.search("bees", scope=ANN, limit=1)
        assert_type(receipt, Receipt)
        assert_type(result.hits[0].record.text, str)
        await memory.search("bees")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        await memory.serch("bees", scope=ANN)  # type: ignore[attr-defined]  # pyright: ignore
        await memory.list(scope=ANN, statuss="active")  # type: ignore[call-arg]  # pyright: ignore
        memory.engine.list(scope=ANN, limit="3")  # type: ignore[arg-type]  # pyright: ignore
        await memory.context("bees", scope=ANN, wher={})  # type: ignore[call-arg]  # pyright: ignore
        await memory.sessions.begin(1, scope=ANN)  # type: ignore[arg-type]  # pyright: ignore
        print(engrams.MemoryEngin)  # type: ignore[attr-defined]  # pyright: ignore
        print(adapters.LangGraphStor)  # type: ignore[attr-defined]  # pyright: ignore
        print(receipt.outcom)  # type: ignore[attr-defined]  # pyright: ignore
        print(result.hits[0].record.txt)  # type: ignore[attr-defined]  # pyright: ignore
        print(result.hits[0].scores)  # type: ignore[attr-defined]  # pyright: ignore
