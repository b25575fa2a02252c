"""The tiered cache's document (000), played against ``engrams serve --preset cache`` and the engine
on a clock of ours.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from math import exp
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, run, served

import engrams
from engrams import Turn
from engrams.core import Kind, Scope, Tier
from engrams.settings import load
from engrams.testing import (
    HashEmbedder,
    ReceivedModelRequest,
    ScriptedModel,
    ScriptedReply,
    SettableClock,
)

AGENT = "implementation"
ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def answer(request: ReceivedModelRequest) -> Any:
    """A judge that finds greetings worthless and the rest worth keeping, and a friendly assistant."""
    text = request.prompt
    if "How much will it matter" in text:
        return "0.2" if "nice weather" in text else "0.8"
    if "Put what was said below into one short sentence" in text:
        return "condensed"
    if request.schema is not None:
        return {"statements": [], "names": [{"id": 1, "name": "shared theme here"}]}
    return ScriptedReply("Noted, the pump is fine")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home = tmp_path_factory.mktemp("cache") / "home"
    with ScriptedModel(answer=answer) as model:
        chat = {"chat.provider": "openai", "chat.model": "m", "chat.url": model.url}
        options = [part for name, value in chat.items() for part in ("--set", f"{name}={value}")]
        with served("cache", home, model, *options, L0_MAXLEN="6") as door:
            yield door


def talk(door: Door, message: str) -> Any:
    return door.post(f"/api/chat/{AGENT}", {"message": message})


def state(door: Door) -> Any:
    return door.get(f"/api/state/{AGENT}")


@pytest.mark.covers("S0.52", "S0.57", "S0.55")
def test_who_is_there(door: Door) -> None:
    """Models and the one agent;
    nothing on disk before the first write; an unknown agent is 404; a page shows the rest.
    """
    assert door.get("/api/agents") == [AGENT]
    assert door.get("/api/meta")["agents"] == [AGENT]
    assert door.get("/api/meta")["llm_model"] == "m"
    door.get("/api/state/nobody", status=404)
    assert "<html" in door.client.get("/").text


@pytest.mark.covers("S0.1", "S0.2", "S0.4", "S0.49")
def test_chat_replies_with_a_trace_and_a_gate(door: Door) -> None:
    """Only the reply is waited for, one call of the model;
    too short, empty of meaning and infrastructure noise are skipped with their reasons.
    """
    asked = len(door.model.requests)
    body = talk(door, "The pump of the boiler hums at night")
    assert body["reply"] == "Noted, the pump is fine"
    # Jobs may have begun to judge meanwhile; nothing else asks a model.
    jobs = ("How much will it matter", "Put what was said below into one short sentence")
    calls = [
        request
        for request in door.model.requests[asked:]
        if request.schema is None and not any(words in request.prompt for words in jobs)
    ]
    assert len(calls) == 1
    assert {"query", "rows"} <= body["trace"].keys()
    for text in (
        "x",
        "it is the of and",
        "Traceback (most recent call last): connection timeout error",
    ):
        skipped = talk(door, text)["skipped"]
        assert [one["reason"] for one in skipped if one["text"] == text]


@pytest.mark.covers("S0.7", "S0.8", "S0.9", "S0.11", "S0.14", "S0.18", "S0.39", "S0.53")
def test_what_is_said_waits_in_the_working_tier(door: Door) -> None:
    """L0 first, of the size that the environment gave;
    the judge's small talk is gone after eviction, the rest is in L1.
    """
    talk(door, "What nice weather we have today my friend")
    before = state(door)
    assert 0 < before["l0"] <= 6
    for place in range(6):
        talk(door, f"The valve number {place} leaks into the cellar room")
    door.post(f"/api/seed/{AGENT}", {"facts": ["The cellar has a drain of cast iron"]})
    eventually(lambda: door.get("/api/jobs")["in_flight"] == 0)
    after = state(door)
    assert after["l0"] == 6 != after["l1"]
    assert after["l1"] > before["l1"]
    recent = door.get("/v1/memories", tier="recent", limit=100)["memories"]
    assert after["l1"] == len(recent)
    listed = json.dumps(door.get("/v1/memories", kind="turn", tier="recent", limit=100))
    assert "nice weather" not in listed
    working = json.dumps(door.get("/v1/memories", kind="turn", tier="working", limit=100))
    assert "valve number 5" in working
    assert "valve number 5" not in listed
    assert "valve number 0" in listed
    assert "valve number 0" not in working
    judged = next(
        request.prompt
        for request in door.model.requests
        if "How much will it matter" in request.prompt
    )
    for band in ("0.7 to 1.0: facts", "0.4 to 0.6: useful context", "0.0 to 0.3: small talk"):
        assert band in judged
    far = "Tell me a joke about penguins"
    door.client.post(f"/api/chat/{AGENT}", json={"message": far})
    assert "valve number 5" in door.prompt_of(far), "the tail of the talk is there word by word"


@pytest.mark.covers("S0.5", "S0.19", "S0.43", "S0.44", "S0.45", "S0.48", "S0.6")
def test_explain_adds_up(door: Door) -> None:
    """Seeded facts skip the gate;
    each candidate's parts add up to its score; what is far is dropped and says why.
    """
    seeded = door.post(
        f"/api/seed/{AGENT}",
        {"facts": ["Boiler", "The boiler pressure is two bar", "Cats sleep in the sun all day"]},
    )
    assert seeded["done"]["stored"] == 3
    stored = [one["text"] for one in door.get("/v1/memories", kind="fact", limit=50)["memories"]]
    assert "Boiler" in stored
    asked = len(door.model.requests)
    trace = door.post(f"/api/explain/{AGENT}", {"query": "What is the boiler pressure?"})
    assert len(door.model.requests) == asked
    rows = trace["rows"]
    best = rows[0]
    assert "two bar" in best["text"]
    assert best["selected"]
    for row in rows:
        assert sum(row["parts"].values()) == pytest.approx(row["score"], abs=2e-3)
    assert best["parts"]["cos"] == pytest.approx(0.6 * best["sim"], abs=2e-3)
    assert best["parts"]["recency"] == pytest.approx(0.3 * best["recency"], abs=2e-3)
    assert best["parts"]["importance"] == pytest.approx(0.1 * best["importance"], abs=2e-3)
    rows = door.post(f"/api/explain/{AGENT}", {"query": "Where do cats sleep?"})["rows"]
    far = [row for row in rows if row["dropped"] == "below_sim_threshold"]
    assert far, [(row["text"], row["sim"], row["dropped"]) for row in rows]
    assert not [row for row in far if row["selected"] or "Cats" in row["text"]]
    assert "Cats" in next(row["text"] for row in rows if row["selected"])


@pytest.mark.covers("S0.20", "S0.21", "S0.25", "S0.27", "S0.28", "S0.24")
def test_everything_leaves_the_recent_tier(door: Door) -> None:
    """Forty-five seeded facts go to the long term with what was said;
    exchanges hold both texts, a topic the user's.
    """
    talk(door, "The valve number 7 leaks into the cellar room")
    door.post(
        f"/api/seed/{AGENT}",
        {"facts": [f"Shelf {place} holds paint of colour {place}" for place in range(45)]},
    )
    # A worker may be moving some of them already, and an answer that was still being stored leaves
    # with the next move.
    assert door.post(f"/api/consolidate/{AGENT}")["done"]["moved"]
    after = eventually(
        lambda: (
            door.post(f"/api/consolidate/{AGENT}")
            and (now := state(door))["l0"] == now["l1"] == 0
            and now
        )
    )
    assert after["registry"] >= 45
    listed = [
        record["text"]
        for record in door.get("/v1/memories", kind="exchange", limit=200)["memories"]
    ]
    assert any(
        re.match(r"User: The valve number \d .*\nAgent: Noted, the pump is fine", text)
        for text in listed
    )
    labels = [node["label"] for node in door.get("/api/l4")["nodes"]]
    assert labels
    assert not [label for label in labels if label.startswith("User:")]
    assert max(len(label) for label in labels) <= 80
    assert door.get(f"/api/registry/{AGENT}")["rows"]


@pytest.mark.covers("S0.34", "S0.35", "S0.50", "S0.33")
def test_concepts_and_merges_when_asked(door: Door) -> None:
    """Concepts and merges of topics are made by request only, as many as the answer says."""
    facts = [
        "Our boiler heats the house",
        "The house is heated by our boiler",
        "Cats sleep all day",
    ]
    door.post(f"/api/seed/{AGENT}", {"facts": facts})
    door.post(f"/api/consolidate/{AGENT}")
    assert not [node for node in door.get("/api/l4")["nodes"] if node["concept"]]
    made = door.post(f"/api/abstract/{AGENT}")["done"]["concepts"]
    assert made == len([node for node in door.get("/api/l4")["nodes"] if node["concept"]])
    assert door.post("/api/kg/dedupe")["done"].keys() == {"merged"}
    assert door.get("/api/jobs").keys() == {"in_flight"}


@pytest.mark.covers("S0.54")
def test_reset_leaves_an_empty_store_that_works(door: Door) -> None:
    """Jobs are drained, everything is erased, and a chat afterwards works."""
    door.post(f"/api/seed/{AGENT}", {"facts": ["The old roof is of slate"]})
    door.post(f"/api/consolidate/{AGENT}")
    door.post(f"/api/seed/{AGENT}", {"facts": ["The new roof is of tin"]})
    done = door.post("/api/reset")
    assert done["wiped"] > 0
    assert done["remaining"] == 0
    assert state(door)["registry"] == 0
    assert talk(door, "The roof is new since March")["reply"]


@pytest.mark.covers("S0.54")
def test_reset_ends_while_others_chat(door: Door) -> None:
    """It erases what was said before it, and does not wait until everybody is silent."""
    talk(door, "The weathercock of the chapel is gilded")
    is_over = Event()

    def chat() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            talk(door, f"Barge {number} passed the lock with gravel for pier {number % 9}")

    with ThreadPoolExecutor(2) as pool:
        chats = [pool.submit(chat) for _ in range(2)]
        try:
            assert eventually(lambda: state(door)["l0"])
            began = time.monotonic()
            done = door.post("/api/reset")
            seconds = time.monotonic() - began
        finally:
            is_over.set()
        assert [one.result() for one in chats] == [None, None]
    assert done["wiped"] > 0
    assert seconds < 20
    texts = [row["text"] for row in door.get("/v1/memories", limit=500)["memories"]]
    assert not any("weathercock" in text for text in texts)
    assert door.post("/api/reset")["remaining"] == 0
    tiers = door.get("/api/state")["tiers"][AGENT]
    assert tiers == {"l0": [], "l1": [], "hot": [], "registry": []}


@pytest.mark.covers("S0.53")
def test_the_state_of_all_agents_has_what_is_in_each_tier(door: Door) -> None:
    """The words of the working tier, the recent one, the hot buffer and the registry."""
    door.post("/api/reset")
    door.post(f"/api/seed/{AGENT}", {"facts": ["The orchard gate is painted green."]})
    door.post(f"/api/consolidate/{AGENT}")
    door.post(f"/api/seed/{AGENT}", {"facts": ["The cider press is in the byre."]})
    talk(door, "Which colour has the orchard gate?")
    eventually(lambda: door.get("/api/state")["tiers"][AGENT]["hot"])
    tiers = door.get("/api/state")["tiers"][AGENT]
    counts = state(door)
    assert [row["content"] for row in tiers["registry"]] == ["The orchard gate is painted green."]
    assert [row["content"] for row in tiers["l1"]] == ["The cider press is in the byre."]
    assert [row["content"] for row in tiers["hot"]] == ["The orchard gate is painted green."]
    said = [(item["source"], item["content"]) for item in tiers["l0"]]
    assert ("user", "Which colour has the orchard gate?") in said
    assert ("promoted_l2", "The orchard gate is painted green.") in said
    assert counts["l0"] == len(tiers["l0"])
    assert counts["registry"] == counts["hot"] == 1


@pytest.mark.covers("S0.56")
def test_its_environment_and_its_table(home: Path) -> None:
    """Every knob of the table has its value; the document's own variables override them."""
    shown = json.loads(run(home, arguments=("config", "--preset", "cache", "--json")))
    table = {
        "tiers.working_size": 20,
        "tiers.promote_importance": 0.5,
        "tiers.recent_size": 40,
        "tiers.sweep_seconds": 300.0,
    }
    table |= {
        "tiers.cold_decay": 0.2,
        "tiers.cold_minutes": 5.0,
        "read.routing.recent_limit": 10,
        "topics.join_cosine": 0.7,
    }
    table |= {
        "topics.max_members": 20,
        "read.routing.topics": 6,
        "read.routing.per_topic": 2,
        "tiers.hot_size": 20,
    }
    table |= {
        "tiers.hot_cosine": 0.6,
        "read.min_scores.dense": 0.6,
        "read.weights.dense": 0.6,
        "read.weights.recency": 0.3,
    }
    table |= {
        "read.weights.importance": 0.1,
        "chat.model": "qwen2.5:3b",
        "embed.model": "BAAI/bge-large-en-v1.5",
    }
    assert {name: shown[name]["value"] for name in table} == table
    given = {
        "OLLAMA_URL": "http://10.0.0.1:11434/api/generate",
        "OLLAMA_MODEL": "tiny",
        "EMBED_MODEL": "some/model",
    }
    settings = load(
        {"preset": "cache", "home": str(home)}, environ={**given, "EMBED_QUERY_PREFIX": ""}
    ).settings
    assert (settings.chat.provider, settings.chat.url, settings.chat.model) == (
        "ollama",
        "http://10.0.0.1:11434",
        "tiny",
    )
    assert (settings.embed.provider, settings.embed.model, settings.embed.query_prefix) == (
        "onnx",
        "some/model",
        "",
    )
    assert load({"home": str(home)}, environ=given).settings.chat.provider == "none", (
        "another preset does not follow them"
    )


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.mark.covers("S0.7", "S0.10", "S0.12", "S0.13", "S0.22", "S0.23", "S0.26", "S0.59")
def test_the_sweep_moves_what_is_cold(home: Path, clock: SettableClock) -> None:
    """Cold is older than 11.27 days;
    after a restart the working tier is empty and the rest is intact.
    """
    with engrams.open(
        home=home, preset="cache", embedder=HashEmbedder(), clock=clock, jobs__workers=0
    ) as engine:
        engine.observe(
            [
                Turn("The lamp in the hall is broken", session="s"),
                Turn("I noted the lamp", "assistant", session="s"),
            ],
            scope=ANN,
        )
        items = engine.tiers.working(ANN)
        assert [item["source"] for item in items] == ["user", "agent"]
        assert {item["importance"] for item in items} == {0.5}
    with engrams.open(
        home=home, preset="cache", embedder=HashEmbedder(), clock=clock, jobs__workers=0
    ) as engine:
        assert engine.tiers.working(ANN) == ()
        assert engine.tiers.state(ANN)["recent"] >= 2
        clock.forward(days=11.2)
        assert engine.tiers.sweep(ANN)["moved"] == 0
        clock.forward(days=0.1)
        assert engine.tiers.sweep(ANN)["moved"] >= 2
        (pair,) = engine.list(scope=ANN, kinds=(Kind.EXCHANGE,)).records
        assert pair.tier is Tier.LONGTERM
        assert pair.text == "User: The lamp in the hall is broken\nAgent: I noted the lamp"
        assert exp(-11.3 / 7) < 0.2


