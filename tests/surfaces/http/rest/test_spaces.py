"""Spaces over REST, on a server that needs keys: roles hold for every operation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx2
import pytest
from tests.surfaces.http.running import list_operations, running

from engrams.api_keys import ApiKeyStore
from engrams.core import Scope
from engrams.program.registry import create_app
from engrams.testing import SettableClock, temp_engine

RIGHTS = ("read", "write")
WORD = "quixotry"
"""In everything that the space holds, and in nothing else."""
Clients = dict[str, httpx2.Client]


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    """Clients of Ann, who owns the space home, Bob, who edits it, Rita, who reads it, and Eve."""
    clock = SettableClock(datetime(2026, 3, 1, tzinfo=UTC))
    with (
        temp_engine(clock=clock, serve__require_keys="always", serve__rate_limit=0) as engine,
        running(create_app(engine, engine.settings)) as url,
    ):
        keys = ApiKeyStore.open(engine.settings.home)
        secrets = {
            user: keys.add("test", Scope(("user", user)), RIGHTS, clock())[1]
            for user in ("ann", "bob", "rita", "eve")
        }
        secrets["proxy"] = keys.add("test", Scope(("user", "ann")), (*RIGHTS, "proxy"), clock())[1]
        opened = {
            user: httpx2.Client(
                base_url=url, headers={"authorization": f"Bearer {secret}"}, timeout=30
            )
            for user, secret in secrets.items()
        }
        assert opened["ann"].post("/v1/spaces", json={"name": "home"}).status_code == 201
        for user, role in (("bob", "editor"), ("rita", "reader")):
            answer = opened["ann"].put(f"/v1/spaces/home/members/{user}", json={"role": role})
            assert answer.status_code == 200, answer.text
        told = opened["bob"].post(
            "/v1/memories?space=home", json={"text": f"The {WORD} is in the cellar."}
        )
        assert told.status_code == 201, told.text
        yield opened
        for client in opened.values():
            client.close()


def list_shared(clients: Clients) -> list[tuple[str, str, int]]:
    """List id, text and version of what the space holds."""
    answer = clients["ann"].get("/v1/memories?space=home").json()
    return [(memory["id"], memory["text"], memory["version"]) for memory in answer["memories"]]


def test_members_find_what_a_member_told(clients: Clients) -> None:
    """With the teller's name and the space's scope, in searches, contexts and by the space itself."""
    question = {"query": f"Where is the {WORD}?"}
    for user in ("ann", "bob", "rita"):
        (hit, *_) = clients[user].post("/v1/search", json=question).json()["hits"]
        assert hit["memory"]["scope"] == ["space", "home"]
        assert hit["memory"]["speaker"] == "bob"
        assert WORD in clients[user].post("/v1/context", json=question).json()["text"]
        listed = clients[user].get("/v1/memories", headers={"X-Engrams-Space": "home"}).json()
        assert any(WORD in memory["text"] for memory in listed["memories"])
        own = clients[user].get("/v1/memories").json()["memories"]
        assert [memory for memory in own if WORD in memory["text"]] == []
    shown = clients["rita"].get("/v1/spaces").json()["spaces"]
    assert [(space["name"], space["role"], len(space["members"])) for space in shown] == [
        ("home", "reader", 3)
    ]


def test_no_operation_lets_a_stranger_in(clients: Clients) -> None:
    """Every operation of the server, asked for the space by somebody who is no member of it, answers
    nothing of it and changes nothing in it.
    """
    before = list_shared(clients)
    for method, path in sorted(list_operations()):
        if not path.startswith(("/v1/", "/api/", "/v2/", "/v3/")) or "chat" in path:
            continue
        filled = path
        for parameter in ("{name}", "{id}", "{user}", "{agent}", "{member}"):
            filled = filled.replace(parameter, "home" if parameter == "{name}" else "x")
        for body, place in (
            ({"query": WORD}, {"params": {"space": "home"}}),
            ({"text": f"Hello {WORD} hello."}, {"headers": {"X-Engrams-Space": "home"}}),
        ):
            content = None if method == "GET" else body
            answer = clients["eve"].request(method, filled, json=content, **place)
            assert "in the cellar" not in answer.text, (method, path)
    assert list_shared(clients) == before


def test_what_takes_no_space_says_so(clients: Clients) -> None:
    """An operation that would take one's own memory instead refuses the name of a space."""
    attempts = [
        ("GET", "/v1/garden", None),
        ("POST", "/v1/garden/run", {}),
        ("GET", "/v1/spaces", None),
    ]
    for method, path, body in attempts:
        for place in ({"params": {"space": "home"}}, {"headers": {"X-Engrams-Space": "home"}}):
            answer = clients["ann"].request(method, path, json=body, **place)
            assert answer.status_code == 400, (method, path, answer.text)
            assert "takes no space" in answer.json()["detail"]
    for path in ("/mcp", "/v1/chat/completions"):
        answer = clients["proxy"].post(path, json={}, headers={"X-Engrams-Space": "home"})
        assert (answer.status_code, "x-engrams-space" in answer.text) == (400, True), path


