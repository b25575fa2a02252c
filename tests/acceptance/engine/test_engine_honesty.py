"""The memory engine's document (001):
what was forgotten or changed is read nowhere, and dreams say what they did.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.process import run

import engrams
from engrams import MemoryEngine
from engrams.adapters import AgentMemory
from engrams.core import Kind
from engrams.errors import ModelError
from engrams.testing import SettableClock

ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


def opened(home: Path, clock: SettableClock, **more: Any) -> MemoryEngine:
    return engrams.open(
        home=home, preset="engine", clock=clock, jobs__workers=0, vault__dream_at="", **more
    )


def flush(engine: MemoryEngine, *texts: str) -> None:
    engine.flush([{"role": "user", "content": text} for text in texts], scope=ANN)
    engine.drain()


def everywhere(engine: MemoryEngine, query: str) -> str:
    """All that reads say of it: search, context and injection."""
    hits = [hit.record.text for hit in engine.search(query, scope=ANN).hits]
    return "\n".join(
        [*hits, engine.context(query, scope=ANN).text, engine.format_for_injection(scope=ANN)]
    )


def folder(home: Path) -> Path:
    return home / "vault/memory/users/ann"


@pytest.mark.covers("S1.13")
def test_what_an_agent_deletes_is_in_no_note_either(home: Path, clock: SettableClock) -> None:
    """Deleted by the tool, a message is read neither from the day's note nor from MEMORY.md, at
    once; restored, it is back.
    """
    with opened(home, clock) as engine:
        flush(
            engine, "The pin of the old safe starts with nineteen.", "The attic window has no lock."
        )
        assert engine.dream(scope=ANN)
        memory = AgentMemory(engine, ANN)
        name = next(hit["id"] for hit in memory.search_memory("safe pin") if hit["kind"] == "turn")
        assert "nineteen" in everywhere(engine, "safe pin")
        memory.manage_memory(action="delete", id=str(name))
        assert "nineteen" not in everywhere(engine, "safe pin")
        assert "attic window" in everywhere(engine, "attic window lock")
        engine.restore(str(name), scope=ANN)
        assert "nineteen" in everywhere(engine, "safe pin")
        engine.forget(str(name), scope=ANN)
    with opened(home, clock) as engine:
        assert "nineteen" not in everywhere(engine, "safe pin")
        assert engine.dream(scope=ANN, force=True)
        core = (folder(home) / "MEMORY.md").read_text()
        assert "nineteen" not in core
        assert "attic window" in core
        assert (
            "out (no longer so): The pin of the old safe starts with nineteen."
            in (folder(home) / "dreams/2026-03-01.md").read_text()
        )


@pytest.mark.covers("S1.39")
@pytest.mark.parametrize(
    ("said", "denied"),
    [
        ("I like tea.", "I don't like tea any more."),
        ("I drink coffee.", "I don't drink coffee."),
        ("Ich mag Tee.", "Ich mag keinen Tee mehr."),
        ("I own a boat.", "I no longer own a boat."),
    ],
)
def test_what_was_denied_since_is_in_no_note(
    home: Path, clock: SettableClock, said: str, denied: str
) -> None:
    """Once denied, a statement is read neither from the note of its day nor from MEMORY.md, and
    the next dream takes it out.
    """
    line = f"- {said.rstrip('.')}"
    with opened(home, clock) as engine:
        flush(engine, said)
        assert engine.dream(scope=ANN)
        core = folder(home) / "MEMORY.md"
        assert line in core.read_text().splitlines()
        clock.forward(days=3)
        flush(engine, denied)
        told = engine.format_for_injection(scope=ANN)
        assert said.rstrip(".") not in told.replace(denied.rstrip("."), "")
        assert engine.dream(scope=ANN)
        assert line not in core.read_text().splitlines()
        assert denied.rstrip(".") in core.read_text()


@pytest.mark.covers("S1.19", "S1.39")
@pytest.mark.parametrize(
    ("rule", "correction", "left"),
    [
        ("Use spaces.", "No, use tabs, not spaces.", "tabs"),
        ("Use npm for the frontend.", "Use pnpm for the frontend instead of npm.", "pnpm"),
        (
            "Always use spaces for indentation.",
            "Use tabs for indentation from now on, not spaces.",
            "tabs",
        ),
        (
            "Use metric units.",
            "Use imperial units from now on, rather than metric ones.",
            "imperial",
        ),
    ],
)
def test_a_rule_ends_where_another_rejects_its_value(
    home: Path, clock: SettableClock, rule: str, correction: str, left: str
) -> None:
    """Of two rules for one thing only the one that rejects the other's value is read, from rules
    and from MEMORY.md.
    """
    with opened(home, clock) as engine:
        flush(engine, rule)
        engine.dream(scope=ANN)
        clock.forward(days=1)
        flush(engine, correction)
        assert engine.dream(scope=ANN)
        told = engine.format_for_injection(scope=ANN)
        core = (folder(home) / "MEMORY.md").read_text()
    for text in (told, core):
        assert left in text
        assert rule.rstrip(".") not in text


@pytest.mark.covers("S1.19")
@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("My goal is to learn Danish by June.", "goal"),
        ("Mein Ziel ist es, D\u00e4nisch zu lernen.", "goal"),
        ("Mon objectif est d'apprendre le danois.", "goal"),
        ("\u6211\u7684\u76ee\u6807\u662f\u5b66\u4f1a\u4e39\u9ea6\u8bed\u3002", "goal"),
        ("I love green tea.", "preference"),
        ("I know Rust well.", "knowledge"),
        ("Don't use emojis.", "behavior"),
    ],
)
def test_rules_tell_the_categories(
    home: Path, clock: SettableClock, said: str, category: str
) -> None:
    """Without a model, too, a goal is a goal, and how to answer is behaviour."""
    with opened(home, clock) as engine:
        flush(engine, said)
        kinds = (Kind.FACT, Kind.PREFERENCE, Kind.NEGATIVE, Kind.RULE)
        records = engine.list(scope=ANN, kinds=kinds).records
        assert {record.category for record in records} == {category}


@pytest.mark.covers("S1.19")
def test_a_rule_for_less_leaves_the_general_one(home: Path, clock: SettableClock) -> None:
    """Tabs in one sort of file reject no spaces elsewhere."""
    with opened(home, clock) as engine:
        flush(engine, "Use spaces.", "Use tabs in Go files, not spaces.")
        told = engine.format_for_injection(scope=ANN)
    assert "Use spaces" in told
    assert "tabs in Go files" in told


@pytest.mark.parametrize("part", [(), ("project", "kiln")])
def test_erasing_everything_is_proven_in_notes_too(
    home: Path, clock: SettableClock, part: tuple[str, ...]
) -> None:
    """What erases a memory or a project leaves no line of it in notes, a line by hand included,
    and the headings that stay are no trace.
    """
    with opened(home, clock) as engine:
        scope = (*ANN, *part)
        said = "The pin of the old safe starts with nineteen."
        engine.flush([{"role": "user", "content": said}], scope=scope)
        engine.drain()
        assert engine.dream(scope=ANN)
        core = folder(home) / "MEMORY.md"
        core.write_text(core.read_text() + "- The attic window has no lock\n")
        engine.vault.sync()  # type: ignore[union-attr]
        report = engine.purge_all(scope)
        assert report.proven, report.remaining
        texts = "".join(path.read_text() for path in folder(home).rglob("*.md"))
    assert "nineteen" not in texts
    assert ("attic window" in texts) == bool(part)


def test_an_edit_reaches_what_the_notes_say(home: Path, clock: SettableClock) -> None:
    """A line that says what an edited memory said is not read any more;
    one that a person wrote, and is merely similar, is.
    """
    with opened(home, clock) as engine:
        name = engine.manage("Tuesday is the rowing class for beginners", scope=ANN)
        engine.vault.notes.daily.summarise(engrams.Scope(ANN), START.date())  # type: ignore[union-attr]
        assert engine.dream(scope=ANN)
        core = folder(home) / "MEMORY.md"
        core.write_text(core.read_text() + "- Tuesday is also the rowing class for old hands\n")
        engine.vault.sync()  # type: ignore[union-attr]
        engine.manage("Thursday is the rowing class for beginners", "update", name, scope=ANN)
        told = everywhere(engine, "When is the rowing class?")
        assert "Thursday is the rowing class for beginners" in told
        assert "Tuesday is the rowing class for beginners" not in told
        assert "Tuesday is also the rowing class for old hands" in told


def test_a_line_in_the_words_of_a_model_goes_with_its_memory(
    home: Path, clock: SettableClock
) -> None:
    """Notes and MEMORY.md written by a model lose the lines that said what was forgotten;
    its next dream is not told of it either.
    """
    prompts: list[str] = []

    def model(messages: Any) -> str:
        prompts.append(str(messages))
        if "Tidy the memory" in prompts[-1]:
            items = [
                {"topic": "Health", "text": "Ann has a penicillin allergy"},
                {"topic": "Work", "text": "Ann owns a pottery in Leeds"},
            ]
            return json.dumps({"items": items, "diary": "Two."})
        return (
            "- Ann: allergic to penicillin\n- Ann runs a pottery in Leeds"
            if "short list" in prompts[-1]
            else '{"statements": []}'
        )

    with opened(home, clock, chat=model) as engine:
        flush(engine, "I am allergic to penicillin.", "I run a pottery in Leeds.")
        assert engine.dream(scope=ANN)
        (turn,) = [
            one
            for one in engine.list(scope=ANN, kinds=(Kind.TURN,)).records
            if "penicillin" in one.text
        ]
        assert "penicillin allergy" in everywhere(engine, "allergy penicillin")
        engine.forget(turn.id, scope=ANN)
        assert "penicillin" not in everywhere(engine, "allergy penicillin")
        assert "pottery" in everywhere(engine, "pottery in Leeds")
        engine.vault.notes.dreams.plan(engrams.Scope(ANN), force=True)  # type: ignore[union-attr]
        assert "pottery" in prompts[-1]
        assert "penicillin" not in prompts[-1]


@pytest.mark.slow
def test_the_command_forgets_in_notes_too(home: Path) -> None:
    """Each command a process of its own:
    forgotten, the sentence is in no search and no context; restored, it is.
    """

    def command(*arguments: str) -> str:
        return run(home, "--preset", "engine", arguments=arguments)

    name = json.loads(
        command(
            "add", "--json", "The spare boathouse key hangs behind the life jackets"
        ).splitlines()[-1]
    )["id"]
    command("dream")
    assert "life jackets" in command("context", "Where is the boathouse key?")
    command("forget", name)
    assert "life jackets" not in command("search", "boathouse key") + command(
        "context", "Where is the boathouse key?"
    )
    command("restore", name)
    assert "life jackets" in command("search", "boathouse key")


@pytest.mark.covers("S1.39")
def test_the_diary_of_a_models_dream_is_an_audit_trail(home: Path, clock: SettableClock) -> None:
    """After the model's own words stands what came in and what went out, computed;
    what stays is never listed as out.
    """
    answers = [
        {
            "items": [
                {"topic": "Health", "text": "Ravi is allergic to penicillin"},
                {"topic": "Work", "text": "Ravi runs a pottery"},
            ]
        },
        {
            "items": [
                {"topic": "Work", "text": "Ravi runs a pottery"},
                {"topic": "Work", "text": "Ravi has a kiln"},
            ],
            "diary": "A kiln.",
        },
    ]
    with opened(home, clock, chat=dreaming(lambda: json.dumps(answers.pop(0)))) as engine:
        for text in ("I am allergic to penicillin and run a pottery.", "I bought a kiln."):
            flush(engine, text)
            assert engine.dream(scope=ANN)
    diary = (folder(home) / "dreams/2026-03-01.md").read_text()
    assert diary.count("- in: Ravi is allergic to penicillin") == 1
    last = diary[diary.index("A kiln.") :]
    assert "- in: Ravi has a kiln" in last
    assert "- out (by the model): Ravi is allergic to penicillin" in last
    assert "out (by the model): Ravi runs a pottery" not in diary


def test_a_dream_without_items_failed(home: Path, clock: SettableClock) -> None:
    """An answer without items is no dream:
    it raises, MEMORY.md stays, and the same notes are dreamed again; an empty list is honest.
    """
    answers = [
        "{}",
        '{"items": [], "diary": "Nothing lasts."}',
        '{"items": [{"topic": "Work", "text": "Ravi has a kiln"}]}',
        '{"items": []}',
    ]
    with opened(home, clock, chat=dreaming(lambda: answers.pop(0))) as engine:
        flush(engine, "I bought a kiln.")
        with pytest.raises(ModelError, match="no items"):
            engine.dream(scope=ANN)
        assert engine.dream(scope=ANN) is False
        assert (
            "Nothing lasts.\n\nBrought in 0, dropped 0, 0 items now."
            in (folder(home) / "dreams/2026-03-01.md").read_text()
        )
        assert engine.dream(scope=ANN, force=True)
        core = (folder(home) / "MEMORY.md").read_bytes()
        with pytest.raises(ModelError, match="no items"):
            engine.dream(scope=ANN, force=True)
        assert (folder(home) / "MEMORY.md").read_bytes() == core


def test_what_stays_is_not_out(home: Path, clock: SettableClock) -> None:
    """A line that a second note repeats is in MEMORY.md once, and no plan or diary says that it
    goes.
    """
    with opened(home, clock) as engine:
        flush(engine, "The barn roof leaks above the tractor")
        assert engine.dream(scope=ANN)
        clock.forward(days=1)
        flush(engine, "The well is forty metres deep")
        assert engine.dream(scope=ANN)
    assert "out (" not in (folder(home) / "dreams/2026-03-02.md").read_text()
    assert "barn roof" in (folder(home) / "MEMORY.md").read_text()


def dreaming(dream: Callable[[], str]) -> Callable[[Any], str]:
    """A model that quotes messages into the day's note, and answers a dream with what it is given."""

    def model(messages: Any) -> str:
        text = str(messages)
        if "Tidy the memory" in text:
            return dream()
        return f"- {text[-60:]}" if "short list" in text else '{"statements": []}'

    return model
