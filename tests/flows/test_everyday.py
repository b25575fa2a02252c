"""Everyday English: what ends a job or a home, and what only sounds like it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams import Turn
from engrams.testing import temp_engine
from engrams.types import Status

ANN = ("user", "ann")
FIRST, LATER = datetime(2026, 1, 2, 14, tzinfo=UTC), datetime(2026, 5, 2, 14, tzinfo=UTC)


def tell(*said: str | tuple[datetime, str]) -> dict[str, str]:
    """The facts after some messages, with their status; a message without a time follows the last by months."""
    with temp_engine(jobs__workers=0) as engine:
        for place, one in enumerate(said):
            when, text = (FIRST if not place else LATER, one) if isinstance(one, str) else one
            engine.add(Turn(text, "user", "", when), scope=ANN)
        records = [record for status in Status for record in engine.list(scope=ANN, status=status).records]
        return {record.text: record.status.value for record in records if record.evidence}


def current(*said: str | tuple[datetime, str]) -> list[str]:
    """The facts that are current after some messages, in alphabetic order."""
    return sorted(text for text, status in tell(*said).items() if status == "active")


@pytest.mark.parametrize(
    "said",
    [
        "I left Acme's party early",
        "I left Acme at 6 to catch the train",
        "I left Acme early today",
        "I left Acme for lunch with Anna",
        "I quit the Acme football team",
        "I got fired up about the new project at Acme",
        "I was fired up about the new project at Acme",
    ],
)
def test_leaving_for_an_hour_ends_no_job(said: str) -> None:
    """A party, a team, an evening or being fired up leave the job as it was."""
    assert tell("I work at Acme", said)["The user works at Acme"] == "active"


@pytest.mark.parametrize(
    "said",
    [
        "I left Acme yesterday",
        "I left Acme in March",
        "I left Acme to start my own company",
        "I left Acme for Google",
        "I quit Acme",
        "I got fired last week",
        "I got laid off from Acme",
    ],
)
def test_leaving_for_good_ends_the_job(said: str) -> None:
    """What says that a job is over ends it."""
    assert tell("I work at Acme", said)["The user works at Acme"] == "superseded"


@pytest.mark.parametrize(
    "said",
    [
        "Dream last night: I moved to Paris and lived in a tower.",
        "I had the weirdest dream. I moved to Rome and quit Tesco.",
        "Last night I dreamt that I moved to Paris.",
        "Chapter 3. I moved to Moscow and started working for the KGB.",
        "Correct my English: I live in Paris since three years",
        "New Year's 2030 me: I moved to Bali",
        "Me in 2030: I moved to Bali",
        "Let's play a game: I live on Mars",
        "Two truths and a lie: I live in a castle, I have a dog, I speak Welsh",
        "In the game my character is a wizard. I live in a tower in Riga.",
        "I live in this station now, apparently",
    ],
)
def test_a_dream_or_a_game_is_no_fact(said: str) -> None:
    """Dreams, games, chapters, exercises and jokes change no home and make no fact."""
    assert tell("I live in Berlin.", said) == {"The user lives in Berlin": "active"}


@pytest.mark.parametrize(
    ("said", "home"),
    [
        ("My dream came true: I moved to Paris", "The user moved to Paris"),
        ("I dreamed of the sea for years. Now I moved to Lisbon.", "The user moved to Lisbon"),
        ("I moved to Oslo. Chapter 3: I lived in Rome.", "The user moved to Oslo"),
        ("I landed my dream job and moved to Dublin.", "The user moved to Dublin"),
    ],
)
def test_a_dream_come_true_is_a_fact(said: str, home: str) -> None:
    """Words such as dream do not hide what is real, nor does a tale what was said before it."""
    facts = tell("I live in Berlin.", said)
    assert facts["The user lives in Berlin"] == "superseded" and facts[home] == "active"
