"""Filters, times and names as people write them in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import engrams
from engrams.core import Turn
from engrams.engine import MemoryEngine
from engrams.errors import InputError
from engrams.testing import temp_engine

ANN = ("user", "ann")


@pytest.fixture(scope="module")
def memory() -> Iterator[MemoryEngine]:
    with temp_engine(user="ann") as engine:
        engine.add(
            Turn("The boat leaks at the bow.", speaker="Ann", meta={"topic": "boat"}), scope=ANN
        )
        engine.add(Turn("The boat has a red sail.", speaker="Bob"), scope=ANN)
        tagged = engine.add("The boat is moored in Kiel.", scope=ANN)
        engine.edit(tagged.id, scope=ANN, fields={"tags": ["harbour", "north"]})
        yield engine


@pytest.mark.parametrize(
    ("where", "number"),
    [
        ({"speaker": "Ann"}, 1),
        ({"speaker": ["Ann", "Bob"]}, 2),
        ({"meta.topic": "boat"}, 1),
        ({"tags": "harbour"}, 1),
        ({"tags": ["harbour", "north"]}, 1),
        ({"tags": ["harbour", "south"]}, 0),
        ({"speaker": "Ann", "meta.topic": "car"}, 0),
        (engrams.Condition("speaker", "eq", "Bob"), 1),
        ({}, 3),
    ],
)
def test_a_filter_may_be_a_dict(memory: MemoryEngine, where: Any, number: int) -> None:
    """Search, explain and list take a dict, in which every entry must hold, or one condition."""
    texts = {
        "The boat leaks at the bow.",
        "The boat has a red sail.",
        "The boat is moored in Kiel.",
    }
    for page in (
        memory.search("boat", scope=ANN, where=where).hits,
        memory.explain("boat", scope=ANN, where=where).hits,
    ):
        assert len({hit.record.text for hit in page} & texts) == number
    assert (
        len({record.text for record in memory.list(scope=ANN, where=where).records} & texts)
        == number
    )


@pytest.mark.parametrize("where", ["speaker=Ann", ("speaker", "eq", "Ann"), 3, {1: 2}])
def test_another_filter_names_the_right_form(memory: MemoryEngine, where: Any) -> None:
    """Text, tuples and numbers are refused with the form that works."""
    with pytest.raises(InputError) as caught:
        memory.search("boat", scope=ANN, where=where)
    assert '{"speaker": "Ann"}' in caught.value.hint


def test_a_list_takes_the_names_that_people_try(memory: MemoryEngine) -> None:
    """Tags, one kind or status by name; an unknown field is refused with those that are known."""
    assert len(memory.list(scope=ANN, tags=["harbour"]).records) == 1
    assert len(memory.list(scope=ANN, tags="harbour", where={"speaker": "Ann"}).records) == 0
    assert {record.kind for record in memory.list(scope=ANN, kind="turn").records} == {
        engrams.core.Kind.TURN
    }
    assert memory.list(scope=ANN, kinds="turn", status="active").records
    for wrong in ({"colour": "red"}, {"kinds": "memo"}, {"limits": 3}):
        with pytest.raises(InputError) as caught:
            memory.list(scope=ANN, **wrong)
        assert caught.value.hint
        assert "__init__" not in caught.value.message


def test_a_time_may_be_text(memory: MemoryEngine) -> None:
    """`as_of` takes an ISO 8601 text on every read; another is refused with the form."""
    assert not memory.search("boat", scope=ANN, as_of="2020-01-01").hits
    assert memory.search("boat", scope=ANN, as_of="2099-01-01T00:00:00+00:00").hits
    assert not memory.context("boat", scope=ANN, as_of="2020-01-01").hits
    assert not memory.list(scope=ANN, as_of="2020-01-01").records
    for call in (memory.search, memory.context, memory.explain):
        with pytest.raises(InputError, match="as_of is not a time") as caught:
            call("boat", scope=ANN, as_of="last year")
        assert "2024-05-31" in caught.value.hint
