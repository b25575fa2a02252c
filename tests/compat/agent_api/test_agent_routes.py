"""The routes under /api: one agent's tiers, talking to it, and memory as its owner controls it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.surfaces.http.running import running

from engrams.core import PRODUCT, Layer
from engrams.ports import JobSpec
from engrams.program.registry import create_app
from engrams.testing import ScriptedModel, temp_engine


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as found:
        yield found


@pytest.fixture
def api(model: ScriptedModel) -> Iterator[httpx2.Client]:
    """A server with the preset of document 000 and a scripted model."""
    model.when("Rate|importance|0 to 1", "0.7")
    with (
        temp_engine(
            preset="cache",
            user="ann",
            chat__provider="openai",
            chat__model="scripted",
            chat__url=model.url + "/v1",
            read__min_scores__dense=0,
        ) as engine,
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(base_url=url + "/api", timeout=30) as client,
    ):
        client.engine = engine  # type: ignore[attr-defined]
        yield client


def chat(api: httpx2.Client, text: str) -> dict[str, Any]:
    answer = api.post("/chat/implementation", json={"message": text})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


@pytest.mark.covers("S0.48")
def test_explain_tells_every_score_and_asks_nobody(
    api: httpx2.Client, model: ScriptedModel
) -> None:
    """Tier, similarity, recency, importance, score, selection and the reason of each drop;
    no model call and no effect.
    """
    assert (
        api.post(
            "/seed/implementation",
            json={"facts": [f"Crate {n} stands in hall {n % 3}." for n in range(9)]},
        ).status_code
        == 200
    )
    api.engine.drain()  # type: ignore[attr-defined]
    calls = len(model.requests)  # type: ignore[attr-defined]
    before = api.engine.stats(("user", "ann"))
    told = api.post(
        "/explain/implementation", json={"query": "which crate stands in hall 2?"}
    ).json()
    assert len(told["rows"]) >= 9
    for row in told["rows"]:
        assert set(row) == {
            "id",
            "text",
            "tier",
            "sim",
            "recency",
            "importance",
            "score",
            "selected",
            "dropped",
            "parts",
            "status",
            "ended",
        }
        assert 0 <= row["sim"] <= 1 and 0 < row["recency"] <= 1 and 0 <= row["importance"] <= 1
        assert row["selected"] == (row["dropped"] == "")
    assert sum(row["selected"] for row in told["rows"]) == 6
    assert any(row["dropped"] for row in told["rows"])
    assert len(model.requests) == calls
    assert api.engine.stats(("user", "ann")) == before  # type: ignore[attr-defined]


@pytest.mark.covers("S0.49")
def test_chat_gives_a_reply_and_the_trace_of_its_memories(
    api: httpx2.Client, model: ScriptedModel
) -> None:
    """The model's reply, and how its memories were chosen, in the form of explain;
    only the reply is waited for.
    """
    api.post("/seed/implementation", json={"facts": ["The spare key hangs in the shed."]})
    api.engine.drain()  # type: ignore[attr-defined]
    gate = threading.Event()

    def slowly(request: Any) -> str:
        if "assistant with a memory" in request.prompt:
            return "In the shed."
        gate.wait(20)
        return "0.7"

    model.when(".", slowly)
    body = chat(api, "Where does the spare key hang?")
    gate.set()
    assert body["reply"] == "In the shed."
    assert (
        "The spare key hangs in the shed."
        in next(each for each in model.requests if "assistant with a memory" in each.prompt).prompt
    )
    found = next(row for row in body["trace"]["rows"] if "spare key hangs" in row["text"])
    assert found["selected"] and found["sim"] > 0.3


@pytest.mark.covers("S0.51")
def test_a_waiting_model_blocks_nobody(api: httpx2.Client, model: ScriptedModel) -> None:
    """While one chat waits for its reply, another one and a write are answered."""
    gate = threading.Event()
    model.when("wait for me", lambda _: "late" if gate.wait(20) else "never")
    slow: list[str] = []
    thread = threading.Thread(
        target=lambda: slow.append(chat(api, "Please wait for me here.")["reply"])
    )
    thread.start()
    assert model.wait(1)
    assert chat(api, "What else is new today?")["reply"]
    assert api.post("/seed/implementation", json={"facts": ["The kiln is hot."]}).status_code == 200
    assert not slow
    gate.set()
    thread.join(20)
    assert slow == ["late"]


@pytest.mark.covers("S0.52")
def test_about(api: httpx2.Client) -> None:
    """The models and the one agent; any other agent is not found, on every route that names one."""
    meta = api.get("/meta").json()
    assert meta["agents"] == api.get("/agents").json() == ["implementation"]
    assert (meta["embed_model"] and meta["llm_model"] == "openai:scripted") or "scripted" in meta[
        "llm_model"
    ]
    for path in ("state", "registry"):
        assert api.get(f"/{path}/planner").status_code == 404
    for path, body in (
        ("chat", {"message": "x"}),
        ("explain", {"query": "x"}),
        ("seed", {"facts": ["x"]}),
    ):
        assert api.post(f"/{path}/planner", json=body).status_code == 404
    for path in ("consolidate", "abstract"):
        assert api.post(f"/{path}/planner").status_code == 404


@pytest.mark.covers("S0.50")
def test_jobs_in_flight(api: httpx2.Client) -> None:
    """The number of jobs that run or wait for a worker, and nothing else."""
    api.engine.drain()  # type: ignore[attr-defined]
    before = api.get("/jobs").json()
    assert set(before) == {"in_flight"}
    api.engine.store.enqueue((JobSpec("nobody-does-this", "x"),), api.engine.now())  # type: ignore[attr-defined]
    assert api.get("/jobs").json()["in_flight"] == before["in_flight"] + 1


@pytest.mark.covers("S0.53")
def test_state_graph_and_registry(api: httpx2.Client) -> None:
    """The tiers in numbers, for all agents and for one;
    the graph's nodes and edges; the latest of the long term.
    """
    for number in range(3):
        chat(api, f"We keep session {number} in Redis because it is fast.")
    one = api.get("/state/implementation").json()
    assert one["l0"] > 0 and {"l0", "l1", "hot", "registry", "kg", "caps"} == set(one)
    api.engine.drain()  # type: ignore[attr-defined]
    told = api.post("/consolidate/implementation").json()
    assert "done" in told and told["done"]["moved"] > 0, told
    whole = api.get("/state").json()
    assert whole["agents"]["implementation"]["l0"] == 0
    assert whole["agents"]["implementation"]["registry"] > 0
    graph = api.get("/l4").json()
    assert (
        whole["kg"] == graph
        and graph["nodes"]
        and set(graph["nodes"][0]) == {"id", "label", "member_count", "concept"}
    )
    rows = api.get("/registry/implementation").json()["rows"]
    assert rows and "Redis" in rows[0]["content"] and rows[0]["nodes"]
    assert (
        api.post("/abstract/implementation").status_code
        == api.post("/kg/dedupe").status_code
        == 200
    )


@pytest.mark.covers("S0.5")
def test_seeding_takes_one_word(api: httpx2.Client) -> None:
    """What is seeded is stored, however short."""
    assert api.post("/seed/implementation", json={"facts": ["Redis"]}).json() == {
        "done": {"stored": 1}
    }
    rows = api.post("/explain/implementation", json={"query": "Redis"}).json()["rows"]
    assert "Redis" in [row["text"] for row in rows]


@pytest.mark.covers("S0.54")
def test_reset_begins_anew(api: httpx2.Client) -> None:
    """Everybody's memory is erased, nothing of it is found by a second look, and a chat afterwards
    works.
    """
    chat(api, "My tortoise is called Odessa.")
    api.engine.add("Bob keeps bees.", scope=("user", "bob"))  # type: ignore[attr-defined]
    done = api.post("/reset").json()
    assert done["wiped"] >= 3 and done["remaining"] == 0
    assert api.post("/explain/implementation", json={"query": "tortoise"}).json()["rows"] == []
    assert api.get("/state/implementation").json()["registry"] == 0
    assert chat(api, "The kiln is hot.")["reply"]
    assert api.engine.list(scope=("user", "bob")).records == ()  # type: ignore[attr-defined]


@pytest.mark.covers("S4.53", "S0.54")
def test_nothing_is_wiped_where_it_is_not_set() -> None:
    """By default no request erases everything: only the command line does, with the exact word."""
    with temp_engine(user="ann") as engine, running(create_app(engine, engine.settings)) as url:
        engine.add("Ann keeps bees.", scope=("user", "ann"))
        answer = httpx2.post(url + "/api/reset")
        assert (answer.status_code, "engrams purge --all" in answer.json()["hint"]) == (422, True)
        assert engine.list(scope=("user", "ann")).records


# --------------------------------------------------------------------------------------------------
# control


@pytest.fixture
def control() -> Iterator[httpx2.Client]:
    with (
        temp_engine(user="ann") as engine,
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(base_url=url, timeout=30) as client,
    ):
        for kind, text in (
            ("fact", "The gate is green."),
            ("fact", "The kiln is hot."),
            ("rule", "Answer briefly."),
            ("episode", "We met."),
        ):
            assert client.post("/v1/memories", json={"text": text, "kind": kind}).status_code == 201
        client.post("/v1/memories", json={"messages": [{"content": "Good morning to you."}]})
        yield client


@pytest.mark.covers("S4.1", "S4.52", "S4.63")
def test_status_counts_by_layer(control: httpx2.Client) -> None:
    """Counts under the names of layers, beside them the names that people are shown:
    one mapping for all surfaces.
    """
    told = control.get("/api/memory/status").json()
    assert (
        set(told["counts"])
        == {layer.value for layer in Layer}
        == {"semantic", "episodic", "procedural"}
    )
    assert told["names"] == {layer.value: name for layer, name in PRODUCT.items()}
    assert list(told["names"].values()) == ["facts", "sessions", "rules"]
    assert (told["counts"]["semantic"], told["counts"]["procedural"]) == (2, 1)
    assert control.get("/v1/stats").json()["product"]["facts"] == 2


@pytest.mark.covers("S4.52")
def test_recall_is_switched(control: httpx2.Client) -> None:
    """The toggle is kept, for this owner only; what is no toggle is refused."""
    assert control.patch("/api/memory/recall", json={"enabled": False}).json() == {
        "recall_enabled": False
    }
    assert control.get("/api/memory/status").json()["recall_enabled"] is False
    assert (
        control.get("/api/memory/status", headers={"x-engrams-user": "bob"}).json()[
            "recall_enabled"
        ]
        is True
    )
    assert control.patch("/api/memory/recall", json={"enabled": True}).json() == {
        "recall_enabled": True
    }
    assert control.patch("/api/memory/recall", json={}).status_code == 422


@pytest.mark.covers("S4.52")
def test_lists_are_numbered_from_one(control: httpx2.Client) -> None:
    """Facts, sessions and rules, the newest first;

    DELETE takes a number and those behind move up; out of range is 404.
    """
    facts = control.get("/api/memory/facts").json()["items"]
    assert [(each["n"], each["text"]) for each in facts] == [
        (1, "The kiln is hot."),
        (2, "The gate is green."),
    ]
    assert [each["text"] for each in control.get("/api/memory/sessions").json()["items"]] == [
        "We met."
    ]
    assert [each["text"] for each in control.get("/api/memory/rules").json()["items"]] == [
        "Answer briefly."
    ]
    assert control.delete("/api/memory/facts/1").json()["text"] == "The kiln is hot."
    assert [
        (each["n"], each["text"]) for each in control.get("/api/memory/facts").json()["items"]
    ] == [(1, "The gate is green.")]
    assert [
        control.delete(f"/api/memory/{path}").status_code
        for path in ("facts/2", "rules/9", "facts/0", "facts/-1", "notes/1")
    ] == [
        404,
        404,
        404,
        404,
        422,
    ]
    assert (
        control.delete("/api/memory/facts/1", headers={"x-engrams-user": "bob"}).status_code == 404
    )
