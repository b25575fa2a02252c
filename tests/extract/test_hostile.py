"""What nobody would say:
times out of range, texts that are all marks, metadata without a bottom.
"""

from __future__ import annotations

import cProfile
import pstats
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from engrams import Turn
from engrams.errors import InputError
from engrams.extract.rules.rule_extraction import extract_statements
from engrams.extract.rules.utterance import UtteranceContext
from engrams.ports import AsOf
from engrams.testing import temp_engine

ANN = ("user", "ann")
EAST = timezone(timedelta(hours=5))
WEST = timezone(timedelta(hours=-5))
NEVER = (datetime(1, 1, 1, tzinfo=EAST), datetime(9999, 12, 31, 23, 59, 59, tzinfo=WEST))


@pytest.mark.parametrize(
    "at",
    [
        datetime(1, 1, 1),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59),
        datetime(1969, 7, 20),
    ],
)
def test_any_time_that_there_is_can_be_said(at: datetime) -> None:
    """A turn of the year 1, 1969 or 9999 is stored, learned from and found, and reads as of such a
    time work.
    """
    with temp_engine(jobs__workers=0) as memory:
        memory.add(Turn("I moved to Oslo last week.", at=at), scope=ANN)
        memory.drain(20)
        assert memory.status()["dead"] == []
        assert memory.search("Oslo", scope=ANN).hits
        assert memory.search("Oslo", scope=ANN, as_of=at) is not None
        assert memory.search("Oslo", scope=ANN, as_of=AsOf(known=at)) is not None


@pytest.mark.parametrize("at", NEVER)
def test_a_time_out_of_range_is_refused_everywhere(at: datetime) -> None:
    """A time that is in no year of UTC is an InputError, in a turn, an edit and a read;
    nothing is stored of it.
    """
    with temp_engine(jobs__workers=0) as memory:
        known = memory.add("I live in Rome", scope=ANN)
        with pytest.raises(InputError, match="out of range"):
            memory.add(Turn("I moved to Oslo", at=at), scope=ANN)
        with pytest.raises(InputError, match="out of range"):
            memory.edit(known.id, scope=ANN, fields={"valid_from": at})
        with pytest.raises(InputError, match="out of range"):
            memory.search("Rome", scope=ANN, as_of=at)
        assert memory.get(known.id, scope=ANN).text == "I live in Rome"
        assert len(memory.list(scope=ANN).records) == 2


def test_metadata_without_a_bottom_is_refused() -> None:
    """Metadata nested thousands deep is an InputError; so is a kind that there is not."""
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(100_000):
        inner["a"] = {}
        inner = inner["a"]
    with temp_engine(jobs__workers=0) as memory:
        with pytest.raises(InputError, match="not JSON"):
            memory.add(Turn("I like tea", meta=deep), scope=ANN)
        with pytest.raises(InputError, match="no kind"):
            memory.add("I like tea", scope=ANN, kind="nonsense")  # type: ignore[arg-type]
        assert memory.list(scope=ANN).records == ()
    while deep:  # taken apart by hand: Python's own way would go as deep
        deep = deep.pop("a")


@pytest.mark.parametrize(
    "piece",
    [
        "'",
        '"',
        "$",
        "“",
        "=a",
        "+1 ",
        "a' ",
        '"a" ',
        "in 2020 ",
        "on monday ",
        "my ",
        "I like a and b, ",
        "- ",
        "((",
    ],
)
def test_the_work_grows_with_the_text(piece: str) -> None:
    """Twice the text is about twice the work (counted in calls), whatever it is made of."""

    def work(number: int) -> int:
        speech = UtteranceContext(
            speaker="the user",
            subject="user",
            said_at=datetime(2026, 3, 1, tzinfo=UTC),
            source="01m7zd0mnje5w4131vkr3zxw2e",
            trust=1.0,
            names=frozenset(),
        )
        profile = cProfile.Profile()
        profile.runcall(extract_statements, piece * (number // len(piece)), speech)
        return pstats.Stats(profile).total_calls  # type: ignore[attr-defined, no-any-return]

    work(200)
    assert work(5600) < 3 * work(2800) + 20_000
