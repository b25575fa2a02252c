"""The tiered cache's document (000): what goes on behind a turn, and what a process leaves when it
ends, by the engine and the server of that preset.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import Door, eventually, run, served
from tests.read.vectors import Angles

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Tier
from engrams.settings import load
from engrams.testing import HashEmbedder, ReceivedModelRequest, ScriptedModel, SettableClock

AGENT = "implementation"
ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
JUDGED = "How much will it matter"
CONDENSED = "Put what was said below into one short sentence"
KEY = "The spare key is under the blue pot"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


def opened(home: Path, model: ScriptedModel, **more: Any) -> MemoryEngine:
    """The preset with a model that judges and condenses, and small tiers."""
    fields = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": model.url,
        "write__extract": "off",
        "jobs__workers": 0,
        "embedder": HashEmbedder(),
        **more,
    }
    return engrams.open(home=home, preset="cache", **fields)


def say(engine: MemoryEngine, text: str, role: str = "user") -> str:
    return engine.observe(Turn(text, role, session="s"), scope=ANN)[0].id


def fill(engine: MemoryEngine, count: int) -> None:
    for number in range(count):
        say(engine, f"parcel{number} stands in room{number} of house{number}")


def hold(gate: threading.Event, reply: str) -> Callable[[ReceivedModelRequest], str]:
    """An answer that waits for the gate."""
    return lambda _request: reply if gate.wait(20) else "never"


def serve_options(model: ScriptedModel) -> list[str]:
    chat = {"chat.provider": "openai", "chat.model": "m", "chat.url": model.url}
    return [part for name, value in chat.items() for part in ("--set", f"{name}={value}")]


def test_an_exchange_is_not_taken_for_a_pasted_conversation(
    home: Path, model: ScriptedModel
) -> None:
    """What went to the long term as message and answer is not listed among the texts of others;
    a conversation that was pasted still is.
    """
    with opened(home, model) as memory:
        say(memory, KEY)
        say(memory, "Noted, the blue pot.", "assistant")
        say(memory, "Ben: The kiln is broken.\nAnn: Then we call Ida.\nBen: She is away.")
        say(memory, "They talk about a kiln.", "assistant")
        memory.tiers.consolidate(ANN)
        (kept_out,) = memory.quarantine(scope=ANN)
        assert "kiln is broken" in kept_out.record.text
        assert kept_out.record.kind is Kind.TURN


@pytest.mark.covers("S0.6")
@pytest.mark.parametrize("prefix", ["Find this: ", ""])
def test_the_prefix_stands_before_questions_only(home: Path, prefix: str) -> None:
    """What is stored is embedded as it is; a question has the prefix that the environment gave, and
    with an empty one nothing.
    """
    with ScriptedModel(dimension=1024) as server:
        options = {"embed.provider": "ollama", "embed.model": "bge-large", "embed.url": server.url}
        words = [part for name, value in options.items() for part in ("--set", f"{name}={value}")]
        with served("cache", home, server, *words, EMBED_QUERY_PREFIX=prefix) as door:
            door.post(f"/api/seed/{AGENT}", {"facts": ["The boiler pressure is two bar"]})
            door.post(f"/api/chat/{AGENT}", {"message": "The kiln is hot in the morning"})
            asked = "What is the pressure of the boiler?"
            door.post(f"/api/explain/{AGENT}", {"query": asked})
            eventually(lambda: door.get("/api/jobs")["in_flight"] == 0)
        texts = [text for request in server.requests for text in request.body.get("input", ())]
    assert f"{prefix}{asked}" in texts
    assert prefix == "" or asked not in texts
    assert "The boiler pressure is two bar" in texts
    assert f"{prefix}The kiln is hot in the morning" in texts, (
        "the chat's message is a question, too"
    )
    assert "The kiln is hot in the morning" in texts


@pytest.mark.covers("S0.13")
def test_the_working_tier_is_listed_oldest_first_and_emptied(
    home: Path, model: ScriptedModel
) -> None:
    """What was said stands in its order; moving everything on leaves nothing there, and nothing
    behind.
    """
    with opened(home, model, tiers__working_size=3) as engine:
        ids = [say(engine, f"The lamp of hall {number} is broken") for number in range(4)]
        assert [item["id"] for item in engine.tiers.working(ANN)] == ids[1:]
        assert engine.get(ids[3], scope=ANN).tier is Tier.WORKING
        engine.tiers.consolidate(ANN)
        assert engine.tiers.working(ANN) == ()
        assert engine.tiers.state(ANN)["working"] == 0
        records = engine.list(scope=ANN, limit=50).records
        assert {record.tier for record in records} == {Tier.LONGTERM}
        text = "\n".join(record.text for record in records)
        assert all(f"hall {number}" in text for number in range(4))


@pytest.mark.covers("S0.13")
def test_the_working_tier_is_drained_oldest_first(home: Path, model: ScriptedModel) -> None:
    """An item is there by its id until the tier is drained, which returns all, oldest first, and
    leaves it empty; what was important enough is recent then.
    """
    with opened(home, model, tiers__working_size=3) as engine:
        ids = [say(engine, f"The lamp of hall {number} is broken") for number in range(4)]
        item = engine.tiers.working_item(ids[2], ANN)
        assert item is not None
        assert item["text"] == "The lamp of hall 2 is broken"
        assert engine.tiers.working_item(ids[0], ANN) is None, "it was pushed out"
        assert [item["id"] for item in engine.tiers.drain(ANN)] == ids[1:]
        assert engine.tiers.working(ANN) == engine.tiers.drain(ANN) == ()
        assert engine.tiers.working_item(ids[2], ANN) is None
        assert {engine.get(id, scope=ANN).tier for id in ids} == {Tier.RECENT}


@pytest.mark.covers("S0.15")
def test_what_left_before_it_was_judged_is_judged_where_it_is(
    home: Path, model: ScriptedModel
) -> None:
    """It goes to the recent tier with 0.5, and gets its own number there when the model answers."""
    model.when(JUDGED + "(.|\n)*blue pot", "0.9")
    model.when(JUDGED, "0.6")
    with opened(home, model, tiers__working_size=2) as engine:
        key_id = say(engine, KEY)
        fill(engine, 2)
        before = engine.get(key_id, scope=ANN)
        assert (before.tier, before.importance) == (Tier.RECENT, 0.5)
        engine.drain()
        after = engine.get(key_id, scope=ANN)
        assert (after.tier, after.importance) == (Tier.RECENT, 0.9)


@pytest.mark.covers("S0.19")
def test_ten_recent_memories_are_looked_at_and_none_that_was_replaced(
    home: Path, clock: SettableClock
) -> None:
    """Each candidate has its cosine to the question; a memory that a newer one replaced is none."""
    angles = Angles()
    angles.put("Where do I live?")
    angles.put("I live in Ghent.", 0.99)
    angles.put("I moved to Bruges.", 0.98)
    texts = [angles.put(f"The shed {number} is green.", 0.9 - number / 100) for number in range(12)]
    with engrams.open(
        home=home,
        preset="cache",
        embedder=angles,
        clock=clock,
        jobs__workers=0,
        tiers__working_size=1,
        write__extract="rules",
    ) as engine:
        old = engine.add("I live in Ghent.", scope=ANN, kind=Kind.FACT)
        new = engine.add("I moved to Bruges.", scope=ANN, kind=Kind.FACT)
        assert engine.get(old.id, scope=ANN).superseded_by == new.id
        for text in texts:
            say(engine, text)
        engine.observe(Turn("Ida sings on Mondays"), scope=ANN)
        rows = engine.explain("Where do I live?", scope=ANN, limit=20).trace.rows
        assert [row.text for row in rows if "shed" in row.text] == texts[:9]
        assert sorted(row.text for row in rows if "shed" not in row.text) == [
            "I moved to Bruges.",
            "Ida sings on Mondays",
        ]
        parts = {row.text: row.parts for row in rows}
        assert parts[texts[0]]["cos"] == pytest.approx(0.6 * 0.9, abs=1e-3)


@pytest.mark.covers("S0.50")
def test_four_workers_and_named_jobs(home: Path, model: ScriptedModel) -> None:
    """Of six judgements four are under way at once; a job says what it does, and to which item."""
    gate = threading.Event()
    model.when(JUDGED, hold(gate, "0.8"))
    model.when(CONDENSED, "In short.")
    workers = {"jobs__workers": load({"preset": "cache"}, environ={}).settings.jobs.workers}
    with opened(home, model, tiers__working_size=5, tiers__check_turns=6, **workers) as engine:
        try:
            ids = [say(engine, f"The lamp of hall {number} is broken") for number in range(6)]
            assert model.wait(4)
            names = engine.tiers.jobs()
            assert {f"importance-judge:user/ann|{id}" for id in ids} <= set(names)
            assert f"l1-finalize:user/ann|{ids[0]}" in names
            assert "enforce-caps:user/ann" in names
            assert engine.tiers.in_flight() == engine.tiers.state(ANN)["in_flight"] == len(names)
            assert not model.wait(5, seconds=0.3), "a fifth worker"
        finally:
            gate.set()


@pytest.mark.covers("S0.51")
def test_a_model_that_thinks_holds_nobody_up(home: Path, model: ScriptedModel) -> None:
    """While one chat waits for its reply and a judgement hangs, another chat and a write are
    answered.
    """
    gate = threading.Event()
    model.when(JUDGED, hold(gate, "0.8"))
    model.when("wait for me", hold(gate, "late"))
    replies: list[str] = []
    with served("cache", home, model, *serve_options(model)) as door:
        path = f"/api/chat/{AGENT}"

        def ask() -> None:
            body = door.client.post(path, json={"message": "Please wait for me here."}).json()
            replies.append(body["reply"])

        thread = threading.Thread(target=ask)
        try:
            thread.start()
            assert model.wait(1)
            assert door.client.post(
                path, json={"message": "What else is new today?"}, timeout=5
            ).json()["reply"]
            eventually(lambda: any(JUDGED in request.prompt for request in model.requests))
            facts = {"facts": ["The kiln is hot."]}
            seeded = door.client.post(f"/api/seed/{AGENT}", json=facts, timeout=5).json()
            assert seeded["done"]["stored"] == 1
            assert door.client.post(path, json={"message": "The kiln is cold."}, timeout=5)
            assert replies == []
        finally:
            gate.set()
            thread.join(20)
    assert replies == ["late"]


@pytest.mark.covers("S0.55")
def test_the_page_and_the_chat_of_the_document(home: Path, model: ScriptedModel) -> None:
    """The page has views of the tiers and of the graph, whose code and data the server gives, and
    shows the last question's trace; ``engrams chat`` talks by the model and remembers.
    """
    model.when("spare key", "The pot is blue, I know.")
    with served("cache", home, model, *serve_options(model)) as door:
        door.post(f"/api/seed/{AGENT}", {"facts": [KEY, "The attic key is red"]})
        door.post(f"/api/consolidate/{AGENT}")
        door.post(f"/api/seed/{AGENT}", {"facts": ["The cellar has a drain of cast iron"]})
        views = {name: read_view(door, name) for name in ("tiers", "graph")}
        assert 'get("/v1/state")' in views["tiers"]
        assert "recallCard" in views["tiers"]
        state = door.get("/v1/state")
        assert (state["tiers"]["longterm"], state["tiers"]["recent"]) == (2, 1)
        assert 'get("/v1/graph"' in views["graph"]
        assert door.get("/v1/graph")["nodes"]
        trace = door.post("/v1/explain", {"query": "Where is the spare key?"})
        assert KEY in json.dumps(trace)
    said = run(
        home,
        "--preset",
        "cache",
        *serve_options(model),
        arguments=("chat",),
        stdin="Where is the spare key?\n",
    )
    assert "The pot is blue, I know." in said
    assert KEY in model.requests[-1].prompt or any(
        KEY in request.prompt for request in model.requests if "spare key?" in request.prompt
    )


def read_view(door: Door, name: str) -> str:
    """The code of a view, found from the page as a browser finds it."""
    page = door.client.get("/").text
    entry = re.search(r'src="([^"]+/js/app\.js)"', page)
    assert entry is not None
    base = entry[1].removesuffix("app.js")
    assert f'{name}: () => import("./views/{name}.js")' in door.client.get(entry[1]).text
    answer = door.client.get(f"{base}views/{name}.js")
    assert answer.status_code == 200, f"the page has no view {name}"
    return answer.text


@pytest.mark.covers("S0.57")
def test_no_folder_before_the_first_write(home: Path, model: ScriptedModel) -> None:
    """Looking leaves nothing: not the engine, a search or a closed engine; the first memory makes
    the home.
    """
    with opened(home, model) as engine:
        assert engine.search("Where is the key?", scope=ANN).hits == ()
        assert engine.tiers.state(ANN)["recent"] == 0
        assert not home.exists()
    assert not home.exists()
    with opened(home, model) as engine:
        say(engine, KEY)
        assert home.exists()


@pytest.mark.covers("S0.59")
def test_the_end_waits_for_jobs_and_loses_no_promotion(home: Path, model: ScriptedModel) -> None:
    """A judgement under way is stored before the engine is closed; what waits is done by the next
    one, and what was in the working tier is in the recent one.
    """
    gate = threading.Event()
    model.when(JUDGED + "(.|\n)*blue pot", hold(gate, "0.9"))
    model.when(JUDGED, "0.7")
    summaries = ["The spare key is under the pot.", "Felix hates thunder."]
    model.when(CONDENSED + "(.|\n)*blue pot", summaries[0])
    model.when(CONDENSED, summaries[1])
    with opened(home, model, jobs__workers=1) as engine:
        first = say(engine, KEY)
        assert model.wait(1)
        second = say(engine, "Felix the cat hates thunder")
        threading.Timer(0.2, gate.set).start()
    with opened(home, model) as engine:
        records = [engine.get(id, scope=ANN) for id in (first, second)]
        assert [record.tier for record in records] == [Tier.RECENT] * 2
        assert records[0].importance == 0.9
        engine.drain()
        records = [engine.get(id, scope=ANN) for id in (first, second)]
        assert records[1].importance == 0.7
        assert [record.summary for record in records] == summaries


@pytest.mark.covers("S0.3")
def test_a_repetition_is_known_before_it_is_embedded(home: Path, clock: SettableClock) -> None:
    """With an embedder that works in the background, the same sentence again is not kept twice."""
    with engrams.open(
        home=home,
        preset="cache",
        clock=clock,
        jobs__workers=0,
        embedder=HashEmbedder(inline=False),
        tiers__working_size=1,
    ) as engine:
        first = say(engine, KEY)
        say(engine, "The parcel stands in the hall")
        assert engine.get(first, scope=ANN).tier is Tier.RECENT
        say(engine, KEY)
        say(engine, "Ida sings on Mondays")
        records = engine.list(scope=ANN, kinds=(Kind.TURN,), limit=50).records
        assert [record.id for record in records if record.text == KEY] == [first]
        assert engine.get(first, scope=ANN).access_count == 1


@pytest.mark.covers("S0.30")
def test_what_is_embedded_late_gets_its_topic(home: Path, clock: SettableClock) -> None:
    """A memory of the long term is found as soon as it has a vector, with nothing else to move: so
    after a change of the embedding model, and with an embedder that works in the background.
    """
    fields: dict[str, Any] = {"home": home, "preset": "cache", "clock": clock, "jobs__workers": 0}
    with engrams.open(**fields, embedder=HashEmbedder(32)) as engine:
        known = engine.add(KEY, scope=ANN, kind=Kind.FACT).id
        engine.tiers.consolidate(ANN)
        assert [hit.record.id for hit in engine.search(KEY, scope=ANN).hits] == [known]
    with engrams.open(**fields, embedder=HashEmbedder(48, inline=False)) as engine:
        engine.drain()
        assert [hit.record.id for hit in engine.search(KEY, scope=ANN).hits] == [known]
        assert engine.topics.orphans(ANN) == ()


@pytest.mark.covers("S0.27", "S0.20")
def test_accounts_of_sessions_go_to_the_long_term_too(home: Path, clock: SettableClock) -> None:
    """Nothing stays in the recent tier when everything is moved on."""
    with engrams.open(home=home, preset="cache", clock=clock, jobs__workers=0) as engine:
        for text in ("We chose the oak floor", "It costs nine hundred", "Bert lays it in June"):
            say(engine, text)
        engine.sessions.end("s", scope=ANN)
        engine.drain()
        (account,) = engine.list(scope=ANN, kinds=(Kind.EPISODE,)).records
        assert account.tier is Tier.RECENT
        engine.tiers.consolidate(ANN)
        assert engine.get(account.id, scope=ANN).tier is Tier.LONGTERM
        assert engine.tiers.state(ANN)["recent"] == 0


@pytest.mark.covers("S0.56")
def test_one_variable_of_ollama_is_enough(home: Path) -> None:
    """The address alone brings the document's model; the model alone is asked at Ollama's address."""
    given = {"OLLAMA_URL": "http://10.0.0.1:11434"}
    chat = load({"preset": "cache", "home": str(home)}, environ=given).settings.chat
    assert (chat.provider, chat.url, chat.model) == ("ollama", given["OLLAMA_URL"], "qwen2.5:3b")
    chat = load(
        {"preset": "cache", "home": str(home)}, environ={"OLLAMA_MODEL": "tiny"}
    ).settings.chat
    assert (chat.provider, chat.model) == ("ollama", "tiny")
