"""The API that clients of mem0 know.

The fast tests send what the client (2.2) sends; a slow one is the client itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.surfaces.http.running import running

from engrams.api_keys import ApiKeyStore
from engrams.core import Scope
from engrams.engine import MemoryEngine
from engrams.program.registry import create_app
from engrams.testing import temp_engine


@pytest.fixture(scope="module")
def engine() -> Iterator[MemoryEngine]:
    with temp_engine(user="nobody", limits__meta_bytes=2000) as found:
        yield found


@pytest.fixture(scope="module")
def api(engine: MemoryEngine) -> Iterator[httpx2.Client]:
    with (
        running(create_app(engine, engine.settings)) as url,
        httpx2.Client(
            base_url=url, headers={"authorization": "Token m0-anything"}, timeout=30
        ) as client,
    ):
        yield client


def add(api: httpx2.Client, text: str, **more: object) -> list[dict[str, str]]:
    answer = api.post(
        "/v3/memories/add/", json={"messages": [{"role": "user", "content": text}], **more}
    )
    assert answer.status_code == 200, answer.text
    events: list[dict[str, str]] = answer.json()["results"]
    return events


def memories(api: httpx2.Client, filters: dict[str, object], **query: int) -> list[str]:
    answer = api.post("/v3/memories/", json={"filters": filters}, params=query)
    assert answer.status_code == 200, answer.text
    return [each["memory"] for each in answer.json()["results"]]


def test_the_client_is_welcomed(api: httpx2.Client) -> None:
    """The first request of every client, with the organisation and project it insists on."""
    told = api.get("/v1/ping/").json()
    assert told["status"] == "ok" and told["org_id"] and told["project_id"]


def test_add_and_search(api: httpx2.Client) -> None:
    """What was said is found with its user, its metadata and a score;
    what was learned from it is an event of its own.
    """
    events = add(api, "I live in Paris.", user_id="bob", metadata={"from": "test"})
    assert [event["event"] for event in events] == ["ADD", "ADD"]
    assert events[0]["memory"] == "I live in Paris."
    found = api.post(
        "/v3/memories/search/",
        json={"query": "where do I live?", "filters": {"user_id": "bob"}, "top_k": 1},
    ).json()["results"]
    assert len(found) == 1
    assert (found[0]["user_id"], found[0]["metadata"]["from"]) == ("bob", "test")
    assert 0 < found[0]["score"] <= 1
    high = {"query": "where do I live?", "filters": {"user_id": "bob"}, "threshold": 0.999}
    assert api.post("/v3/memories/search/", json=high).json()["results"] == []


def test_a_fact_replaces_another(api: httpx2.Client) -> None:
    """Moving house is an UPDATE, and the old place is no longer listed."""
    add(api, "I live in Lyon.", user_id="moves")
    events = add(api, "I moved to Oslo.", user_id="moves")
    assert "UPDATE" in {event["event"] for event in events}
    assert not any("lives in Lyon" in text for text in memories(api, {"user_id": "moves"}))


def test_parts_of_memory(api: httpx2.Client) -> None:
    """Users, agents, apps and runs are told apart, alone and together, in each form that filters
    take.
    """
    add(api, "The red key.", user_id="p1", infer=False)
    add(api, "The blue key.", user_id="p1", agent_id="a1", run_id="r1", infer=False)
    add(api, "The green key.", user_id="p2", run_id="r1", infer=False)
    assert set(memories(api, {"user_id": "p1"})) == {"The red key.", "The blue key."}
    assert memories(api, {"AND": [{"user_id": "p1"}, {"run_id": "r1"}]}) == ["The blue key."]
    assert memories(api, {"user_id": "p1", "agent_id": "a1"}) == ["The blue key."]
    assert memories(api, {"user_id": {"in": ["p2"]}}) == ["The green key."]
    assert memories(api, {"user_id": "p1", "agent_id": "*"}) == ["The blue key.", "The red key."]
    assert memories(api, {"user_id": "p"}) == memories(api, {"user_id": "p1", "run_id": "r"}) == []
    names = {(each["type"], each["name"]) for each in api.get("/v1/entities/").json()["results"]}
    assert {("user", "p1"), ("user", "p2"), ("agent", "a1"), ("run", "r1")} <= names


def test_filters(api: httpx2.Client) -> None:
    """Comparisons, metadata, AND, OR and NOT;
    what there is not is a 400 that names what there is.
    """
    for number in range(4):
        add(api, f"Box {number}.", user_id="f", infer=False, metadata={"size": number})

    def sizes(*tests: dict[str, object], **more: object) -> set[str]:
        return set(memories(api, {"AND": [{"user_id": "f"}, *tests], **more}))

    assert sizes({"metadata": {"size": 2}}) == {"Box 2."}
    assert sizes({"size": {"gte": 2}}) == {"Box 2.", "Box 3."}
    assert sizes({"OR": [{"size": 0}, {"size": 3}]}) == {"Box 0.", "Box 3."}
    assert sizes({"NOT": [{"size": {"in": [0, 1, 2]}}]}) == {"Box 3."}
    assert sizes({"keywords": {"contains": "Box 1"}}) == {"Box 1."}
    assert sizes({"created_at": {"gte": "2001-01-01"}}) == {f"Box {number}." for number in range(4)}
    assert sizes({"created_at": {"lt": "2001-01-01"}}) == set()
    for wrong in ({"size": {"like": 1}}, {"AND": ["x"]}, {"created_at": {"gte": "soon"}}):
        answer = api.post("/v3/memories/", json={"filters": {"user_id": "f", **wrong}})
        assert (answer.status_code, answer.headers["content-type"]) == (
            400,
            "application/problem+json",
        ), wrong
    two = api.post("/v3/memories/", json={"filters": {"AND": [{"user_id": "f"}, {"user_id": "g"}]}})
    assert two.status_code == 400
    deep: dict[str, object] = {"size": 1}
    for _ in range(20):
        deep = {"AND": [deep]}
    assert api.post("/v3/memories/", json={"filters": deep}).status_code == 400


def test_pages(api: httpx2.Client) -> None:
    """Every memory is on exactly one page; next and previous lead there."""
    for number in range(5):
        add(api, f"Page text {number}.", user_id="pages", infer=False)
    seen = [
        text
        for page in (1, 2, 3)
        for text in memories(api, {"user_id": "pages"}, page=page, page_size=2)
    ]
    assert sorted(seen) == [f"Page text {number}." for number in range(5)]
    first = api.post(
        "/v3/memories/", json={"filters": {"user_id": "pages"}}, params={"page": 1, "page_size": 2}
    ).json()
    assert first["next"] and first["previous"] is None
    assert api.post(first["next"], json={"filters": {"user_id": "pages"}}).json()["previous"]
    assert memories(api, {"user_id": "pages"}, page=9, page_size=2) == []


def test_one_memory(api: httpx2.Client) -> None:
    """Read, change, history, delete by id, as the client asks:
    with a slash at the end and without a user.
    """
    one = add(api, "The gate is green.", user_id="one", infer=False)[0]["id"]
    assert api.get(f"/v1/memories/{one}/").json()["memory"] == "The gate is green."
    assert (
        api.put(
            f"/v1/memories/{one}/", json={"text": "The gate is blue.", "metadata": {"k": 1}}
        ).json()["memory"]
        == "The gate is blue."
    )
    told = api.get(f"/v1/memories/{one}/history/").json()
    assert [(each["event"], each["new_memory"]) for each in told] == [
        ("ADD", "The gate is green."),
        ("UPDATE", "The gate is blue."),
    ]
    assert (
        api.put(
            "/v1/batch/", json={"memories": [{"memory_id": one, "text": "The gate is gone."}]}
        ).status_code
        == 200
    )
    for refused in (
        api.put(f"/v1/memories/{one}/", json={"text": ""}),
        api.put(f"/memories/{one}", json={"data": "\u200b"}),
    ):
        assert refused.status_code == 400 and "text is empty" in refused.text
    assert api.get(f"/v1/memories/{one}/").json()["metadata"]["k"] == 1
    assert api.delete(f"/v1/memories/{one}/").json() == {"message": "Memory deleted successfully!"}
    assert memories(api, {"user_id": "one"}) == []
    assert [
        api.request(way, f"/v1/memories/{one}/", json={}).status_code
        for way in ("GET", "PUT", "DELETE")
    ] == [404] * 3
    assert api.get(f"/v1/memories/{one}/history/").json()[-1]["event"] == "DELETE"
    assert api.get("/v1/memories/" + "0" * 26 + "/").status_code == 404


def test_forgetting_a_user(api: httpx2.Client) -> None:
    """All of one user's memories go, nobody else's; without saying whose, nothing does."""
    for user in ("leaves", "stays", "entity"):
        add(api, f"A note of {user}.", user_id=user, infer=False)
    assert api.delete("/v1/memories/", params={"user_id": "leaves"}).status_code == 200
    assert api.delete("/v2/entities/user/entity/").status_code == 200
    assert (memories(api, {"user_id": "leaves"}), memories(api, {"user_id": "entity"})) == ([], [])
    assert len(memories(api, {"user_id": "stays"})) == 1
    assert api.delete("/v1/memories/").status_code == 400
    assert (
        api.delete("/v1/memories/", params={"filters": "{'user_id': 'stays'}"}).status_code == 200
    )
    assert memories(api, {"user_id": "stays"}) == []
    assert api.delete("/v1/memories/", params={"filters": "__import__('os')"}).status_code == 400


def test_ids_in_or_and_not(api: httpx2.Client) -> None:
    """Ids stand below OR and NOT, and several in one list."""
    for user, agent in (("o1", "x1"), ("o2", ""), ("o3", "")):
        add(api, f"Of {user}.", user_id=user, infer=False, **({"agent_id": agent} if agent else {}))
    assert set(memories(api, {"OR": [{"user_id": "o2"}, {"agent_id": "x1"}]})) == {
        "Of o1.",
        "Of o2.",
    }
    assert set(memories(api, {"user_id": {"in": ["o1", "o3"]}})) == {"Of o1.", "Of o3."}
    assert memories(
        api,
        {
            "AND": [
                {"user_id": {"in": ["o1", "o2", "o3"]}},
                {"NOT": [{"user_id": "o1"}, {"user_id": "o3"}]},
            ]
        },
    ) == ["Of o2."]
    assert (
        memories(api, {"OR": [{"user_id": "nobody there"}, {"user_id": "o2", "run_id": "none"}]})
        == []
    )


def test_what_is_not_to_be_inferred_from_is_stored_alone(
    api: httpx2.Client, engine: MemoryEngine
) -> None:
    """With `infer` false nothing is learned from a text, also after a change; its metadata are its
    own.
    """
    one = add(api, "I live in Paris.", user_id="alone", infer=False, metadata={"a": 1})[0]["id"]
    engine.drain()
    assert memories(api, {"user_id": "alone"}) == ["I live in Paris."]
    changed = api.put(f"/v1/memories/{one}/", json={"text": "I live in Rome."}).json()
    assert changed["metadata"] == {"a": 1}
    engine.drain()
    assert memories(api, {"user_id": "alone"}) == ["I live in Rome."]
    add(api, "I live in Paris.", user_id="taught")
    assert "I live in Paris" in memories(api, {"user_id": "taught"})


def test_expiry_feedback_and_changes(api: httpx2.Client, engine: MemoryEngine) -> None:
    """A memory is found until its day has passed;
    feedback counts; `updated_at` is the last change; the project is there.
    """
    gone = add(
        api, "The pool code is 1188.", user_id="e", infer=False, expiration_date="2020-01-01"
    )[0]["id"]
    kept = add(
        api, "The gate code is 2299.", user_id="e", infer=False, expiration_date="2990-01-01"
    )[0]["id"]
    assert memories(api, {"user_id": "e"}) == ["The gate code is 2299."]
    found = api.post(
        "/v3/memories/search/", json={"query": "code", "filters": {"user_id": "e"}}
    ).json()["results"]
    assert [(each["id"], each["expiration_date"]) for each in found] == [(kept, "2990-01-01")]
    assert api.get(f"/v1/memories/{gone}/").json()["expiration_date"] == "2020-01-01"
    changed = api.put(f"/v1/memories/{kept}/", json={"text": "The gate code is 3300."}).json()
    assert changed["updated_at"] > changed["created_at"]
    said = {"memory_id": kept, "feedback": "POSITIVE", "feedback_reason": "it opened"}
    assert api.post("/v1/feedback/", json=said).json() == {
        "id": kept,
        "feedback": "POSITIVE",
        "feedback_reason": "it opened",
    }
    assert api.post("/v1/feedback/", json={**said, "memory_id": "0" * 26}).status_code == 404
    assert (
        api.get("/api/v1/orgs/organizations/engrams/projects/engrams/").json()["name"] == "engrams"
    )


def test_the_open_source_server(api: httpx2.Client) -> None:
    """Its paths: add, list, search, read, change, history, delete; an id is required."""
    said = {
        "messages": [{"role": "user", "content": "The boat is called Selkie."}],
        "user_id": "oss",
        "infer": False,
    }
    one = api.post("/memories", json=said).json()["results"][0]["id"]
    assert [
        each["memory"] for each in api.get("/memories", params={"user_id": "oss"}).json()["results"]
    ] == ["The boat is called Selkie."]
    found = api.post(
        "/search", json={"query": "what is the boat called?", "user_id": "oss"}
    ).json()["results"]
    assert [each["id"] for each in found] == [one]
    assert (
        api.put(f"/memories/{one}", json={"data": "The boat is called Puffin."}).status_code == 200
    )
    assert api.get(f"/memories/{one}").json()["memory"] == "The boat is called Puffin."
    assert [each["event"] for each in api.get(f"/memories/{one}/history").json()] == [
        "ADD",
        "UPDATE",
    ]
    assert api.delete(f"/memories/{one}").json() == {"message": "Memory deleted successfully"}
    assert api.get(f"/memories/{one}").status_code == 404
    assert api.post("/memories", json={**said, "user_id": ""}).status_code == 400
    assert api.delete("/memories").status_code == 400
    api.post("/memories", json=said)
    assert api.delete("/memories", params={"user_id": "oss"}).status_code == 200
    assert api.get("/memories", params={"user_id": "oss"}).json()["results"] == []


def test_a_slash_takes_no_right_away(tmp_path: Path) -> None:
    """A key that only reads changes nothing, whether a path ends in a slash or not."""
    with temp_engine(user="nobody", serve__require_keys="always") as engine:
        _, key = ApiKeyStore.open(engine.settings.home).add(
            "r", Scope(("user", "bob")), ("read",), engine.now()
        )
        one = engine.add("The gate is green.", scope=("user", "bob")).id
        said = {"messages": [{"role": "user", "content": "A new thing."}], "user_id": "bob"}
        tries = [
            ("DELETE", f"/v1/memories/{one}"),
            ("PUT", f"/v1/memories/{one}"),
            ("POST", "/v3/memories/add"),
            ("PUT", "/v1/batch"),
        ]
        tries += [
            ("DELETE", "/v2/entities/user/bob"),
            ("DELETE", "/v1/memories"),
            ("DELETE", f"/memories/{one}"),
            ("POST", "/memories"),
        ]
        with (
            running(create_app(engine, engine.settings)) as url,
            httpx2.Client(headers={"authorization": f"Bearer {key}"}) as client,
        ):
            for way, path in tries:
                for end in ("", "/"):
                    answer = client.request(
                        way, f"{url}{path}{end}", json=said, params={"user_id": "bob"}
                    )
                    assert answer.status_code in (403, 404, 405), (way, path, end)
            assert client.get(f"{url}/v1/memories/{one}/").status_code == 200
        assert [
            record.text for record in engine.list(scope=("user", "bob"), kinds=("note",)).records
        ] == ["The gate is green."]


def test_what_is_not_there_is_said(api: httpx2.Client) -> None:
    """An empty message, a wrong day and too much metadata are refused."""
    said = {"messages": [{"role": "user", "content": "x y z"}], "user_id": "u"}
    assert (
        api.post("/v3/memories/add/", json={**said, "expiration_date": "soon"}).status_code == 400
    )
    assert (
        api.post(
            "/v3/memories/add/", json={"messages": [{"role": "user", "content": " "}]}
        ).status_code
        == 400
    )
    assert (
        api.post("/v3/memories/add/", json={**said, "metadata": {"x": "y" * 3000}}).status_code
        == 400
    )
    assert api.post("/v3/memories/add/", json={"messages": []}).status_code == 422
    parts = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Seen in parts."}, {"type": "image_url"}],
        }
    ]
    assert (
        api.post(
            "/v3/memories/add/", json={"messages": parts, "user_id": "parts", "infer": False}
        ).status_code
        == 200
    )
    assert memories(api, {"user_id": "parts"}) == ["Seen in parts."]


_SCRIPT = """
import asyncio, inspect, json, sys
from mem0 import AsyncMemoryClient, MemoryClient
from mem0.exceptions import MemoryNotFoundError, ValidationError

