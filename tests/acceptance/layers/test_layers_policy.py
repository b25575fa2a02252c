"""The three layers' document (004):
the model's write policy and implied wishes, at ``engrams serve --preset layers``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, run, served

from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply

POLICY = "You decide what an assistant may remember"
RULINGS = {
    "oboe": "commit_now",
    "nothing": "commit_at_session_end",
    "worthless": "require_repetition",
    "weather": "drop",
}
WISHES = {"metaphors": 0.4, "joke": 0.55, "French": 0.95}


def answer(request: ReceivedModelRequest) -> Any:
    """A model that extracts each message as one statement, rules by its words, and talks."""
    said = re.findall(r'(?m)^\[(\d+)\].*?: "(.*)"$', request.prompt.split("The messages:")[-1])
    if POLICY in request.prompt:
        listed = re.findall(r"(?m)^(\d+)\. (.*)$", request.prompt.split("The statements:")[-1])
        found = [
            (int(n), next((a for word, a in RULINGS.items() if word in text), "commit_now"))
            for n, text in listed
        ]
        return {
            "rulings": [{"id": n, "action": action, "reason": "so it is"} for n, action in found]
        }
    if "how the assistant is to behave" in request.prompt:
        rows = [(n, text, c) for n, text in said for word, c in WISHES.items() if word in text]
        made = {"subject": "assistant", "predicate": "always", "kind": "rule"}
        return {
            "statements": [
                {**made, "turn": int(n), "text": t, "quote": t, "object": t, "confidence": c}
                for n, t, c in rows
            ]
        }
    if "Take: who people are" in request.prompt:
        rows = [(n, text) for n, text in said if not any(word in text for word in WISHES)]
        made = {"subject": "user", "predicate": "says", "kind": "fact", "confidence": 0.9}
        return {
            "statements": [
                {**made, "turn": int(n), "text": t, "quote": t, "object": t} for n, t in rows
            ]
        }
    return ScriptedReply("I see.") if request.schema is None else {}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("policy") / "home"
    with ScriptedModel(answer=answer) as model:
        chat = (
            "chat.provider=openai",
            "chat.model=m",
            f"chat.url={model.url}/v1",
            "chat.retries=0",
        )
        more = ("jobs.backoff_seconds=0.2", "write.reconcile=rules")
        options = [part for setting in (*chat, *more) for part in ("--set", setting)]
        with served("layers", home, model, "--upstream", f"{model.url}/v1", *options) as door:
            yield door


def tell(door: Door, user: str, *texts: str) -> None:
    """Say the last of some texts; those before it are the history."""
    messages = [{"role": "user", "content": text} for text in texts]
    door.post(
        "/v1/chat/completions",
        {"model": "m", "messages": messages},
        x_engrams_user=user,
        x_engrams_session="s",
    )


def known(door: Door, user: str) -> dict[str, str]:
    """Texts of a person's facts and rules, with their status."""
    query = {"kind": ["fact", "rule"], "status": ["active", "candidate"]}
    answer = door.client.get("/v1/memories", params=query, headers={"x-engrams-user": user})
    return {one["text"]: one["status"] for one in answer.json()["memories"]}


def stored_ids(door: Door, user: str) -> dict[str, str]:
    """Ids by text: of a person's statements, and of their messages that none stands for."""
    ids: dict[str, str] = {}
    for kind in ("turn", "fact"):
        query = {"kind": kind, "status": ["active", "candidate"]}
        rows = door.client.get("/v1/memories", params=query, headers={"x-engrams-user": user})
        ids |= {row["text"]: row["id"] for row in rows.json()["memories"] if row["role"] == "user"}
    return ids


def is_quiet(door: Door) -> bool:
    """True if nothing is left to learn."""
    counts = door.get("/v1/jobs")["jobs"]
    return not any(
        counts.get(kind, {}).get(state)
        for kind in ("extract", "policy", "finalise")
        for state in ("waiting", "running")
    )


