"""The profile for upkeep:
conflicts are asked about and settled, and a cycle is planned, run and taken back.
"""

from __future__ import annotations

import pytest
from tests.surfaces.mcp.conftest import Open, call, refused

from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.errors import RefusedError
from engrams.program.registry import create_mcp_server


async def test_a_conflict_is_settled_as_the_person_said(
    client: Open, engine: MemoryEngine, root: Scope, era: str
) -> None:
    """Both statements are listed; the one that is kept holds, and an unknown one is refused."""
    red, blue = (
        engine.add(text, scope=root).id
        for text in ("The lamp in the hall is red", "The hall has a blue lamp")
    )
    engine.links.link(red, blue, scope=root, type="contradicts")
    async with client("garden", mode=era) as memory:
        (clash,) = (await call(memory, "list_conflicts"))["conflicts"]
        assert {clash["one"]["id"], clash["other"]["id"]} == {red, blue} and clash["newer"] == blue
        assert (await call(memory, "settle_conflict", one=red, other=blue, keep=red)) == {
            "put_away": blue
        }
        assert (await call(memory, "list_conflicts"))["conflicts"] == []
        assert "no active statement" in await refused(
            memory, "settle_conflict", one=red, other="nobody"
        )


async def test_upkeep_is_planned_run_and_undone(
    client: Open, engine: MemoryEngine, root: Scope
) -> None:
    """What the plan shows is done, and is as before when it is taken back."""
    ids = {
        engine.add(text, scope=root).id
        for text in ("The cello is in the attic room", "The cello is in the attic room!")
    }
    async with client("garden") as memory:
        plan = await call(memory, "plan_upkeep")
        assert [step["verb"] for step in plan["steps"]] == ["merge"] and set(
            plan["steps"][0]["ids"]
        ) == ids
        report = await call(memory, "run_upkeep")
        assert (report["state"], report["merged_away"]) == ("complete", 1)
        undone = await call(memory, "undo_upkeep", cycle=report["cycle"])
        assert set(undone["restored"]) == ids and undone["left"] == []
        assert "nothing to undo" in await refused(memory, "undo_upkeep")


def test_it_is_not_for_a_part_of_a_memory(engine: MemoryEngine) -> None:
    """Upkeep would reach beyond a project, so a server that is held to one refuses."""
    with pytest.raises(RefusedError):
        create_mcp_server(engine, Scope(("user", "ann", "project", "x")), "garden")