async def play(client):
    async def done(answer):
        return await answer if inspect.isawaitable(answer) else answer

    async def refused(kind, call, *given, **named):
        try:
            await done(call(*given, **named))
        except kind as fault:
            return str(fault)
        raise AssertionError(call.__name__)

    told = [{"role": "user", "content": "I live in Paris."}, {"role": "assistant", "content": "Nice!"}]
    await done(client.add(told, user_id="bob", metadata={"k": 1}))
    await done(client.add("I moved to Oslo.", user_id="carl", run_id="r1"))
    mine = {"user_id": "bob"}
    found = (await done(client.search("where do I live?", filters=mine, top_k=3, rerank=True, keyword_search=True)))["results"]
    assert "Paris" in found[0]["memory"], found
    assert not (await done(client.search("Oslo", filters={"AND": [mine, {"run_id": "r1"}]})))["results"]
    assert (await done(client.get_all(filters=mine, page=1, page_size=1)))["next"]
    id = found[0]["id"]
    assert (await done(client.get(id)))["id"] == id
    changed = await done(client.update(id, text="I live in Lyon.", expiration_date="2990-01-01"))
    assert (changed["memory"], changed["expiration_date"]) == ("I live in Lyon.", "2990-01-01")
    assert (await done(client.update(id, expiration_date=None)))["expiration_date"] is None
    assert (await done(client.history(id)))[-1]["event"] == "UPDATE"
    assert {each["name"] for each in (await done(client.users()))["results"]} >= {"bob", "carl"}
    await done(client.batch_update([{"memory_id": id, "text": "I live in Nice."}]))
    await done(client.feedback(id, "POSITIVE"))
    both = (await done(client.get_all(filters={"OR": [{"user_id": "bob"}, {"user_id": "carl"}]})))["results"]
    assert {each["user_id"] for each in both} == {"bob", "carl"}, both
    assert (await done(client.project.get()))["name"] == (await done(client.get_project()))["name"] == "engrams"
    assert (await done(client.project.get_members()))["members"] == []
    for call, given in (
        (client.update_project, {"custom_instructions": "x"}), (client.project.update, {"multilingual": True}),
        (client.project.create, {"name": "x"}), (client.project.delete, {}), (client.project.add_member, {"email": "a@b.c"}),
        (client.project.update_member, {"email": "a@b.c", "role": "READER"}), (client.project.remove_member, {"email": "a@b.c"}),
        (client.update_profile_settings, {"enabled": False}), (client.create_memory_export, {"schema": json.dumps({"type": "object"})}),
    ):
        assert '"hint": "' in await refused(ValidationError, call, **given)
    assert "Nice" in (await done(client.get_summary(filters=mine)))["summary"]
    assert (await done(client.get_profile("bob")))["status"] in ("succeeded", "insufficient_data")
    job = await done(client.generate_profile("bob"))
    assert (await done(client.get_profile_job(job["status_url"])))["job"]["status"] == "succeeded"
    assert (await done(client.sample_profiles(limit=1)))["sampled"] == 1
    assert (await done(client.get_profile_settings()))["enabled"] is True
    await refused(MemoryNotFoundError, client.get_memory_export, filters=mine)
    hook = await done(client.create_webhook("https://example.org/x", "n", client.project.project_id, ["memory_delete"]))
    assert [each["name"] for each in await done(client.get_webhooks(client.project.project_id))] == ["n"]
    assert (await done(client.update_webhook(hook["webhook_id"], name="m")))["name"] == "m"
    await done(client.delete_webhook(hook["webhook_id"]))
    await refused(NotImplementedError, client.chat)
    await done(client.delete(id, delete_linked=True))
    await refused(MemoryNotFoundError, client.get, id)
    more = (await done(client.add("Gone with a batch.", user_id="bob", infer=False)))["results"][0]["id"]
    await done(client.batch_delete([{"memory_id": more}]))
    await refused(ValidationError, client.delete_all)
    await done(client.delete_all(user_id="bob"))
    assert (await done(client.get_all(filters=mine)))["results"] == []
    await done(client.delete_users(user_id="carl"))
    assert (await done(client.get_all(filters={"user_id": "carl"})))["results"] == []
    await done(client.add("Reset me.", user_id="dora", infer=False))
    await done(client.reset())
    assert (await done(client.get_all(filters={"user_id": "dora"})))["results"] == []
    print("done")

