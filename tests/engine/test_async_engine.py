"""The engine for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import engrams
from engrams import AsyncMemoryEngine, MemoryEngine

ROOT = Path(__file__).resolve().parents[2]
ANN = ("user", "ann")

PROGRAM = """
import asyncio

import engrams
from engrams import AsyncMemoryEngine


async def main() -> None:
    async with AsyncMemoryEngine(engrams.open(store__url=":memory:")) as memory:
        receipt = await memory.add("I keep bees.", scope=("user", "ann"))
        result = await memory.search("bees", scope=("user", "ann"), limit=1)
        info = await memory.sessions.begin("s1", scope=("user", "ann"))
        reveal_type(receipt)
        reveal_type(result.hits[0].record.text)
        reveal_type(info)
        page = await memory.list(scope=("user", "ann"), kinds="turn", where={"meta.size": {"gte": 2}})
        reveal_type(page.records[0].text)
        await memory.search("bees")
        await memory.serch("bees", scope=("user", "ann"))
        await memory.list(scope=("user", "ann"), statuss="active")
        memory.engine.list(scope=("user", "ann"), limit="3")
        await memory.context("bees", scope=("user", "ann"), wher={"meta.size": 2})
        await memory.sessions.begin(1, scope=("user", "ann"))


asyncio.run(main())
"""


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


@pytest.mark.slow
def test_mypy_sees_types_and_finds_mistakes(tmp_path: Path) -> None:
    """A program in mypy's strict mode gets the types of results, and an error for each wrong call."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, "utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    found = [line.partition("program.py:")[2] for line in checked.stdout.splitlines()]
    assert [line.partition(": ")[2].split("  [")[0] for line in found if ": note" not in line] == [
        'error: Missing named argument "scope" for "search" of "AsyncMemoryEngine"',
        'error: "AsyncMemoryEngine" has no attribute "serch"; maybe "search"?',
        'error: Unexpected keyword argument "statuss" for "list" of "AsyncMemoryEngine"; did you mean'
        ' "statuses" or "status"?',
        'error: Argument "limit" to "list" of "MemoryEngine" has incompatible type "str"; expected'
        ' "int"',
        'error: Unexpected keyword argument "wher" for "context" of "AsyncMemoryEngine"; did you mean'
        ' "where"?',
        'error: Argument 1 to "begin" of "AsyncSessionRegistry" has incompatible type "int";'
        ' expected "str"',
    ]
    revealed = [line for line in found if "Revealed type" in line]
    assert [line.split('"')[1] for line in revealed] == [
        "engrams.core.results.Receipt",
        "str" if '"str"' in revealed[1] else "builtins.str",
        "engrams.session.lifecycle.SessionInfo",
        "str" if '"str"' in revealed[1] else "builtins.str",
    ]
