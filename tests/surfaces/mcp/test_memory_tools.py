"""The tools, through the real client, in both protocol eras."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from tests.surfaces.mcp.conftest import Open, call, refused

from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.program.registry import load_mcp_profile
from engrams.surfaces.mcp.memory_tools import PROFILE
from engrams.surfaces.mcp.server import create_server

TOOLS = {
    "memory_forget",
    "memory_forget_preview",
    "memory_wrong",
    "memory_add",
    "memory_search",
    "memory_context",
    "memory_get",
    "memory_update",
    "memory_delete",
    "memory_history",
    "memory_list",
    "memory_link",
}


async def test_a_small_context_has_a_profile_too(client: Open, era: str) -> None:
    """A budget of 200 tokens shows the profile beside a question that no memory answers."""
    async with client(mode=era) as memory:
        await call(memory, "memory_add", text="My name is Ana.")
        text = (await call(memory, "memory_context", query="I add a coupon reducer", tokens=200))[
            "text"
        ]
    assert "Ana" in text


async def test_what_the_tools_say_of_themselves(client: Open, era: str) -> None:
    """Every tool has a description, hints and an output schema; none lets a model name a user."""
    async with client(mode=era) as memory:
        tools = {tool.name: tool for tool in (await memory.list_tools()).tools}
    assert set(tools) == TOOLS
    for name, tool in tools.items():
        assert tool.description
        assert tool.output_schema
        assert tool.output_schema["type"] == "object"
        assert tool.annotations
        assert tool.annotations.open_world_hint is False
        assert not {"user", "owner", "user_id"} & set(tool.input_schema["properties"])
        # memory_add chooses between the person and the project, never another owner.
        scope = tool.input_schema["properties"].get("scope")
        assert scope is None or (name, scope["enum"]) == ("memory_add", ["", "person", "project"])
    assert {name for name, tool in tools.items() if not tool.annotations.read_only_hint} == {
        "memory_add",
        "memory_forget",
        "memory_update",
        "memory_delete",
        "memory_link",
        "memory_wrong",
    }
    assert {name for name, tool in tools.items() if tool.annotations.destructive_hint} == {
        "memory_forget",
        "memory_update",
        "memory_delete",
        "memory_link",
        "memory_wrong",
    }


async def test_everyday_tools_cost_a_prompt_little(client: Open) -> None:
    """Six tools by default; no title repeats an argument, no answer has an empty field."""
    async with client("engrams") as memory:
        tools = (await memory.list_tools()).tools
        assert {tool.name for tool in tools} == {
            "memory_add",
            "memory_search",
            "memory_context",
            "memory_list",
            "memory_update",
            "memory_delete",
        }
        schemas = [tool.input_schema for tool in tools]
        assert sum(len(json.dumps(schema)) for schema in schemas) < 7_000
        assert not any('"title"' in json.dumps(schema) for schema in schemas)
        await call(memory, "memory_add", text="The mooring costs 40 a night.")
        answer = await memory.call_tool("memory_search", {"query": "what does the mooring cost?"})
    (match,) = answer.structured_content["memories"]
    told = {"id", "text", "score", "probability", "kind", "recorded_at", "speaker", "facts"}
    assert set(match) == told
    assert all(value not in ("", [], None) for value in match.values())
    assert json.loads(answer.content[0].text) == answer.structured_content
    assert answer.content[0].text == json.dumps(answer.structured_content, separators=(",", ":"))


async def test_a_memory_from_birth_to_end(client: Open, era: str) -> None:
    """Added, found, read, corrected, listed, forgotten, brought back;
    its history tells all of it.
    """
    async with client(mode=era) as memory:
        added = await call(
            memory, "memory_add", text="My sister Ines plays the cello.", tags=["family"]
        )
        (result,) = added["results"]
        assert result["outcome"] == "stored"
        memory_id = result["id"]
        found = await call(memory, "memory_search", query="who plays the cello?")
        assert memory_id in {match["id"] for match in found["memories"]}
        assert all(0 <= match["score"] <= 1 for match in found["memories"])
        assert (await call(memory, "memory_get", id=memory_id[:-2]))["tags"] == ["family"]
        changed = await call(
            memory,
            "memory_update",
            id=memory_id,
            text="My sister Ines plays the viola.",
            version=2,
            reason="misheard",
        )
        assert (changed["text"], changed["version"]) == ("My sister Ines plays the viola.", 3)
        assert [
            row["id"] for row in (await call(memory, "memory_list", tag="family"))["memories"]
        ] == [memory_id]
        assert "viola" in (await call(memory, "memory_context", query="Ines"))["text"]
        assert (await call(memory, "memory_delete", id=memory_id))["status"] == "forgotten"
        assert (await call(memory, "memory_list", tag="family"))["memories"] == []
        assert (await call(memory, "memory_delete", id=memory_id, restore=True))[
            "status"
        ] == "active"
        assert "visible character" in await refused(memory, "memory_update", id=memory_id, text="")
        changes = (await call(memory, "memory_history", id=memory_id))["changes"]
        assert [change["action"] for change in changes][-3:] == ["edit", "forget", "restore"]
        assert "misheard" in {change["reason"] for change in changes}


@pytest.mark.covers("S3.46")
async def test_forgotten_is_out_of_search_and_prompt(
    client: Open, engine: MemoryEngine, root: Scope, tmp_path: Any
) -> None:
    """A forgotten memory is in no search and no context, and an export still has it, marked as
    forgotten.
    """
    async with client() as memory:
        memory_id = (await call(memory, "memory_add", text="The boiler code is blue heron."))[
            "results"
        ][0]["id"]
        await call(memory, "memory_delete", id=memory_id)
        result = await call(memory, "memory_search", query="boiler code")
        assert "heron" not in json.dumps(result)
        assert "heron" not in (await call(memory, "memory_context", query="boiler code"))["text"]
        listed = await call(memory, "memory_list", status="forgotten", text="heron")
        assert memory_id in {memory["id"] for memory in listed["memories"]}
    engine.dump(tmp_path / "out.jsonl", scope=root)
    held = [
        json.loads(line).get("record", {})
        for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    ]
    assert {record["status"] for record in held if record.get("id") == memory_id} == {"forgotten"}


async def test_a_conversation_is_kept_once(client: Open) -> None:
    """Messages are stored in order; the same key again stores nothing."""
    said = [
        {"role": "user", "content": "I moved to Oslo in May."},
        {"role": "assistant", "content": "How is Oslo?", "name": "Bot"},
    ]
    async with client() as memory:
        first = await call(memory, "memory_add", messages=said, session="s1", key="k1")
        again = await call(memory, "memory_add", messages=said, session="s1", key="k1")
        assert [result["outcome"] for result in first["results"]] == ["stored", "stored"]
        assert [result["outcome"] for result in again["results"]] == ["duplicate", "duplicate"]
        assert [result["id"] for result in first["results"]] == [
            result["id"] for result in again["results"]
        ]


async def test_pages(client: Open) -> None:
    """A list goes on where its cursor says, without gaps and repeats."""
    async with client() as memory:
        for number in range(5):
            await call(
                memory,
                "memory_add",
                text=f"Locker {number} holds a number {number * 7}.",
                kind="note",
            )
        collected = []
        cursor = ""
        while True:
            page = await call(memory, "memory_list", kind="note", limit=2, cursor=cursor)
            collected += [memory["id"] for memory in page["memories"]]
            cursor = page["cursor"]
            if not cursor:
                break
        assert len(collected) == len(set(collected)) == 5


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("memory_get", {"id": "nothing-like-it"}, "A search or a list gives ids"),
        ("memory_add", {"text": " \0 "}, "text"),
        ("memory_add", {}, "messages for a conversation"),
        (
            "memory_add",
            {"text": "x", "messages": [{"role": "user", "content": "y"}]},
            "either text or messages",
        ),
        ("memory_search", {"query": "x", "as_of": "yesterdayish"}, "Write 2024-05-31"),
        ("memory_search", {"query": "x", "as_of": "0001-01-01T00:00:00+14:00"}, "Write 2024-05-31"),
        ("memory_search", {"query": "x", "limit": 0}, "limit"),
        ("memory_list", {"kind": "dream"}, "kind"),
        ("memory_delete", {}, "id"),
        ("no_such_tool", {}, "no_such_tool"),
    ],
)
async def test_errors_say_what_to_do(
    client: Open, name: str, arguments: dict[str, Any], says: str
) -> None:
    """What cannot be done is an error result that the model reads, with a hint."""
    async with client() as memory:
        assert says in await refused(memory, name, **arguments)


async def test_an_updated_memory_says_nothing_of_before(client: Open) -> None:
    """The fact of an updated note follows its text: the next search holds the new one alone."""
    async with client() as memory:
        memory_id = (await call(memory, "memory_add", text="I drive a red Volvo."))["results"][0][
            "id"
        ]
        await call(memory, "memory_update", id=memory_id, text="I drive a blue Volvo.")
        answer_text = json.dumps(await call(memory, "memory_search", query="What do I drive?"))
        assert "blue Volvo" in answer_text and "red Volvo" not in answer_text


async def test_a_version_that_is_gone(client: Open) -> None:
    """An update on an old version is refused and changes nothing."""
    async with client() as memory:
        memory_id = (await call(memory, "memory_add", text="The gate opens at seven."))["results"][
            0
        ]["id"]
        await call(memory, "memory_update", id=memory_id, text="The gate opens at eight.")
        assert "Read it again" in await refused(
            memory, "memory_update", id=memory_id, text="The gate opens at nine.", version=1
        )
        assert (await call(memory, "memory_get", id=memory_id))[
            "text"
        ] == "The gate opens at eight."


@pytest.mark.parametrize(
    "text",
    [
        "\u202eRTL \u05d0\u05d1",
        "emoji 👩‍👩‍👧‍👦 " * 20,
        "東京タワーの近くに住んでいます",
        "../../etc/passwd\0",
        "a" * 50_000,
    ],
)
async def test_hostile_text(client: Open, text: str, era: str) -> None:
    """Any text comes back as it was, without NUL and without invisible controls of direction:
    answers go into prompts, where nobody sees them.
    """
    async with client(mode=era) as memory:
        memory_id = (await call(memory, "memory_add", text=text))["results"][0]["id"]
        assert (await call(memory, "memory_get", id=memory_id))["text"] == re.sub(
            "[\0\u202e]", "", text
        ).strip()


async def test_the_root_holds(engine: MemoryEngine, client: Open, root: Scope) -> None:
    """Another person's ids, and another project's, do not exist for a server limited to one project."""
    stranger = engine.add(
        "The stranger's plum tree.", scope=("user", "stranger-" + root.labels[1])
    ).id
    aside = engine.add("The other project's plum tree.", scope=root.within("project", "other")).id
    own = engine.add("The owner's plum tree.", scope=root).id
    async with client(scope=root.within("project", "mine")) as memory:
        for one in (stranger, aside):
            for name in ("memory_get", "memory_update", "memory_delete", "memory_history"):
                arguments = {"id": one, "text": "taken"} if name == "memory_update" else {"id": one}
                message = await refused(memory, name, **arguments)
                assert "no memory" in message
                assert "plum" not in message
        assert (await call(memory, "memory_get", id=own))["id"] == own
        answer_text = json.dumps(
            [
                await call(memory, "memory_search", query="plum tree"),
                await call(memory, "memory_list"),
            ]
        )
        assert "owner's" in answer_text
        assert "stranger" not in answer_text
        assert "other project" not in answer_text
        assert "limited to one project" in await refused(memory, "memory_list", project="other")
        deep = await call(memory, "memory_add", text="A deeper plum tree.", conversation="c1")
        assert (await call(memory, "memory_get", id=deep["results"][0]["id"]))["scope"][-4:] == [
            "project",
            "mine",
            "conversation",
            "c1",
        ]
        with pytest.raises(MCPError):
            await memory.read_resource(f"memory://{stranger}")
    assert engine.get(aside, scope=root).text == "The other project's plum tree."


async def test_resources_and_prompt(client: Open, era: str) -> None:
    """A memory and the profile are resources; the prompt puts what is known before the question."""
    async with client(mode=era) as memory:
        memory_id = (await call(memory, "memory_add", text="I am allergic to walnuts."))["results"][
            0
        ]["id"]
        assert [str(resource.uri) for resource in (await memory.list_resources()).resources] == [
            "memory://profile",
            "memory://status",
            "memory://documents",
        ]
        templates = {
            resource.uri_template
            for resource in (await memory.list_resource_templates()).resource_templates
        }
        assert templates == {
            f"memory://{rest}"
            for rest in (
                "{id}",
                "tag/{tag}",
                "topic/{topic}",
                "project/{project}",
                "document/{document}",
            )
        }
        held = json.loads((await memory.read_resource(f"memory://{memory_id}")).contents[0].text)
        assert held["text"] == "I am allergic to walnuts."
        assert isinstance((await memory.read_resource("memory://profile")).contents[0].text, str)
        with pytest.raises(MCPError, match="no memory"):
            await memory.read_resource("memory://doesnotexist")
        (prompt,) = (await memory.list_prompts()).prompts
        assert prompt.name == "recall"
        made = await memory.get_prompt("recall", {"question": "What am I allergic to?"})
        assert "walnuts" in made.messages[0].content.text
        assert made.messages[0].content.text.endswith("What am I allergic to?")


async def test_the_state(client: Open) -> None:
    """The resource `memory://status` holds the numbers of this person."""

    async def status(memory: Client) -> Any:
        return json.loads((await memory.read_resource("memory://status")).contents[0].text)

    async with client() as memory:
        assert sum((await status(memory))["statuses"].values()) == 0
        await call(memory, "memory_add", text="The spare key hangs in the shed.")
        state = await status(memory)
        assert state["statuses"]["active"] >= 1
        assert set(state["layers"]) <= {"semantic", "episodic", "procedural"}


@pytest.mark.covers("S3.45", "S3.47")
async def test_links(client: Open, engine: MemoryEngine, root: Scope, era: str) -> None:
    """A link leads from one memory to the other;
    unknown ids, itself and another project's are refused.
    """
    aside = engine.add("The other project's plum tree.", scope=root.within("project", "other")).id
    async with client(mode=era, scope=root.within("project", "mine")) as memory:
        one, two = [
            (await call(memory, "memory_add", text=text))["results"][0]["id"]
            for text in ("The pot is blue.", "Tea is at five.")
        ]
        assert await call(memory, "memory_link", id=one, other=two) == {
            "source": one,
            "target": two,
            "weight": 0.5,
            "done": True,
        }
        near = await call(memory, "memory_search", related_to=one)
        assert [match["id"] for match in near["memories"]] == [two]
        for wrong in (one, aside, "nothing-like-it"):
            assert await refused(memory, "memory_link", id=one, other=wrong)
        assert (await call(memory, "memory_link", id=one, other=two, remove=True))["done"] is True
        assert (await call(memory, "memory_link", id=one, other=two, remove=True))["done"] is False
        assert (await call(memory, "memory_search", related_to=one))["memories"] == []
        assert "either query or related_to" in await refused(memory, "memory_search")
        assert "either query or related_to" in await refused(
            memory, "memory_search", query="tea", related_to=one
        )


async def test_a_fact_in_other_words_is_known(client: Open, era: str) -> None:
    """A tool's fact meets the stored ones: it names the one that says the same."""
    async with client(mode=era) as memory:
        texts = ("Our database is PostgreSQL 15.", "We use PostgreSQL 15 as our database.")
        results = [
            (await call(memory, "memory_add", text=text, kind="fact"))["results"][0]
            for text in texts
        ]
        assert [result["outcome"] for result in results] == ["stored", "duplicate"]
        assert results[0]["id"] == results[1]["id"]