asyncio.run(play((AsyncMemoryClient if sys.argv[3] == "async" else MemoryClient)(api_key=sys.argv[2], host=sys.argv[1])))
"""


@pytest.fixture(scope="module")
def client_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with mem0's client in an environment of its own, or the one that
    TEST_MEM0_PYTHON names.
    """
    if given := os.environ.get("TEST_MEM0_PYTHON"):
        return given
    folder = tmp_path_factory.mktemp("client")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", "mem0ai==2.2.1"], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"mem0ai cannot be installed: {done.stderr[-200:]}")
    return python


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("keyed", [False, True])
def test_the_client_itself(tmp_path: Path, client_python: str, keyed: bool, kind: str) -> None:
    """Every public method of mem0's own clients works, or is refused with a hint;
    without a key and with one.
    """
    with temp_engine(user="nobody", serve__require_keys="always" if keyed else "auto") as engine:
        _, key = ApiKeyStore.open(engine.settings.home).add(
            "app", Scope(("app", "shop")), ("read", "write"), engine.now()
        )
        with running(create_app(engine, engine.settings)) as url:
            env = {**os.environ, "MEM0_TELEMETRY": "False", "MEM0_DIR": str(tmp_path)}
            command = [client_python, "-c", _SCRIPT, url, key if keyed else "anything", kind]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_read_says_whose_memories_it_wants(api: httpx2.Client) -> None:
    """A search or list without a user, agent, app or run is refused, as mem0 does: it would return
    everybody's memories. A star means all of them.
    """
    for user in ("w1", "w2"):
        add(api, f"The lamp of {user} is green.", user_id=user, infer=False)
    for path, body in (
        ("/v3/memories/search/", {"query": "lamp"}),
        ("/v3/memories/search/", {"query": "lamp", "filters": {"metadata": {"a": 1}}}),
        ("/v3/memories/", {}),
        ("/search", {"query": "lamp"}),
    ):
        refused = api.post(path, json=body)
        assert refused.status_code == 400, (path, body)
        assert "user_id" in refused.text and "w1" not in refused.text
    everybody = {"query": "lamp", "filters": {"user_id": "*"}}
    found = api.post("/v3/memories/search/", json=everybody).json()["results"]
    assert {"w1", "w2"} <= {each["user_id"] for each in found}
    either = {"query": "lamp", "filters": {"OR": [{"user_id": "w1"}, {"run_id": "none"}]}}
    (one,) = api.post("/v3/memories/search/", json=either).json()["results"]
    assert one["user_id"] == "w1"


