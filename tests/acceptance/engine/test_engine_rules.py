"""The memory engine's document (001):
the queue of updates, facts, notes and search, by the engine with that preset.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind, Status
from engrams.errors import BudgetError, InputError
from engrams.testing import ScriptedModel, SettableClock

ANN = ("user", "ann")
BOB = ("user", "bob")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that finds nothing worth remembering, unless told otherwise."""
    with ScriptedModel() as server:
        yield server.when("statements", {"statements": []})


@pytest.fixture
def engine(home: Path, model: ScriptedModel, clock: SettableClock) -> Iterator[MemoryEngine]:
    with opened(home, model, clock) as made:
        yield made


def opened(home: Path, model: ScriptedModel, clock: SettableClock, **more: Any) -> MemoryEngine:
    chat = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": f"{model.url}/v1",
        "chat__retries": 0,
    }
    return engrams.open(home=home, preset="engine", clock=clock, jobs__workers=0, **chat, **more)


def turn(text: str, session: str = "s1") -> Turn:
    return Turn(text, session=session)


def asked(model: ScriptedModel) -> list[str]:
    return [
        request.prompt
        for request in model.requests
        if "Below are numbered messages" in request.prompt
    ]


@pytest.mark.covers("S1.24", "S1.31")
def test_five_rapid_turns_are_one_update(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """Thirty seconds of quiet after the last one; then one call sees all five."""
    for number in range(5):
        engine.observe(turn(f"My colleague number {number} is called Kim"), scope=ANN)
        clock.forward(seconds=5)
        engine.drain()
    assert asked(model) == []
    clock.forward(seconds=25)
    engine.drain()
    assert len(asked(model)) == 1
    assert all(f"number {number}" in asked(model)[0] for number in range(5))


@pytest.mark.covers("S1.25", "S1.27", "S1.30")
def test_updates_have_keys(engine: MemoryEngine, model: ScriptedModel) -> None:
    """One key a thread, user and agent;
    ``add_nowait`` is due at once; a flush says whether it drained.
    """
    engine.updates.add(turn("I work with Kim at the harbour"), scope=ANN)
    engine.updates.add(turn("No, that's wrong, I meant Kim Lee"), scope=ANN)
    engine.updates.add(turn("I work with Kim at the harbour"), scope=BOB)
    assert engine.updates.waiting() == 2
    engine.updates.add_nowait(turn("I work with Lou at the harbour", "s9"), scope=BOB)
    assert engine.updates.flush_sync() is True
    assert engine.updates.waiting() == 0
    assert len(asked(model)) == 3


@pytest.mark.covers("S1.25")
def test_an_update_keeps_its_signal_and_has_the_latest_messages(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """A correction goes before ordinary updates that wait longer, also if something ordinary was
    said after it in its thread; its one call has all messages of the thread.
    """
    engine.updates.add(turn("Lou paints boats", "s2"), scope=ANN)
    clock.forward(seconds=5)
    engine.updates.add(turn("No, that's wrong, I meant Kim Lee"), scope=ANN)
    engine.updates.add(turn("The harbour opens at six"), scope=ANN)
    clock.forward(seconds=31)
    engine.drain()
    first, second = asked(model)
    assert "Kim Lee" in first
    assert "harbour opens at six" in first
    assert "Lou paints boats" in second


@pytest.mark.covers("S1.26")
def test_a_full_queue_refuses_what_is_ordinary(
    home: Path, model: ScriptedModel, clock: SettableClock
) -> None:
    """A new thread is refused; a correction and a known thread still enter."""
    with opened(home, model, clock, jobs__max_queued=2) as engine:
        for session in ("a", "b"):
            engine.updates.add(turn("Kim likes green tea", session), scope=ANN)
        with pytest.raises(BudgetError, match="queue is full"):
            engine.updates.add(turn("Kim likes black tea", "d"), scope=ANN)
        engine.updates.add(turn("Kim likes white tea", "b"), scope=ANN)
        engine.updates.add(turn("No, that's wrong, Kim hates tea", "d"), scope=ANN)
        assert engine.updates.waiting() == 3


@pytest.mark.covers("S1.26")
@pytest.mark.parametrize(
    "signal",
    [
        "Wrong! Kim lives in Oslo.",
        "Try again, please.",
        "Falsch. Kim mag Kaffee.",
        "Yes, exactly, that's right!",
        "It is quite correct.",
        "Right, Kim likes tea.",
        "Genau, das stimmt.",
        "C'est exact.",
        "对，就是这样",
    ],
)
def test_a_full_queue_takes_corrections_and_confirmations_in(
    home: Path, model: ScriptedModel, clock: SettableClock, signal: str
) -> None:
    """In the languages of the rules, whether they stand alone or before something else."""
    with opened(home, model, clock, jobs__max_queued=1) as engine:
        engine.updates.add(turn("Kim likes green tea", "a"), scope=ANN)
        for ordinary in ("Kim likes the right bank", "Is that right?", "Yes, please"):
            with pytest.raises(BudgetError, match="queue is full"):
                engine.updates.add(turn(ordinary, "b"), scope=ANN)
        engine.updates.add(turn(signal, "b"), scope=ANN)
        assert engine.updates.waiting() == 2


@pytest.mark.covers("S1.14", "S1.15", "S1.19", "S1.28")
def test_what_a_model_says_is_checked(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """Fenced JSON is read, unsure facts are dropped, categories kept;
    a failed update sees the same messages again.
    """
    said = {
        "turn": 1,
        "text": "Ann keeps bees",
        "quote": "I keep bees",
        "subject": "user",
        "predicate": "keeps",
        "object": "bees",
    }
    rows = [
        {**said, "confidence": 0.9, "category": "goal"},
        {**said, "text": "Ann may like wasps", "object": "wasps", "confidence": 0.4},
    ]
    model.say({"statements": rows})
    model.fail("http_500", times=1)
    engine.observe(turn("I keep bees"), scope=ANN)
    clock.forward(seconds=31)
    engine.drain()
    assert not engine.list(scope=ANN, kinds=(Kind.FACT,)).records
    clock.forward(hours=1)
    model.fail("fenced")
    engine.drain()
    facts = engine.list(scope=ANN, kinds=(Kind.FACT,)).records
    assert [(fact.text, fact.category) for fact in facts] == [("Ann keeps bees", "goal")]


@pytest.mark.covers("S1.14", "S1.15")
@pytest.mark.parametrize(
    ("confidence", "is_stored"),
    [("90%", True), (90, True), ("0.9", True), ("60 %", False), (60, False), (140, False)],
)
@pytest.mark.parametrize("is_bare", [False, True])
def test_a_models_habits_of_form_cost_no_fact(
    engine: MemoryEngine,
    model: ScriptedModel,
    clock: SettableClock,
    confidence: object,
    is_stored: bool,
    is_bare: bool,
) -> None:
    """A confidence in percent is read, and so is a list without the object around it."""
    row = {
        "turn": 1,
        "text": "Ann keeps bees",
        "quote": "I keep bees",
        "subject": "user",
        "predicate": "keeps",
        "object": "bees",
        "confidence": confidence,
    }
    model.say(json.dumps([row]) if is_bare else {"statements": [row]})
    engine.observe(turn("I keep bees"), scope=ANN)
    clock.forward(seconds=31)
    engine.drain()
    facts = engine.list(scope=ANN, kinds=(Kind.FACT,)).records
    assert [fact.text for fact in facts] == ["Ann keeps bees"] * is_stored


@pytest.mark.covers("S1.14")
def test_an_empty_list_is_an_answer(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """A model that answers with an empty list alone is asked once."""
    model.say("[]")
    engine.observe(turn("I keep bees"), scope=ANN)
    clock.forward(seconds=31)
    engine.drain()
    assert len(asked(model)) == 1
    assert not engine.status()["dead"]


@pytest.mark.covers("S1.23")
def test_long_messages_are_shortened_for_extraction(
    engine: MemoryEngine, model: ScriptedModel, clock: SettableClock
) -> None:
    """Head and tail of 500 characters; what was uploaded is left out."""
    engine.observe(
        turn("HEAD " + "x" * 3000 + " TAIL <uploaded_files>secret.pdf</uploaded_files> I like it"),
        scope=ANN,
    )
    clock.forward(seconds=31)
    engine.drain()
    (prompt,) = asked(model)
    assert "HEAD" in prompt
    assert "I like it" in prompt
    assert "secret.pdf" not in prompt
    assert "x" * 1100 not in prompt


@pytest.mark.covers("S1.35", "S1.36", "S1.37")
def test_notes_of_the_day(engine: MemoryEngine, model: ScriptedModel, home: Path) -> None:
    """A model's "None", in other languages too, as a list or in more words, and an answer without
    words write nothing;

    a failing one leaves it to rules, ten lines at most; the same messages are written once.
    """
    note = home / "vault/memory/users/ann/2026-03-01.md"
    nothings = (
        "None",
        "\u65e0",
        "\u6ca1\u6709\u3002",
        "",
        "- None.",
        "- \n-\n",
        "{}",
        "Nothing worth noting.",
        "No noteworthy information was shared.",
        "Output: none",
        "\u6ca1\u6709\u4ec0\u4e48\u503c\u5f97\u8bb0\u7684",
        "\u7279\u306b\u306a\u3057",
        "Keine besonderen Ereignisse.",
        "Rien \u00e0 signaler.",
        "Sin novedades",
    )
    for number, nothing in enumerate(nothings):
        said = f"I am allergic to {number} kinds of nuts"
        model.when(f"(?s)as a short list in Markdown.*{said}", nothing)
        engine.flush([{"id": f"a{number}", "role": "user", "content": said}], scope=ANN)
        engine.drain()
        assert not note.exists()
    said = [
        {"id": f"n{n}", "role": "user", "content": f"My neighbour number {n} keeps a parrot"}
        for n in range(15)
    ]
    model.fail("http_400", times=9, when="as a short list in Markdown")
    for _ in range(2):
        engine.flush(said, scope=ANN)
        engine.drain()
    assert note.exists()
    lines = [line for line in note.read_text().splitlines() if line.startswith("- ")]
    assert 0 < len(lines) <= 10


@pytest.mark.covers("S1.36")
def test_rules_pick_no_supposition(home: Path, clock: SettableClock) -> None:
    """Of a message that taught nothing, a note has the sentences that tell something; what only may
    be, would be, is asked or thanks is in none, in six languages.
    """
    supposed = (
        "Maybe I should learn Italian one day.",
        "If I had a million I would buy a farm.",
        "Vielleicht sollte ich nach Wien ziehen.",
        "Wenn ich reich w\u00e4re, k\u00e4me ein Boot ins Haus.",
        "Peut-\u00eatre que je devrais apprendre le piano.",
        "Quiz\u00e1s deber\u00eda mudarme a Lima.",
        "\u4e5f\u8bb8\u6211\u5e94\u8be5\u5b66\u65e5\u8bed\u3002",
        "\u3082\u3057\u304b\u3057\u305f\u3089\u5f15\u3063\u8d8a\u3059\u304b\u3082\u3057\u308c\u307e\u305b\u3093\u3002",
        "Thank you so much for the help today!",
    )
    note = home / "vault/memory/users/ann/2026-03-01.md"
    with engrams.open(home=home, preset="engine", clock=clock, jobs__workers=0) as engine:
        for text in supposed:
            engine.flush([{"role": "user", "content": text}], scope=ANN)
            engine.drain()
        assert not note.exists()
        told = "The ferry was late by an hour. I might take the train next time."
        engine.flush([{"role": "user", "content": told}], scope=ANN)
        engine.drain()
    lines = [line for line in note.read_text("utf-8").splitlines() if line.startswith("- ")]
    assert lines == ["- The ferry was late by an hour."]


@pytest.mark.covers("S1.37")
@pytest.mark.parametrize("by_model", [False, True])
def test_nothing_is_learned_from_what_a_timer_sent(
    home: Path, model: ScriptedModel, clock: SettableClock, by_model: bool
) -> None:
    """No rule reads the message or its answer, and no model is shown them; the message is found."""
    pair = ("[SCHEDULED] My brother Karl is a pilot.", "Karl lives in Oslo, and I like jazz.")
    roles: dict[str, Any] = {"write__roles": ("user", "assistant")}
    if by_model:
        made = opened(home, model, clock, **roles)
    else:
        made = engrams.open(home=home, preset="engine", clock=clock, jobs__workers=0, **roles)
    with made as engine:
        for role, text in zip(("user", "assistant"), pair, strict=True):
            engine.updates.add_nowait(Turn(text, role=role, session="s1"), scope=ANN)
            engine.drain()
        assert not engine.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE)).records
        assert not any("Karl" in prompt for prompt in asked(model))
        assert "Karl" not in engine.format_for_injection(scope=ANN)
        assert engine.search("Karl", scope=ANN).hits
        engine.observe(turn("My sister Eva lives in Graz."), scope=ANN)
        clock.forward(seconds=31)
        engine.drain()
        assert by_model or engine.list(scope=ANN, text="Eva", kinds=(Kind.FACT,)).records
        assert not by_model or "Eva" in asked(model)[-1]


@pytest.mark.covers("S1.37")
def test_what_a_timer_sent_is_in_no_note(engine: MemoryEngine, home: Path) -> None:
    """A message that is marked as scheduled, by a field or a tag, and its answer are not noted."""
    for mark in ({"scheduled": True, "content": "Send the report"}, {"content": "[SCHEDULED] Go"}):
        sent = {"role": "user", **mark}
        answer = {"role": "assistant", "content": "The report is in the hall"}
        assert engine.flush([sent, answer], scope=ANN)
    engine.drain()
    assert not (home / "vault/memory/users/ann/2026-03-01.md").exists()


@pytest.mark.covers("S1.34")
def test_a_flush_names_a_known_reason(engine: MemoryEngine) -> None:
    """A reason that no note has is refused, and nothing is stored."""
    with pytest.raises(InputError, match="no reason 'whim'"):
        engine.flush([{"role": "user", "content": "I keep bees"}], scope=ANN, reason="whim")  # type: ignore[arg-type]
    assert not engine.list(scope=ANN).records


@pytest.mark.covers("S1.39")
def test_a_line_stands_once_in_memory_md(home: Path, clock: SettableClock) -> None:
    """Words that differ in the mark at their end say one thing, with a number at the end too."""
    with engrams.open(home=home, preset="engine", clock=clock, jobs__workers=0) as engine:
        said = "I decided to move the release to May 4."
        engine.flush([{"role": "user", "content": said}], scope=ANN)
        engine.drain()
        assert engine.dream(scope=ANN)
        core = (home / "vault/memory/users/ann/MEMORY.md").read_text()
        assert core.count("move the release") == 1


@pytest.mark.covers("S1.42", "S1.44")
def test_a_dream_by_model_is_guarded(
    engine: MemoryEngine, model: ScriptedModel, home: Path
) -> None:
    """An answer without the memory part leaves MEMORY.md as it was;
    three days by hand, one by clock, fifty items.
    """
    folder = home / "vault/memory/users/ann"
    model.when("as a short list in Markdown", "- Ann sails")
    model.when(
        "Tidy the memory",
        {"items": [{"topic": "Life", "text": "Ann sails"}], "diary": "Brought in sailing."},
    )
    engine.flush([{"id": "1", "role": "user", "content": "I sail in Genoa"}], scope=ANN)
    engine.drain()
    assert engine.dream(scope=ANN)
    core = (folder / "MEMORY.md").read_bytes()
    assert b"Ann sails" in core
    assert (engine.settings.vault.dream_days, engine.settings.vault.memory_items) == (1, 50)


@pytest.mark.covers("S1.48", "S1.51")
def test_scores_of_words_and_meaning(engine: MemoryEngine, clock: SettableClock) -> None:
    """0.7 of the cosine and 0.3 of the words; what was said halves in thirty days, facts do not."""
    engine.add(Turn("The ferry leaves at nine"), scope=ANN, kind=Kind.FACT)
    engine.observe(turn("The ferry was late again"), scope=ANN)

    def scores() -> dict[str, float]:
        return {row.text: row.score for row in engine.explain("ferry", scope=ANN).trace.rows}

    (row, *_) = [
        row for row in engine.explain("ferry", scope=ANN).trace.rows if "leaves" in row.text
    ]
    assert row.score == pytest.approx(
        sum(value for name, value in row.parts.items() if name in ("cos", "bm")), abs=2e-3
    )
    before = scores()
    clock.forward(days=30)
    after = scores()
    assert after["The ferry was late again"] == pytest.approx(
        before["The ferry was late again"] / 2, abs=2e-3
    )
    assert after["The ferry leaves at nine"] == pytest.approx(
        before["The ferry leaves at nine"], abs=2e-3
    )


@pytest.mark.covers("S1.48", "S1.51")
def test_what_faded_below_the_floor_is_not_returned(
    engine: MemoryEngine, clock: SettableClock, home: Path
) -> None:
    """The floor is for the final score, after the decay;

    MEMORY.md does not fade, nor does the note of the day before its time.
    """
    engine.observe(turn("The ferry was late again"), scope=ANN)
    core = home / "vault/memory/users/ann/MEMORY.md"
    core.parent.mkdir(parents=True)
    core.write_text("- The ferry to Oslo takes bicycles\n")
    engine.vault.sync()  # type: ignore[union-attr]
    before = {hit.record.text: hit.score for hit in engine.search("ferry", scope=ANN).hits}
    assert len(before) == 2
    clock.forward(days=180)
    (hit,) = engine.search("ferry", scope=ANN).hits
    assert hit.score == pytest.approx(before[hit.record.text])
    assert "bicycles" in hit.record.text
    assert {
        row.dropped for row in engine.explain("ferry", scope=ANN).trace.rows if "late" in row.text
    } == {"below the floor of 0.1"}


@pytest.mark.covers("S1.51")
def test_a_message_stays_findable_by_the_fact_that_was_learned_from_it(
    home: Path, clock: SettableClock
) -> None:
    """A message does not fade below a fact of it that holds; once that is forgotten, it does."""
    question = "Where is the staging cluster?"
    with engrams.open(home=home, preset="engine", clock=clock, jobs__workers=0) as engine:
        told = "The staging cluster is in Frankfurt. The ferry was late again."
        engine.add(Turn(told, session="s1"), scope=ANN)
        (before,) = engine.search(question, scope=ANN).hits
        clock.forward(days=400)
        (after,) = engine.search(question, scope=ANN).hits
        assert after.record.text == told
        assert [fact.text for fact in after.facts] == ["The staging cluster is in Frankfurt"]
        assert before.score - 0.2 < after.score <= before.score
        assert not engine.search("Was the ferry late?", scope=ANN).hits
        engine.forget(after.facts[0].id, scope=ANN)
        assert not engine.search(question, scope=ANN).hits


@pytest.mark.covers("S1.20")
def test_only_lasting_facts_about_the_user_are_in_the_profile(
    engine: MemoryEngine, model: ScriptedModel
) -> None:
    """A project's facts, and what a model calls true for a while, are found by a question and are
    not in the profile.
    """
    engine.add("The build of falcon runs on bazel.", scope=(*ANN, "project", "falcon"))
    engine.drain()
    stated = [
        {"turn": 1, "quote": quote, "text": text, "confidence": 0.95, "category": category}
        for quote, text, category in (
            ("I am a vet in Leeds", "Ann is a vet in Leeds", "knowledge"),
            ("I want a table of primes now", "Ann wants a table of primes now", "context"),
        )
    ]
    model.say({"statements": stated})
    said = turn("I am a vet in Leeds. I want a table of primes now")
    engine.updates.add_nowait(said, scope=ANN)
    engine.drain()
    text = engine.format_for_injection(scope=ANN)
    assert "vet in Leeds" in text
    assert "bazel" not in text
    assert engine.list(scope=ANN, text="Ann wants a table").records
    assert "table of primes" not in text
    assert "table of primes" in engine.search("Which table?", scope=ANN).hits[0].record.text
    assert engine.search("bazel", scope=(*ANN, "project", "falcon")).hits
    assert not engine.list(scope=ANN, statuses=(Status.FORGOTTEN,)).records


@pytest.mark.covers("S1.20")
@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Fix the bug. I love jazz.", "I love jazz"),
        ("Hey, fix the layout! I hate dark mode.", "I hate dark mode"),
        ("Open the door please. My favourite colour is green.", "My favourite colour is green"),
        ("Summarise this. I hate dark mode.", ""),
    ],
)
def test_an_order_does_not_hide_the_fact_behind_it(
    home: Path, clock: SettableClock, said: str, fact: str
) -> None:
    """An order states nothing, and what follows is judged as if it stood alone; unless it may be
    the text to work on.
    """
    with engrams.open(home=home, preset="engine", clock=clock, jobs__workers=0) as engine:
        engine.observe(turn(said), scope=ANN)
        clock.forward(seconds=31)
        engine.drain()
        kinds = (Kind.FACT, Kind.PREFERENCE)
        stored = [record.text for record in engine.list(scope=ANN, kinds=kinds).records]
        assert stored == [fact] * bool(fact)
        assert fact in engine.format_for_injection(scope=ANN)


