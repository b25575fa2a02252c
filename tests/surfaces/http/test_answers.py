"""Answers as a person meets them: headers on all of them, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from fastapi.routing import APIRoute
from tests.surfaces.http.running import list_operations, running

from engrams.ports import JobClaim, JobFailure, JobSpec
from engrams.program.registry import create_app
from engrams.testing import ScriptedModel, temp_engine

SAFE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with temp_engine(user="ann") as engine, running(create_app(engine, engine.settings)) as found:
        yield found


def unsafe(answer: httpx2.Response) -> dict[str, str]:
    """The headers that an answer lacks."""
    return {name: value for name, value in SAFE.items() if answer.headers.get(name) != value}


def test_the_parameters_of_a_route_are_read_at_its_first_request() -> None:
    """A server starts without those of the others, and requests that meet at the first use of a
    route are all answered.
    """
    with temp_engine(user="ann") as engine:
        app = create_app(engine, engine.settings)

        def read() -> set[str]:
            return {
                route.path
                for route in app.routes
                if isinstance(route, APIRoute) and "dependant" in vars(route)
            }

        at_start = read()
        with running(app) as url, ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(httpx2.get, [f"{url}/v1/stats"] * 8))
        assert {answer.status_code for answer in answers} == {200}
        assert read() - at_start == {"/v1/stats"}


@pytest.mark.slow
def test_every_answer_is_safe_for_a_browser(url: str) -> None:
    """Every route, every unknown path, every wrong method and every static file carries the
    security headers.
    """
    paths = {path.replace("{", "").replace("}", "") for _, path in list_operations()}
    paths |= {
        "/nothing",
        "/v1/nothing",
        "/v1/memories/x/y/z",
        "/ui/",
        "/ui/nothing.js",
        "/ui/css/parts.css",
        "//",
        "/v1/chat/completions",
    }
    with httpx2.Client(base_url=url, headers={"content-type": "application/json"}) as client:
        for path in sorted(paths):
            for method in ("GET", "POST", "DELETE", "PUT"):
                answer = client.request(method, path, content=b"{")
                assert not unsafe(answer), (method, path, answer.status_code)


def test_answers_of_the_model_server_are_safe_too() -> None:
    """What comes from upstream carries them as well:
    answers, streams, errors and paths that are its own.
    """
    with (
        ScriptedModel() as model,
        temp_engine(user="ann", serve__upstream=model.url, serve__upstream_learns=False) as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        ask = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        sent = [
            httpx2.post(url + "/v1/chat/completions", json=ask),
            httpx2.post(url + "/v1/chat/completions", json={**ask, "stream": True}),
            httpx2.get(url + "/v1/models"),
            httpx2.get(url + "/v1/nothing-of-ours"),
            httpx2.post(url + "/v1/chat/completions", content=b"no json"),
        ]
    assert [unsafe(each) for each in sent] == [{}] * len(sent)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/v1/memories", {"content": "x"}, "Did you mean text?"),
        ("/v1/search", {"q": "x"}, "Did you mean query?"),
        ("/v1/search", {"query": "x", "top_k": 3}, "Did you mean limit?"),
        ("/v1/search", {"query": "x", "limt": 3}, "Did you mean limit?"),
    ],
)
def test_a_wrong_field_names_the_right_one(
    url: str, path: str, body: dict[str, object], words: str
) -> None:
    """A field of another system is refused with the name that is meant and all that there are."""
    told = httpx2.post(url + path, json=body).json()["detail"]
    assert words in told and "It takes " in told and "Extra inputs" not in told


def test_errors_say_what_to_do(url: str) -> None:
    """A missing content type, broken JSON, an unknown id and a path misspelt each get an answer
    that fits.
    """
    unmarked = httpx2.post(url + "/v1/memories", content=b'{"text": "x"}').json()
    assert ("not marked as JSON" in unmarked["detail"], "Content-Type" in unmarked["hint"]) == (
        True,
        True,
    )
    broken = httpx2.post(
        url + "/v1/memories", content=b'{"text"', headers={"content-type": "application/json"}
    ).json()
    assert broken["detail"].startswith("The body is not JSON")
    unknown = httpx2.get(url + "/v1/memories/nothing").json()
    assert "GET /v1/memories" in unknown["hint"]
    misspelt = httpx2.get(url + "/v1/memory").json()["error"]["message"]
    assert "Did you mean /v1/memories?" in misspelt and "upstream" not in misspelt


def test_jobs_tell_nobody_of_others(tmp_path: object) -> None:
    """A key without the right admin sees no job of another owner or of none:
    no count, no item, no lag.
    """
    from engrams.api_keys import ApiKeyStore
    from engrams.core import Scope

    with (
        temp_engine(user="ann", jobs__workers=0) as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        now = engine.now()
        _, secret = ApiKeyStore.open(engine.settings.home).add(
            "bob", Scope(("user", "bob")), ("read", "write"), now
        )
        _, master = ApiKeyStore.open(engine.settings.home).add(
            "root", Scope(("user", "root")), ("read", "admin"), now
        )
        engine.store.enqueue(
            (
                JobSpec("embed", "model", {}),
                JobSpec("finalise", "user/ann|s", {"owner": "user/ann", "session": "s"}),
                JobSpec("dead-one", "x", {}),
            ),
            now,
        )
        job = engine.store.claim(JobClaim("test", now, kinds=("dead-one",)))
        assert job
        engine.store.fail(JobFailure(job.lease, "quotes ann", now, None))
        query = "/v1/jobs?state=waiting&state=running&state=dead"
        told = httpx2.get(url + query, headers={"authorization": f"Bearer {secret}"}).json()
        assert (
            told["jobs"],
            told["lag_seconds"],
            told["dead"],
            told["items"],
            told["queue_seconds"],
        ) == ({}, 0.0, [], [], 0.0)
        seen = httpx2.get(url + query, headers={"authorization": f"Bearer {master}"}).json()
        assert {"embed", "finalise", "dead-one"} <= seen["jobs"].keys()
        assert "quotes ann" not in str(seen)


def test_sessions_say_whose_they_are() -> None:
    """A listed session names its owner beside its scope."""
    with temp_engine(user="ann") as engine, running(create_app(engine, engine.settings)) as url:
        engine.sessions.begin("s1", scope=("user", "ann", "project", "x"))
        (one,) = httpx2.get(url + "/v1/sessions").json()["sessions"]
        assert (one["owner"], one["scope"]) == (["user", "ann"], ["user", "ann", "project", "x"])
