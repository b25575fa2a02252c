"""Model servers that refuse part of a request: memory learns all the same, and says so."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Record
from engrams.program.main import main
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")
LATE = datetime(2026, 3, 2, 3, tzinfo=UTC)
STATEMENT = {
    "turn": 1,
    "text": "Ann lives in Lisbon.",
    "quote": "I live in Lisbon",
    "subject": "user",
    "predicate": "lives_in",
    "object": "Lisbon",
}
SERVERS: dict[str, tuple[int, bool, tuple[str, ...]]] = {
    "schema-by-500": (500, True, ("json_schema",)),
    "schema-by-500-without-words": (500, False, ("json_schema",)),
    "any-format-by-500-without-words": (500, False, ("schema",)),
    "tools-only": (400, True, ("schema",)),
    "json-object-only": (422, True, ("json_schema", "object_schema", "tools")),
    "words-only": (400, True, ("schema", "tools")),
    "no-temperature": (400, True, ("temperature",)),
    "no-system-role": (500, True, ("system", "json_schema")),
    "max-completion-tokens": (400, True, ("max_tokens",)),
    "streams-only": (400, True, ("whole",)),
}

FORMS = {
    "schema-by-500": "object_schema",
    "schema-by-500-without-words": "object_schema",
    "any-format-by-500-without-words": "tool",
    "tools-only": "tool",
    "json-object-only": "object",
    "words-only": "prompt",
    "no-system-role": "object_schema",
}
"""Form in which each of these servers gives JSON; the others take a schema."""


def scripted(status: int, words: bool, lacks: Collection[str]) -> ScriptedModel:
    model = ScriptedModel(lacks=lacks)  # type: ignore[arg-type]
    model.refusal_status = status
    model.refusal_words = words
    model.when("Below are numbered messages", {"statements": [STATEMENT]})
    model.when("name of any city", {"city": "Lisbon"})
    return model


def open_memory(home: Path, model: ScriptedModel, clock: SettableClock) -> MemoryEngine:
    return engrams.open(
        home=home,
        clock=clock,
        chat__provider="openai",
        chat__model="m",
        chat__url=model.url,
        jobs__workers=0,
    )


def requests_of(model: ScriptedModel) -> int:
    return sum(request.route == "chat" for request in model.requests)


@pytest.mark.parametrize("server", SERVERS)
def test_a_conversation_is_learned(home: Path, server: str) -> None:
    """The learning job ends well, and the next process asks at once in the form that works."""
    clock = SettableClock("2026-03-02")
    with scripted(*SERVERS[server]) as model:
        with open_memory(home, model, clock) as memory:
            memory.observe([Turn("I live in Lisbon.", session="a")], scope=ANN)
            facts: tuple[Record, ...] = ()
            while not facts and clock() < LATE:
                clock.forward(minutes=5)
                memory.drain(20)
                facts = memory.list(scope=ANN, kinds=(Kind.FACT,)).records
            assert [record.text for record in facts] == ["Ann lives in Lisbon."]
            assert memory.status()["dead"] == []
        earlier = requests_of(model)
        with open_memory(home, model, clock) as memory:
            memory.observe([Turn("I live in Lisbon.", session="b")], scope=ANN)
            clock.forward(minutes=5)
            memory.drain(20)
        assert requests_of(model) == earlier + 1


@pytest.mark.parametrize("server", SERVERS)
def test_the_doctor_finds_the_form(
    home: Path, capsys: pytest.CaptureFixture[str], server: str
) -> None:
    """The check passes, and says which form works and what the server refuses, in its words."""
    status, words, lacks = SERVERS[server]
    with scripted(status, words, lacks) as model:
        options = ["--set", "chat.provider=openai", "--set", "chat.model=m"]
        options += ["--set", f"chat.url={model.url}"]
        main(["doctor", "--home", str(home), "--json", *options])
        checks = json.loads(capsys.readouterr().out)["checks"]
    (chat,) = [check for check in checks if check["name"] == "chat"]
    assert chat["state"] == "ok", chat
    assert f"JSON by {FORMS.get(server, 'schema')}" in chat["detail"]
    refused = {"json_schema": "json schema", "schema": "json schema", "whole": "stream"}
    name = refused.get(lacks[0], lacks[0])
    if name != "system":
        assert f"refuses {name}" in chat["detail"]
        assert f"status {status}" in chat["detail"]


def test_a_failure_is_told_in_the_servers_words(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the server said stands in the job's error and at the doctor, without the request."""
    clock = SettableClock("2026-03-02")
    with ScriptedModel() as model:
        model.fail("http_400", times=99)
        with open_memory(home, model, clock) as memory:
            memory.observe([Turn("My sister Olga lives in Turin.", session="a")], scope=ANN)
            clock.forward(minutes=5)
            memory.drain(20)
            (job,) = memory.status()["dead"]
        assert "Scripted failure while answering" in job["error"]
        assert "Olga" not in job["error"]
        options = ["--set", "chat.provider=openai", "--set", "chat.model=m"]
        options += ["--set", f"chat.url={model.url}"]
        main(["doctor", "--home", str(home), "--json", *options])
        checks = json.loads(capsys.readouterr().out)["checks"]
    (chat,) = [check for check in checks if check["name"] == "chat"]
    assert "Scripted failure while answering" in chat["detail"]


def test_init_finds_the_form_without_retries(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that fails without a word at a schema can be set up."""
    with scripted(500, False, ("schema",)) as model:
        assert main(["init", "--home", str(home), "--url", model.url, "--json"]) == 0
        assert "JSON by" in json.loads(capsys.readouterr().out)["tested"]
