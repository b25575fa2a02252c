"""A search for a word or two finds what its misspelled or unfinished words stand for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engrams.engine import MemoryEngine
from engrams.testing import temp_engine

ANN = ("user", "ann")
BEN = ("user", "ben")
MESSAGES = (
    "Emil is allergic to peanuts.",
    "We moved to Stockholm in March.",
    "My dentist is Dr. Okonkwo on Baker Street.",
    "The boiler was serviced by Vaillant last week.",
    "The anniversary dinner is at Trattoria Bella.",
    "My marathon training starts in January.",
    "Die Waschmaschine steht jetzt im Keller.",
)


@pytest.fixture(scope="module")
def engine() -> Iterator[MemoryEngine]:
    with temp_engine() as engine:
        for text in MESSAGES:
            engine.add(text, scope=ANN)
        for number in range(300):
            engine.add(f"Note {number}: the ledger of week {number} is filed.", scope=ANN)
        yield engine


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("alergic", MESSAGES[0]),
        ("allrgic", MESSAGES[0]),
        ("stokholm", MESSAGES[1]),
        ("stockh", MESSAGES[1]),
        ("Okonkvo", MESSAGES[2]),
        ("vailant", MESSAGES[3]),
        ("aniversary", MESSAGES[4]),
        ("marahton", MESSAGES[5]),
        ("marat", MESSAGES[5]),
        ("Waschmaschiene", MESSAGES[6]),
    ],
)
def test_the_meant_word_is_found_first(engine: MemoryEngine, query: str, wanted: str) -> None:
    """A letter too few, too many, another or swapped, or only the beginning of the word."""
    assert engine.search(query, scope=ANN).hits[0].record.text == wanted


def test_a_word_that_is_stored_stands_for_itself(engine: MemoryEngine) -> None:
    """ "Week" is said often; "weak" is a word of its own as soon as somebody said it."""
    owner = ("user", "cleo")
    for day in range(9):
        engine.add(f"I was here in week {day}.", scope=owner)
    engine.add("The signal of the router is weak.", scope=owner)

    first, second = engine.search("weak", scope=owner).hits[:2]

    assert first.record.text == "The signal of the router is weak."
    assert first.score > 2 * second.score


def test_words_of_another_owner_stand_for_nothing() -> None:
    """What one may have meant is only looked up among one's own words."""
    with temp_engine() as engine:
        engine.add("The lighthouse keeper sold the dinghy.", scope=BEN)
        engine.add("We painted the hallway.", scope=ANN)

        alone = engine.search("dinghi", scope=ANN).hits[0].score
        engine.add("The dinghy is moored at the pier.", scope=BEN)

        assert engine.search("dinghi", scope=ANN).hits[0].score == pytest.approx(alone)


def test_a_sentence_means_the_names_that_it_says(engine: MemoryEngine) -> None:
    """Who asks about Marta is not answered by Maria as if she were meant."""
    owner = ("user", "dora")
    engine.add("Maria collects old maps.", scope=owner)
    engine.add("Our neighbour collects stamps.", scope=owner)

    about_another = engine.search("What does Marta collect?", scope=owner).hits
    about_maria = engine.search("What does Maria collect?", scope=owner).hits

    assert about_another[0].score < 0.8 * about_maria[0].score


def test_a_prompt_is_answered_for_the_words_that_it_has(engine: MemoryEngine) -> None:
    """A search looks for what was meant; the context of "Great!" has no treats."""
    assert not engine.search("stokholm", scope=ANN).abstain
    assert engine.context("stokholm", scope=ANN).abstain
