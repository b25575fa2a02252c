"""MCP at /mcp of the server, by the protocol's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.surfaces.http.running import running
from tests.surfaces.mcp.conftest import call, refused

import engrams
from engrams.api_keys import ApiKeyStore
from engrams.core import Scope
from engrams.core.clock import now
from engrams.program.registry import create_app


@asynccontextmanager
async def connected(url: str, **headers: str) -> AsyncIterator[Client]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        httpx2.AsyncClient(headers=named, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


@pytest.fixture
def served(home: Path) -> Iterator[str]:
    """A server's address."""
    with (
        engrams.open(home=home, user="ann") as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        yield url


async def test_each_user_has_a_memory(served: str) -> None:
    """Who is named gets an own memory;
    sessions of two people on one address see nothing of each other.
    """
    async with (
        connected(f"{served}/mcp") as ann,
        connected(f"{served}/mcp", x_engrams_user="bob") as bob,
    ):
        await call(ann, "memory_add", text="The attic window sticks.")
        assert "attic" in str(await call(ann, "memory_search", q="which window sticks?", top_k=3))
        assert (await call(bob, "memory_list"))["memories"] == []
    assert (
        httpx2.get(f"{served}/v1/memories").json()["memories"][0]["text"]
        == "The attic window sticks."
    )


async def test_profiles_have_paths(served: str) -> None:
    """Another profile's tools are at its path; a wrong one is named with those there are."""
    async with connected(f"{served}/mcp/search") as memory:
        assert {tool.name for tool in (await memory.list_tools()).tools} == {"search", "fetch"}
    answer = httpx2.post(f"{served}/mcp/other", json={})
    assert answer.status_code == 404
    assert "engrams, full" in answer.text


async def test_a_key_is_its_owner(home: Path) -> None:
    """With keys needed, none is refused, each opens its owner's memory alone, and one that only
    reads reaches the search profile.
    """
    with engrams.open(home=home, user="ann", serve__require_keys="always") as engine:
        keys = ApiKeyStore.open(home)
        _, bob = keys.add("bob", Scope(("user", "bob")), ["read", "write"], now())
        _, eve = keys.add("eve", Scope(("user", "eve")), ["read", "write"], now())
        _, reader = keys.add("reader", Scope(("user", "bob")), ["read"], now())
        with running(create_app(engine, engine.settings)) as url:
            assert httpx2.post(f"{url}/mcp", json={}).status_code == 401
            async with connected(f"{url}/mcp", authorization=f"Bearer {bob}") as memory:
                await call(memory, "memory_add", text="Bob rows on Mondays.")
            records = engine.list(scope=("user", "bob")).records
            assert {record.text.strip(".") for record in records} == {"Bob rows on Mondays"}
            async with (
                connected(f"{url}/mcp/full", authorization=f"Bearer {bob}") as one,
                connected(f"{url}/mcp/full", authorization=f"Bearer {eve}") as other,
            ):
                id = next(record.id for record in records if record.text.endswith("."))
                assert (await call(other, "memory_list"))["memories"] == []
                assert "no memory" in await refused(other, "memory_get", id=id)
                token = (await call(one, "memory_forget_preview", ids=[id]))["token"]
                assert "unknown" in await refused(other, "memory_forget", token=token)
                assert "no memory" in await refused(other, "memory_forget_preview", ids=[id])
            async with connected(
                f"{url}/mcp", authorization=f"Bearer {eve}", x_engrams_user="bob"
            ) as other:
                # The header names a part of the key's own memory, never another owner.
                assert (await call(other, "memory_list"))["memories"] == []
            assert (
                httpx2.post(
                    f"{url}/mcp", json={}, headers={"authorization": f"Bearer {reader}"}
                ).status_code
                == 403
            )
            async with connected(f"{url}/mcp/search", authorization=f"Bearer {reader}") as memory:
                assert "Mondays" in str(await call(memory, "search", query="when does Bob row?"))
