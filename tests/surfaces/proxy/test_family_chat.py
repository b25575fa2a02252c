"""A family's chat: one proxy before a model server, whose model memory learns by."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.acceptance.process import Door, eventually, run, served

from engrams.testing import ScriptedModel

EXTRACT = "Below are numbered messages"


def message(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def configure(home: Path, text: str) -> Path:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text, "utf-8")
    return home


def asked(model: ScriptedModel, words: str) -> int:
    return sum(words in request.prompt for request in model.requests)


def states(text: str, quote: str, **fields: Any) -> dict[str, Any]:
    """A model's answer with one statement of the user."""
    return {
        "statements": [
            {
                "turn": 1,
                "text": text,
                "quote": quote,
                "subject": "user",
                "predicate": "keeps",
                "object": "bees",
                **fields,
            }
        ]
    }


@pytest.mark.slow
@pytest.mark.parametrize("named", ["config", "option"])
def test_a_wait_for_a_server_learns_by_its_model(home: Path, named: str) -> None:
    """`engrams status --wait` has the server do its jobs, or does them by the same model;
    never by rules instead.
    """
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
        with served(
            "default", home, model, "--upstream", f"{model.url}/v1", "--set", "write.min_words=1"
        ) as door:
            door.chat("I keep bees on the roof of our house.")
            told = run(home, arguments=("status", "--wait"), status=4)
            assert "uses another model than this command" in told and "config.toml" in told
            assert "waiting 1" in run(home, arguments=("status",))


@pytest.mark.slow
def test_commands_learn_by_the_upstream_of_the_settings(home: Path) -> None:
    """Without a server, too, what `config.toml` names as upstream is memory's model;
    doctor and status tell it.
    """
    with ScriptedModel().when(EXTRACT, states("Ann keeps bees.", "I keep bees")) as model:
        configure(home, f'[serve]\nupstream = "{model.url}/v1"\n')
        run(home, arguments=("add", "I keep bees on the roof.", "--role", "user"))
        run(home, arguments=("status", "--wait"))
        assert asked(model, EXTRACT) == 1
        assert "no language model" not in run(home, arguments=("doctor",))


def allergic(thing: str, quote: str, **fields: Any) -> dict[str, Any]:
    row = {
        "subject": "user",
        "predicate": "allergic_to",
        "object": thing,
        "category": "health",
        "confidence": "high",
    }
    return states(f"Ann is allergic to {thing}", quote, **row, **fields)


MUSSELS = allergic("mussels", "it is mussels", kind="correction", effect="corrects")
MUSSELS["statements"][0]["text"] = "Ann is allergic to mussels, not to shrimps."
MEETS = "how it meets what is known"


def learned(door: Door) -> list[Any]:
    """Current statements, oldest first."""
    found = door.get("/v1/memories", limit=100)["memories"]
    return [one for one in found if one["kind"] in ("fact", "correction")]


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_a_learned_correction_is_in_the_profile_and_the_wrong_value_is_not(
    home: Path, fails: bool
) -> None:
    """So with the model's verdict, and where the model never gives a usable one and rules decide."""
    verdict = {
        "decisions": [
            {
                "new": 1,
                "known": [1],
                "verdict": "replace",
                "confidence": "high",
                "reason": "corrected",
            }
        ]
    }
    with ScriptedModel().when(MEETS, "Certainly { as I said" if fails else verdict) as model:
        model.when(r"messages:.*it is mussels", MUSSELS).when(
            EXTRACT, allergic("shrimps", "allergic to shrimps")
        )
        configure(
            home,
            f'[serve]\nupstream = "{model.url}/v1"\n[write]\ndebounce_seconds ='
            " 0\n[jobs]\nmax_attempts = 1\n",
        )
        with served("default", home, model) as door:
            door.chat("I am allergic to shrimps.")
            eventually(lambda: learned(door), 30)
            door.chat("Sorry, that was wrong: it is mussels I am allergic to.")
            eventually(lambda: any("mussels" in one["text"] for one in learned(door)), 30)
            door.chat("What shall we cook?")
            prompt = door.prompt_of("What shall we cook?")
            assert (
                "mussels, not to shrimps" in prompt and "Ann is allergic to shrimps" not in prompt
            )


