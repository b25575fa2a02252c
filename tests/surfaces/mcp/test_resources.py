"""Resources with completion and subscriptions, by the protocol's own client, also between
processes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import PromptReference, ResourceTemplateReference
from tests.surfaces.http.running import running
from tests.surfaces.mcp.conftest import Open, call

import engrams
from engrams.core import Scope, Turn
from engrams.engine import MemoryEngine
from engrams.program.registry import create_app, create_mcp_server

_WAIT = 60


async def test_arguments_are_completed(
    client: Open, engine: MemoryEngine, root: Scope, era: str
) -> None:
    """Tags, projects, topics and ids of this person, by their beginning;
    nothing of anybody else's.
    """
    memory_id = engine.add("The spare key hangs in the shed.", scope=root).id
    engine.links.tag(memory_id, ["keys", "kitchen"], scope=root)
    for text in ("The sails need mending.", "The sails were mended in May.", "New sails cost 900."):
        engine.add(text, scope=root.within("project", "boat"))
    engine.topics.refresh(root)
    engine.links.tag(
        engine.add("Theirs.", scope=("user", "other")).id, ["knives"], scope=("user", "other")
    )
    async with client(mode=era) as memory:

        async def complete(ref: Any, name: str, value: str) -> list[str]:
            return list(
                (await memory.complete(ref, {"name": name, "value": value})).completion.values
            )

        assert await complete(ResourceTemplateReference(uri="memory://tag/{tag}"), "tag", "k") == [
            "keys",
            "kitchen",
        ]
        assert await complete(
            ResourceTemplateReference(uri="memory://tag/{tag}"), "tag", "ITCH"
        ) == ["kitchen"]
        assert await complete(PromptReference(name="recall"), "project", "") == ["boat"]
        assert await complete(
            ResourceTemplateReference(uri="memory://{id}"), "id", memory_id[:20]
        ) == [memory_id]
        topics = await complete(PromptReference(name="recall"), "question", "")
        assert topics == await complete(
            ResourceTemplateReference(uri="memory://topic/{topic}"), "topic", ""
        )
        assert await complete(PromptReference(name="recall"), "colour", "") == []
        tagged = json.loads((await memory.read_resource("memory://tag/keys")).contents[0].text)
        assert [memory["id"] for memory in tagged] == [memory_id]
        for topic in topics:
            assert json.loads(
                (await memory.read_resource(f"memory://topic/{topic}")).contents[0].text
            )
        prompt = await memory.get_prompt(
            "recall", {"question": "What about the sails?", "project": "boat"}
        )
        assert "sails" in prompt.messages[0].content.text


async def watch(memory: Client, uri: str, change: Callable[[], object]) -> str:
    """The uri of the first update after a change."""
    async with memory.listen(resource_subscriptions=[uri]) as changes:
        await anyio.to_thread.run_sync(change)
        with anyio.fail_after(_WAIT):
            async for event in changes:
                return event.uri
    return ""


async def test_a_stream_of_changes(client: Open, engine: MemoryEngine, root: Scope) -> None:
    """Whatever door changes it, a watched resource is told of, and no other;
    what left is not watched any more.
    """
    one, other = (
        engine.add(text, scope=root).id for text in ("The gate is green.", "The barn is red.")
    )
    async with client() as memory:
        async with memory.listen(resource_subscriptions=[f"memory://{one}"]) as changes:
            engine.edit(other, scope=root, text="The barn is blue.")
            engine.edit(one, scope=root, text="The gate is grey.")
            with anyio.fail_after(_WAIT):
                assert (await anext(aiter(changes))).uri == f"memory://{one}"
        assert (
            await watch(
                memory, "memory://tag/barn", lambda: engine.links.tag(other, ["barn"], scope=root)
            )
            == "memory://tag/barn"
        )
        assert (
            await watch(memory, f"memory://{one}", lambda: engine.forget(one, scope=root))
            == f"memory://{one}"
        )


@pytest.mark.filterwarnings("ignore:resources/:DeprecationWarning", "ignore:resources/:UserWarning")
async def test_the_older_subscription(engine: MemoryEngine, root: Scope) -> None:
    """A client of the older protocol subscribes to a resource, is notified, and is not after it
    unsubscribed.
    """
    memory_id = engine.add("The gate is green.", scope=root).id
    heard: list[str] = []
    told = anyio.Event()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard.append(str(message.params.uri))
            told.set()

    async with Client(
        create_mcp_server(engine, root), mode="legacy", message_handler=hear
    ) as memory:
        assert memory.server_capabilities.resources.subscribe
        await memory.subscribe_resource(f"memory://{memory_id}")
        await memory.subscribe_resource(f"memory://{memory_id}")
        engine.edit(memory_id, scope=root, text="The gate is grey.")
        with anyio.fail_after(_WAIT):
            await told.wait()
        await memory.unsubscribe_resource(f"memory://{memory_id}")
        engine.edit(memory_id, scope=root, text="The gate is black.")
        await anyio.sleep(1.2)
    assert heard == [f"memory://{memory_id}"]


async def test_changes_of_another_process(home: Path) -> None:
    """A client of `engrams mcp` hears of what another process writes to the same memory."""
    with engrams.open(home=home, user="ann") as engine:
        memory_id = engine.add("The gate is green.", scope=("user", "ann")).id
        script = "from engrams.program.main import run; run()"
        arguments = ["-c", script, "mcp", "--home", str(home), "--user", "ann"]
        async with Client(
            StdioServerParameters(command=sys.executable, args=arguments), read_timeout_seconds=60
        ) as memory:
            uri = f"memory://{memory_id}"
            assert (
                await watch(
                    memory,
                    uri,
                    lambda: engine.edit(memory_id, scope=("user", "ann"), text="The gate is grey."),
                )
                == uri
            )


async def test_changes_over_http(home: Path) -> None:
    """A stream of changes at /mcp of the server ends no other request."""
    with (
        engrams.open(home=home, user="ann") as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        memory_id = engine.observe(Turn("The gate is green."), scope=("user", "ann"))[0].id
        async with Client(f"{url}/mcp/full") as memory, Client(f"{url}/mcp/full") as writer:
            async with memory.listen(resource_subscriptions=[f"memory://{memory_id}"]) as changes:
                await call(writer, "memory_update", id=memory_id, text="The gate is grey.")
                with anyio.fail_after(_WAIT):
                    assert (await anext(aiter(changes))).uri == f"memory://{memory_id}"
            assert (await call(writer, "memory_get", id=memory_id))["text"] == "The gate is grey."


@pytest.mark.slow
async def test_a_look_that_fails_ends_nothing(home: Path) -> None:
    """Memory that cannot be read for a moment is looked at again;
    the stream goes on, and so does the server.
    """
    with (
        engrams.open(home=home, user="ann") as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        memory_id = engine.observe(Turn("The gate is green."), scope=("user", "ann"))[0].id
        async with Client(f"{url}/mcp/full") as memory:
            async with memory.listen(
                resource_subscriptions=["memory://topic/sails", f"memory://{memory_id}"]
            ) as changes:
                with closing(apsw.Connection(str(home / "memory.db"))) as database:
                    engine.edit(memory_id, scope=("user", "ann"), text="The gate is grey.")
                    database.execute("ALTER TABLE topics RENAME TO hidden")
                    await anyio.sleep(1.5)
                    database.execute("ALTER TABLE hidden RENAME TO topics")
                with anyio.fail_after(_WAIT):
                    assert (await anext(aiter(changes))).uri == f"memory://{memory_id}"
            assert (await call(memory, "memory_get", id=memory_id))["text"] == "The gate is grey."
