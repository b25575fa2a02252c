"""The memory engine's document (001): verbs and tools without models, what a model says badly, the
queue behind a slow model, words as scores, indexes that are damaged, and counted tokens, by the
engine with that preset.
"""

from __future__ import annotations

import inspect
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.adapters import AgentMemory
from engrams.core import Kind, Status
from engrams.core import clock as clocks
from engrams.errors import InputError
from engrams.ports import Clock
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
LEARNING = "Below are numbered messages"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


def opened(
    home: Path, clock: Clock, model: ScriptedModel | None = None, **more: Any
) -> MemoryEngine:
    chat = (
        {}
        if model is None
        else {
            "chat__provider": "openai",
            "chat__model": "m",
            "chat__url": f"{model.url}/v1",
            "chat__retries": 0,
        }
    )
    fields = {"jobs__workers": 0, **chat, **more}
    return engrams.open(home=home, preset="engine", clock=clock, **fields)


def bare(home: Path, clock: Clock, **more: Any) -> MemoryEngine:
    """The engine without model and embedder."""
    return opened(home, clock, embed__provider="null", **more)


def statement(text: str, quote: str, turn: int = 1) -> dict[str, Any]:
    _, predicate, value = text.split(" ", 2)
    return {
        "turn": turn,
        "text": text,
        "quote": quote,
        "subject": "user",
        "predicate": predicate,
        "object": value,
        "confidence": 0.9,
        "category": "knowledge",
    }


def learned(engine: MemoryEngine) -> list[str]:
    return [record.text for record in engine.list(scope=ANN, kinds=(Kind.FACT,)).records]


def asked(model: ScriptedModel) -> list[str]:
    return [request.prompt for request in model.requests if LEARNING in request.prompt]


@pytest.mark.covers("S1.1")
def test_each_of_the_five_verbs_works_without_any_model(home: Path, clock: SettableClock) -> None:
    """What an agent stores is found by its words, what leaves the prompt is in the day's note, a
    dream brings it into MEMORY.md, and all of it is in the text for the prompt.
    """
    with bare(home, clock) as engine:
        assert engine.chat_model is None
        assert engine.embedder.card.dimension == 0
        memory = AgentMemory(engine, ANN)
        name = memory.manage("Ann's sister is called Ida")
        assert [hit["id"] for hit in memory.search("sister")] == [name]
        said = [{"id": "1", "role": "user", "content": "I am allergic to walnuts"}]
        assert memory.flush(said) is True
        engine.drain()
        folder = home / "vault/memory/users/ann"
        assert "walnuts" in (folder / "2026-03-01.md").read_text()
        assert memory.dream() is True
        assert "walnuts" in (folder / "MEMORY.md").read_text()
        text = memory.format_for_injection()
        assert "Ida" in text
        assert "walnuts" in text


@pytest.mark.covers("S1.10")
def test_what_an_emergency_cuts_short_is_stored_whole(home: Path, clock: SettableClock) -> None:
    """A message too long for the budget is shortened in the prompt, which says so. System messages
    that alone are over the budget cost no word of the question.
    """
    pasted = {"id": "1", "role": "user", "content": "granite " * 5000 + "ends with quartz"}
    with bare(home, clock) as engine:
        window = engine.summaries.fit([pasted], scope=ANN, session="s", max_tokens=500)
        assert len(window.messages[0]["content"]) < len(pasted["content"])
        assert window.notes == (
            "there is no chat model",
            "1 of the remaining messages were shortened",
        )
        (stored,) = engine.list(scope=ANN, kinds=(Kind.TURN,)).records
        assert stored.text == pasted["content"]
        lead = {"id": "0", "role": "system", "content": "Be kind. " * 5000}
        question = {"id": "2", "role": "user", "content": "Where is the kiln?"}
        window = engine.summaries.fit([lead, question], scope=ANN, session="t", max_tokens=500)
        assert window.messages == (lead, question)
        assert "over the budget" in window.notes[-1]


