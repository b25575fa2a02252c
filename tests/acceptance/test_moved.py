"""README's own pair at every door of every preset: where somebody lives after they moved."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.acceptance.process import Door, run, served

from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply

QUESTION = "Where do I live?"
PRESETS = (
    "default",
    "proxy",
    *(
        pytest.param(preset, marks=pytest.mark.slow)
        for preset in ("cache", "engine", "graph", "layers")
    ),
)
INTRODUCTIONS = {
    "alone": "I live in Paris.",
    "with_more": "I'm vegetarian and I live in Paris.",
}
OPTIONS = {"layers": ("--set", "sessions.recall=true")}
"""Layers reads nothing into prompts until recall is switched on."""


def answer_nothing(request: ReceivedModelRequest) -> Any:
    """Answer like a model that learns nothing and judges nothing."""
    if request.schema is None:
        return ScriptedReply("Noted.")
    return {"statements": [], "decisions": [], "names": [], "ids": [1]}


@pytest.fixture(scope="module", params=["with_more", pytest.param("alone", marks=pytest.mark.slow)])
def introduction(request: pytest.FixtureRequest) -> str:
    """Return what is said of Paris first."""
    return INTRODUCTIONS[str(request.param)]


@pytest.fixture(scope="module", params=PRESETS)
def door(
    request: pytest.FixtureRequest, introduction: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Door]:
    """Serve a home that was told of Paris by rules, and weeks later of Berlin."""
    preset = str(request.param)
    home = tmp_path_factory.mktemp("moved") / "home"
    told = (introduction, "2026-01-10T09:00"), ("I moved to Berlin.", "2026-03-02T09:00")
    for text, said_at in told:
        run(home, "--preset", preset, "--at", said_at, arguments=("add", text))
    with (
        ScriptedModel(answer=answer_nothing) as model,
        served(
            preset, home, model, "--upstream", f"{model.url}/v1", *OPTIONS.get(preset, ())
        ) as door,
    ):
        yield door


def search_command(door: Door) -> str:
    return door.run("search", QUESTION)


def search_rest(door: Door) -> str:
    hits = door.post("/v1/search", {"query": QUESTION})["hits"]
    return "\n".join(json.dumps(hit) for hit in hits)


def search_mcp(door: Door) -> str:
    headers = {"accept": "application/json, text/event-stream"}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    opened = door.client.post("/mcp", headers=headers, json=make_call("initialize", hello))
    if session := opened.headers.get("mcp-session-id"):
        headers["mcp-session-id"] = session
    headers["mcp-protocol-version"] = "2025-06-18"
    arguments = {"name": "memory_search", "arguments": {"query": QUESTION}}
    return door.client.post("/mcp", headers=headers, json=make_call("tools/call", arguments)).text


def make_call(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}


def read_context(door: Door) -> str:
    return str(door.post("/v1/context", {"query": QUESTION})["text"])


def ask_proxy(door: Door) -> str:
    door.chat(QUESTION)
    prompt = door.prompt_of(QUESTION)
    if prompt or door.preset != "graph":
        return prompt
    # Preset graph gives with one message what the one before brought up, as soon as it has it.
    time.sleep(1)
    follow_up = "Where do I live now?"
    talk = [("user", QUESTION), ("assistant", "Noted."), ("user", follow_up)]
    messages = [{"role": role, "content": text} for role, text in talk]
    door.chat(follow_up, messages=messages)
    return door.prompt_of(follow_up)


def ask_hook(door: Door) -> str:
    event = {"session_id": "h", "prompt": QUESTION}
    options = ("--seconds", "50", *OPTIONS.get(door.preset, ()))
    names = ("SessionStart", "UserPromptSubmit", "UserPromptSubmit")
    return "\n".join(
        door.run("hook", *options, stdin=json.dumps({**event, "hook_event_name": name}))
        for name in names
    )


@pytest.mark.parametrize(
    "read", [search_command, search_rest, search_mcp, read_context, ask_proxy, ask_hook]
)
def test_the_new_home_comes_first(door: Door, read: Callable[[Door], str]) -> None:
    """Berlin is there, and Paris, where it is shown at all, stands behind it as over."""
    shown = read(door)
    assert "Berlin" in shown
    if "Paris" not in shown:
        return
    if shown.index("Berlin") > shown.index("Paris"):
        # Lines under their days stand in order of time.
        line = next(line for line in shown.splitlines() if "Paris" in line)
        assert "2 March 2026" in line or "2026-03-02" in line


def test_the_list_has_the_new_home_only(door: Door) -> None:
    """The page lists current statements: Berlin is one, Paris none."""
    records = door.get("/v1/memories", kind="fact")["memories"]
    texts = [record["text"] for record in records]
    assert any("Berlin" in text for text in texts)
    assert not any("Paris" in text for text in texts)
