"""Time budget of a search: what is there is answered, and every door says what was left out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from tests.surfaces.http.running import running

from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.program.main import main
from engrams.program.registry import create_app, create_mcp_server
from engrams.testing import ScriptedModel, temp_engine

ANN = Scope(("user", "ann"))
CUT = "cut after 1e-09 s (read.budget_seconds): without links"


def fill(engine: MemoryEngine) -> None:
    engine.add("Ann lives in Oslo.", scope=ANN)
    engine.add("Ann plays the cello.", scope=ANN)


def test_a_search_out_of_time_leaves_stages_out() -> None:
    """A search over its budget answers without links, reranking and variety;
    with 0 it takes its time.
    """
    with ScriptedModel() as model:
        chat = {
            "chat__provider": "openai",
            "chat__url": f"{model.url}/v1",
            "chat__model": "scripted",
            "write__extract": "rules",
        }
        for budget, asked in ((1e-9, False), (0, True)):
            with temp_engine(
                read__budget_seconds=budget, rerank__provider="listwise", **chat
            ) as engine:
                fill(engine)
                before = len(model.requests)
                found = engine.search("Where does Ann live?", scope=ANN)
                assert "Oslo" in found.hits[0].record.text
                assert (f"{CUT}, reranking, variety" in found.notes) is not asked
                assert (len(model.requests) > before) is asked


def test_python_rest_and_mcp_tell_of_the_cut() -> None:
    """Searches and contexts over their budget have the note in Python, REST and MCP."""
    with temp_engine(user="ann", read__budget_seconds=1e-9) as engine:
        fill(engine)
        assert any(
            note.startswith(CUT) for note in engine.context("Where does Ann live?", scope=ANN).notes
        )
        with running(create_app(engine, engine.settings)) as url:
            for route in ("search", "explain", "context"):
                sent = httpx2.post(
                    f"{url}/v1/{route}", json={"query": "Where does Ann live?"}
                ).json()
                assert "Oslo" in json.dumps(sent) and any(
                    note.startswith(CUT) for note in sent["notes"]
                ), route

        async def call() -> None:
            async with Client(create_mcp_server(engine, ANN, "engrams")) as client:
                for tool in ("memory_search", "memory_context"):
                    done = await client.call_tool(tool, {"query": "Where does Ann live?"})
                    assert any(note.startswith(CUT) for note in done.structured_content["notes"]), (
                        tool
                    )

        asyncio.run(call())


def test_the_command_line_tells_of_the_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``engrams search`` and ``context`` over their budget have the note with --json."""
    monkeypatch.setenv("ENGRAMS_READ__BUDGET_SECONDS", "1e-9")
    place = ("--home", str(tmp_path / "home"), "--user", "ann", "--json")
    assert main(["add", "Ann lives in Oslo.", *place]) == 0
    for command in ("search", "context"):
        capsys.readouterr()
        assert main([command, "Where does Ann live?", *place]) == 0
        sent = json.loads(capsys.readouterr().out)
        assert "Oslo" in json.dumps(sent) and any(note.startswith(CUT) for note in sent["notes"])
