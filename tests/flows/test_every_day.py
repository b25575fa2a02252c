"""Everyday English: what ends a job or a home, and what only sounds like it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engrams import Turn
from engrams.core import Status
from engrams.testing import temp_engine

ANN = ("user", "ann")
FIRST = datetime(2026, 1, 2, 14, tzinfo=UTC)
LATER = datetime(2026, 5, 2, 14, tzinfo=UTC)


def tell(*said: str | tuple[datetime, str]) -> dict[str, str]:
    """The facts after some messages, with their status;
    a message without a time follows the last by months.
    """
    with temp_engine(jobs__workers=0) as engine:
        for place, one in enumerate(said):
            when, text = (FIRST if not place else LATER, one) if isinstance(one, str) else one
            engine.add(Turn(text, "user", "", when), scope=ANN)
        records = [
            record for status in Status for record in engine.list(scope=ANN, status=status).records
        ]
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
    assert tell("I work at Acme", said)["I work at Acme"] == "active"


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
    assert tell("I work at Acme", said)["I work at Acme"] == "superseded"


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
    assert tell("I live in Berlin.", said) == {"I live in Berlin": "active"}


@pytest.mark.parametrize(
    ("said", "home"),
    [
        ("My dream came true: I moved to Paris", "I moved to Paris"),
        ("I dreamed of the sea for years. Now I moved to Lisbon.", "Now I moved to Lisbon"),
        ("I moved to Oslo. Chapter 3: I lived in Rome.", "I moved to Oslo"),
        ("I landed my dream job and moved to Dublin.", "moved to Dublin"),
    ],
)
def test_a_dream_come_true_is_a_fact(said: str, home: str) -> None:
    """Words such as dream do not hide what is real, nor does a tale what was said before it."""
    facts = tell("I live in Berlin.", said)
    assert facts["I live in Berlin"] == "superseded" and facts[home] == "active"


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("I got fired from Deloitte this morning.", "superseded"),
        ("I got laid off this morning.", "superseded"),
        ("I got fired from Deloitte today.", "superseded"),
        ("I quit my job at Deloitte yesterday.", "superseded"),
        ("I got laid off in 2019.", "active"),
    ],
)
def test_what_is_told_later_about_a_change_wins(said: str, end: str) -> None:
    """A job told at 14:00 ends by the firing of that morning, told at 14:05;
    not by one of years ago.
    """
    facts = tell((FIRST, "I work at Deloitte."), (FIRST + timedelta(minutes=5), said))
    assert facts["I work at Deloitte"] == end
    assert end == "active" or "active" in [
        status for text, status in facts.items() if "works" not in text
    ]


def test_two_changes_in_one_sentence() -> None:
    """The old job ends beside the new one, also where the month of leaving lies before the telling
    of the job.
    """
    for when in (LATER, FIRST + timedelta(days=3)):
        facts = tell("I work at Siemens.", (when, "I left Siemens in March and joined Bosch."))
        assert facts["I work at Siemens"] == "superseded"
        assert facts["joined Bosch"] == "active"


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            "In 2019 I moved to Kiel and in 2022 I married Jo",
            ["In 2019 I moved to Kiel", "in 2022 I married Jo"],
        ),
        (
            "On Monday I started at Lidl and last Sunday my aunt Rosa died",
            ["On Monday I started at Lidl", "last Sunday my aunt Rosa died"],
        ),
        (
            "In 2018 I graduated from MIT and in 2020 I moved to Oslo.",
            ["In 2018 I graduated from MIT", "in 2020 I moved to Oslo"],
        ),
        (
            "On 3 March I adopted a cat and on 5 May my sister Anna got married.",
            [
                "On 3 March I adopted a cat",
                "on 5 May my sister Anna got married",
            ],
        ),
        (
            "I met Anna and the wounded dog in 2020",
            ["I met Anna and the wounded dog in 2020"],
        ),
    ],
)
def test_each_dated_clause_has_its_own_date(said: str, facts: list[str]) -> None:
    """Two clauses with a date each become two facts, none with the other's date."""
    assert current(said) == facts


@pytest.mark.parametrize(
    ("said", "denied", "was"),
    [
        ("I work at Google", "I don't work at Google", "I work at Google"),
        ("I live in Paris", "I don't live in Paris", "I live in Paris"),
        (
            "I work at Google",
            "I was wrong about what I told you: I don't work at Google",
            "I work at Google",
        ),
        ("I'm vegan", "I'm not vegan any more", "I'm vegan"),
        ("I'm vegan", "I'm not vegan anymore", "I'm vegan"),
    ],
)
def test_a_later_denial_ends_what_it_denies(said: str, denied: str, was: str) -> None:
    """What is denied in so many words is not current any more; another value stays."""
    assert tell(said, denied)[was] == "superseded"
    assert tell("I work at Bosch", "I don't work at Google")["I work at Bosch"] == "active"


@pytest.mark.parametrize(
    "said",
    ["We go every weekend.", "We meet on Sundays.", "I left Leeds at 6 this morning."],
)
def test_a_cut_fact_is_not_made(said: str) -> None:
    """Without place or company no fact is made of a time."""
    assert tell(said) == {}


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Our book club meets on Sundays", "Our book club meets on Sundays"),
        (
            "I've been working at Bosch since March.",
            "I've been working at Bosch since March",
        ),
        ("I live in Lyon btw", "I live in Lyon"),
    ],
)
def test_a_whole_fact_is_made(said: str, fact: str) -> None:
    """A thing that meets on a day, a month with its year, a home without fillers."""
    assert tell(said) == {fact: "active"}


def test_years_are_those_of_the_calendar() -> None:
    """Forty years before 2 January 2026 is 2 January 1986."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add(Turn("I have been married for 40 years.", "user", "", FIRST), scope=ANN)
        (fact,) = [record for record in engine.list(scope=ANN).records if record.evidence]
        assert fact.valid_from == FIRST.replace(year=1986)


@pytest.mark.parametrize(
    "said",
    [
        "In 2015 I started working at Globex",
        "I started at Globex in 2015",
        "In 2015 I got a job at Globex",
        "In 2015 I quit Globex",
        "I quit my job in 2012",
    ],
)
def test_an_event_of_years_ago_leaves_the_present_unmarked(said: str) -> None:
    """What happened years before is no news about a job that was told after it."""
    with temp_engine(jobs__workers=0) as engine:
        engine.add(Turn("I work at Acme", "user", "", FIRST), scope=ANN)
        engine.add(Turn(said, "user", "", LATER), scope=ANN)
        engine.drain(30)
        hits = {hit.record.text: hit for hit in engine.search("Where do I work?", scope=ANN).hits}
        assert (
            hits["I work at Acme"].outdated is None
            and hits["I work at Acme"].status is Status.ACTIVE
        )
        assert not any(fact.status is not Status.ACTIVE for fact in hits["I work at Acme"].facts)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (FIRST, "I started at Globex last week"),
        (FIRST, "Last year I started at Globex"),
        (FIRST, "I've worked at Globex since 2015"),
        (datetime(2010, 3, 4, tzinfo=UTC), "I started working at Globex in 2015"),
        (datetime(2010, 3, 4, tzinfo=UTC), "I left Acme in 2015"),
    ],
)
def test_an_event_since_then_ends_what_was(first: datetime, said: str) -> None:
    """A change after the telling, a late one or one that still holds ends the job."""
    assert tell((first, "I work at Acme"), said)["I work at Acme"] == "superseded"
