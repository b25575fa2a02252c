"""The days that a statement's words name stand beside them, at every door that takes statements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import engrams
from engrams import MemoryEngine, Turn
from engrams.core import Kind
from engrams.program.main import app

ANN = ("user", "ann")
SUNDAY = datetime.fromisoformat("2026-02-15T18:00+00:00")


@pytest.fixture
def memory(home: Path) -> Iterator[MemoryEngine]:
    with engrams.open(home=home, jobs__workers=0) as engine:
        yield engine


def starts(meta: Any) -> list[str | None]:
    return [time["start"] for time in meta.get("times", ())]


def learned(memory: MemoryEngine, text: str, at: datetime = SUNDAY) -> Any:
    """The metadata of the statement that is learned from a message."""
    memory.observe(Turn(text, at=at), scope=ANN)
    memory.drain()
    (fact,) = memory.list(scope=ANN, kinds=(Kind.FACT,)).records
    return fact.meta


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("My MRI scan is on the 27th at Southmead.", "2026-02-27T00:00:00+00:00"),
        ("My exam is on the 16th.", "2026-02-16T00:00:00+00:00"),
        ("I have an interview at Tidewell on the 20th.", "2026-02-20T00:00:00+00:00"),
        ("I moved to Berlin on the 28th.", "2026-01-28T00:00:00+00:00"),
    ],
)
def test_day_of_a_learned_statement(memory: MemoryEngine, text: str, start: str) -> None:
    """What is planned lies after the day of telling, what is done before it."""
    assert starts(learned(memory, text)) == [start]


@pytest.mark.parametrize(
    ("text", "value", "begun"),
    [
        (
            "My inhaler was changed from Ventolin to Salamol on the 4th of this month.",
            "Salamol",
            "2026-02-04T00:00+00:00",
        ),
        ("My desk was moved to Floor Six on 2 February.", "Floor Six", "2026-02-02T00:00+00:00"),
        ("My flight was moved to 4 pm on Friday.", "4 pm on Friday", "2026-02-15T18:00+00:00"),
    ],
)
def test_a_change_holds_from_its_day(
    memory: MemoryEngine, text: str, value: str, begun: str
) -> None:
    """The day behind a new value is when it changed, and no part of the value; a time of day is."""
    memory.observe(Turn(text, at=SUNDAY), scope=ANN)
    memory.drain()
    (fact,) = memory.list(scope=ANN, kinds=(Kind.FACT,)).records
    assert (fact.object, fact.valid_from) == (value, datetime.fromisoformat(begun))


def test_valid_from_the_day(memory: MemoryEngine) -> None:
    """A change holds from its day on, and never from one after the telling."""
    memory.observe(Turn("I moved to Berlin on December 29.", at=SUNDAY), scope=ANN)
    memory.drain()
    (fact,) = memory.list(scope=ANN, kinds=(Kind.FACT,)).records
    assert fact.valid_from == datetime.fromisoformat("2025-12-29T00:00+00:00")


def test_recurring_day_has_no_date(memory: MemoryEngine) -> None:
    """Yoga on two days of every week is valid from no day."""
    (time,) = learned(memory, "I have yoga on Tuesday and Thursday.")["times"]
    assert time["recurs"] == "Tuesday and Thursday"
    assert time["start"] is None


@pytest.mark.parametrize(
    ("text", "recurs"),
    [
        ("we open at 6 every day except monday", "every day"),
        ("The pool is open every day except Mondays.", "every day"),
        ("wir haben täglich außer Montag offen", "täglich"),
        ("abrimos todos los días menos el lunes", "todos los días"),
        ("on est ouvert tous les jours sauf le lundi", "tous les jours"),
        ("我们除了周一每天开门", "每天"),
        ("月曜以外は毎日営業しています", "毎日"),
    ],
)
def test_a_day_that_is_left_out_is_no_time(memory: MemoryEngine, text: str, recurs: str) -> None:
    """Monday is the very day on which it is not so."""
    (time,) = learned(memory, text)["times"]
    assert (time["recurs"], time["start"]) == (recurs, None)


def test_day_on_the_tellers_clock(memory: MemoryEngine) -> None:
    """Late in the evening of San Francisco tomorrow is not the day after in UTC's sense."""
    late = datetime.fromisoformat("2025-06-11T23:30-07:00")
    assert starts(learned(memory, "I'm flying to Rome tomorrow.", late)) == [
        "2025-06-12T00:00:00-07:00"
    ]


def test_given_statement_is_annotated(memory: MemoryEngine) -> None:
    """A statement that is given keeps its text; an edit of the text brings its own days."""
    receipt = memory.add(Turn("Her exam is on the 16th.", at=SUNDAY), scope=ANN, kind=Kind.FACT)
    record = memory.get(receipt.id, scope=ANN)
    assert record.text == "Her exam is on the 16th."
    assert starts(record.meta) == ["2026-02-16T00:00:00+00:00"]
    memory.edit(receipt.id, scope=ANN, fields={"text": "Her exam is on the 18th."})
    assert starts(memory.get(receipt.id, scope=ANN).meta) == ["2026-02-18T00:00:00+00:00"]
    memory.edit(receipt.id, scope=ANN, fields={"text": "Her exam is over."})
    assert "times" not in memory.get(receipt.id, scope=ANN).meta


def test_day_at_the_command_line(home: Path) -> None:
    """``engrams add --at`` counts days on the clock that it names."""
    environment = {"ENGRAMS_HOME": str(home)}
    at = "2025-06-11T23:30-07:00"
    arguments = ["add", "--user", "ann", "--kind", "fact", "--at", at, "My flight is tomorrow."]
    assert CliRunner().invoke(app, arguments, env=environment).exit_code == 0
    listed = CliRunner().invoke(
        app, ["list", "--user", "ann", "--kind", "fact", "--json"], env=environment
    )
    answer = json.loads(listed.output)
    (record,) = answer["records"] if isinstance(answer, dict) else answer
    assert starts(record["meta"]) == ["2025-06-12T00:00:00-07:00"]


@pytest.mark.parametrize(
    "text",
    ["Ich wohne seit 2019 in Köln.", "Vivo en Sevilla desde 2019.", "J'habite à Lyon depuis 2019."],
)
def test_true_since_the_year_that_it_names(memory: MemoryEngine, text: str) -> None:
    """What is told since when is true from then on, in other languages too."""
    memory.observe(Turn(text, at=SUNDAY), scope=ANN)
    memory.drain()
    (fact,) = memory.list(scope=ANN, kinds=(Kind.FACT,)).records
    assert fact.valid_from == datetime.fromisoformat("2019-01-01T00:00+00:00")