@pytest.mark.covers("S4.3")
def test_the_model_rules_on_every_write(door: Door) -> None:
    """With a chat model and nothing else set, each of its four actions is obeyed, and its reason is
    in the history of what it stored or held, or of the message that it dropped a statement of.
    """
    tell(door, "ada", "I play the oboe")
    tell(door, "ada", "I believe in nothing")
    tell(door, "ada", "I feel worthless at work")
    tell(door, "ada", "I see the weather is fine")
    eventually(lambda: len(known(door, "ada")) == 3 and is_quiet(door))
    assert known(door, "ada") == {
        "I play the oboe": "active",
        "I believe in nothing": "candidate",
        "I feel worthless at work": "candidate",
    }
    reasons = {
        text: door.client.get(f"/v1/memories/{id}/history", headers={"x-engrams-user": "ada"}).text
        for text, id in stored_ids(door, "ada").items()
    }
    assert len(reasons) == 4
    assert all("llm_policy: so it is" in reason for reason in reasons.values()), reasons
    tell(door, "ada", "As I said", "I feel worthless at work")
    eventually(lambda: known(door, "ada").get("I feel worthless at work") == "active")


@pytest.mark.covers("S4.9")
def test_a_policy_that_fails_holds_and_asks_again(door: Door) -> None:
    """Where the model fails, an explicit statement is held, seen as a job, and stored once the
    model judges it.
    """
    door.model.fail("http_500", times=2, when=POLICY)
    tell(door, "bob", "Remember that I own a blue boat")
    eventually(lambda: list(known(door, "bob").values()) == ["candidate"])
    eventually(lambda: list(known(door, "bob").values()) == ["active"])
    assert is_quiet(door)


@pytest.mark.covers("S4.16")
def test_an_implied_wish_is_held_until_it_is_repeated(door: Door) -> None:
    """Under any confidence neither stored at once nor lost:
    said once it stays held, said twice it is a rule at the session's end.
    """
    tell(door, "gil", "Maybe begin with a joke")
    tell(door, "gil", "You know, metaphors help me more")
    tell(door, "gil", "Answer in French")
    eventually(lambda: len(known(door, "gil")) == 3)
    held = {
        "Maybe begin with a joke": "candidate",
        "You know, metaphors help me more": "candidate",
        "Answer in French": "active",
    }
    assert known(door, "gil") == held, "below write.hold_below no model stores it at once"
    tell(door, "gil", "As I said", "You know, metaphors help me more")
    eventually(lambda: is_quiet(door))
    assert known(door, "gil") == held
    ended = door.post("/v1/sessions/s/end", x_engrams_user="gil")
    assert ended["state"] in ("active", "interrupted", "rotation_required")
    eventually(lambda: known(door, "gil")["You know, metaphors help me more"] == "active")


@pytest.mark.covers("S4.16")
@pytest.mark.slow
def test_an_implied_wish_without_a_model(home: Path) -> None:
    """By rules too: held once, and a rule when it was said twice in a conversation that ended."""
    for said, status in (
        ("I guess I prefer short answers.\n", "candidate"),
        ("I guess I prefer short answers.\n" * 2, "active"),
    ):
        run(home, "--preset", "layers", "--user", status, arguments=("chat",), stdin=said)
        listed = run(
            home,
            "--preset",
            "layers",
            "--user",
            status,
            arguments=("list", "--kind", "rule", "--status", "all", "--json"),
        )
        assert re.findall(r'"status": ?"(\w+)"', listed) == [status]


@pytest.mark.covers("S4.12")
def test_a_crisis_that_is_reported_ends_learning_in_its_session(door: Door) -> None:
    """From a grave crisis on, no model is asked what the session's messages tell; another session is
    learned from, and so is the same one after a false alarm.
    """
    tell(door, "eve", "hello")
    report = {"session": "s", "classifier": "model", "severity": "high"}
    door.post("/v1/safety", report, 201, x_engrams_user="eve")
    tell(door, "eve", "I play the viola")
    tell(door, "joe", "I play the banjo")
    eventually(lambda: known(door, "joe") and is_quiet(door))
    assert not known(door, "eve")
    asked = [request.prompt for request in door.model.requests if request.schema is not None]
    assert not [prompt for prompt in asked if "viola" in prompt]
    door.post("/v1/safety", {**report, "severity": "none"}, 201, x_engrams_user="eve")
    tell(door, "eve", "I play the tuba")
    eventually(lambda: known(door, "eve") and is_quiet(door))
    assert list(known(door, "eve")) == ["I play the tuba"]
