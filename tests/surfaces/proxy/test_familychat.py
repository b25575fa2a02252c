"""A family's chat: one proxy before a model server, whose model memory learns by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import run, served

from engrams.testing import ScriptedModel

EXTRACT = "Below are numbered messages"


def configure(home: Path, text: str) -> Path:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text, "utf-8")
    return home


def asked(model: ScriptedModel, words: str) -> int:
    return sum(words in request.prompt for request in model.requests)


def states(text: str, quote: str, **fields: Any) -> dict[str, Any]:
    """A model's answer with one statement of the user."""
    return {"statements": [{"turn": 1, "text": text, "quote": quote, "subject": "user", "predicate": "keeps", "object": "bees", **fields}]}


@pytest.mark.slow
@pytest.mark.parametrize("named", ["config", "option"])
def test_a_wait_for_a_server_learns_by_its_model(home: Path, named: str) -> None:
    """`engrams status --wait` has the server do its jobs, or does them by the same model; never by rules instead."""
    with ScriptedModel().when(EXTRACT, states("Ann keeps bees.", "I keep bees")) as model:
        configure(home, f'[serve]\nupstream = "{model.url}/v1"\n' if named == "config" else "")
        options = () if named == "config" else ("--upstream", f"{model.url}/v1")
        with served("default", home, model, *options) as door:
            door.chat("I keep bees on the roof of our house.")
            assert asked(model, EXTRACT) == 0
            run(home, arguments=("status", "--wait"))
            assert asked(model, EXTRACT) == 1
            assert "Ann keeps bees." in run(home, arguments=("list",))


@pytest.mark.slow
def test_a_wait_refuses_to_learn_otherwise_than_the_server(home: Path) -> None:
    """A server with options of its own keeps its jobs: the command says so, and touches none."""
    with ScriptedModel().when(EXTRACT, states("Ann keeps bees.", "I keep bees")) as model:
        configure(home, "")
        with served("default", home, model, "--upstream", f"{model.url}/v1", "--set", "write.min_words=1") as door:
            door.chat("I keep bees on the roof of our house.")
            told = run(home, arguments=("status", "--wait"), status=4)
            assert "learns by a model of its own" in told and "config.toml" in told
            assert "waiting 1" in run(home, arguments=("status",))


@pytest.mark.slow
def test_commands_learn_by_the_upstream_of_the_settings(home: Path) -> None:
    """Without a server, too, what `config.toml` names as upstream is memory's model; doctor and status tell it."""
    with ScriptedModel().when(EXTRACT, states("Ann keeps bees.", "I keep bees")) as model:
        configure(home, f'[serve]\nupstream = "{model.url}/v1"\n')
        run(home, arguments=("add", "I keep bees on the roof.", "--role", "user"))
        run(home, arguments=("status", "--wait"))
        assert asked(model, EXTRACT) == 1
        assert "no language model" not in run(home, arguments=("doctor",))
