"""Every door tells before and after what a change does to the messages behind a memory;
questions are no memories.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.program.test_serve import served
from tests.surfaces.mcp.conftest import call

from engrams import MemoryEngine, Turn
from engrams.core import Kind, Scope, Status
from engrams.program.registry import create_mcp_server
from engrams.testing import temp_engine
from engrams.text.questions import is_asking

ANN = ("user", "ann")
ALONE = "I'm allergic to cashews."
BOTH = "I'm allergic to cashews and I live in Berlin."
RUN = [sys.executable, "-m", "engrams.program.entry"]


def run(home: Path, *words: str, stdin: str = "") -> Any:
    done = subprocess.run(
        [*RUN, *words, "--home", str(home), "--user", "ann", "--json"],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return (
        [json.loads(line) for line in done.stdout.splitlines()]
        if "chat" in words
        else json.loads(done.stdout)
    )


def learned(engine: MemoryEngine, text: str, word: str = "cashews") -> tuple[str, str]:
    """Ids of a message and of the fact with the word."""
    receipt = engine.add(Turn(text), scope=ANN)
    return receipt.id, next(made.id for made in receipt.derived if word in made.text)


def test_the_rest_api_as_a_process(home: Path) -> None:
    """A preview changes nothing;
    forget, edit and purge answer with what they reached; lists show no corrected words.
    """
    with served(home, "--user", "ann") as url, httpx2.Client(base_url=url, timeout=30) as client:
        ids = []
        for text in (ALONE, BOTH):
            added = client.post("/v1/memories", json={"text": text}).json()["results"][0]
            ids.append(
                (
                    added["id"],
                    next(one["id"] for one in added["learned"] if "cashews" in one["text"]),
                )
            )
        (first, fact), (second, _) = ids
        before = client.post("/v1/preview", json={"ids": [fact], "action": "forget"}).json()
        assert {one["id"]: one["effect"] for one in before["sources"]} | dict.fromkeys(
            before["also_said_in"], "also"
        ) == {
            first: "forgotten",
            second: "shortened" if second in str(before["sources"]) else "also",
        }
        assert client.get(f"/v1/memories/{fact}").json()["status"] == "active"
        done = client.delete(f"/v1/memories/{fact}").json()
        assert (done["status"], done["sources"], done["also_said_in"]) == (
            "forgotten",
            before["sources"],
            before["also_said_in"],
        )
        assert client.get(f"/v1/memories/{first}").json()["status"] == "forgotten"
        assert client.post(f"/v1/memories/{fact}/restore").json()["status"] == "active"
        assert client.get(f"/v1/memories/{first}").json()["status"] == "active"
        edited = client.patch(
            f"/v1/memories/{fact}", json={"text": "The user is allergic to pecans"}
        ).json()
        assert "superseded" in [one["effect"] for one in edited["sources"]]
        assert (
            client.patch(f"/v1/memories/{fact}", json={"importance": 0.9}).json()["sources"] == []
        )
        erased = client.post("/v1/purge", json={"ids": [fact]}).json()
        assert {"sources", "also_said_in", "removed", "proven"} <= erased.keys()
        assert "cashews" not in str(erased)


def test_lists_show_a_shortened_message_without_the_words() -> None:
    """Get, list, readable export and their metadata leave the corrected words out, and new metadata
    does not bring them back.
    """
    with temp_engine() as engine:
        source, fact = learned(engine, BOTH)
        engine.edit(fact, scope=ANN, text="The user is allergic to pecans")
        shown = engine.get(source, scope=ANN)
        assert "[corrected on " in shown.text and "Berlin" in shown.text
        assert (
            "cashews"
            not in f"{shown.text}{shown.meta}{[one.text for one in engine.list(scope=ANN).records]}"
        )
        file = engine.settings.home.with_name("export.md")
        engine.dump(file, scope=ANN, format="markdown")
        told = "".join(one.read_text() for one in [file, *file.rglob("*.md")] if one.is_file())
        assert "Berlin" in told and "cashews" not in told
        engine.edit(source, scope=ANN, fields={"meta": {"seen": True}})
        assert "cashews" not in engine.get(source, scope=ANN).text


def test_an_episode_stays_away_until_all_that_it_says_is_back() -> None:
    """Two messages of a session are forgotten;
    its episode, which says both, returns with the second restored one.
    """
    with temp_engine() as engine:
        turns = [
            Turn(f"Parcel {place} waits in the hall of house 7 in {place}.", session="walk")
            for place in ("Lisbon", "Turin", "Ghent", "Porto", "Brno", "Graz")
        ]
        first, second, *_ = (receipt.id for receipt in engine.observe(turns, scope=ANN))
        engine.sessions.end("walk", scope=ANN)
        while not [one for one in engine.list(scope=ANN).records if one.kind is Kind.EPISODE]:
            engine.drain(1)  # it waits for what is learned from the messages
        engine.forget(first, scope=ANN)
        engine.forget(second, scope=ANN)
        for back, shown in ((first, False), (second, True)):
            engine.restore(back, scope=ANN)
            told = [one.text for one in engine.list(scope=ANN).records if one.kind is Kind.EPISODE]
            assert ["Turin" in text for text in told] == [True] * shown


def test_restoring_one_of_two_statements_brings_back_its_words_alone() -> None:
    """Two facts of one message are forgotten and restored one after the other."""
    with temp_engine() as engine:
        source, fact = learned(engine, BOTH)
        other = next(
            one.id
            for one in engine.list(scope=ANN).records
            if "Berlin" in one.text and one.evidence
        )
        before = engine.get(source, scope=ANN)
        engine.forget(fact, scope=ANN)
        engine.forget(other, scope=ANN)
        assert engine.get(source, scope=ANN).status is Status.FORGOTTEN
        engine.restore(fact, scope=ANN)
        half = engine.get(source, scope=ANN)
        assert (half.status, "cashews" in half.text, "Berlin" in half.text) == (
            Status.ACTIVE,
            True,
            False,
        )
        engine.restore(other, scope=ANN)
        after = engine.get(source, scope=ANN)
        assert (after.status, after.text, after.meta) == (before.status, before.text, before.meta)


async def test_an_assistants_tools() -> None:
    """memory_delete and memory_update tell what they reach; a preview changes nothing."""
    with temp_engine() as engine:
        from mcp import Client

        source, fact = learned(engine, BOTH)
        async with Client(create_mcp_server(engine, Scope(ANN), "full")) as tools:
            before = await call(tools, "memory_delete", id=fact, preview=True)
            assert (before["status"], [one["effect"] for one in before["sources"]]) == (
                "active",
                ["shortened"],
            )
            edited = await call(
                tools, "memory_update", id=fact, text="The user is allergic to pecans"
            )
            assert [(one["id"], one["effect"]) for one in edited["sources"]] == [
                (source, "shortened")
            ]
            assert "cashews" not in (await call(tools, "memory_get", id=source))["text"]
            assert (await call(tools, "memory_delete", id=fact))["status"] == "forgotten"


@pytest.mark.slow
def test_the_command_line(home: Path) -> None:
    """`--preview` changes nothing, and `--json` of forget, edit and purge has the sources."""
    fact = next(one["id"] for one in run(home, "add", ALONE)["derived"])
    before = run(home, "forget", fact, "--preview")
    (done,) = run(home, "forget", fact)
    assert before["sources"] == done["sources"]
    assert [one["effect"] for one in done["sources"]] == ["forgotten"]
    run(home, "restore", fact)
    edited = run(home, "edit", fact, "The user is allergic to pecans")
    assert [one["effect"] for one in edited["sources"]] == ["superseded"]
    erased = run(home, "purge", fact, "--confirm", "purge")
    assert erased["sources"] and "cashews" not in json.dumps(erased)


def test_get_says_what_to_call(home: Path) -> None:
    """`engrams get 1` names show and list, and `show 1` says how ids look."""
    get, show = (
        subprocess.run(
            [*RUN, word, "1", "--home", str(home)], capture_output=True, text=True, timeout=60
        )
        for word in ("get", "show")
    )
    assert (
        "engrams show ID" in get.stderr
        and "engrams list" in get.stderr
        and "forget" not in get.stderr
    )
    assert "26 letters and digits" in show.stderr


def test_a_chats_questions_are_no_memories(home: Path) -> None:
    """A repeated question finds its answer, not itself; "forget that" means the answer."""
    said = "I live in Bonn.\nWhere do I live?\nWhere do I live?\nForget that.\nno\n"
    told = run(home, "chat", stdin=said)
    assert "Bonn" in told[2]["answer"] and "Where" not in str(told[2]["hits"])
    assert "Bonn" in told[3]["answer"] and "Where" not in told[3]["answer"]
    assert "Where" not in str(run(home, "list"))
    assert "Where" not in str(run(home, "search", "Where do I live?"))
    assert "Where do I live?" in str(run(home, "list", "--status", "all"))


def test_the_offline_proxys_answers_are_no_memories(home: Path) -> None:
    """Neither questions nor quotes of a server without a model come back from search, context and
    lists.
    """
    with served(home, "--user", "ann") as url, httpx2.Client(base_url=url, timeout=30) as client:
        for text in (
            "I live in Bonn.",
            "Where do I live?",
            "Refactor the parser module",
            "Where do I live?",
        ):
            answer = client.post(
                "/v1/chat/completions",
                json={"model": "m", "messages": [{"role": "user", "content": text}]},
            ).json()
        assert "Bonn" in answer["choices"][0]["message"]["content"]
        assert "Where" not in str(answer["memory_hits"])
        shown = [
            client.post("/v1/search", json={"query": "Where do I live?"}).text,
            client.post(
                "/v1/context", json={"query": "Refactor the parser module", "tokens": 500}
            ).json()["text"],
            client.get("/v1/memories").text,
        ]
        assert "Bonn" in shown[0]
        assert not any(
            word in text for text in shown for word in ("Where do I", "Refactor", "offline")
        )


def test_a_question_stays_a_neighbour_of_its_answer() -> None:
    """The archived question still helps to find what answers it;
    with `write.questions` recall it is found itself.
    """
    said = [
        Turn("Which car should I buy?", session="s"),
        Turn("The blue one, I think.", "assistant", session="s"),
    ]
    with temp_engine() as engine:
        receipts = engine.observe(said, scope=ANN)
        assert receipts[0].searchable == () and receipts[1].searchable
        hits = engine.search("car to buy", scope=ANN).hits
        assert [hit.record.text for hit in hits] == ["The blue one, I think."]
        assert (
            engine.search("car to buy", scope=ANN, history=True).hits[0].record.text == said[0].text
        )
    with temp_engine(write__questions="recall") as engine:
        engine.observe(said, scope=ANN)
        assert said[0].text in [
            hit.record.text for hit in engine.search("car to buy", scope=ANN).hits
        ]


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?", "Hey Claude, what's my sister's name?", "Can you tell me where I live?", "Refactor the parser module",
        "Please fix the failing test in test_gate.py.", "Wo wohne ich?", "¿Dónde vivo?", "Où est-ce que j'habite ?", "我住在哪里？",
        "私はどこに住んでいますか？", "May we deploy on Fridays?", "Dürfen wir freitags ausliefern?", "Müssen wir uns anmelden?",
        "Könnten wir den Raum haben?", "Wollt ihr den Raum haben?",
    ],
)  # fmt: skip
def test_what_only_asks(text: str) -> None:
    """Questions and short requests to the assistant, in six languages."""
    assert is_asking(text)


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Bonn, do you know a good bakery there?", "Do you know a good bakery in Bonn, I just moved there?",
        "Can you recommend a restaurant for my wife's birthday on May 5?", "What should I eat because I'm vegan?",
        "Bob moved to Bonn, right?", "Always use tabs.", "Call me Bob.", "Remember that I like tea.", "Test results came back negative.",
        "May I introduce my sister Anna Berg?",
        "Did you know I got married?", "Guess what? I got the job!", "Ich bin nach Bonn gezogen, kennst du dort eine Bäckerei?",
        "Me mudé a Bonn, ¿conoces una panadería?", "J'ai déménagé à Bonn, tu connais une boulangerie ?",
        "我搬到了波恩，你知道哪里有面包店吗？", "ボンに引っ越しました、いいパン屋を知っていますか？",
    ],
)  # fmt: skip
def test_what_tells_something_is_a_memory(text: str) -> None:
    """A statement beside a question, an instruction that lasts, and news."""
    assert not is_asking(text)
    with temp_engine() as engine:
        assert engine.observe(Turn(text), scope=ANN)[0].searchable