def test_an_id_of_a_space_takes_its_name(clients: Clients) -> None:
    """A member who leaves the name out is told of it; a stranger, who is in no space, is not."""
    path = f"/v1/memories/{list_shared(clients)[0][0]}"
    hints = {user: clients[user].get(path).json()["hint"] for user in ("bob", "eve")}
    assert "?space=NAME" in hints["bob"]
    assert "space" not in hints["eve"]


def test_a_reader_writes_nothing(clients: Clients) -> None:
    """Nor does a reader change members; an editor writes, and changes no members."""
    before = list_shared(clients)
    memory_id = before[0][0]
    path = f"/v1/memories/{memory_id}"
    attempts = [
        ("POST", "/v1/memories", {"text": "The bread is stale."}),
        ("PATCH", path, {"text": "The bread is fresh."}),
        ("DELETE", path, None),
        ("POST", f"{path}/restore", None),
        ("POST", "/v1/purge", {"ids": [memory_id]}),
        ("POST", "/v1/used", {"ids": [memory_id]}),
    ]
    for method, address, body in attempts:
        answer = clients["rita"].request(method, address, json=body, params={"space": "home"})
        assert answer.status_code == 422, (method, address, answer.text)
        assert "takes the role editor; you are reader" in answer.json()["detail"]
    assert list_shared(clients) == before
    for user in ("rita", "bob"):
        answer = clients[user].put("/v1/spaces/home/members/eve", json={"role": "reader"})
        assert answer.status_code == 422
        assert clients[user].delete("/v1/spaces/home").status_code == 422
        assert clients[user].delete("/v1/spaces/home/members/ann").status_code == 422
    edited = clients["bob"].patch(path, json={"tags": ["cellar"]}, params={"space": "home"})
    assert edited.status_code == 200


def test_the_members_of_a_space_change(clients: Clients) -> None:
    """An owner adds and removes; a member leaves; the last owner stays; a deleted space is gone."""
    ann, eve = clients["ann"], clients["eve"]
    assert ann.post("/v1/spaces", json={"name": "home"}).status_code == 409
    assert ann.post("/v1/spaces", json={"name": "a/b"}).status_code == 400
    assert ann.post("/v1/spaces", json={"name": "trip"}).status_code == 201
    assert eve.get("/v1/spaces/trip").status_code == 404
    joined = ann.put("/v1/spaces/trip/members/eve", json={"role": "reader"}).json()
    assert [(member["user"], member["role"]) for member in joined["members"]] == [
        ("ann", "owner"),
        ("eve", "reader"),
    ]
    assert ann.put("/v1/spaces/trip/members/eve", json={"role": "boss"}).status_code == 400
    desk = "/v1/spaces/trip/members/agent%252Fdesk"
    joined = ann.put(desk, json={"role": "reader"}).json()
    assert "agent/desk" in [member["owner"] for member in joined["members"]]
    assert ann.delete(desk).status_code == 204
    assert ann.delete("/v1/spaces/trip/members/ann").status_code == 422
    assert eve.delete("/v1/spaces/trip/members/eve").status_code == 204
    assert eve.get("/v1/spaces/trip").status_code == 404
    assert ann.delete("/v1/spaces/trip/members/eve").status_code == 404
    assert ann.delete("/v1/spaces/trip").json() == {"proven": True}
    assert ann.get("/v1/spaces/trip").status_code == 404
