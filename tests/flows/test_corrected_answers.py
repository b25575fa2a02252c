"""After "no, I meant Thursday" every answer says Thursday, and forgetting it leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engrams import MemoryEngine, Turn
from engrams.testing import SettableClock, temp_engine

ANN = ("user", "ann")
QUESTION = "When is my dentist appointment?"
CORRECTED = "My dentist appointment is on Thursday at 3pm"


@pytest.fixture
def memory() -> Iterator[MemoryEngine]:
    clock = SettableClock("2026-11-20T09:00")
    with temp_engine(clock=clock, jobs__workers=0) as opened:
        for text in (
            "Our dog is called Rex.",
            "My dentist appointment is on Friday at 3pm.",
            "no, I meant Thursday",
        ):
            opened.add(Turn(text, session="s"), scope=ANN)
            clock.forward(minutes=1)
        opened.drain(10)
        yield opened


def test_a_search_and_a_prompt_say_what_was_meant(memory: MemoryEngine) -> None:
    """The whole corrected statement is found, not the three words that corrected it."""
    best = memory.search(QUESTION, scope=ANN).hits[0]
    assert best.record.text == CORRECTED
    assert not best.tell_end()
    prompt = memory.context(QUESTION, scope=ANN).text
    assert CORRECTED in prompt
    assert "Friday" not in prompt


def test_a_correction_of_the_correction_counts(memory: MemoryEngine) -> None:
    """The last word is the answer."""
    memory.add(Turn("sorry, it's on Wednesday", session="s"), scope=ANN)
    memory.drain(10)
    hit = memory.search(QUESTION, scope=ANN).hits[0]
    assert hit.record.text == CORRECTED.replace("Thursday", "Wednesday")


def test_what_is_said_beside_a_correction_stays_found(memory: MemoryEngine) -> None:
    """A message that says more than the right value is a hit of its own."""
    text = "No, I meant Wednesday. My sister Ida lives in Graz."
    memory.add(Turn(text, session="s"), scope=ANN)
    memory.drain(10)
    hits = memory.search("Where does my sister Ida live?", scope=ANN).hits
    assert "Graz" in hits[0].record.text


def test_a_forgotten_correction_leaves_no_slip(memory: MemoryEngine) -> None:
    """Neither the wrong day nor the words of the correction answer for what was forgotten."""
    asked = memory.control.turn("forget about the dentist", scope=ANN)
    assert asked is not None
    assert CORRECTED in asked.reply
    done = memory.control.turn("yes", scope=ANN, pending=asked.pending)
    assert done is not None
    texts = " ".join(hit.record.text for hit in memory.search(QUESTION, scope=ANN).hits)
    assert "Friday" not in texts
    assert "Thursday" not in texts
    undone = memory.control.turn("undo", scope=ANN, pending=done.pending)
    assert undone is not None
    assert memory.search(QUESTION, scope=ANN).hits[0].record.text == CORRECTED


@pytest.mark.parametrize("preset", ["proxy", "engine", "graph"])
def test_presets_without_a_judge_give_no_slip(preset: str) -> None:
    """A prompt has the day that was meant, and not the one that was set right."""
    with temp_engine(preset=preset, jobs__workers=0) as memory:
        for text in ("My dentist appointment is on Friday.", "No, I meant Thursday."):
            memory.observe([Turn(text, session="s")], scope=ANN)
        memory.drain(10)
        told = memory.context("When is my dentist appointment?", scope=ANN).text
    assert "on Thursday" in told and "Friday" not in told
