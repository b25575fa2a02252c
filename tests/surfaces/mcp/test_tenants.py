"""Two owners, a server of tools for one of them:
whatever it is asked with the other's ids and names, the other's words never come.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.surfaces.mcp.conftest import Open, call, refused

from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.program.registry import MCP_PROFILES

WORD = "quixotry"
"""In everything the victim ever said, and in nothing else."""


@pytest.fixture
def theirs(engine: MemoryEngine) -> tuple[Scope, tuple[str, ...]]:
    """The victim, and ids and names of what is theirs:
    told, changed, forgotten, linked, tagged, in a project.
    """
    victim = Scope(("user", "v-" + uuid.uuid4().hex[:12]))
    told = [engine.add(f"My {WORD} is number {number}.", scope=victim).id for number in range(4)]
    engine.edit(told[0], scope=victim, fields={"text": f"My {WORD} is sold.", "tags": [WORD]})
    engine.forget(told[1], scope=victim)
    told.append(engine.add(f"The {WORD} of the project.", scope=victim.within("project", "px")).id)
    return victim, (*told, told[0][:10], f"tag:{WORD}", victim.labels[1], victim.key, "px")


def filled(schema: dict[str, Any], held: dict[str, Any], name: str) -> Any:
    """A value of a tool's argument with ``name`` in every place where a text goes."""
    if "$ref" in schema:
        return filled(held[schema["$ref"].rpartition("/")[2]], held, name)
    if "enum" in schema:
        return schema["enum"][0]
    some = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    if some:
        return filled(some[0], held, name)
    match schema.get("type"):
        case "string":
            return name
        case "array":
            return [filled(schema.get("items", {}), held, name)]
        case "object":
            return {
                field: filled(field_schema, held, name)
                for field, field_schema in schema.get("properties", {}).items()
            }
        case "integer" | "number":
            return schema.get("minimum", 1)
        case _:
            return True


@pytest.mark.parametrize("profile", list(MCP_PROFILES))
@pytest.mark.parametrize("full", [False, True], ids=["needed", "all"])
async def test_the_others_words_never_come(
    client: Open, theirs: tuple[Scope, tuple[str, ...]], profile: str, *, full: bool
) -> None:
    """Every tool of every profile, with the other's ids, tags, scopes and projects in each of its
    arguments.
    """
    _, names = theirs
    async with client(profile) as memory:
        for tool in (await memory.list_tools()).tools:
            schema = tool.input_schema
            wanted = (
                schema.get("properties", {})
                if full
                else {field: schema["properties"][field] for field in schema.get("required", [])}
            )
            for name in names:
                arguments = {
                    field: filled(each, schema.get("$defs", {}), name)
                    for field, each in wanted.items()
                }
                answer = (await memory.call_tool(tool.name, arguments)).model_dump_json()
                # What was sent may come back, as an id that is not there or as what is remembered
                # now; what was stored may not.
                assert WORD not in answer.replace(f"tag:{WORD}", ""), (tool.name, arguments)


async def test_resources_and_prompt(client: Open, theirs: tuple[Scope, tuple[str, ...]]) -> None:
    """No id of the other's is a resource, and neither the profile nor the prompt holds a word of
    theirs.
    """
    victim, names = theirs
    async with client() as memory:
        for name in names:
            with pytest.raises(MCPError):
                await memory.read_resource(f"memory://{name}")
        told = [
            (await memory.read_resource(f"memory://{name}")).model_dump_json()
            for name in ("profile", "status")
        ]
        told.append(
            (
                await memory.get_prompt(
                    "recall", {"question": "What number is mine, and what is sold?"}
                )
            ).model_dump_json()
        )
        assert not any(WORD in one for one in told)
    async with client(scope=victim) as memory:
        # The test above can fail: its victim sees them.
        assert WORD in json.dumps(await call(memory, "memory_search", query="what number is mine?"))
        assert (
            WORD
            in (
                await memory.get_prompt("recall", {"question": "What number is mine?"})
            ).model_dump_json()
        )


@pytest.mark.slow
async def test_nothing_of_theirs_is_changed(
    engine: MemoryEngine, client: Open, theirs: tuple[Scope, tuple[str, ...]]
) -> None:
    """After every tool of every profile the victim's memories are what they were."""
    victim, names = theirs
    before = [
        (record.id, record.text, record.status)
        for record in engine.list(scope=victim, order="oldest").records
    ]
    for profile in MCP_PROFILES:
        async with client(profile) as memory:
            for tool in (await memory.list_tools()).tools:
                schema = tool.input_schema
                for name in names:
                    arguments = {
                        field: filled(field_schema, schema.get("$defs", {}), name)
                        for field, field_schema in schema.get("properties", {}).items()
                    }
                    await memory.call_tool(tool.name, arguments)
    assert [
        (record.id, record.text, record.status)
        for record in engine.list(scope=victim, order="oldest").records
    ] == before


async def test_a_space_is_reached_by_its_members_only(client: Open, engine: MemoryEngine) -> None:
    """A member's tools tell the space something, find it and read it; a reader's only read; those of
    others find nothing.
    """
    ann, rita, eve = (Scope(("user", uuid.uuid4().hex[:12])) for _ in range(3))
    space = f"home {ann.labels[1]}"
    engine.spaces.create(space, scope=ann)
    engine.spaces.set_role(space, rita.key, "reader", scope=ann)
    question = f"Where is the {WORD}?"
    async with client("full", ann) as tools:
        told = await call(
            tools, "memory_add", text=f"The {WORD} is in the attic.", space=space, tags=["attic"]
        )
        (memory_id,) = [write["id"] for write in told["results"]]
        assert WORD in json.dumps(await call(tools, "memory_search", query=question))
    async with client("full", rita) as tools:
        assert WORD in json.dumps(await call(tools, "memory_search", query=question))
        assert WORD in json.dumps(await call(tools, "memory_get", id=memory_id))
        refusal = await refused(tools, "memory_add", text="It is gone.", space=space)
        assert "takes the role editor; you are reader" in refusal
    async with client("full", eve) as tools:
        answer = await call(tools, "memory_search", query="Where is the thing in the attic?")
        assert WORD not in json.dumps(answer)
        for name, arguments in (
            ("memory_get", {"id": memory_id}),
            ("memory_add", {"text": "It is gone.", "space": space}),
        ):
            assert "attic" not in await refused(tools, name, **arguments)
