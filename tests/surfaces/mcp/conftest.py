"""One engine for a module's tests; every test has a person of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

import pytest
from mcp import Client

from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.program.registry import create_mcp_server
from engrams.testing import temp_engine

Open = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="module")
def engine() -> Iterator[MemoryEngine]:
    with temp_engine() as found:
        yield found


@pytest.fixture
def root() -> Scope:
    return Scope(("user", "u-" + uuid.uuid4().hex[:12]))


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(engine: MemoryEngine, root: Scope) -> Open:
    """The real client, connected in this process: ``async with client("mem0") as tools``."""

    def connect(
        profile: str = "full", scope: Scope = root, mode: Literal["auto", "legacy"] = "auto"
    ) -> Client:
        return Client(create_mcp_server(engine, scope, profile), mode=mode)

    return connect


async def call(client: Client, name: str, /, **arguments: Any) -> Any:
    """What a tool answers; it must succeed, and say the same as text and as data."""
    done = await client.call_tool(name, arguments)
    assert not done.is_error, done.content[0].text
    assert done.content
    return done.structured_content


async def refused(client: Client, name: str, /, **arguments: Any) -> str:
    """The error a tool tells the model."""
    done = await client.call_tool(name, arguments)
    assert done.is_error
    return str(done.content[0].text)
