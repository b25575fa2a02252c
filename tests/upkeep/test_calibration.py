"""Knowing when nothing is near: by default, and by what an owner's own memory holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import engrams
from engrams import demo
from engrams.errors import InputError
from engrams.testing import HashEmbedder, temp_engine
from engrams.upkeep.nearness_calibration import load_general_questions

ANN = ("user", "ann")
BOB = ("user", "bob")


_COINED = HashEmbedder()
"""An embedder whose card knows no floor: that of unknown models is low."""


def _fill(engine: engrams.MemoryEngine) -> None:
    engine.load(demo.sample_path(), scope=ANN)
    engine.drain(60)


@pytest.mark.slow
def test_a_floor_is_chosen_by_asking_and_used_by_every_later_read(tmp_path: Path) -> None:
    """It is kept with its date and counts; another process reads by it, other owners do not."""
    home = tmp_path / "home"
    with engrams.open(home=home, jobs__workers=0, embedder=_COINED) as engine:
        _fill(engine)
        assert engine.nearness.get(ANN).source == "model"
        calibrated = engine.nearness.calibrate(ANN)
        assert engine.nearness.calibrate(ANN).floor == calibrated.floor
    assert (calibrated.source, calibrated.known, calibrated.unknown, calibrated.at[:2]) == (
        "calibration",
        150,
        len(load_general_questions()),
        "20",
    )
    assert calibrated.known_silent <= 0.02
    assert calibrated.unknown_silent > 0.3
    with engrams.open(home=home, jobs__workers=0, embedder=_COINED) as engine:
        assert engine.nearness.get(ANN).floor == calibrated.floor
        before = engine.nearness.get(BOB)
        assert before.source == "model"
        results = [engine.search(text, scope=ANN) for text in load_general_questions()]
        assert any(before.floor <= result.nearness < calibrated.floor for result in results)
        assert [result.abstain for result in results] == [
            result.nearness < calibrated.floor for result in results
        ]
        context = engine.context(load_general_questions()[0], scope=ANN)
        assert (context.abstain, context.tail) == (True, "")


@pytest.mark.slow
def test_a_setting_comes_first_and_a_floor_belongs_to_its_model(tmp_path: Path) -> None:
    """`read.abstain` replaces what was calibrated;
    so does another model, whose nearness means something else.
    """
    home = tmp_path / "home"
    with engrams.open(home=home, jobs__workers=0) as engine:
        _fill(engine)
        engine.nearness.calibrate(ANN)
    with engrams.open(home=home, jobs__workers=0, read__abstain=0.9) as engine:
        assert engine.nearness.get(ANN).source == "setting"
        assert engine.search("What is Theo allergic to?", scope=ANN).abstain
    with engrams.open(home=home, jobs__workers=0, embedder=HashEmbedder()) as engine:
        assert engine.nearness.get(ANN).source == "model"


def test_too_little_memory_is_not_calibrated() -> None:
    """Fewer than thirty texts tell nothing: the error says so, and the model's floor stays."""
    with temp_engine(jobs__workers=0, write__extract="off") as engine:
        engine.add("We keep the wooden ladder in the old shed", scope=ANN)
        with pytest.raises(InputError, match="30 memories"):
            engine.nearness.calibrate(ANN)
        assert engine.nearness.get(ANN).source == "model"


def test_words_alone_tell_what_is_near() -> None:
    """Without an embedding model a question is near by its words, and silent without them."""
    with temp_engine(jobs__workers=0, write__extract="off", embed__provider="null") as engine:
        for text in (
            "We keep the wooden ladder in the old shed",
            "The cat sleeps on the sofa",
            "Soup is on the stove",
        ):
            engine.add(text, scope=ANN)
        assert not engine.search("Where is the ladder?", scope=ANN).abstain
        assert engine.search("How many moons does Jupiter have?", scope=ANN).abstain


def test_a_stated_fact_about_the_person_asked_for_is_near() -> None:
    """The predicate asked for is enough, though no word is the same."""
    with temp_engine(jobs__workers=0, read__least_need=0.0) as engine:
        engine.add("I live in Reykjavik", scope=ANN)
        assert not engine.search("What is my home address?", scope=ANN).abstain
