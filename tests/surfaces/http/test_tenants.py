"""Two owners on one server:
whatever one of them asks, with whatever ids and names of the other, the other's words never come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from tests.surfaces.http.running import list_operations, running

from engrams.api_keys import ApiKeyStore
from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.ports import JobClaim, JobFailure, JobSpec
from engrams.program.registry import create_app
from engrams.testing import temp_engine

WORD = "zyzzyva"
"""In everything the victim ever said, and in nothing else."""

OPERATIONS = list_operations()
READS = sorted(
    path
    for method, path in OPERATIONS
    if method == "GET" and path not in ("/metrics", "/v1/settings")
)
CHAT = "/v1/chat/completions"
POSTS = (
    CHAT,
    "/v1/search",
    "/v1/explain",
    "/v1/context",
    "/v3/memories/search/",
    "/v3/memories/",
    "/api/explain/implementation",
)
CHANGES = sorted(
    (method, path) for method, path in OPERATIONS if method in ("PATCH", "PUT", "DELETE")
)


@dataclass
class Pair:
    """The thief's client, and every name and id there is of the victim's."""

    thief: httpx2.Client
    victim: httpx2.Client
    names: tuple[str, ...]
    keyed: bool


@pytest.fixture(scope="module", params=[False, True], ids=["open", "keyed"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with (
        temp_engine(
            serve__require_keys="always" if request.param else "auto",
            serve__rate_limit=0,
            serve__allow_reset=True,
        ) as engine,
        running(create_app(engine, engine.settings)) as url,
        _client(engine, url, "thief", keyed=request.param) as thief,
        _client(engine, url, "victim", keyed=request.param) as victim,
    ):
        yield Pair(thief, victim, tuple(_filled(engine, victim)), request.param)


def _client(engine: MemoryEngine, url: str, user: str, *, keyed: bool) -> httpx2.Client:
    if not keyed:
        return httpx2.Client(base_url=url, headers={"x-engrams-user": user}, timeout=30)
    _, key = ApiKeyStore.open(engine.settings.home).add(
        user, Scope(("user", user)), ("read", "write", "proxy"), engine.now()
    )
    return httpx2.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=30)


def _filled(engine: MemoryEngine, victim: httpx2.Client) -> Iterator[str]:
    """A memory of each sort, an edit, a forgotten one, a session, an import, a job that failed;
    their ids and names.
    """
    for number in range(6):
        made = victim.post(
            "/v1/memories", json={"text": f"My {WORD} number {number}.", "tags": [WORD]}
        ).json()["results"][0]["id"]
        yield made
        yield made[:10]
    victim.patch(
        f"/v1/memories/{made}", json={"text": f"My {WORD} is sold.", "meta": {"what": WORD}}
    )
    victim.delete(f"/v1/memories/{made}")
    said = [{"content": f"I live with a {WORD}."}, {"role": "assistant", "content": f"A {WORD}!"}]
    victim.post(
        "/v1/memories",
        json={"messages": said, "session": f"s-{WORD}"},
        params={"project": "px", "conversation": "c1"},
    )
    yield victim.post(
        "/v1/imports",
        content=f"A {WORD} from a file.".encode(),
        params={"format": "lines", "name": WORD},
    ).json()["id"]
    scope = "user/victim"
    engine.store.enqueue((JobSpec("no-such", f"{scope}|1", {"scope": scope}),), engine.now())
    job = engine.store.claim(JobClaim("test", engine.now(), kinds=("no-such",)))
    assert job
    engine.store.fail(JobFailure(job.lease, f"the {WORD} failed", engine.now(), None))
    yield job.id
    yield from ("px", "c1", f"s-{WORD}", "victim", "user/victim", f"tag:{WORD}")


_FREE = some.text(max_size=8) | some.sampled_from(
    ["../x", "%", "*", "' OR 1=1 --", "user/victim", "\u202e", "é"]
)


@some.composite
def _asked(draw: some.DrawFn) -> dict[str, Any]:
    """A request:
    which route, and places in the list of the victim's names for each of its parts.
    """
    return {
        "route": draw(some.integers(0, 10_000)),
        "sort": draw(some.sampled_from(["get", "post", "change"])),
        "names": [draw(some.integers(0, 10_000)) for _ in range(6)],
        "free": draw(_FREE),
        "history": draw(some.booleans()),
        "as_of": draw(some.sampled_from([None, "2001-01-01", "2099-01-01"])),
        "bound": draw(some.booleans()),
    }


_RULE = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
)


@given(asked=_asked())
@_RULE
def test_no_route_returns_another_tenants_words(pair: Pair, asked: dict[str, Any]) -> None:
    """Every route that reads or changes, with the other's ids, cursors, scopes and times, and with
    headers that claim to be them.
    """
    answer = _sent(pair, asked)
    # What the thief sent may come back in a message; what was stored may not.
    text = answer.text
    for name in (f"s-{WORD}", f"tag:{WORD}", quote(f"tag:{WORD}")):
        text = text.replace(name, "")
    assert WORD not in text.casefold(), (answer.request.method, str(answer.request.url))


def _sent(pair: Pair, asked: dict[str, Any]) -> httpx2.Response:
    def name(place: int) -> str:
        pool = (*pair.names, asked["free"])
        return pool[asked["names"][place] % len(pool)]

    def filled(path: str) -> str:
        kind = quote(name(0), safe="") or "x"
        for part in ("{id}", "{n}", "{agent}", "{product}", "{kind}", "{name}"):
            real = {
                "{agent}": "implementation",
                "{product}": "facts",
                "{n}": "1",
                "{kind}": "user",
            }.get(part, kind)
            path = path.replace(part, real)
        return path

    headers = {"x-engrams-owner": "user%2Fvictim"} if asked["bound"] else {}
    query = {
        "after": name(1),
        "project": "px",
        "conversation": "c1",
        "focus": name(2),
        "session": name(3),
        "text": "",
        "status": "active",
    }
    params = {key: value for key, value in query.items() if asked["names"][4] % 2 or key == "after"}
    if asked["as_of"]:
        params["as_of"] = asked["as_of"]
    match asked["sort"]:
        case "get":
            path = READS[asked["route"] % len(READS)]
            return pair.thief.get(filled(path), params=params, headers=headers)
        case "post":
            path = POSTS[asked["route"] % len(POSTS)]
            body: dict[str, Any] = {"query": "number of my sold animal, I live with"}
            if path.startswith("/v3"):
                body |= (
                    {"filters": {"user_id": name(1)}}
                    if asked["names"][5] % 2
                    else {"filters": {"run_id": "c1"}}
                )
            elif path.startswith("/v1") and asked["as_of"]:
                body["as_of"] = asked["as_of"]
            if path == CHAT:
                body = _chat(pair, name, asked["history"])
            if path == "/v1/search":
                body |= {
                    "history": asked["history"],
                    "where": [{"field": "scope", "op": "gte", "value": "user/victim"}],
                }
            return pair.thief.post(path, json=body, headers=headers)
        case _:
            method, path = CHANGES[asked["route"] % len(CHANGES)]
            return pair.thief.request(
                method,
                filled(path),
                json={"text": "taken", "memories": [{"memory_id": name(1), "text": "t"}]},
                headers=headers,
            )


def _chat(pair: Pair, name: Callable[[int], str], deep: bool) -> dict[str, Any]:
    """A conversation that claims, where there are keys, to be the other's:
    without keys whoever is named is who asks.
    """
    body: dict[str, Any] = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Which number has my sold animal that I live with?"}
        ],
    }
    if pair.keyed:
        body |= (
            {"user": "victim", "memory": {"user": "victim", "project": "px", "conversation": "c1"}}
            if deep
            else {"user": name(1)}
        )
    return body | {"memory_id": name(2), "metadata": {"session_id": name(3)}}


def test_no_route_changes_another_tenants_memories(pair: Pair) -> None:
    """After direct attempts on every id, the victim's memories are as they were, and found."""
    before = pair.victim.get("/v1/export").text
    for name in pair.names:
        id = quote(name, safe="")
        for method, path in (
            ("PATCH", "/v1/memories/{}"),
            ("DELETE", "/v1/memories/{}"),
            ("PUT", "/v1/memories/{}/"),
            ("DELETE", "/v1/memories/{}/"),
        ):
            assert pair.thief.request(
                method, path.format(id), json={"text": "taken"}
            ).status_code in (400, 404, 405), (method, name)
        assert pair.thief.post("/v1/purge", json={"ids": [name]}).status_code in (400, 404)
        assert pair.thief.post("/v1/jobs/retry", json={"ids": [name]}).status_code == 404
    assert pair.victim.get("/v1/export").text == before
    assert WORD in pair.victim.post("/v1/search", json={"query": f"my {WORD}"}).text


def test_the_owner_finds_the_words_on_every_surface(pair: Pair) -> None:
    """The victim sees them on every surface: the test above can fail."""
    seen = [
        pair.victim.get("/v1/memories").text,
        pair.victim.get("/v1/graph").text,
        pair.victim.get("/v1/sessions").text,
        pair.victim.get("/v1/imports").text,
        pair.victim.get("/v1/jobs").text,
        pair.victim.post("/v1/context", json={"query": f"my {WORD}"}).text,
        pair.victim.get("/api/memory/facts").text,
        pair.victim.post(
            CHAT,
            json={
                "model": "m",
                "messages": [{"role": "user", "content": f"Which number has my {WORD}?"}],
            },
        ).text,
    ]
    assert [WORD in text for text in seen] == [True] * len(seen)
