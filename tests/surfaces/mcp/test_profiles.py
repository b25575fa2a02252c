"""The tool names that other memory servers' clients know."""

from __future__ import annotations

import json

import pytest
from tests.surfaces.mcp.conftest import Open, call, refused

from engrams.core import Scope
from engrams.engine import MemoryEngine


async def test_mem0(client: Open, root: Scope, era: str) -> None:
    """Its six tools with its answers: add, search, list, get, update, delete."""
    async with client("mem0", mode=era) as memory:
        names = {tool.name for tool in (await memory.list_tools()).tools}
        assert names == {
            "add_memory",
            "search_memories",
            "get_memories",
            "get_memory",
            "update_memory",
            "delete_memory",
        }
        added = await call(
            memory,
            "add_memory",
            text="I love Thai food.",
            metadata={"topic": "food"},
            user_id=root.labels[1],
        )
        first = added["results"][0]
        assert (first["event"], first["memory"]) == ("ADD", "I love Thai food.")
        result = await call(memory, "search_memories", query="which food do I love?", limit=3)
        assert "Thai" in result["results"][0]["memory"]
        held = await call(memory, "get_memory", memory_id=first["id"])
        assert (held["metadata"]["topic"], held["user_id"]) == ("food", root.labels[1])
        await call(memory, "update_memory", memory_id=first["id"], text="I love Lao food.")
        assert "visible character" in await refused(
            memory, "update_memory", memory_id=first["id"], text="\u200b"
        )
        assert (await call(memory, "get_memory", memory_id=first["id"]))[
            "memory"
        ] == "I love Lao food."
        await call(memory, "delete_memory", memory_id=first["id"])
        listed = await call(memory, "get_memories", page_size=50)
        assert first["id"] not in {memory["id"] for memory in listed["results"]}


async def test_mem0_filters(client: Open) -> None:
    """run_id and app_id are parts of the owner's memory;
    another user, and what is no filter, are refused.
    """
    async with client("mem0") as memory:
        await call(
            memory,
            "add_memory",
            messages=[{"role": "user", "content": "The tent is in the attic."}],
            run_id="r1",
        )
        asked = {"AND": [{"run_id": "r1"}]}
        assert (await call(memory, "get_memories", filters=asked))["results"]
        assert not (await call(memory, "get_memories", filters={"run_id": "r2"}))["results"]
        assert "another user" in await refused(
            memory, "get_memories", filters={"user_id": "somebody"}
        )
        assert "another user" in await refused(memory, "add_memory", text="x", user_id="somebody")
        for wrong in (
            {"color": "red"},
            {"AND": {"run_id": "r1"}},
            {"run_id": 7},
            {"AND": [{"run_id": "a"}, {"run_id": "b"}]},
        ):
            assert (
                "filter"
                in (
                    await refused(memory, "search_memories", query="tent", filters=wrong)
                ).casefold()
                or wrong["AND"]
            )


async def test_the_reference_graph(client: Open, era: str) -> None:
    """Its nine tools keep a graph:
    entities with observations, relations; deletes take what hangs on them.
    """
    async with client("graph", mode=era) as memory:
        assert len((await memory.list_tools()).tools) == 9
        ada = {
            "name": "Ada",
            "entityType": "person",
            "observations": ["likes chess", "lives in Bath"],
        }
        bath = {"name": "Bath", "entityType": "city", "observations": []}
        assert len((await call(memory, "create_entities", entities=[ada, bath]))["entities"]) == 2
        assert (await call(memory, "create_entities", entities=[ada]))["entities"] == []
        lives = {"from": "Ada", "to": "Bath", "relationType": "lives_in"}
        assert (await call(memory, "create_relations", relations=[lives]))["relations"] == [lives]
        assert (await call(memory, "create_relations", relations=[lives]))["relations"] == []
        more = [{"entityName": "Ada", "contents": ["likes chess", "plays the harp"]}]
        assert (await call(memory, "add_observations", observations=more))["results"][0][
            "addedObservations"
        ] == ["plays the harp"]
        graph = await call(memory, "read_graph")
        assert graph["relations"] == [lives]
        collected = {
            entity["name"]: (entity["entityType"], set(entity["observations"]))
            for entity in graph["entities"]
        }
        assert collected == {
            "Ada": ("person", {"likes chess", "lives in Bath", "plays the harp"}),
            "Bath": ("city", set()),
        }
        assert "Ada" in {
            entity["name"]
            for entity in (await call(memory, "search_nodes", query="who plays the harp?"))[
                "entities"
            ]
        }
        assert [
            entity["name"]
            for entity in (await call(memory, "open_nodes", names=["Bath", "Nowhere"]))["entities"]
        ] == ["Bath"]
        await call(
            memory,
            "delete_observations",
            deletions=[{"entityName": "Ada", "observations": ["likes chess"]}],
        )
        await call(memory, "delete_relations", relations=[lives])
        graph = await call(memory, "read_graph")
        assert graph["relations"] == []
        assert "likes chess" not in json.dumps(graph)
        await call(memory, "delete_entities", entityNames=["Ada"])
        assert [entity["name"] for entity in (await call(memory, "read_graph"))["entities"]] == [
            "Bath"
        ]
        await call(memory, "create_entities", entities=[ada])
        back = await call(memory, "open_nodes", names=["Ada"])
        assert set(back["entities"][0]["observations"]) == {"likes chess", "lives in Bath"}


