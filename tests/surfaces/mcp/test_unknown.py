"""Arguments that no tool has, through the real client."""

from __future__ import annotations

import pytest
from tests.surfaces.mcp.conftest import Open, call, refused

from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.program.registry import MCP_PROFILES


@pytest.mark.parametrize("profile", MCP_PROFILES)
async def test_every_tool_refuses_an_unknown_argument(client: Open, profile: str) -> None:
    """In every profile, before anything runs;
    the answer names the arguments there are, and the schema says so.
    """
    async with client(profile) as memory:
        for tool in (await memory.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False
            message = await refused(memory, tool.name, colour="red")
            assert "no argument 'colour'" in message
            assert all(name in message for name in tool.input_schema.get("properties", ()))


async def test_naming_another_person_reads_and_writes_nothing(
    client: Open, engine: MemoryEngine, root: Scope, era: str
) -> None:
    """`user` is answered by whose memory it is; a slip of the pen by the nearest name."""
    engine.add("The key to the shed hangs in the cellar", scope=root)
    async with client(mode=era) as memory:
        message = await refused(memory, "memory_search", query="key", user="bob")
        assert "Whose memory this is was set when the server started" in message
        assert "cellar" not in message
        await refused(memory, "memory_add", text="bob likes figs", user="bob")
        assert "Did you mean limit?" in await refused(
            memory, "memory_search", query="key", limits=3
        )
    assert "figs" not in " ".join(record.text for record in engine.list(scope=root).records)
    async with client("mem0", mode=era) as memory:
        assert "Did you mean user_id?" in await refused(
            memory, "add_memory", text="bob likes figs", userid="bob"
        )


async def test_a_wrong_value_is_told_without_the_librarys_words(client: Open) -> None:
    """Which argument, and what it takes; no address of a manual, nothing of the input."""
    async with client() as memory:
        memory_id = await refused(memory, "memory_add", text="x", kind="colour")
    assert "kind" in memory_id
    assert "preference" in memory_id
    assert "http" not in memory_id


async def test_names_that_models_guess(client: Open) -> None:
    """What models call an argument elsewhere is taken for ours, where the tool has it and it was
    not given.
    """
    async with client() as memory:
        added = await call(
            memory, "memory_add", content="The spare key hangs in the shed.", tag=["key"]
        )
        (made,) = added["results"]
        result = await call(memory, "memory_search", q="where is the spare key?", top_k=1)
        assert len(result["memories"]) == 1
        for name in ("memory_id", "memoryId", "ID", "record-id"):
            assert (await call(memory, "memory_get", **{name: made["id"]}))["id"] == made["id"]
        assert (
            len(
                (
                    await call(
                        memory, "memory_search", searchQuery="where is the spare key?", topK=1
                    )
                )["memories"]
            )
            == 1
        )
        assert "no argument 'q'" in await refused(memory, "memory_search", q="one", query="another")


async def test_a_bad_kind_names_the_choices(client: Open) -> None:
    """A value that is none of a choice gets the choices in plain words, without an address of a
    library.
    """
    async with client() as memory:
        for tool, sent in (
            ("memory_add", {"text": "x", "kind": "memo"}),
            ("memory_search", {"query": "x", "kinds": ["memo"]}),
        ):
            message = await refused(memory, tool, **sent)
            assert "'note'" in message and "'fact'" in message
            assert "http" not in message and "\n" not in message and "kinds.0" not in message
