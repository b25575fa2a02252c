"""The graph, sessions, state and settings of the REST API, and a fact that changes from one turn to
the next.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from tests.surfaces.http.running import running
from tests.surfaces.proxy.harness import eventually, patient

from engrams.core import Edge, EdgeType, Kind, Scope, Turn
from engrams.engine import MemoryEngine
from engrams.ports import WriteBatch
from engrams.program.registry import create_app
from engrams.testing import ScriptedModel, temp_engine

ANN = Scope(("user", "ann"))


@pytest.fixture
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(user="ann", chat__api_key="sk-very-secret", store__readers=3) as found:
        yield found


@pytest.fixture
def api(engine: MemoryEngine) -> Iterator[httpx2.Client]:
    with (
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(base_url=url + "/v1", timeout=30) as client,
    ):
        yield client


def add(api: httpx2.Client, text: str, **more: object) -> str:
    return str(api.post("/memories", json={"text": text, **more}).json()["results"][0]["id"])


def test_metadata_that_looks_like_an_escape_is_kept(api: httpx2.Client) -> None:
    """Text that looks like an escaped NUL is text, and stays; a NUL itself is left out."""
    meta = {"path": "C:\\u0000", "k\\u0000": ["\\\\u0000", "a\0b"]}
    id = add(api, "The script prints NUL.", meta=meta)
    assert api.get(f"/memories/{id}").json()["meta"] == {**meta, "k\\u0000": ["\\\\u0000", "ab"]}


@pytest.mark.covers("S2.53")
def test_a_later_turn_updates_the_stored_fact(api: httpx2.Client) -> None:
    """What one turn said is replaced by what a later one says;
    the old fact stays in history and is what was true then.
    """
    api.post(
        "/memories", json={"text": "I live in Paris.", "kind": "turn", "at": "2025-01-10T00:00:00Z"}
    )
    later = api.post(
        "/memories",
        json={"text": "I moved to Berlin.", "kind": "turn", "at": "2025-06-10T00:00:00Z"},
    ).json()["results"][0]
    assert any(each["replaces"] for each in later["learned"])
    active = [
        each["text"] for each in api.get("/memories", params={"kind": "fact"}).json()["memories"]
    ]
    assert any("Berlin" in text for text in active) and not any("Paris" in text for text in active)
    old = api.get("/memories", params={"kind": "fact", "status": "superseded"}).json()["memories"]
    assert ["Paris" in each["text"] for each in old] == [True] and old[0]["superseded_by"]
    then = api.get("/memories", params={"kind": "fact", "as_of": "2025-03-01T00:00:00Z"}).json()[
        "memories"
    ]
    assert any("Paris" in each["text"] for each in then)


@pytest.mark.covers("S2.53")
@pytest.mark.slow
def test_a_fact_in_other_words_is_known(api: httpx2.Client) -> None:
    """A fact that is posted meets the stored ones; its labels go to the one that says the same."""
    texts = ("Our database is PostgreSQL 15.", "We use PostgreSQL 15 as our database.")
    for text, tag in zip(texts, ("first", "second"), strict=True):
        api.post("/memories", json={"text": text, "kind": "fact", "tags": [tag]}).raise_for_status()
    listed = api.get("/memories", params={"kind": "fact"}).json()["memories"]
    assert [(record["text"], record["tags"]) for record in listed] == [
        (texts[0], ["first", "second"])
    ]


def test_a_later_turn_updates_the_fact_through_the_proxy() -> None:
    """Two chat turns; the facts of the second replace those of the first, end to end."""
    with (
        ScriptedModel(answer=lambda _: "Noted.") as model,
        temp_engine(
            user="ann", serve__upstream=model.url + "/v1", serve__upstream_learns=False
        ) as engine,
        running(patient(engine)) as url,
    ):
        for number, text in enumerate(("I live in Paris.", "I moved to Berlin."), 1):
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}
            assert (
                httpx2.post(url + "/v1/chat/completions", json=body, timeout=30).status_code == 200
            )
            eventually(
                lambda said=2 * number: (
                    len(engine.list(scope=("user", "ann"), kinds=(Kind.TURN,)).records) == said
                )
            )
            engine.drain()
        found = httpx2.get(url + "/v1/memories", params={"kind": "fact"}).json()["memories"]
        assert any("Berlin" in each["text"] for each in found)
        assert not any("lives in Paris" in each["text"] for each in found)


def test_the_graph_follows_links_around_a_memory(api: httpx2.Client, engine: MemoryEngine) -> None:
    """Steps along links from the focus, of the wanted types;
    nodes beyond the limit are said to be there.
    """
    ids = [
        add(api, text)
        for text in (
            "A crate is sealed.",
            "Ann keeps bees.",
            "Rain fell.",
            "The lamp is green.",
            "Bob bakes.",
        )
    ]
    edges = tuple(
        Edge(owner=ANN, source=ids[n], target=ids[n + 1], type=EdgeType.RELATES_TO, weight=0.5)
        for n in range(4)
    )
    engine.store.commit(
        WriteBatch(
            "test", "", engine.now(), edges=(*edges, Edge(ANN, ids[0], "tag:box", EdgeType.HAS_TAG))
        )
    )

    def nodes(**query: object) -> set[str]:
        return {
            each["id"]
            for each in api.get("/graph", params={"focus": ids[0], **query}).json()["nodes"]
        }

    assert nodes(depth=0) == {ids[0]}
    assert nodes(depth=1) == {ids[0], ids[1], "tag:box"}
    assert nodes(depth=2, type="relates_to") == set(ids[:3])
    cut = api.get("/graph", params={"focus": ids[0], "depth": 3, "limit": 2}).json()
    assert (len(cut["nodes"]), cut["more"]) == (2, True)
    whole = api.get("/graph").json()
    assert set(ids) <= {each["id"] for each in whole["nodes"]}
    shown = {each["id"] for each in whole["nodes"]}
    assert all(each["source"] in shown and each["target"] in shown for each in whole["edges"])
    assert api.get("/graph", params={"focus": "0" * 26}).status_code == 404
    assert (
        api.get("/graph", params={"focus": ids[0]}, headers={"x-engrams-user": "bob"}).status_code
        == 404
    )


def test_sessions_are_listed_and_ended(api: httpx2.Client) -> None:
    """A conversation shows with its state, ends once however often it is asked to, and is nobody
    else's.
    """
    api.post(
        "/memories", json={"messages": [{"content": "I keep bees on the roof."}], "session": "s1"}
    )
    assert [each["id"] for each in api.get("/sessions").json()["sessions"]] == ["s1"]
    assert api.get("/sessions/s1").json()["state"] == "active"
    first, again = (api.post("/sessions/s1/end") for _ in range(2))
    assert first.json()["state"] == again.json()["state"] == "rotation_required"
    assert api.get("/sessions", headers={"x-engrams-user": "bob"}).json()["sessions"] == []
    assert api.post("/sessions/s1/end", headers={"x-engrams-user": "bob"}).status_code == 404


def test_state_counts_memories_and_settings_hide_secrets(api: httpx2.Client) -> None:
    """Active memories by tier and layer;
    every setting with its value, and of a secret only that there is one.
    """
    add(api, "The gate is green.")
    state = api.get("/state").json()
    assert sum(state["tiers"].values()) == sum(state["layers"].values()) > 0
    answer = api.get("/settings")
    rows = {each["name"]: each for each in answer.json()["settings"]}
    assert (rows["store.readers"]["value"], rows["store.readers"]["default"]) == (3, 4)
    assert (rows["chat.api_key"]["value"], rows["chat.api_key"]["secret"]) == (True, True)
    assert "sk-very-secret" not in answer.text


def test_jobs_are_listed_by_state(api: httpx2.Client, engine: MemoryEngine) -> None:
    """The jobs themselves are listed where a state is asked for."""
    engine.observe(Turn("I live in Paris."), scope=("user", "ann"))
    engine.drain()
    assert api.get("/jobs").json()["items"] == []
    items = api.get("/jobs", params={"state": "done"}).json()["items"]
    assert items and {each["state"] for each in items} == {"done"}
    assert api.get("/jobs", params={"state": "lost"}).status_code == 422