@pytest.mark.covers("S1.4")
def test_wrong_numbers_are_told_in_plain_words(home: Path, clock: SettableClock) -> None:
    """They are ValueErrors that name the argument and say what it takes."""
    with bare(home, clock) as engine:
        for wrong in ({"max_tokens": 200}, {"tokens": 0}, {"max_tokens": "many"}):
            with pytest.raises(ValueError, match="fit cannot use") as refused:
                engine.summaries.fit([], scope=ANN, session="s", **wrong)
            assert "pydantic" not in str(refused.value)
        for days in (0, -3, "x"):
            with pytest.raises(ValueError, match="days must be a whole number from 1"):
                engine.dream(days, scope=ANN)  # type: ignore[arg-type]
        for after in (-1, "a", float("nan")):
            with pytest.raises(ValueError, match="after must be a number of seconds"):
                engine.updates.add(Turn("I keep bees"), scope=ANN, after=after)  # type: ignore[arg-type]


@pytest.mark.covers("S1.13")
def test_a_schema_is_what_its_callable_takes(home: Path, clock: SettableClock) -> None:
    """Name and arguments of both tools are those of the callables; what a call returns is JSON,
    with the id by which the next call changes it.
    """
    with bare(home, clock) as engine:
        memory = AgentMemory(engine, ANN)
        functions = {each.__name__: each for each in (memory.manage_memory, memory.search_memory)}
        schemas = [schema["function"] for schema in json.loads(json.dumps(memory.schemas()))]
        assert [schema["name"] for schema in schemas] == ["manage_memory", "search_memory"]
        for schema in schemas:
            arguments = inspect.signature(functions[schema["name"]]).parameters
            assert list(schema["parameters"]["properties"]) == list(arguments)
            assert schema["description"]
        made = json.loads(memory.call("manage_memory", '{"content": "I keep bees"}'))
        again = {"content": "I keep wild bees", "action": "update", "id": made["id"]}
        memory.manage_memory(**again)
        (hit,) = json.loads(memory.call("search_memory", {"query": "bees", "limit": 3}))
        assert (hit["id"], hit["snippet"]) == (made["id"], "I keep wild bees")
        assert isinstance(hit["score"], float)
        assert isinstance(hit["at"], str)


@pytest.mark.covers("S1.13")
def test_a_tool_speaks_of_nothing_that_its_agent_may_not_do(
    home: Path, clock: SettableClock
) -> None:
    """An agent that may only add sees a tool that takes a content, and no word of other actions."""
    with bare(home, clock) as engine:
        memory = AgentMemory(engine, ANN, permitted=("create",))
        tool, _ = memory.schemas()
        assert list(tool["function"]["parameters"]["properties"]) == ["content"]
        told = json.dumps(tool).casefold()
        assert not any(word in told for word in ("delete", "update", "change"))
        made = json.loads(memory.call("manage_memory", '{"content": "I keep bees"}'))
        assert engine.get(made["id"], scope=ANN).text == "I keep bees"


@pytest.mark.covers("S1.14")
@pytest.mark.parametrize("fault", ["fenced", "prose", "sloppy", "thinking"])
def test_an_answer_in_poor_form_is_read(
    home: Path, clock: SettableClock, model: ScriptedModel, fault: str
) -> None:
    """A schema is asked for; fences, prose and small faults around the JSON do no harm."""
    model.when("statements", {"statements": [statement("Ann keeps bees", "I keep bees")]})
    with opened(home, clock, model) as engine:
        model.fail(fault, times=9)
        engine.observe(Turn("I keep bees", session="s"), scope=ANN)
        clock.forward(seconds=31)
        engine.drain()
        assert learned(engine) == ["Ann keeps bees"]
    assert all(
        request.schema is not None for request in model.requests if LEARNING in request.prompt
    )


@pytest.mark.covers("S1.14")
@pytest.mark.parametrize(
    ("malformed", "also_learned"),
    [
        ({"turn": "1"}, True),
        ({"confidence": None}, True),
        ({"triggers": "tea", "negative": "no"}, True),
        ({"turn": {"number": 1}}, False),
        ({"text": ["Ann", "tea"]}, False),
    ],
)
def test_a_malformed_statement_spoils_no_other(
    home: Path,
    clock: SettableClock,
    model: ScriptedModel,
    malformed: dict[str, Any],
    also_learned: bool,
) -> None:
    """A model that always gives it is learned from: what can be read of it, and the sound ones."""
    sound = statement("Ann keeps bees", "I keep bees")
    poor = statement("Ann drinks tea", "I drink tea") | malformed
    model.when("statements", {"statements": [sound, poor]})
    with opened(home, clock, model) as engine:
        engine.observe(Turn("I keep bees. I drink tea.", session="s"), scope=ANN)
        clock.forward(seconds=31)
        engine.drain()
        expected = {"Ann keeps bees"} | ({"Ann drinks tea"} if also_learned else set())
        assert set(learned(engine)) == expected