@pytest.mark.covers("S1.20")
def test_what_belongs_to_somebody_else_is_in_nobodys_profile(
    home: Path, clock: SettableClock
) -> None:
    """Without a model, in six languages: what is another's is no fact about the user."""
    others = (
        "Der Hund von Kim hei\u00dft Rex.",
        "Die Katze vom Nachbarn hei\u00dft Mimi.",
        "Le chien de Kim s'appelle Rex.",
        "El perro de Kim se llama Rex.",
        "The dog of Kim is called Rex.",
        "\u30ad\u30e0\u3055\u3093\u306e\u72ac\u306f\u30ec\u30c3\u30af\u30b9\u3067\u3059\u3002",
        "\u7530\u4e2d\u3055\u3093\u306f\u5927\u962a\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059\u3002",
        "\u5c0f\u660e\u7684\u72d7\u53eb\u65fa\u8d22\u3002",
    )
    own = (
        "Mein Hund hei\u00dft Wolke.",
        "El gato se llama Mimi.",
        "\u79c1\u306e\u72ac\u306f\u30cf\u30c1\u3067\u3059\u3002",
    )
    settings: dict[str, Any] = {"read__profile": "user", "read__profile_notes": False}
    with engrams.open(
        home=home, preset="engine", clock=clock, jobs__workers=0, **settings
    ) as engine:
        for number, text in enumerate((*others, *own)):
            engine.observe(turn(text, f"s{number}"), scope=ANN)
        clock.forward(seconds=31)
        engine.drain()
        profile = engine.format_for_injection(scope=ANN)
    for text in others:
        assert text.rstrip(".\u3002") not in profile
    for text in own:
        assert text.rstrip(".\u3002") in profile


