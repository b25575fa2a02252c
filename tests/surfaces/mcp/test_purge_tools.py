"""The profile for erasing: a preview gives a token, and only that erases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.surfaces.mcp.conftest import Open, call, refused

from engrams.core import Scope, Status
from engrams.engine import MemoryEngine


async def test_a_purge_takes_a_preview_first(
    client: Open, engine: MemoryEngine, root: Scope, era: str
) -> None:
    """What is found about someone is previewed with its sources, then erased by the token, once."""
    engine.add("My brother Quentin breeds ferrets in the cellar.", scope=root)
    kept_id = engine.add("The attic window sticks.", scope=root).id
    async with client("erase", mode=era) as memory:
        result = (await call(memory, "find_about", about="Quentin"))["memories"]
        ids = [one["id"] for one in result if one["certain"]]
        assert ids and kept_id not in ids
        shown = await call(memory, "preview_purge", ids=ids)
        assert {memory["id"] for memory in shown["memories"]} == set(ids) and "ferrets" in str(
            shown["memories"]
        )
        assert {engine.get(id, scope=root).status for id in ids} == {Status.ACTIVE}
        done = await call(memory, "purge", token=shown["token"])
        assert done["proven"] and sum(done["removed"].values()) and "ferrets" not in str(done)
        assert {engine.get(id, scope=root).status for id in ids} == {Status.PURGED}
        assert "used" in await refused(memory, "purge", token=shown["token"])
        assert engine.get(kept_id, scope=root).text


async def test_a_token_is_for_what_was_shown(
    client: Open, engine: MemoryEngine, root: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory changed since, a token too old, a made-up one, and another person's id are refused;
    nothing is erased.
    """
    id = engine.add("The boat is called Heron.", scope=root).id
    other_id = engine.add("The boat is called Egret.", scope=Scope(("user", "someone-else"))).id
    async with client("erase") as memory:
        token = (await call(memory, "preview_purge", ids=[id]))["token"]
        engine.edit(id, scope=root, text="The boat is called Bittern.")
        assert "changed" in await refused(memory, "purge", token=token)
        token = (await call(memory, "preview_purge", ids=[id]))["token"]
        now = engine.now()
        monkeypatch.setattr(engine, "_clock", lambda: now + timedelta(minutes=6))
        assert "five minutes" in await refused(memory, "purge", token=token)
        assert "unknown" in await refused(memory, "purge", token="0123456789abcdef")
        assert "no memory" in await refused(memory, "preview_purge", ids=[other_id])
    assert engine.get(id, scope=root).text == "The boat is called Bittern."


async def test_other_profiles_erase_nothing(client: Open) -> None:
    """No tool of the usual profile is a purge."""
    async with client() as memory:
        assert not [tool.name for tool in (await memory.list_tools()).tools if "purge" in tool.name]
