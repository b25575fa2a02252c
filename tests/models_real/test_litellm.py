"""LiteLLM's proxy, a gateway that many put before their models, on both sides of engrams: memory
learns by its models, and chats go through it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, served
from tests.models_real.conftest import GATEWAY_KEY

from engrams.program.main import main
from engrams.testing import ScriptedModel

SAID = "My sister Olga keeps bees in Turin."
QUESTION = "Who keeps bees?"


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """Run the command, and read what it prints."""
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def set_up(home: Path, gateway: str, model: str, *options: str) -> list[str]:
    """Return the command that connects a home to a model of the gateway."""
    connection = ["--url", gateway, "--model", model, "--api-key", GATEWAY_KEY]
    return ["init", "--home", str(home), *connection, *options]


def list_facts(door: Door) -> list[str]:
    return [row["text"] for row in door.get("/v1/memories", kind="fact")["memories"]]


def test_init_learning_and_search(
    gateway: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A statement comes through it with its quote. Its embedder gives one vector for every text:
    memory is found by its words.
    """
    # The gateway gives one vector for a request, however many texts it has.
    monkeypatch.setenv("ENGRAMS_EMBED__BATCH_SIZE", "1")
    home = ["--home", str(tmp_path)]
    command = set_up(tmp_path, gateway, "learner", "--embedding-model", "best")
    written = run_json(capsys, *command)
    assert "JSON by schema" in written["tested"]
    assert written["embedding_model"] == "steady-embed"
    assert main(["add", *home, "--speaker", "user", SAID]) == 0
    assert main(["add", *home, "The kettle whistles."]) == 0
    capsys.readouterr()
    status = run_json(capsys, "status", *home, "--wait")
    assert status["dead"] == []
    facts = run_json(capsys, "list", *home, "--kind", "fact")
    assert "Olga" in json.dumps(facts)
    hits = run_json(capsys, "search", *home, QUESTION)
    assert "Olga" in json.dumps(hits)


def test_a_refusal_is_told_in_the_gateways_words(
    gateway: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written for a model that it refuses to ask."""
    assert main([*set_up(tmp_path, gateway, "busy"), "--yes"]) != 0
    assert "mock rate limit error" in capsys.readouterr().err
    assert not (tmp_path / "config.toml").exists()


def test_chats_through_both(gateway: str, tmp_path: Path) -> None:
    """Whole and streamed chats have memory, and the gateway's model learns from them."""
    texts = (
        f"serve.upstream_key={GATEWAY_KEY}",
        "chat.model=learner",
        "write.debounce_seconds=0",
    )
    settings = [part for text in texts for part in ("--set", text)]
    with (
        ScriptedModel() as unused,
        served("default", tmp_path, unused, "--upstream", gateway, *settings) as door,
    ):
        door.chat(SAID, model="learner")
        eventually(lambda: list_facts(door), seconds=60)
        assert [text for text in list_facts(door) if "Olga" in text]
        answer = door.chat(QUESTION, model="learner")
        assert answer.headers["x-engrams-memory"].startswith("used:")
        assert answer.json()["choices"][0]["message"]["content"].startswith("{")
        body = {
            "model": "learner",
            "stream": True,
            "messages": [{"role": "user", "content": "Where does Olga live?"}],
        }
        with door.client.stream("POST", "/v1/chat/completions", json=body) as stream:
            assert stream.status_code == 200
            assert "".join(stream.iter_text()).rstrip().endswith("[DONE]")
        refused = door.chat("Hello, are you there?", status=429, model="busy")
        assert "mock rate limit error" in refused.text
