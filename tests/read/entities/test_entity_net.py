"""Entities of memories: kinds, aliases and links, without a language model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from engrams.core import EntityNet, Evidence, Kind, Record, Scope
from engrams.read.entities.entity_net import build_net
from engrams.read.entities.name_finder import read_names

ANN = Scope(("user", "ann"))
DAY = datetime(2026, 3, 1, tzinfo=UTC)


def net(*statements: str | Record) -> EntityNet:
    """The net of some messages and facts; a message may begin with its speaker: "Ann: …"."""
    records = [
        statement if isinstance(statement, Record) else _turn(number, statement)
        for number, statement in enumerate(statements)
    ]
    return build_net({record.id: read_names(record) for record in records})


def _turn(number: int, text: str) -> Record:
    speaker, mark, words = text.partition(": ")
    return Record(
        id=f"t{number}",
        scope=ANN,
        kind=Kind.TURN,
        text=words if mark else text,
        recorded_at=DAY,
        role="user",
        speaker=speaker if mark else "",
    )


def fact(id: str, text: str, **slots: Any) -> Record:
    return Record(id, ANN, Kind.FACT, text, DAY, **slots)


def kinds(entities: EntityNet) -> dict[str, str]:
    return {entity.name: entity.kind.value for entity in entities.entities}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My sister Emma plays the cello.", {"Emma": "person"}),
        ("I met Dr. Weber and Amy Ellis Nutt.", {"Dr Weber": "person", "Amy Ellis Nutt": "person"}),
        ("We moved to Lyngby last year.", {"Lyngby": "place"}),
        ("In summer I fly to Sweden.", {"Sweden": "place"}),
        (
            "I work for Tannhauser and live in Porto.",
            {"Tannhauser": "organisation", "Porto": "place"},
        ),
        ("He studies at Brookfield University.", {"Brookfield University": "organisation"}),
        ("We hiked up Mount Rigi.", {"Mount Rigi": "place"}),
        ("The deadline of Project Atlas is near.", {"Project Atlas": "project"}),
        (
            "My cat Minka sleeps, a dog named Brutus barks, and I have Oscar, my guinea pig.",
            dict.fromkeys(("Minka", "Brutus", "Oscar"), "animal"),
        ),
        ("I saw Emma's brother.", {"Emma": "person"}),
        (
            (
                'She read "Becoming Nicole" at a Harry Potter trivia, then at Harry Potter movies,'
                " once for Harry Potter films."
            ),
            {"Becoming Nicole": "work", "Harry Potter": "work"},
        ),
    ],
)
def test_a_name_with_a_cue_is_an_entity(text: str, expected: dict[str, str]) -> None:
    """A relation, a title, a verb of living or working, a known name or a telling word says of
    which kind a name is.
    """
    assert kinds(net(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Thankfully it rained. Amazing! Yesterday was fine.",
        "On Monday, in June, we spoke German at Christmas.",
        "I'm happy. It's late. Don't worry, I've time. LGBTQ rights matter.",
        'The sign said "Becoming Nicole" twice.',
        "Mom and Dad love the Internet.",
        "Will you come? May I? Grace under pressure. Hope so!",
        "Ich habe in Zukunft mehr Zeit für Sport und den Garten.",
        "Die Arbeit in der Woche ist im Sommer eine Freude.",
        "the quick brown fox",
    ],
)
def test_a_capital_alone_makes_no_entity(text: str) -> None:
    """Sentence beginnings, days, months, languages, titles in quotes and German nouns name nothing."""
    assert net(text).entities == ()


def test_a_name_that_is_a_word_needs_a_cue() -> None:
    """Will, May or Georgia is somebody, or somewhere, only where the words around say so."""
    assert kinds(net("My friend Will called.", "Will it rain?")) == {"Will": "person"}
    assert [
        entity.memories for entity in net("My friend Will called.", "Will it rain?").entities
    ] == [("t0",)]
    assert kinds(net("We moved to Georgia.")) == {"Georgia": "place"}
    assert kinds(net("My aunt Georgia bakes.")) == {"Georgia": "person"}


def test_speakers_are_people_and_short_names_are_theirs() -> None:
    """A speaker is a person;
    a short form or what somebody wants to be called is the same one, if nobody else may be meant.
    """
    entities = net(
        "Melanie: Hi Caro!",
        "Caroline: Thanks, Mel! I moved to Sweden.",
        "Melanie: Call me Lanie.",
        "Caroline: Hey Lanie!",
    )
    assert {entity.name: set(entity.aliases) for entity in entities.entities} == {
        "Caroline": {"Caro"},
        "Melanie": {"Mel", "Lanie"},
        "Sweden": set(),
    }
    assert {(link.source, link.target) for link in entities.links} >= {
        ("entity:caroline", "entity:sweden")
    }
    two = net("Samuel: Hello!", "Samantha: Hello!", "Samuel: Thanks, Sam!")
    assert {entity.name: entity.aliases for entity in two.entities} == {"Sam": ()}


def test_a_first_name_is_the_full_name_of_one_person_only() -> None:
    """Tom is Tom Becker while there is no other Tom."""
    entities = net("My boss Tom Becker is kind.", "I like Tom.")
    assert [(entity.name, entity.aliases, entity.memories) for entity in entities.entities] == [
        ("Tom Becker", ("Tom",), ("t1", "t0"))
    ]
    assert {
        entity.name for entity in net("Tom Becker and Tom Hill met.", "I like Tom.").entities
    } == {"Tom Becker", "Tom Hill", "Tom"}


def test_facts_name_kinds_in_any_language() -> None:
    """The slots of a fact tell kinds where letters have no case, or where every noun has a capital."""
    slots = (
        fact("f1", "用户住在北京", subject="user", predicate="lives_in", object="北京"),
        fact(
            "f2",
            "Der Nutzer arbeitet bei Kuka",
            subject="user",
            predicate="works_at",
            object="Kuka",
        ),
        fact(
            "f3",
            "Die Katze heißt Minka",
            subject="user's cat",
            predicate="is_named",
            object="Minka",
        ),
    )
    assert kinds(net(*slots)) == {"北京": "place", "Kuka": "organisation", "Minka": "animal"}


def test_the_user_is_known_by_their_names() -> None:
    """Names that the user gave are one person, with the facts about them."""
    entities = net(
        fact("f1", "The user is Lena", subject="user", predicate="is_named", object="Lena"),
        fact("f2", "The user lives in Porto", subject="user", predicate="lives_in", object="Porto"),
        "Call me Leni.",
    )
    (user,) = [entity for entity in entities.entities if entity.kind == "person"]
    assert {user.name, *user.aliases} == {"Lena", "Leni"}
    assert set(user.memories) == {"f1", "f2", "t2"}


def test_what_several_facts_are_about_is_a_theme() -> None:
    """One word that is liked and comes up again, or two words that two facts share;
    the messages with the word are on it.
    """
    message = "I signed up for a pottery class."
    facts = (
        fact("f1", "Ann likes pottery", subject="Ann", predicate="likes", object="pottery"),
        fact(
            "f2",
            "x",
            subject="Ann",
            predicate="signed_up_for",
            object="pottery class",
            evidence=(Evidence(message, "t2"),),
        ),
        fact("f3", "Ann wants to go", subject="Ann", predicate="wants_to", object="go"),
        fact("f4", "Ann has time", subject="Ann", predicate="has", object="time"),
    )
    entities = net(
        facts[0], facts[1], message, facts[2], facts[3], "Nothing calms me like pottery."
    )
    (theme,) = [entity for entity in entities.entities if entity.kind == "theme"]
    assert (theme.id, set(theme.memories)) == ("entity:pottery", {"f1", "f2", "t2", "t5"})


def test_a_hostile_text_takes_no_longer() -> None:
    """A hundred thousand capitals, quotes or hyphens are read in one pass."""
    for text in (
        "A" * 100_000,
        "Ann " * 25_000,
        '"' * 100_000,
        "-A" * 50_000,
        "Ann's " * 16_000,
        "Hey " * 25_000,
    ):
        net(text)
