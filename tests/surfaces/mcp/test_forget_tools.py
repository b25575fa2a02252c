"""Corrections, and forgetting by a query in two steps."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.surfaces.mcp.conftest import Open, call, refused

from engrams.core import Scope, Status
from engrams.engine import MemoryEngine


async def test_forgetting_takes_a_preview_first(
    client: Open, engine: MemoryEngine, root: Scope, era: str
) -> None:
    """All about somebody is shown with its sources, then forgotten by the token, once;
    each can be restored.
    """
    ferrets = engine.add("My brother Quentin breeds ferrets in the cellar.", scope=root).id
    kept_id = engine.add("The attic window sticks.", scope=root).id
    async with client(mode=era) as memory:
        shown = await call(memory, "memory_forget_preview", about="Quentin")
        ids = {memory["id"] for memory in shown["memories"]}
        assert ferrets in ids and kept_id not in ids and "ferrets" in str(shown["memories"])
        assert {engine.get(id, scope=root).status for id in ids} == {Status.ACTIVE}
        await call(memory, "memory_search", q="who breeds ferrets?")
        engine.drain()
        result = await call(memory, "memory_forget", token=shown["token"], reason="they asked")
        assert set(result["forgotten"]) == ids
        assert "ferrets" not in str(await call(memory, "memory_search", q="who breeds ferrets?"))
        assert "used" in await refused(memory, "memory_forget", token=shown["token"])
        await call(memory, "memory_delete", id=ferrets, restore=True)
        assert "ferrets" in str(await call(memory, "memory_search", q="who breeds ferrets?"))
    assert engine.get(kept_id, scope=root).status is Status.ACTIVE


async def test_the_token_is_for_what_was_shown(
    client: Open, engine: MemoryEngine, root: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It covers nothing that is only near, nothing that changed, nobody else's memory, and is too
    old after five minutes.
    """
    id = engine.add("The boat is called Heron.", scope=root).id
    stranger = Scope(("user", "someone-else"))
    other_id = engine.add("The boat is called Egret.", scope=stranger).id
    async with client() as memory, client(scope=stranger) as theirs:
        near = await call(memory, "memory_forget_preview", query="name of my vessel")
        assert not near["token"] and not near["memories"]
        token = (await call(memory, "memory_forget_preview", ids=[id]))["token"]
        assert "unknown" in await refused(theirs, "memory_forget", token=token)
        engine.edit(id, scope=root, text="The boat is called Bittern.")
        assert "changed" in await refused(memory, "memory_forget", token=token)
        assert "no memory" in await refused(memory, "memory_forget_preview", ids=[other_id])
        assert "query or ids" in await refused(memory, "memory_forget_preview")
        token = (await call(memory, "memory_forget_preview", ids=[id]))["token"]
        now = engine.now()
        monkeypatch.setattr(engine, "_clock", lambda: now + timedelta(minutes=6))
        assert "five minutes" in await refused(memory, "memory_forget", token=token)
    assert {engine.get(id, scope=root).status, engine.get(other_id, scope=stranger).status} == {
        Status.ACTIVE
    }


async def test_a_wrong_memory(client: Open, engine: MemoryEngine, root: Scope, era: str) -> None:
    """What is only known to be wrong is found no more, with the reason in its history, until it is
    restored.
    """
    id = engine.add("My car is green.", scope=root).id
    async with client(mode=era) as memory:
        result = await call(memory, "memory_wrong", memory_id=id, reason="never had one")
        assert result["status"] == "forgotten"
        assert "green" not in str(
            (await call(memory, "memory_search", query="colour of my car"))["memories"]
        )
        assert (await call(memory, "memory_history", id=id))["changes"][-1][
            "reason"
        ] == "wrong: never had one"
        assert (await call(memory, "memory_delete", id=id, restore=True))["status"] == "active"