@pytest.mark.covers("S1.20")
def test_the_gate_of_a_users_profile_is_shut_for_what_it_does_not_know(
    home: Path, model: ScriptedModel, clock: SettableClock
) -> None:
    """With `read.profile = user`, of a model's statements only those stand in the profile that are
    known to be about the user, to last and to describe; a search finds the others.
    """
    rows = (
        ("I am a vet in Leeds", "Ann is a vet in Leeds", "user", "knowledge"),
        ("Kim plays the oboe", "Kim plays the oboe", "Kim", "knowledge"),
        ("the harp stands in the hall", "The harp stands in the hall", "harp", "knowledge"),
        ("I went to Crete", "Ann went to Crete", "user", "event"),
        ("I am waiting for a parcel", "Ann is waiting for a parcel", "user", "context"),
    )
    stated = [
        {
            "turn": 1,
            "quote": quote,
            "text": text,
            "subject": subject,
            "category": category,
            "confidence": 0.95,
        }
        for quote, text, subject, category in rows
    ]
    model.say({"statements": stated})
    with opened(home, model, clock, read__profile="user", read__profile_notes=False) as engine:
        said = turn(". ".join(quote for quote, *_ in rows))
        engine.updates.add_nowait(said, scope=ANN)
        engine.drain()
        text = engine.format_for_injection(scope=ANN)
        assert "vet in Leeds" in text
        for word in ("oboe", "harp", "Crete", "parcel"):
            assert word not in text
            assert engine.list(scope=ANN, text=word, kinds=(Kind.FACT,)).records, word
            assert engine.search(f"{word}?", scope=ANN).hits, word


@pytest.mark.covers("S1.8")
def test_messages_need_ids(engine: MemoryEngine) -> None:
    """A message without an id, or two with one, is refused."""
    for said in (
        [{"role": "user", "content": "a"}],
        [{"id": "1", "role": "user", "content": "a"}, {"id": "1", "role": "user", "content": "b"}],
    ):
        with pytest.raises(ValueError, match="id"):
            engine.summaries.fit(said, scope=ANN, session="s")
