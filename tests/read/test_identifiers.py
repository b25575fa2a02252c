"""Questions that name a number or code find what holds it, not what looks like it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import engrams
from engrams import Turn
from engrams.engine import MemoryEngine

ANN = ("user", "ann")
FILLER = (
    "The pump in the north hall ran hot again, so we opened the valve and wrote down what the meter"
    " said. "
)
LONG = f"{FILLER * 12}The one that mattered was INC-48213. {FILLER * 12}".strip()


def tickets(memory: MemoryEngine, count: int) -> None:
    """Store short notes about other tickets, and a long one that names INC-48213."""
    for number in range(count):
        memory.add(
            f"Ticket INC-{40000 + 7 * number} about the valve was closed.", scope=ANN, settle=False
        )
    memory.add(LONG, scope=ANN, settle=False)
    memory.drain()


@pytest.fixture(scope="module", params=[30_000, 100], ids=["each scored", "best of each source"])
def memory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryEngine]:
    """Memory of tickets, whose records are all scored or only those that a source proposes."""
    with engrams.open(
        home=tmp_path_factory.mktemp("home"), write__extract="off", store__exact_limit=request.param
    ) as opened:
        tickets(opened, 300)
        yield opened


@pytest.mark.parametrize(
    "question",
    [
        "INC-48213",
        "inc-48213",
        "What was INC-48213 about?",
        "Tell me about the ticket INC-48213, please",
    ],
)
def test_a_long_note_with_the_code_is_first(memory: MemoryEngine, question: str) -> None:
    """Other tickets' codes look like it, and their notes are short."""
    result = memory.search(question, scope=ANN, limit=5)
    assert result.hits[0].record.text == LONG
    assert result.hits[0].parts["identifier"] > 0
    assert "INC-48213" in result.hits[0].snippet
    assert not result.abstain
    assert sum(result.hits[0].parts.values()) == pytest.approx(result.hits[0].score, abs=2e-3)


def test_codes_that_nobody_told_raise_nothing(memory: MemoryEngine) -> None:
    """A question about an unknown ticket finds by words and meaning, as before."""
    result = memory.search("What was INC-99999 about?", scope=ANN, limit=50)
    assert len(result.hits) == 50
    assert not [hit for hit in result.hits if "identifier" in hit.parts]


def test_a_speaker_is_no_code(tmp_path: Path) -> None:
    """What alice99 said counts as before, not what names her."""
    with engrams.open(home=tmp_path, write__extract="off") as memory:
        memory.add(Turn("I like the sea.", speaker="alice99"), scope=ANN)
        memory.add(Turn("I saw alice99 in town.", speaker="bob"), scope=ANN)
        result = memory.search("What does alice99 like?", scope=ANN)
    assert not [hit for hit in result.hits if "identifier" in hit.parts]


def test_no_preset_with_a_formula_of_its_own_is_changed(tmp_path: Path) -> None:
    """The weighted sums of the presets engine and cache stay as promised."""
    for preset in ("engine", "cache"):
        with engrams.open(home=tmp_path / preset, preset=preset, write__extract="off") as memory:
            memory.add("The parcel LH454 came.", scope=ANN)
            hits = memory.search("where is LH454?", scope=ANN).hits
        assert hits
        assert not [hit for hit in hits if "identifier" in hit.parts]
