"""Stores of LangGraph, in environments of their own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench.conformance.environments import make_environment
from tests.adapters.fresh import run_example

CHECKS = """
import asyncio, threading, engrams
from engrams.adapters import AsyncLangGraphStore, LangGraphStore

ANN = ("user", "ann")

def embed(texts):
    return [[float(text.count("a")), float(text.count("b")), 1.0] for text in texts]

async def aembed(texts):
    return embed(texts)

with engrams.open(store__url=":memory:") as memory:
    store = LangGraphStore(memory, lambda namespace: ("user", namespace[1]), index={"dims": 3, "embed": embed, "fields": ["x", "y[*].z"]})
    store.put(("m", "ann"), "1", {"x": "aaaa", "y": [{"z": "bbbb"}], "other": "cccc"})
    store.put(("m", "ann"), "2", {"x": "abab"})
    store.put(("m", "bob"), "3", {"x": "aaaa"})
    assert [item.key for item in store.search(("m", "ann"), query="bbbb")] == ["1", "2"]
    assert [item.key for item in store.search(("m", "ann"), query="ab")] == ["2", "1"]
    assert [item.key for item in store.search(("m", "bob"), query="bbbb")] == ["3"]
    try:
        store.search(("m",), query="a")
    except ValueError as problem:
        assert "whose memory" in str(problem)
    else:
        raise AssertionError("a search over all owners")

async def main():
    with engrams.open(store__url=":memory:") as memory:
        store = AsyncLangGraphStore(memory, ANN, index={"dims": 3, "embed": aembed}, ttl={"default_ttl": 60})
        await asyncio.gather(*(store.aput(("m",), str(number), {"text": "a" * number + "b"}) for number in range(9)))
        assert len(await store.asearch(("m",), limit=20)) == 9
        assert (await store.asearch(("m",), query="b"))[0].key == "0"
        found = []
        thread = threading.Thread(target=lambda: found.append(store.get(("m",), "3")))
        await asyncio.to_thread(lambda: (thread.start(), thread.join()))
        assert found[0].value == {"text": "aaab"}
        await store.adelete(("m",), "3")
        assert await store.aget(("m",), "3") is None
        assert await store.sweep_ttl() == 0

asyncio.run(main())
"""

LANGMEM = """
import engrams
from langmem import create_manage_memory_tool, create_search_memory_tool
from engrams.adapters import LangGraphStore

with engrams.open(store__url=":memory:") as memory:
    store = LangGraphStore(memory, ("user", "ann"))
    manage = create_manage_memory_tool(("memories", "ann"), store=store)
    search = create_search_memory_tool(("memories", "ann"), store=store)
    told = manage.invoke({"content": "Ann plays the cello", "action": "create"})
    id = told.split()[-1]
    manage.invoke({"content": "Ann plays the viola", "action": "update", "id": id})
    assert "viola" in str(search.invoke({"query": "Which instrument does Ann play?"}))
    assert memory.search("viola", scope=("user", "ann")).hits[0].record.text == "Ann plays the viola"
    manage.invoke({"action": "delete", "id": id})
    assert "viola" not in str(search.invoke({"query": "Which instrument does Ann play?"}))
"""


def run_code(python: Path, code: str, folder: Path) -> None:
    finished = subprocess.run(
        [str(python), "-c", code], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr


@pytest.mark.slow
def test_stores_index_and_map_namespaces(tmp_path: Path) -> None:
    """In a fresh environment of the current release both stores rank by an own index, keep owners
    apart, and work from any thread.
    """
    run_code(make_environment(tmp_path / "environment", ["[langgraph]"]), CHECKS, tmp_path)


@pytest.mark.slow
def test_the_tools_of_langmem_work(tmp_path: Path) -> None:
    """LangMem's tools create, change, find and delete memories through the store."""
    run_code(
        make_environment(tmp_path / "environment", ["[langgraph]", "langmem"]), LANGMEM, tmp_path
    )


@pytest.mark.slow
def test_the_langgraph_example_runs(tmp_path: Path) -> None:
    """The example runs in a fresh environment of the current release."""
    printed = run_example("langgraph", tmp_path, "langgraph")
    assert "Ann is allergic to nuts" in printed and "Any other door: Ann lives in Oslo" in printed
