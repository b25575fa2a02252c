"""The memory graph's document (003):
bounds of the judge, known memories, ignored files and repetition, by the engine with that preset.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.acceptance.process import eventually

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind
from engrams.errors import EngramsError
from engrams.testing import ScriptedModel, SettableClock

JUDGE = "Someone is talking with an assistant that has long-term memory"
ANN = ("user", "ann")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def engine(home: Path, clock: SettableClock) -> Iterator[MemoryEngine]:
    with engrams.open(home=home, preset="graph", jobs__workers=0, clock=clock) as made:
        yield made


@pytest.mark.covers("S3.17")
def test_the_judge_sees_so_much_and_no_more(home: Path, clock: SettableClock) -> None:
    """Five memories a turn, 600 characters of each;
    the question's last 4000, 1200 of each message before it, twelve and 8000 in all.
    """
    with (
        ScriptedModel(
            answer=lambda r: (
                {"ids": list(range(1, 9))}
                if JUDGE in r.prompt
                else {"statements": [], "decisions": []}
            )
        ) as model,
        engrams.open(
            home=home,
            preset="graph",
            clock=clock,
            chat__provider="openai",
            chat__model="m",
            chat__url=model.url,
            jobs__workers=0,
        ) as engine,
    ):
        for number in range(8):
            engine.add(
                Turn(f"Ann ties knot number {number} with a rope {'r' * 900}"),
                scope=ANN,
                kind=Kind.FACT,
            )
        before = [
            {
                "role": "user" if n % 2 else "assistant",
                "content": f"before{n:02d} " + f"m{n:02d} " * 500,
            }
            for n in range(15)
        ]
        asked = "HEAD " + "q" * 5000 + " Which rope and which knot does Ann tie?"
        engine.deliver([*before, {"role": "user", "content": asked}], scope=ANN, session="s")
        eventually(lambda: len([r for r in model.requests if JUDGE in r.prompt]) == 2)
        prompt = next(r.prompt for r in model.requests if JUDGE in r.prompt)
        context, _, memories = prompt.partition("The latest part of the conversation:")[
            2
        ].partition("The memories:")
        assert "Which rope and which knot does Ann tie?" in context
        assert "HEAD" not in context
        assert context.count("q" * 100) <= 40
        assert len(context.strip()) <= 8000 + 2
        shown = [n for n in range(15) if f"before{n:02d}" in context]
        assert shown == list(range(15 - len(shown), 15))
        assert 0 < len(shown) <= 11
        assert max(context.count(f"m{n:02d} ") for n in shown) <= 300
        rows = [row for row in memories.splitlines() if row[:1].isdigit()]
        assert len(rows) == 8
        assert max(row.count("r" * 10) for row in rows) <= 60
        assert max(len(row) for row in rows) <= 600 + len('8. ""')
        eventually(lambda: len(engine.deliver("and?", scope=ANN, session="s").hits) == 5)


@pytest.mark.covers("S3.21")
def test_what_a_session_knows_is_not_told_to_it(home: Path, clock: SettableClock) -> None:
    """What was learned from a session, or said in it, is nothing new to it;
    the same memories are not given twice in a while.
    """
    with engrams.open(
        home=home,
        preset="graph",
        clock=clock,
        jobs__workers=0,
        delivery__mode="sync",
        sessions__trigger="turn",
    ) as engine:
        engine.observe(Turn("I live in Porto near the river", session="mine"), scope=ANN)
        engine.drain()

        def told(session: str) -> str:
            return engine.deliver("Where do I live? Porto?", scope=ANN, session=session).text

        assert "Porto" not in told("mine")
        assert "Porto" in told("other")
        assert told("other") == ""
        clock.forward(seconds=89)
        assert told("other") == ""
        clock.forward(minutes=46)
        assert "Porto" in told("other")


@pytest.mark.covers("S3.52")
def test_texts_of_ignored_files_are_not_stored(home: Path, tmp_path: Path) -> None:
    """What .gitignore or .secretsignore names, and .env, is refused, with the rule;
    other files are stored.
    """
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / ".secretsignore").write_text("*.vault\n")
    with engrams.open(
        home=home, preset="graph", jobs__workers=0, write__ignore_root=str(tmp_path)
    ) as engine:
        for file in ("build/out.txt", "keys.vault", ".env", "deep/.env"):
            with pytest.raises(EngramsError):
                engine.add(Turn(f"The text of {file} is plain", meta={"file": file}), scope=ANN)
        assert (
            engine.add(
                Turn("The text of main.py is plain", meta={"file": "src/main.py"}), scope=ANN
            ).outcome
            == "stored"
        )
        stored_texts = {record.text for record in engine.list(scope=ANN).records}
        assert stored_texts == {"The text of main.py is plain"}


@pytest.mark.covers("S3.39")
def test_repetition_reaches_over_scopes_and_stops_at_other_facts(engine: MemoryEngine) -> None:
    """Said to a project in other words it is the person's memory that grows;
    with another number it is another memory.
    """
    name = engine.add(Turn("I really love hiking in the mountains"), scope=ANN).derived[0].id
    engine.add(
        Turn("I love hiking in mountains", session="s2"),
        scope=(*ANN, "project", "p"),
        kind=Kind.NOTE,
    )
    kept = engine.get(name, scope=ANN)
    assert kept.strength == 2
    (entry,) = kept.meta["reinforcements"]
    assert entry["session"] == "s2"
    assert engine.get(entry["source"], scope=ANN).text == "I love hiking in mountains"
    before = len(engine.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE)).records)
    for text in ("I own 3 red bicycles", "I own 4 red bicycles"):
        engine.add(Turn(text), scope=ANN)
    assert len(engine.list(scope=ANN, kinds=(Kind.FACT, Kind.PREFERENCE)).records) >= before + 1
    assert not [
        r
        for r in engine.list(scope=ANN, kinds=(Kind.FACT,)).records
        if "bicycles" in r.text and r.strength > 1
    ]


@pytest.mark.covers("S3.39")
def test_a_measure_is_repeated_in_whatever_way_it_is_written(engine: MemoryEngine) -> None:
    """A number as digits or as a word, before its noun or after it, is the same memory; another
    number is another.
    """
    wordings = (
        "User prefers 4-space indentation",
        "User prefers four spaces for indentation",
        "User prefers an indentation of 4 spaces",
    )
    for text in (*wordings, "User prefers two spaces for indentation"):
        engine.add(Turn(text), scope=ANN, kind=Kind.PREFERENCE)
    texts = {
        record.text: record.strength
        for record in engine.list(scope=ANN, kinds=(Kind.PREFERENCE,)).records
    }
    assert texts[wordings[0]] == len(wordings)
    assert not texts.keys() & set(wordings[1:])


@pytest.mark.covers("S3.39")
def test_what_is_said_for_all_projects_after_one_moves_up(engine: MemoryEngine) -> None:
    """A repetition for the person of what two projects know leaves one memory, the person's, which
    is as strong as all of them; another project's number stays.
    """
    texts = ("Tests run on 4 cores", "Tests run on 4 cores", "Tests run on 8 cores")
    for name, text in zip(("p", "q", "r"), texts, strict=True):
        engine.add(Turn(text), scope=(*ANN, "project", name), kind=Kind.FACT)
    said = engine.add(Turn("The tests run on 4 cores"), scope=ANN, kind=Kind.FACT).id
    engine.drain()
    left = engine.list(scope=ANN, kinds=(Kind.FACT,)).records
    assert {(record.id == said, record.strength) for record in left} == {(True, 2), (False, 1)}
    assert [record.text for record in left if record.id != said] == [texts[2]]
    (found,) = engine.search("How many cores do tests run on?", scope=(*ANN, "project", "p")).hits
    assert found.record.id == said