@pytest.mark.covers("S0.36", "S0.37", "S0.38", "S0.46", "S0.40", "S0.41", "S0.42")
def test_older_memories_come_by_topic_and_stay_hot(home: Path, clock: SettableClock) -> None:
    """Where little recent is near, the topics are looked into;
    what was selected is hot for the next question.
    """
    with engrams.open(home=home, preset="cache", clock=clock, jobs__workers=0) as engine:
        engine.add(Turn("The garden pump needs a new rubber seal"), scope=ANN, kind=Kind.FACT)
        engine.tiers.consolidate(ANN)
        found = engine.search("Which seal does the garden pump need?", scope=ANN)
        assert "topics were searched" in " ".join(found.notes)
        assert found.hits[0].record.tier is Tier.LONGTERM
        engine.drain()
        assert engine.tiers.state(ANN)["hot"] == 1
        again = engine.search("Which seal does the garden pump need?", scope=ANN)
        assert "sub_sim" in again.hits[0].parts
        assert engine.get(again.hits[0].record.id, scope=ANN).access_count >= 1


@pytest.mark.covers("S0.58")
@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        (
            "We use PostgreSQL as our database",
            "We use MySQL as our database",
            "Which database do we use?",
        ),
        (
            "Wir benutzen PostgreSQL als Datenbank.",
            "Wir benutzen MySQL als Datenbank.",
            "Welche Datenbank benutzen wir?",
        ),
        ("Ich wohne in Berlin.", "Ich wohne in Hamburg.", "Wo wohne ich?"),
        ("我们用PostgreSQL做数据库。", "我们用MySQL做数据库。", "我们用什么数据库？"),
        ("我住在北京。", "我住在上海。", "我住在哪里？"),
        (
            "データベースはPostgreSQLを使っています。",
            "データベースはMySQLを使っています。",
            "データベースは何を使っていますか？",
        ),
    ],
)
def test_contradictions_are_both_kept(
    home: Path, clock: SettableClock, older: str, newer: str, question: str
) -> None:
    """Nothing reconciles: both are there, and the newer one ranks higher."""
    # Where somebody lives is replaced by rules, unless they are off.
    options = {"write__reconcile": "off"} if "PostgreSQL" not in older else {}
    with engrams.open(home=home, preset="cache", clock=clock, jobs__workers=0, **options) as engine:
        for text in (older, newer):
            engine.add(Turn(text), scope=ANN, kind=Kind.FACT)
            engine.drain()
            clock.forward(days=3)
        texts = [hit.record.text for hit in engine.search(question, scope=ANN).hits]
        assert texts == [newer, older]
        assert Scope(ANN) in engine.scopes()


