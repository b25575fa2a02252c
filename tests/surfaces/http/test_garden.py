"""/v1/garden: plan, run, undo, decide and the queue, each for its own owner."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from tests.surfaces.http.running import running

from engrams.core import Status
from engrams.engine import MemoryEngine
from engrams.program.registry import create_app
from engrams.testing import temp_engine


@pytest.fixture(scope="module")
def engine() -> Iterator[MemoryEngine]:
    """Ann says something twice, and Bob something of his own."""
    with temp_engine(jobs__workers=0, serve__rate_limit=0) as made:
        for text in ("I play the cello every day", "I play the cello every day!"):
            made.add(text, scope=("user", "ann"))
        made.add("I play the harp every day", scope=("user", "bob"))
        yield made


@pytest.fixture(scope="module")
def garden(engine: MemoryEngine) -> Iterator[httpx2.Client]:
    """Ann's client."""
    with (
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(
            base_url=url + "/v1", headers={"x-engrams-user": "ann"}, timeout=30
        ) as client,
    ):
        yield client


def test_a_cycle_is_planned_run_and_undone(garden: httpx2.Client, engine: MemoryEngine) -> None:
    """A plan names what a run then does, an undo takes it back, and the status knows of it all."""
    plan = garden.get("/garden/plan").json()
    assert [step["verb"] for step in plan["steps"]] == ["merge"] and len(
        plan["steps"][0]["ids"]
    ) == 2
    report = garden.post("/garden/run", json={}).json()
    assert (report["state"], report["compactions"]) == ("complete", 1)
    assert (
        garden.get("/garden").json()["last"]
        == report
        == garden.get("/garden/reports").json()["reports"][-1]
    )
    undone = garden.post("/garden/undo", json={}).json()
    assert sorted(undone["restored"]) == sorted(plan["steps"][0]["ids"]) and undone["left"] == []
    assert {engine.get(id, scope=("user", "ann")).status for id in undone["restored"]} == {
        Status.ACTIVE
    }
    assert garden.post("/garden/undo", json={}).status_code == 404
    assert garden.post("/garden/run", json={"jobs": ["merge"]}).json()["compactions"] == 1


def test_scheduled_cycles_are_listed_cancelled_and_paused(garden: httpx2.Client) -> None:
    """An entry is listed, taken off once, and never by somebody else; a pause shows."""
    id = garden.post("/garden/queue", json={"minutes": 60, "priority": 3, "why": "later"}).json()[
        "id"
    ]
    assert [entry["id"] for entry in garden.get("/garden").json()["queue"]] == [id]
    assert garden.delete(f"/garden/queue/{id}", headers={"x-engrams-user": "bob"}).json() == {
        "cancelled": 0
    }
    assert garden.post("/garden/pause", json={"on": True}).json()["state"] == "paused"
    assert garden.post("/garden/pause", json={"on": False}).json()["state"] == "scheduled"
    assert [garden.delete(f"/garden/queue/{id}").json() for _ in range(2)] == [
        {"cancelled": 1},
        {"cancelled": 0},
    ]


def test_unknown_jobs_statements_and_fields_are_refused(garden: httpx2.Client) -> None:
    """Unknown jobs, statements and fields."""
    assert garden.get("/garden/plan", params={"job": "weed"}).status_code == 400
    assert garden.post("/garden/run", json={"jobs": ["weed"]}).status_code == 400
    assert garden.post("/garden/run", json={"job": "merge"}).status_code == 422
    assert garden.post("/garden/decide", json={"one": "a", "other": "b"}).status_code == 404
    assert garden.post("/garden/queue", json={"minutes": -1}).status_code == 422
    assert garden.get("/garden/conflicts").json() == {"conflicts": []}
    assert garden.put("/garden/plan").status_code == 405