async def test_graph_errors(client: Open) -> None:
    """Relations and observations need entities that exist; an entity needs a name."""
    async with client("graph") as memory:
        message = await refused(
            memory,
            "create_relations",
            relations=[{"from": "A", "to": "B", "relationType": "knows"}],
        )
        assert "create_entities" in message
        assert "no entity" in await refused(
            memory, "add_observations", observations=[{"entityName": "A", "contents": ["x"]}]
        )
        assert "name" in await refused(
            memory,
            "create_entities",
            entities=[{"name": "", "entityType": "x", "observations": ["y"]}],
        )


async def test_search_and_fetch(client: Open, engine: MemoryEngine, root: Scope, era: str) -> None:
    """Search gives ids with titles and addresses, fetch the whole text;
    somebody else's id is no document.
    """
    stranger = engine.add("The stranger's yacht.", scope=("user", "stranger-" + root.labels[1])).id
    engine.add(
        "The yacht is moored in Split until October. " + "Bring the papers. " * 20, scope=root
    )
    async with client("search", mode=era) as memory:
        assert {tool.name for tool in (await memory.list_tools()).tools} == {"search", "fetch"}
        (first, *_) = (await call(memory, "search", query="where is the yacht?"))["results"]
        assert len(first["title"]) <= 80
        assert first["url"] == f"memory://{first['id']}"
        assert "moored in Split" in (await call(memory, "fetch", id=first["id"]))["text"]
        assert "yacht" not in await refused(memory, "fetch", id=stranger)


@pytest.mark.covers("S3.45", "S3.46", "S3.47", "S3.48")
async def test_actions(client: Open, engine: MemoryEngine, root: Scope, era: str) -> None:
    """Remember, recall, search, list by tag, forget, link, tag and related, one tool each."""
    async with client("actions", mode=era) as memory:
        tools = {tool.name: tool for tool in (await memory.list_tools()).tools}
        assert set(tools) == {
            "remember",
            "recall",
            "search",
            "list",
            "forget",
            "link",
            "tag",
            "related",
            "used",
        }
        assert all(
            tool.output_schema and tool.annotations and tool.description for tool in tools.values()
        )
        assert tools["recall"].input_schema["properties"]["limit"]["default"] == 10
        assert tools["related"].input_schema["properties"]["depth"]["default"] == 2
        rex = (
            await call(memory, "remember", content="The dog Rex is a greyhound.", tags=["pets"])
        )["id"]
        vet = (
            await call(
                memory,
                "remember",
                content="Doctor Miller works in Lund on Fridays.",
                category="fact",
            )
        )["id"]
        assert (await call(memory, "link", id=rex, other=vet))["weight"] == 0.5
        related = (await call(memory, "related", id=rex))["memories"]
        assert [row["text"] for row in related] == [
            "The dog Rex is a greyhound",
            "Doctor Miller works in Lund on Fridays.",
        ]
        assert related[1]["id"] == vet
        assert {rex, vet} <= {
            row["id"] for row in (await call(memory, "recall", query="greyhound"))["memories"]
        }
        assert (await call(memory, "recall", mode="recent", limit=1))["memories"][0]["id"]
        assert (await call(memory, "search", query="greyhound"))["memories"][0]["id"] == rex
        await call(memory, "tag", id=vet, tags=["pets", "people"])
        assert {row["id"] for row in (await call(memory, "list", tag="pets"))["memories"]} == {
            rex,
            vet,
        }
        await call(memory, "tag", id=vet, tags=["people"], remove=True)
        assert engine.links.tags(root) == {"pets": 2}
        assert (await call(memory, "forget", id=rex))["status"] == "forgotten"
        left = json.dumps(
            [
                await call(memory, "recall", query="greyhound"),
                await call(memory, "list", tag="pets"),
            ]
        )
        assert rex not in left and "greyhound" not in left
        assert engine.links.tags(root) == {"pets": 1}
        assert "itself" in await refused(memory, "link", id=vet, other=vet)
        assert "no memory" in await refused(memory, "link", id=vet, other="nothing-like-it")