@pytest.mark.covers("S0.58")
@pytest.mark.parametrize("days", [3, 12], ids=["together", "the older one alone"])
def test_the_long_term_keeps_the_mark_of_what_may_be_over(
    home: Path, clock: SettableClock, days: int
) -> None:
    """A statement that a later one may have ended says so in the long term too, in the same words,
    and comes after the later one.
    """
    with engrams.open(
        home=home, preset="cache", clock=clock, jobs__workers=0, tiers__working_size=1
    ) as engine:
        engine.observe(Turn("We use PostgreSQL for the ledger."), scope=ANN)
        clock.forward(days=days)
        engine.observe(Turn("We switched the ledger to MySQL."), scope=ANN)
        engine.drain()
        if not engine.tiers.sweep(ANN)["moved"]:
            engine.tiers.consolidate(ANN)
        engine.drain()
        hits = engine.explain("Which database does the ledger use?", scope=ANN).hits
        newer, older = (
            next(place for place, hit in enumerate(hits) if name in hit.record.text)
            for name in ("MySQL", "PostgreSQL")
        )
        assert newer < older
        mark = hits[older].outdated
        assert mark is not None
        assert mark.words == "We switched the ledger to MySQL."


@pytest.mark.covers("S0.45", "S0.42")
def test_a_statement_and_its_exchange_are_one_candidate(home: Path, clock: SettableClock) -> None:
    """In the long term too, a message and its fact take one place, of a topic and of the six."""
    said = [f"My {who} plays the cello." for who in ("sister Ines", "brother Emil", "cousin Ida")]
    with engrams.open(
        home=home, preset="cache", clock=clock, jobs__workers=0, read__routing__topics=1
    ) as engine:
        for text in said:
            engine.observe(Turn(text), scope=ANN)
        engine.drain()
        engine.tiers.consolidate(ANN)
        engine.drain()
        (topic,) = engine.topics.list(ANN)
        assert {record.kind for record in topic.members} >= {Kind.EXCHANGE, Kind.FACT}
        found = engine.explain("Who plays the cello?", scope=ANN)
        assert [hit.record.kind for hit in found.hits] == [Kind.EXCHANGE] * 2
        assert all(hit.facts for hit in found.hits)


@pytest.mark.covers("S0.49")
def test_a_message_that_the_model_fails_to_answer_is_kept(door: Door) -> None:
    """The chat fails as the model does, and a later search finds what was said."""
    said = "The staging host is called kestrel"
    door.model.fail("http_400", only="chat", when="kestrel", times=1)
    door.post(f"/api/chat/{AGENT}", {"message": said}, status=502)
    found = door.post(f"/api/explain/{AGENT}", {"query": said})
    assert said in json.dumps(found["rows"])
