"""The three layers' document (004):
whose memory is read, and what of it goes into a prompt, at ``engrams serve --preset layers``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, run, served

from engrams.testing import ScriptedModel, ScriptedReply


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("reads") / "home"
    with (
        ScriptedModel(answer=lambda request: ScriptedReply("I see.")) as model,
        served(
            "layers",
            home,
            model,
            "--upstream",
            f"{model.url}/v1",
            "--set",
            "serve.upstream_learns=false",
            ENGRAMS_USER="",
        ) as door,
    ):
        yield door


def ask(door: Door, *texts: str, **headers: str) -> Any:
    """The answer to the last of some messages, those before it as history."""
    body = {"model": "m", "messages": [{"role": "user", "content": text} for text in texts]}
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return door.client.post("/v1/chat/completions", json=body, headers=sent)


@pytest.mark.covers("S4.43")
def test_nobodys_memory_is_refused(door: Door) -> None:
    """Without user and session there is no memory to guess:
    a clear refusal that names both ways, and nothing reaches the model.
    """
    before = len(door.model.requests)
    refused = ask(door, "Good evening", "From now on always call me Doctor Lindqvist.")
    assert refused.status_code == 400
    assert (
        "X-Engrams-User" in refused.text
        and "`user`" in refused.text
        and "X-Engrams-Session" in refused.text
    )
    assert len(door.model.requests) == before
    assert ask(door, "Good evening", x_engrams_session="t1").status_code == 200
    body = {"model": "m", "user": "kim", "messages": [{"role": "user", "content": "Good evening"}]}
    assert door.client.post("/v1/chat/completions", json=body).status_code == 200


@pytest.mark.covers("S4.44")
def test_a_thread_is_named_alike_everywhere(door: Door) -> None:
    """The header that names a thread in a chat names it for the memory routes;
    a refusal there names what HTTP has.
    """
    door.client.patch(
        "/api/memory/recall", json={"enabled": True}, headers={"x-engrams-session": "t2"}
    ).raise_for_status()
    ask(door, "My code is violet.", x_engrams_session="t2")
    counts = door.client.get("/api/memory/status", headers={"x-engrams-session": "t2"}).json()
    assert counts["recall_enabled"] is True
    refused = door.client.get("/api/memory/status")
    assert refused.status_code == 400
    assert "X-Engrams-User" in refused.text and "--user" not in refused.text


@pytest.mark.covers("S4.55")
def test_what_concerns_nobody_needs_no_name(door: Door) -> None:
    """Settings, jobs, the two logs and ``engrams status`` are about no one person, and ask for
    none.
    """
    for path in ("/v1/settings", "/v1/settings/model", "/v1/jobs", "/v1/safety", "/v1/feedback"):
        door.get(path)
    told = door.post(
        "/v1/safety", {"session": "sesame", "classifier": "rules", "severity": "high"}, status=201
    )
    assert told["outcome"] == "stored"
    assert [record["owner"] for record in door.get("/v1/safety")["records"]] == [None]
    door.post("/v1/feedback", {"session": "sesame", "label": "positive"}, status=201)
    assert "backlog" in run(
        door.home, "--preset", "layers", "--set", "user=", arguments=("status",)
    )


@pytest.mark.covers("S4.36")
def test_a_prompt_holds_what_bears_on_the_question(door: Door) -> None:
    """Rules always;
    facts when they bear on the message; the current value first found, each line once.
    """
    ann = {"x_engrams_user": "ann"}
    door.client.patch(
        "/api/memory/recall", json={"enabled": True}, headers={"x-engrams-user": "ann"}
    ).raise_for_status()
    for text, at in (
        ("I live in Lund with my cat Pim.", "2026-01-05"),
        ("In May we moved to Gothenburg.", "2026-05-20"),
    ):
        door.post("/v1/memories", {"text": text, "at": f"{at}T12:00:00Z"}, status=201, **ann)
    for text in ("My boss Harald shouts at everybody.", "Always answer in French."):
        door.post("/v1/memories", {"text": text}, status=201, **ann)
    found = door.post("/v1/search", {"query": "Where do I live?"}, **ann)
    assert "Gothenburg" in found["hits"][0]["memory"]["text"] and not found["abstain"]
    asked = ask(door, "Where do I live?", **ann, x_engrams_session="q1")
    sent = door.sent()
    lines = [line for line in sent.splitlines() if line.startswith("- ")]
    assert len(lines) == len(set(lines)) == int(asked.headers["x-engrams-memory"].partition(":")[2])
    assert "Gothenburg" in sent and "Harald" not in sent and "French" in sent
    ask(door, "How do I repair a dripping tap?", **ann, x_engrams_session="q2")
    assert "French" in door.sent() and "Harald" not in door.sent() and "Lund" not in door.sent()


def test_a_wrong_mode_is_told_all_modes(home: Path) -> None:
    """The message lists every mode there is."""
    told = run(
        home, "--preset", "layers", "--set", "sessions.mode=cloud", arguments=("status",), status=1
    )
    assert all(mode in told for mode in ("local", "synced", "incognito", "guest"))


@pytest.mark.covers("S4.41", "S4.39")
@pytest.mark.parametrize(
    ("memory", "status"),
    [
        *((wish, 200) for wish in ({"incognito": True}, {"incognito": "true"}, {"incognito": 1})),
        *((wish, 200) for wish in ({"incognito": "yes"}, {"mode": "incognito"}, {"mode": "guest"})),
        *((wish, 200) for wish in ("incognito", {"off": "on"})),
        *((wish, 400) for wish in ({"mode": "icognito"}, {"incognitoo": True})),
        *((wish, 400) for wish in ({"incognito": "please"}, {"incognito": 7}, "icognito")),
    ],
    ids=str,
)
def test_incognito_is_on_or_refused_and_never_silently_off(
    door: Door, memory: object, status: int
) -> None:
    """Whatever could mean it is it, and what is unclear is an error; nothing is stored either way."""
    secret = f"The code of the safe is {abs(hash(str(memory)))}"
    before = len(door.model.requests)
    body = {"model": "m", "messages": [{"role": "user", "content": secret}], "memory": memory}
    headers = {"x-engrams-user": "quiet", "x-engrams-session": "quiet"}
    answer = door.client.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert (len(door.model.requests) == before) is (status == 400)
    if status == 200:
        assert answer.headers["x-engrams-memory"] in ("skipped:incognito", "skipped:off")
    listed = door.client.get("/v1/export", headers={"x-engrams-user": "quiet"}).text
    assert secret not in listed


@pytest.mark.covers("S4.41")
@pytest.mark.parametrize(
    "wish", ["mode=incognito", "Incognito=true", "x-engrams-mode=guest", "off"]
)
def test_a_wish_for_privacy_in_the_address_is_refused_at_each_door_that_keeps_something(
    door: Door, wish: str
) -> None:
    """By rule and not by a list of paths; nothing reaches the model or the store."""
    text = f"The safe opens with {wish}"
    chat = {"model": "m", "messages": [{"role": "user", "content": text}]}
    headers = {"x-engrams-user": "silent", "x-engrams-session": "silent"}
    before = len(door.model.requests)
    doors = [
        (method.upper(), path)
        for path, operations in door.get("/openapi.json")["paths"].items()
        for method, operation in operations.items()
        if method in ("post", "put", "patch", "delete")
    ]
    assert len(doors) > 50
    for method, path in (*doors, ("POST", "/v1/chat/completions"), ("POST", "/api/chat")):
        body = {"text": text, "query": text, **chat}
        answer = door.client.request(method, f"{path}?{wish}", json=body, headers=headers)
        assert answer.status_code == 400, path
        assert "Nothing was stored" in answer.text, path
        assert answer.headers["referrer-policy"] == "no-referrer", path
    assert len(door.model.requests) == before
    assert text not in door.client.get("/v1/export", headers={"x-engrams-user": "silent"}).text
