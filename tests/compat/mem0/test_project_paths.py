"""What mem0's clients ask besides memories:
exports, summaries, profiles, the project, options of reads, the open-source server's reset.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from tests.surfaces.http.running import running

from engrams.engine import MemoryEngine
from engrams.program.registry import create_app
from engrams.testing import ScriptedModel, temp_engine

PROJECT = "/api/v1/orgs/organizations/engrams/projects/engrams/"
CITY = {
    "type": "object",
    "properties": {"city": {"type": ["string", "null"]}},
    "required": ["city"],
}


@pytest.fixture(scope="module")
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(user="nobody") as found:
        yield found


@pytest.fixture(scope="module")
def api(engine: MemoryEngine) -> Iterator[httpx2.Client]:
    with (
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(base_url=url, timeout=30) as client,
    ):
        yield client


def add(api: httpx2.Client, text: str, **more: Any) -> str:
    said = {"messages": [{"role": "user", "content": text}], "infer": False, **more}
    return str(api.post("/v3/memories/add/", json=said).json()["results"][0]["id"])


def read(api: httpx2.Client, **body: Any) -> set[str]:
    answer = api.post("/v3/memories/search/" if "query" in body else "/v3/memories/", json=body)
    assert answer.status_code == 200, answer.text
    return {each["memory"] for each in answer.json()["results"]}


def test_options_of_reads(api: httpx2.Client, engine: MemoryEngine) -> None:
    """Expired memories, superseded ones and those of some categories come where they are asked for,
    in lists and searches.
    """
    mine = {"user_id": "o"}
    add(api, "The pool code is 1188.", user_id="o", expiration_date="2020-01-01")
    gate = add(api, "The gate code is 2299.", user_id="o")
    old = add(api, "The shed code is 11.", user_id="o")
    new = add(api, "The shed code is 22.", user_id="o")
    engine.links.link(new, old, scope=("user", "nobody"), type="supersedes")
    engine.links.tag(gate, ["gates"], scope=("user", "nobody"))
    for query in ({}, {"query": "which code?"}):
        assert read(api, filters=mine, **query) == {
            "The gate code is 2299.",
            "The shed code is 22.",
        }
        assert "The pool code is 1188." in read(api, filters=mine, show_expired=True, **query)
        assert "The shed code is 11." not in read(api, filters=mine, show_expired=True, **query)
        assert "The shed code is 11." in read(api, filters=mine, latest_only=False, **query)
        assert read(api, filters=mine, categories=["gates", "doors"], **query) == {
            "The gate code is 2299."
        }
    assert api.delete(f"/v1/memories/{new}/", params={"delete_linked": True}).status_code == 200
    assert [api.get(f"/v1/memories/{id}/").status_code for id in (old, new)] == [404, 404]
    assert (
        api.put(f"/v1/memories/{gate}/", json={"expiration_date": "2020-01-01"}).json()[
            "expiration_date"
        ]
        == "2020-01-01"
    )
    assert read(api, filters=mine) == set()
    assert (
        api.put(f"/v1/memories/{gate}/", json={"expiration_date": None}).json()["expiration_date"]
        is None
    )
    assert read(api, filters=mine) == {"The gate code is 2299."}


def test_a_batch_is_all_or_nothing(api: httpx2.Client) -> None:
    """Where one id of a batch is unknown, none is changed or forgotten."""
    one = add(api, "Batch one.", user_id="b")
    said = {
        "memories": [{"memory_id": one, "text": "Changed."}, {"memory_id": "0" * 26, "text": "x"}]
    }
    assert api.put("/v1/batch/", json=said).status_code == 404
    assert api.request("DELETE", "/v1/batch/", json=said).status_code == 404
    assert api.get(f"/v1/memories/{one}/").json()["memory"] == "Batch one."


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", PROJECT),
        ("DELETE", PROJECT),
        ("POST", "/api/v1/orgs/organizations/engrams/projects/"),
        ("POST", f"{PROJECT}members/"),
        ("PUT", f"{PROJECT}members/"),
        ("DELETE", f"{PROJECT}members/"),
        ("POST", "/v2/profiles/settings/"),
        ("POST", "/configure"),
        ("POST", "/v1/exports/"),
    ],
)
def test_what_is_not_there_says_what_to_do(api: httpx2.Client, method: str, path: str) -> None:
    """It is refused with a reason and a hint, and nothing is changed."""
    answer = api.request(method, path, json={"schema": CITY})
    assert answer.status_code == 422
    assert answer.json()["detail"] and answer.json()["hint"]


def test_profiles_and_summaries_without_a_model(api: httpx2.Client) -> None:
    """Both list what is believed most of the user asked for;
    a user without memories has no profile.
    """
    add(api, "Mara keeps bees.", user_id="mara")
    add(api, "Theo keeps goats.", user_id="theo")
    profile = api.get("/v2/entities/user/mara/profile/").json()
    assert (
        profile["status"] == "succeeded"
        and "bees" in profile["profile"]["text"]
        and "goats" not in profile["profile"]["text"]
    )
    assert api.get("/v2/entities/user/nobody-there/profile/").status_code == 404
    summary = api.post("/v1/summary/", json={"filters": {"user_id": "theo"}}).json()["summary"]
    assert "goats" in summary and "bees" not in summary
    job = api.post(
        "/v2/profiles/jobs/",
        json={"operation": "trigger", "entity_type": "user", "entity_id": "mara"},
    ).json()
    assert api.get(job["status_url"]).json()["job"]["status"] == "succeeded"
    assert api.get("/v2/profiles/settings/").json()["enabled"] is True
    assert api.get(f"{PROJECT}members/").json() == {"members": []}


def test_exports_and_summaries_by_a_model() -> None:
    """A schema is filled from the memories asked for, as they are when it is read;
    nothing of it is kept.
    """
    with ScriptedModel() as model:
        model.when("Wishes about the answer: .*Summarise", "Mara lives in Oslo.").when(
            "Wishes about the answer", {"city": "Oslo"}
        )
        held = {
            "chat__provider": "openai",
            "chat__url": f"{model.url}/v1",
            "chat__model": "scripted",
            "write__extract": "rules",
        }
        with (
            temp_engine(user="nobody", jobs__workers=0, **held) as engine,
            running(create_app(engine, engine.settings)) as url,
            httpx2.Client(base_url=url, timeout=30) as api,
        ):
            add(api, "Mara lives in Oslo.", user_id="mara")
            add(api, "Theo lives in Rome.", user_id="theo")
            mine = {"user_id": "mara"}
            made = api.post(
                "/v1/exports/", json={"schema": json.dumps(CITY), "filters": mine}
            ).json()
            assert api.post("/v1/exports/get/", json={"filters": mine}).json() == {"city": "Oslo"}
            assert api.post("/v1/exports/get/", json={"memory_export_id": made["id"]}).json() == {
                "city": "Oslo"
            }
            assert (
                api.post("/v1/exports/get/", json={"filters": {"user_id": "theo"}}).status_code
                == 404
            )
            for bad in (
                "nonsense",
                "[" * 100_000,
                '{"a":' * 100_000,
                {"description": "x" * 60_000},
            ):
                answer = api.post("/v1/exports/", json={"schema": bad})
                assert answer.status_code == 400 and "schema" in answer.text
            assert (
                api.post("/v1/summary/", json={"filters": mine}).json()["summary"]
                == "Mara lives in Oslo."
            )
            asked = [str(each.body) for each in model.requests]
            assert asked and all("Rome" not in each for each in asked)


def test_the_open_source_servers_rest() -> None:
    """`/reset` forgets everything of the caller, which can be restored;
    `/configure` names the models.
    """
    with (
        temp_engine(user="nobody") as engine,
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(base_url=url, timeout=30) as api,
    ):
        one = add(api, "Soon gone.", user_id="r")
        theirs = engine.add("Of somebody else.", scope=("user", "eve")).id
        assert (
            api.get("/configure").json()["embedder"]["config"]["model"] == engine.embedder.card.id
        )
        assert api.post("/reset").json() == {"message": "All memories reset"}
        assert read(api, filters={"user_id": "r"}) == set()
        assert engine.get(theirs, scope=("user", "eve")).status == "active"
        assert engine.restore(one, scope=("user", "nobody")).status == "active"


def test_filters_nested_without_end(api: httpx2.Client) -> None:
    """Filters of brackets alone are refused."""
    assert api.delete("/v1/memories/", params={"filters": "[" * 9000}).status_code == 400
