"""The memory tool of Anthropic's API."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bench.conformance.environments import make_environment
from tests.adapters.fresh import run_example

CHECKS = """
import asyncio, sys
from pathlib import Path
import engrams
from anthropic.lib.tools import ToolError
from engrams.errors import SettingsError
from engrams.adapters import AnthropicMemoryTool, AsyncAnthropicMemoryTool

ANN = ("user", "ann")
home = Path(sys.argv[1])
with engrams.open(home=home, jobs__workers=0, vault__enabled=True, vault__git=False) as memory:
    tool, awaited = AnthropicMemoryTool(memory, ANN), AsyncAnthropicMemoryTool(memory, ANN)
    memory.add("My dentist is Doctor Brown.", scope=ANN)
    memory.add("Bob's dentist is Doctor White.", scope=("user", "bob"))
    memory.drain()
    plan = {"command": "create", "path": "/memories/a.txt", "file_text": "Apollo ships in June."}
    assert asyncio.run(awaited.call(plan)).startswith("File")
    assert "Apollo" in memory.search("Apollo", scope=ANN).hits[0].record.text
    listed = tool.call({"command": "view", "path": "/memories/entries"})
    assert "brown" in listed and "white" not in listed, listed
    for wrong in ({"command": "view", "path": "/memories/../x"}, {"command": "create", "path": "/memories/a.txt", "file_text": ""}):
        try:
            tool.call(wrong)
        except ToolError as problem:
            assert str(problem)
        else:
            raise AssertionError(wrong)
    tool.clear_all_memory()
    assert not memory.search("dentist", scope=ANN).hits and not memory.search("Apollo", scope=ANN).hits
    assert memory.search("dentist", scope=("user", "bob")).hits
left = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
assert b"Brown" not in left and b"Apollo" not in left and b"White" in left
with engrams.open(store__url=":memory:") as memory:
    try:
        AnthropicMemoryTool(memory, ANN)
    except SettingsError as problem:
        assert "vault.enabled" in problem.hint
    else:
        raise AssertionError("no vault")
"""


@pytest.mark.slow
def test_the_tool_keeps_one_owner_s_files(tmp_path: Path) -> None:
    """In a fresh environment of the current release the tool, awaited or not, reaches one owner's
    files, says what it cannot do, and leaves no byte of what is cleared.
    """
    python = make_environment(tmp_path / "environment", ["[anthropic]"])
    finished = subprocess.run(
        [str(python), "-c", CHECKS, str(tmp_path / "home")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr


@pytest.mark.slow
def test_the_anthropic_example_runs(tmp_path: Path) -> None:
    """The example runs in a fresh environment of the current release, and a search finds the
    model's document.
    """
    assert "A search finds it: Apollo ships in July." in run_example("anthropic", tmp_path)
