"""“Forget that”, said in a chat to the served program: done by memory, in every preset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.process import Door, lines, run, served

from engrams.testing import ReceivedModelRequest, ScriptedModel, ScriptedReply

PRESETS = (
    "default",
    "proxy",
    *(
        pytest.param(preset, marks=pytest.mark.slow)
        for preset in ("cache", "engine", "graph", "layers")
    ),
)
TOLD = "I play the cello."
REQUEST = "Forget that I play the cello."


def answer_nothing(request: ReceivedModelRequest) -> Any:
    """Answer like a model that claims everything, and learns nothing."""
    if request.schema is None:
        return ScriptedReply("Done, I have forgotten it!")
    return {"statements": [], "decisions": [], "names": [], "ids": [1]}


@pytest.fixture(scope="module", params=PRESETS)
def door(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Door]:
    """Serve a home that was told one thing by the command."""
    home = tmp_path_factory.mktemp("forget") / "home"
    run(home, "--preset", request.param, arguments=("add", TOLD))
    with ScriptedModel() as model:
        model.when("", answer_nothing)
        upstream = ("--upstream", f"{model.url}/v1")
        with served(request.param, home, model, *upstream) as door:
            yield door


def _say(door: Door, messages: list[dict[str, str]], text: str) -> str:
    messages.append({"role": "user", "content": text})
    body = {"model": "m", "messages": messages}
    answer = door.client.post("/v1/chat/completions", json=body).json()
    reply = str(answer["choices"][0]["message"]["content"])
    messages.append({"role": "assistant", "content": reply})
    return reply


def _list_statuses(door: Door) -> set[str]:
    (listed,) = lines(door.run("list", "--json", "--status", "all"))
    return {row["status"] for row in listed["records"] if "cello" in row["text"]}


def test_the_memory_is_forgotten_and_brought_back(door: Door) -> None:
    """The program asks back, forgets after a yes and restores at an undo; the model is not asked."""
    messages: list[dict[str, str]] = []
    assert "I play the cello" in _say(door, messages, REQUEST)
    assert "active" in _list_statuses(door)
    assert "Forgotten" in _say(door, messages, "yes")
    assert "active" not in _list_statuses(door)
    assert "It is back" in _say(door, messages, "undo")
    assert "active" in _list_statuses(door)
    assert not [request for request in door.model.requests if request.text in (REQUEST, "yes")]