@pytest.mark.slow
def test_a_facts_triple_follows_its_text(home: Path) -> None:
    """Where the object never stood in the text word by word, an edit leaves no old value behind."""
    exam = states(
        "Ann's exam in maths is on 2026-12-03.",
        "my exam",
        predicate="has_exam",
        object="maths exam on December 3rd",
    )
    with ScriptedModel().when(EXTRACT, exam) as model:
        configure(home, f'[serve]\nupstream = "{model.url}/v1"\n[write]\ndebounce_seconds = 0\n')
        with served("default", home, model) as door:
            door.chat("Think of my exam in maths on December 3rd.")
            (fact,) = eventually(lambda: learned(door), 30)
            assert fact["object"] == "maths exam on December 3rd"
            fact = door.patch(
                f"/v1/memories/{fact['id']}", {"text": "Ann's exam in maths is on 2026-12-04."}
            )
            assert "3rd" not in str((fact["object"], fact["predicate"]))
            door.patch(
                f"/v1/memories/{fact['id']}",
                {"object": "exam on 2026-12-04", "predicate": "has_exam"},
            )
            fact = door.patch(
                f"/v1/memories/{fact['id']}", {"text": "Ann's exam in maths is on 2026-12-04!"}
            )
            assert fact["object"] == "exam on 2026-12-04"


@pytest.mark.slow
def test_what_is_said_during_an_outage_is_kept_once(home: Path) -> None:
    """An error, an upstream that is down, a client that leaves and a kill before the first word:
    each message is stored, and once.
    """
    said = [f"Ben's coat number {number} is blue." for number in range(4)]

    def stored(door: Door) -> list[str]:
        return [
            one["text"]
            for one in door.get("/v1/memories", limit=100, kind="turn")["memories"]
            if one["role"] == "user"
        ]

    with ScriptedModel() as model:
        configure(home, f'[serve]\nupstream = "{model.url}/v1"\nupstream_learns = false\n')
        with served("default", home, model) as door:
            model.fail("http_503")
            door.chat(said[0], status=503)
            model.fail("hang", when=said[1])
            with pytest.raises(httpx2.ReadTimeout):
                door.client.post("/v1/chat/completions", json=message(said[1]), timeout=1)
            model.stop()
            door.chat(said[2], status=502)
            model.heal().start()
            for text in said[:3]:
                door.chat(text)
            eventually(lambda: sorted(stored(door)) == said[:3])
            model.fail("hang", when=said[3])
            with pytest.raises(httpx2.ReadTimeout):
                door.client.post("/v1/chat/completions", json=message(said[3]), timeout=1)
            os.kill(json.loads((home / "serve.json").read_text())["pid"], signal.SIGKILL)
        with served("default", home, model) as door:
            assert sorted(stored(door)) == said
            door.chat(said[3])
            assert sorted(stored(door)) == said


@pytest.mark.slow
def test_an_upstream_that_fails_is_told_once(home: Path) -> None:
    """`serve` says that it is away at the start and that it is back;
    `doctor` names it; a path without /v1 has memory.
    """
    with ScriptedModel() as model:
        configure(home, f'[serve]\nupstream = "{model.url}/v1"\nupstream_learns = false\n')
        log = home.parent / "default.log"
        model.stop()
        assert "cannot be reached" in run(home, arguments=("doctor",), status=1)
        with served("default", home, model) as door:
            eventually(lambda: "cannot be reached" in log.read_text())
            for _ in range(2):
                door.chat("Ben's coat is blue.", status=502)
            model.start()
            door.chat("Ben's coat is blue.")
            answer = door.client.post(
                "/chat/completions", json=message("What colour is the coat of Ben?")
            )
            assert answer.status_code == 200 and "x-engrams-memory" in answer.headers
            told = log.read_text()
        assert (told.count("fails (ConnectError)"), told.count("answers again")) == (1, 1)


@pytest.mark.slow
def test_hints_about_keys_are_complete(home: Path) -> None:
    """A key says whose memory it opens;
    one that may not chat is told the command that makes one, for its person.
    """
    with ScriptedModel() as model:
        configure(
            home,
            f'[serve]\nupstream = "{model.url}/v1"\nupstream_learns = false\nrequire_keys ='
            ' "always"\n',
        )
        assert "your own memory" in run(home, arguments=("keys", "add", "anna"))
        told = run(home, arguments=("keys", "add", "phone", "--user", "anna"))
        assert "the memory of user/anna" in told and "--right proxy" in told
        with served("default", home, model) as door:
            door.client.headers["x-engrams-key"] = told.split()[0]
            assert (
                "`engrams keys add NAME --user anna --right read --right write --right proxy`"
                in door.chat("Hello there.", status=403).text
            )