def test_the_count_is_that_of_all_memories(api: httpx2.Client) -> None:
    """Each page has the number of all matching memories, however small the page is."""
    for number in range(5):
        add(api, f"Count text {number}.", user_id="counted", infer=False, metadata={"n": number})
    for page in (1, 2, 3, 4):
        query = {"page": page, "page_size": 2}
        body = {"filters": {"user_id": "counted"}}
        assert api.post("/v3/memories/", json=body, params=query).json()["count"] == 5
        body = {"filters": {"AND": [{"user_id": "counted"}, {"n": {"lt": 3}}]}}
        assert api.post("/v3/memories/", json=body, params=query).json()["count"] == 3


def test_metadata_is_that_of_the_sender(api: httpx2.Client, engine: MemoryEngine) -> None:
    """Nothing that engrams writes for itself is in the metadata; what is learned has the sender's."""
    add(api, "I live in Reading.", user_id="meta", metadata={"from": "form"})
    add(api, "I moved to Leeds.", user_id="meta", metadata={"from": "form"})
    engine.drain()
    listed = api.post("/v3/memories/", json={"filters": {"user_id": "meta"}}).json()["results"]
    assert len(listed) > 2
    assert [each["metadata"] for each in listed] == [{"from": "form"}] * len(listed)


def test_what_a_later_message_ended_says_so(api: httpx2.Client, engine: MemoryEngine) -> None:
    """A search names, on a message that is outdated, the memory that took its place."""
    add(api, "I live in Reading.", user_id="ended")
    moved = add(api, "I moved to Leeds.", user_id="ended")[0]["id"]
    engine.drain()
    body = {"query": "Where do I live?", "filters": {"user_id": "ended"}}
    found = {
        each["memory"]: each
        for each in api.post("/v3/memories/search/", json=body).json()["results"]
    }
    assert found["I moved to Leeds."]["outdated_by"] is None
    assert "I live in Reading." not in found or found["I live in Reading."]["outdated_by"] == moved


def test_only_who_has_memories_is_a_user(api: httpx2.Client) -> None:
    """The owner of the server is listed once he has a memory of his own."""
    add(api, "The key is red.", user_id="listed", infer=False)
    names = {each["name"] for each in api.get("/v1/entities/").json()["results"]}
    assert "listed" in names and "nobody" not in names


def test_roles_of_messages(api: httpx2.Client, engine: MemoryEngine) -> None:
    """Roles of other libraries are understood; an unknown one is refused, and nothing is stored."""
    said = [
        {"role": "human", "content": "I play the cello."},
        {"role": "ai", "content": "A fine one!"},
    ]
    stored = api.post("/v3/memories/add/", json={"messages": said, "user_id": "roles"}).json()
    roles = {
        event["memory"]: engine.get(event["id"], scope=("user", "nobody")).role
        for event in stored["results"]
    }
    assert (roles["I play the cello."], roles["A fine one!"]) == ("user", "assistant")
    wrong = [{"role": "banana", "content": "I play the oboe."}]
    refused = api.post("/v3/memories/add/", json={"messages": wrong, "user_id": "roles"})
    assert refused.status_code == 400 and "assistant" in refused.text
    assert "I play the oboe." not in memories(api, {"user_id": "roles"})