@pytest.mark.covers("S1.14")
@pytest.mark.parametrize("fault", ["bad_json", "empty", "http_400"])
def test_a_useless_answer_reaches_no_caller(
    home: Path, clock: SettableClock, model: ScriptedModel, fault: str
) -> None:
    """Nothing is learned from it, nothing raises, and the message is there and found."""
    with opened(home, clock, model) as engine:
        model.fail(fault, times=20)
        receipts = engine.observe(Turn("I keep bees", session="s"), scope=ANN)
        clock.forward(seconds=31)
        engine.drain()
        assert engine.updates.flush_sync() in (True, False)
        assert learned(engine) == []
        assert [hit.record.id for hit in engine.search("bees", scope=ANN).hits] == [receipts[0].id]


@pytest.mark.covers("S1.16")
def test_what_an_agent_notes_again_is_one_memory(home: Path, clock: SettableClock) -> None:
    """The same text in other white space has the same id; another text has its own."""
    with bare(home, clock) as engine:
        texts = ("Ann rows on Tuesdays", "  Ann  rows\ton Tuesdays ", "Ann rows on Thursdays")
        first, again, other = (engine.manage(text, scope=ANN) for text in texts)
        assert first == again != other
        assert len(engine.list(scope=ANN, kinds=(Kind.NOTE,)).records) == 2


@pytest.mark.covers("S1.28")
def test_a_failed_update_sees_the_same_messages_again(
    home: Path, clock: SettableClock, model: ScriptedModel
) -> None:
    """The next run has the messages of the one that failed, and those said since."""
    with opened(home, clock, model) as engine:
        model.fail("http_503", when=LEARNING)
        engine.observe(Turn("I keep bees in Ghent", session="s"), scope=ANN)
        clock.forward(seconds=31)
        engine.drain()
        assert len(asked(model)) == 1
        assert engine.updates.waiting() == 1
        engine.observe(Turn("I row on Tuesdays", session="s"), scope=ANN)
        clock.forward(hours=1)
        engine.drain()
        assert len(asked(model)) == 2
        assert "I keep bees in Ghent" in asked(model)[1]
        assert "I row on Tuesdays" in asked(model)[1]
        assert engine.updates.waiting() == 0


@pytest.mark.covers("S1.31")
def test_observing_waits_for_no_model(home: Path, model: ScriptedModel) -> None:
    """While the model holds one update, turns of other threads are stored and returned; plain
    synchronous code is enough, without an event loop.
    """
    gate = threading.Event()
    model.when(LEARNING, lambda _request: gate.wait(20) and {"statements": []})
    with opened(home, clocks.now, model, jobs__workers=1, write__debounce_seconds=0.0) as engine:
        try:
            first = engine.observe(Turn("I keep bees", session="a"), scope=ANN)
            assert model.wait(1)
            second = engine.observe(Turn("I row on Tuesdays", session="b"), scope=ANN)
            third = engine.updates.add_nowait(Turn("I sail in Genoa", session="c"), scope=ANN)
            assert len(model.requests) == 1
            assert not gate.is_set()
            texts = [record.text for record in engine.list(scope=ANN, kinds=(Kind.TURN,)).records]
            assert len(texts) == len([*first, *second, *third]) == 3
        finally:
            gate.set()


@pytest.mark.covers("S1.49")
def test_words_score_from_three_tenths_to_less_than_one(home: Path, clock: SettableClock) -> None:
    """One common word of many is worth three tenths at least; many rare ones 0.99 at most."""
    with bare(home, clock) as engine:
        common = [f"The ferry number {number} was late in the morning" for number in range(30)]
        for text in [*common, "Zephyr quokka obelisk marzipan fjord tundra"]:
            engine.add(text, scope=ANN)

        def best(query: str) -> float:
            row = engine.explain(query, scope=ANN).trace.rows[0]
            return row.parts["bm"]

        weak = best("Does any ferry sail to Oslo or to Bergen in winter?")
        strong = best("Zephyr quokka obelisk marzipan fjord tundra")
        assert 0.3 <= weak < 0.6
        assert 0.9 < strong < 0.99