async def test_a_memory_is_for_the_person_or_the_project(
    client: Open, engine: MemoryEngine, root: Scope
) -> None:
    """On a server of a project scope person adds what holds in every project; a decision begins the
    next session of its own project only. The instructions say when to use which.
    """
    shop = root.within("project", "shop")
    async with client(scope=shop) as memory:
        await call(memory, "memory_add", text="Answers are short.", kind="rule", scope="person")
        decided = await call(
            memory,
            "memory_add",
            text="API errors use RFC 9457, because clients parse them; it replaces plain strings.",
            kind="decision",
        )
        record = engine.get(decided["results"][0]["id"], scope=root)
        assert record.scope == shop
        assert (record.tags, record.category) == (("decision",), "decision")
        assert "belongs to no project" in await refused(
            memory, "memory_add", text="x y", scope="person", project="shop"
        )
    assert "RFC 9457" in engine.context("", scope=shop).text
    other = engine.context("", scope=root.within("project", "ledger")).text
    assert "Answers are short" in other and "RFC 9457" not in other
    async with client() as memory:
        assert "project is missing" in await refused(
            memory, "memory_add", text="We use pnpm.", scope="project"
        )
    for word in ("scope person", "decision", "rule", "project"):
        assert word in PROFILE.instructions


async def test_hits_say_what_the_code_no_longer_has(
    engine: MemoryEngine, root: Scope, tmp_path: Path
) -> None:
    """A server of a project compares its memories with the code beside it, in every tool that finds."""
    code = tmp_path / "pay.py"
    code.write_text("RETRY_LIMIT = 5\n", "utf-8")
    shop = root.within("project", "shop")
    server = create_server(engine, shop, load_mcp_profile("engrams"), tmp_path)
    async with Client(server) as memory:
        await call(memory, "memory_add", text="RETRY_LIMIT in pay.py is 5.")
        question = "What is RETRY_LIMIT in pay.py?"
        (hit,) = (await call(memory, "memory_search", query=question))["memories"]
        assert "code" not in hit
        code.write_text("RETRY_LIMIT = 8\n", "utf-8")
        (hit,) = (await call(memory, "memory_search", query=question))["memories"]
        assert hit["code"] == "`RETRY_LIMIT` in pay.py is now 8"
        assert "is 5" not in (await call(memory, "memory_context", query=question))["text"]
