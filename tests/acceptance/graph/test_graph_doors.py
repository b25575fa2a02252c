"""Small things at the doors of preset `graph`:
triggers with a write, its ground, memory that is off, what a model is sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.process import Door, run, served

from engrams.testing import ScriptedModel

NEVER = "Never leave debugging output in what is released"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """A server that learns by the model of its upstream."""
    home = tmp_path_factory.mktemp("doors") / "home"
    with (
        ScriptedModel() as model,
        served(
            "graph", home, model, "--upstream", f"{model.url}/v1", "--set", "chat.model=m"
        ) as found,
    ):
        yield found


@pytest.mark.covers("S3.36")
def test_a_negative_is_added_with_its_triggers(door: Door) -> None:
    """Over REST and by the command it surfaces on them at once, a procedure with its steps;
    a repetition adds what is new; messages have none.
    """
    body = {"text": NEVER, "kind": "negative", "triggers": ["dbg!"], "tags": ["rust"]}
    (made,) = door.post("/v1/memories", body, 201)["results"]
    kept = door.get(f"/v1/memories/{made['id']}")
    assert (kept["triggers"], kept["tags"]) == (["dbg!"], ["rust"])
    door.run("add", NEVER, "-k", "negative", "--trigger", "dbg!", "--trigger", "print!")
    assert door.get(f"/v1/memories/{made['id']}")["triggers"] == ["dbg!", "print!"]
    assert NEVER in door.post("/v1/context", {"query": "let x = print!(y);"})["text"]
    assert NEVER not in door.post("/v1/context", {"query": "let x = y;"})["text"]
    door.post("/v1/memories", {"messages": [{"content": "hello"}], "triggers": ["x"]}, 422)
    body = {"text": "Release the crate", "kind": "procedure", "triggers": ["cargo publish"]}
    more = {"prerequisites": ["Green CI"], "warnings": ["Never on a Friday"]}
    steps = ["Raise the version", "Tag the commit"]
    door.post("/v1/memories", {**body, **more, "steps": steps}, 201)
    told = door.post("/v1/context", {"query": "how do I cargo publish?"})["text"]
    assert re.search("Release the crate.*Raise the version.*Tag the commit", told, re.DOTALL)
    assert all(text in told for text in ("Green CI", "Never on a Friday"))
    door.post("/v1/memories", {"messages": [{"content": "hello"}], "warnings": ["x"]}, 422)


@pytest.mark.covers("S3.36")
def test_a_procedure_is_added_by_the_command(door: Door) -> None:
    """Its steps, prerequisites and warnings are options, and stand in the prompt."""
    parts = ("--step", "Revoke the old key", "--step", "Make a new one")
    parts += ("--prerequisite", "Two admins are there", "--warning", "Not at night")
    door.run("add", "Rotate the keys", "-k", "procedure", "--trigger", "key rotation", *parts)
    told = door.post("/v1/context", {"query": "it is time for the key rotation"})["text"]
    assert "Before: Two admins are there" in told and "Warning: Not at night" in told
    assert "Steps: 1) Revoke the old key; 2) Make a new one" in told


def test_show_tells_the_ground_of_a_memory(door: Door) -> None:
    """What was added by hand was stated by the user."""
    id = door.post("/v1/memories", {"text": "The boiler is blue"}, 201)["results"][0]["id"]
    assert json.loads(door.run("show", id, "--json"))["record"]["basis"] == "user_stated"
    assert "user_stated" in next(
        line for line in door.run("show", id).splitlines() if line.startswith("basis")
    )


def test_the_settings_say_what_the_running_server_sends(door: Door) -> None:
    """The upstream's model is what it learns by, so its address is named though the file names
    none.
    """
    told = door.get("/v1/settings/model")
    assert told["in_use"] and not told["restart"]
    assert door.model.url in told["destination"]


def test_a_write_while_memory_is_off_says_so(tmp_path: Path) -> None:
    """The receipt names the switch, and the hint is of it and not of secrets."""
    said = run(
        tmp_path / "home", arguments=("add", "I keep bees", "--set", "enabled=false"), status=4
    )
    assert (
        "memory is off" in said and "engrams config enabled" in said and "write.secrets" not in said
    )