@pytest.mark.covers("S1.54")
def test_a_damaged_index_of_words_is_built_again(home: Path, clock: SettableClock) -> None:
    """Where the words of the memories are lost, opening splits their texts again, and says so."""
    with bare(home, clock) as engine:
        made = engine.add("The parrot is called Zephyr", scope=ANN)
    with closing(sqlite3.connect(home / "memory.db")) as database, database:
        database.execute("UPDATE records SET lexemes = x''")
        database.execute("UPDATE counters SET value = 0 WHERE name = 'terms'")
    with bare(home, clock) as engine:
        assert [hit.record.id for hit in engine.search("parrot", scope=ANN).hits] == [made.id]


@pytest.mark.covers("S1.60")
def test_tokens_are_estimated_where_the_counter_is_missing(
    home: Path,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A Chinese character counts as more than one token, a Latin letter as far less; the missing
    vocabulary is looked for again after ten minutes, and not before.
    """
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "nothing"))

    def look_ups() -> int:
        return sum("Tokens are estimated" in message for message in caplog.messages)

    with bare(home, clock, read__tokenizer="cl100k_base") as engine:
        assert 20 <= engine.counter.count("我喜欢喝咖啡和绿茶还有很多别的东西啊啊") <= 40
        assert engine.counter.count("a plain English sentence of twenty") <= 12
        assert look_ups() == 1
        clock.forward(seconds=599)
        engine.counter.count("x")
        assert look_ups() == 1
        clock.forward(seconds=1)
        engine.counter.count("x")
        assert look_ups() == 2
        for number in range(40):
            engine.manage(f"第{number}号仓库存放着蓝色的油漆和很多旧书", scope=ANN)
        text = engine.format_for_injection(scope=ANN, max_tokens=100)
        assert 0 < engine.counter.count(text) <= 100
        assert 0 < sum(character >= "\u4e00" for character in text) <= 66


@pytest.mark.covers("S1.17")
def test_what_an_agent_notes_counts_against_the_cap(home: Path, clock: SettableClock) -> None:
    """Of twelve notes ten stay, the newest; the others are archived."""
    with bare(home, clock, caps__facts=10) as engine:
        ids = []
        for number in range(12):
            clock.forward(seconds=1)
            ids.append(engine.manage(f"Zephyr deploy window number {number}", scope=ANN))
        engine.tiers.enforce(ANN)
        kept = engine.list(scope=ANN, kinds=(Kind.NOTE,), limit=50, order="oldest").records
        assert [record.id for record in kept] == ids[2:]


@pytest.mark.covers("S1.17")
def test_a_note_and_its_fact_are_one_against_the_cap(home: Path, clock: SettableClock) -> None:
    """Ten notes with a fact each are ten, and a newer fact still ends an older one. Over the cap
    the oldest goes, the note with its fact.
    """
    notes = [
        "I live in Oslo",
        *(f"My friend {name} lives in Bern" for name in "Ida Tom Eva".split()),
    ]
    with bare(home, clock, caps__facts=4) as engine:
        ids = []
        for text in notes:
            clock.forward(seconds=1)
            ids.append(engine.manage(text, scope=ANN))
        engine.tiers.enforce(ANN)
        assert len(learned(engine)) == 4
        engine.manage("I moved to Rome", scope=ANN)
        engine.tiers.enforce(ANN)
        prompt = engine.format_for_injection(scope=ANN)
        assert "Rome" in prompt
        assert "Oslo" not in prompt
        clock.forward(seconds=1)
        engine.manage("My friend Uma lives in Bern", scope=ANN)
        engine.tiers.enforce(ANN)
        assert len(learned(engine)) == 4
        assert engine.get(ids[1], scope=ANN).status is Status.ARCHIVED
        assert "Ida" not in engine.format_for_injection(scope=ANN)


@pytest.mark.covers("S1.39")
def test_a_dream_takes_in_a_day_on_which_no_job_ran(home: Path, clock: SettableClock) -> None:
    """What was said on each day is in the note of that day, and in MEMORY.md."""
    folder = home / "vault/memory/users/ann"
    with bare(home, clock) as engine:
        engine.add("My friend Mara lives in Bern", scope=ANN)
        clock.forward(days=1)
        engine.add("My friend Tom lives in Oslo", scope=ANN)
        assert engine.dream(scope=ANN)
    days = {path.stem: path.read_text() for path in folder.glob("2026-*.md")}
    assert "Mara" in days.get("2026-03-01", "")
    assert "Mara" not in days.get("2026-03-02", "")
    core = (folder / "MEMORY.md").read_text()
    assert "Mara" in core
    assert "Tom" in core


@pytest.mark.covers("S1.33")
def test_a_flush_loses_no_message_by_its_role(home: Path, clock: SettableClock) -> None:
    """Roles as other libraries name them are understood; an unknown one is an error, and nothing of
    these messages is stored.
    """
    roles = {"human": "user", "ai": "assistant", "developer": "system", "User": "user"}
    with bare(home, clock) as engine:
        for number, role in enumerate(roles):
            assert engine.flush([{"role": role, "content": f"Kiln {number} is hot"}], scope=ANN)
        stored = engine.list(scope=ANN, kinds=(Kind.TURN,), order="oldest").records
        assert [record.role for record in stored] == list(roles.values())
        for unknown in ({"role": "banana"}, {"role": None}, {}):
            with pytest.raises(InputError, match="no role"):
                engine.flush(
                    [{"role": "user", "content": "Bees"}, {**unknown, "content": "Honey"}],
                    scope=ANN,
                )
        assert len(engine.list(scope=ANN, kinds=(Kind.TURN,)).records) == len(roles)


@pytest.mark.covers("S1.37")
def test_what_a_timer_sent_is_in_no_note(home: Path, clock: SettableClock) -> None:
    """Marked in its metadata or by itself, with the answer to it; what a person said is."""
    said = [
        {"id": "1", "role": "user", "content": "Run the report for Turin", "scheduled": True},
        {"id": "2", "role": "assistant", "content": "The report for Turin is done"},
        {"id": "3", "role": "user", "content": "Run it for Milan", "meta": {"scheduled": True}},
        {"id": "4", "role": "user", "content": "I am allergic to walnuts"},
    ]
    file = home / "vault/memory/users/ann/2026-03-01.md"
    with bare(home, clock) as engine:
        engine.flush(said[:3], scope=ANN)
        engine.drain()
        assert not file.exists()
        engine.flush(said[3:], scope=ANN)
        engine.drain()
        with pytest.raises(InputError, match="role and content"):
            engine.flush("I keep bees", scope=ANN)  # type: ignore[arg-type]
    note = file.read_text()
    assert "walnuts" in note
    assert "Turin" not in note
    assert "Milan" not in note


@pytest.mark.covers("S1.37")
def test_the_same_messages_are_flushed_once(home: Path, clock: SettableClock) -> None:
    """Without ids they are known by their words, also after a restart; what comes after them in a
    longer piece is new, and so is what is said again in one piece or in another session.
    """
    said = [
        {"role": "user", "content": "The tripod is at Omar's."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "The tripod is at Omar's."},
    ]
    spaced = [{**message, "content": f" {message['content']}\n"} for message in said]
    with bare(home, clock) as engine:
        assert engine.flush(said, scope=ANN) is True
        assert engine.flush(said, scope=ANN) is False
        assert engine.flush([{"role": "user", "content": " "}, *spaced], scope=ANN) is False
        engine.drain()
    with bare(home, clock) as engine:
        assert engine.flush(said, scope=ANN) is False
        assert len(engine.list(scope=ANN, kinds=(Kind.TURN,)).records) == 3
        later = {"role": "user", "content": "The finder scope wobbles."}
        assert engine.flush([*said, later], scope=ANN) is True
        assert engine.flush(said, scope=ANN, session="b") is True
        assert len(engine.list(scope=ANN, kinds=(Kind.TURN,)).records) == 7
        engine.drain()
    note = (home / "vault/memory/users/ann/2026-03-01.md").read_text()
    assert note.count("wobbles") == 1
