"""What somebody tells of a past that is over ends nothing of today, and is known as over."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import engrams
from engrams import AsOf, MemoryEngine
from engrams.core import Kind, Status
from engrams.testing import SettableClock

ANN = ("user", "ann")
NOW = "2026-11-20T09:00"


def told(home: Path, *texts: str) -> MemoryEngine:
    """Add texts an hour apart."""
    clock = SettableClock(NOW)
    memory = engrams.open(home=home, clock=clock, jobs__workers=0)
    for text in texts:
        memory.add(text, scope=ANN)
        clock.forward(hours=1)
    assert memory.drain(30)
    return memory


@pytest.mark.parametrize(
    ("today", "past"),
    [
        ("I'm married to Ann.", "I was married to Beth until 2012."),
        ("I'm married to Ann.", "I was married to Beth from 2001 to 2009."),
        ("I'm dating Ann.", "I was dating Beth until 2012."),
        ("I'm dating Ann.", "I dated Beth for two years."),
        ("I live in Rome.", "I lived in Paris until 2012."),
        ("I live in Rome.", "I lived in Paris from 2001 to 2009."),
        ("I work at Acme.", "I worked at Globex until 2012."),
        ("I work at Acme.", "I was employed at Globex from 2001 to 2009."),
        ("I study at MIT.", "I was enrolled at Yale until 2012."),
        ("My name is Ann.", "I was called Beth as a kid."),
        ("My sister is married to Tom.", "My sister was married to Bob from 2003 to 2010."),
        ("I live in Rome.", "In 2009 I moved to Madrid for a year."),
        ("I live in Rome.", "I moved to Oslo in May for three months."),
        ("I work at Acme.", "I started at Globex in 2009 for two years."),
    ],
)
def test_a_past_value_ends_nothing(home: Path, today: str, past: str) -> None:
    """What was so until a year is no news of what is so today."""
    with told(home, today, past) as memory:
        status = {
            hit.record.text: (hit.status, hit.outdated)
            for hit in memory.search(today, scope=ANN).hits
        }
        assert status[today] == (Status.ACTIVE, None)
        assert not memory.list(scope=ANN, kinds=(Kind.NOTE,), statuses=(Status.SUPERSEDED,)).records


@pytest.mark.parametrize("before", [(), ("I live in Rome.",)])
@pytest.mark.parametrize(
    ("text", "begun", "ended"),
    [
        ("In 2009 I moved to Madrid for a year.", 2009, 2010),
        ("I moved to Madrid from 2003 to 2005.", 2003, 2006),
        ("Ten years ago I moved to Madrid for two years.", 2016, 2018),
        ("I relocated to Madrid for two years back in 2012", 2012, 2014),
    ],
)
def test_a_stay_that_is_over(
    home: Path, before: tuple[str, ...], text: str, begun: int, ended: int
) -> None:
    """A move for some years is true for these, whatever else is known."""
    with told(home, *before, text) as memory:
        (stay,) = memory.list(scope=ANN, kinds=(Kind.FACT,), statuses=(Status.SUPERSEDED,)).records
        assert (stay.object, stay.valid_from, stay.valid_to) == (
            "Madrid",
            *(datetime(year, 1, 1, tzinfo=UTC) for year in (begun, ended)),
        )
        assert [one.object for one in memory.list(scope=ANN, kinds=(Kind.FACT,)).records] == [
            "Rome"
        ] * len(before)
        then = AsOf(valid=datetime(begun, 7, 1, tzinfo=UTC))
        assert "Madrid" in [
            one.object for one in memory.list(scope=ANN, kinds=(Kind.FACT,), as_of=then).records
        ]


@pytest.mark.parametrize(
    "text",
    [
        "In March I moved to Madrid for two years.",
        "A year ago I moved to Madrid, for ten years.",
        "I moved to Madrid.",
    ],
)
def test_a_stay_that_goes_on(home: Path, text: str) -> None:
    """A stay whose end is to come, or not told, is current."""
    with told(home, "I live in Rome.", text) as memory:
        assert [one.object for one in memory.list(scope=ANN, kinds=(Kind.FACT,)).records] == [
            "Madrid"
        ]
