"""Whom a query names and asks about."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.times.spans import cases

from engrams.read.cues import parse_query

PIECES = cases("""
    What|did|does|has|Melanie|Melanie's|Caroline|and|both|Will|May|Jon|Anna|Lopez|her|she|I|me|my|you|tell|to|with|?|the|dog|Paris|now|in|March
    小明|的|和|小红|健太さん|の|de|la hermana|von|Melanies|can you tell me|'s|’|!|before|according to
    """)
NOW = datetime(2023, 7, 12, 15, 30, tzinfo=UTC)
TWO = {"Caroline": 200, "Melanie": 210}
MANY = {
    "Anna Maria Lopez": 3,
    "Anna Smith": 2,
    "Jon": 4,
    "Jonathan": 1,
    "Will": 3,
    "May": 2,
    "user": 9,
    "assistant": 9,
}
HAN = {"小明": 5, "小红": 4, "健太": 3, "민수": 2}

ABOUT = [
    ("What did Melanie paint recently?", TWO, ("Melanie",), ("Melanie",)),
    ("what did melanie paint", TWO, ("Melanie",), ("Melanie",)),
    ("Where does Caroline's sister live?", TWO, ("Caroline",), ("Caroline",)),
    ("Where does Caroline’s sister live?", TWO, ("Caroline",), ("Caroline",)),
    ("What did Mel and her kids make?", TWO, ("Melanie",), ("Melanie",)),
    ("What book did Caroline recommend to Melanie?", TWO, ("Caroline", "Melanie"), ("Caroline",)),
    (
        "What book did Melanie read from Caroline's suggestion?",
        TWO,
        ("Melanie", "Caroline"),
        ("Melanie",),
    ),
    ("Who told Melanie what Caroline said?", TWO, ("Melanie", "Caroline"), ("Melanie",)),
    (
        "According to Caroline, what makes Melanie a good mother?",
        TWO,
        ("Caroline", "Melanie"),
        ("Caroline",),
    ),
    (
        "What makes Melanie a good mother according to Caroline?",
        TWO,
        ("Melanie", "Caroline"),
        ("Caroline",),
    ),
    (
        "What do Caroline and Melanie have in common?",
        TWO,
        ("Caroline", "Melanie"),
        ("Caroline", "Melanie"),
    ),
    ("Did Melanie and Caroline both go?", TWO, ("Melanie", "Caroline"), ("Melanie", "Caroline")),
    ("What did the race raise awareness for?", TWO, (), ()),
    ("What does Anna Maria Lopez eat?", MANY, ("Anna Maria Lopez",), ("Anna Maria Lopez",)),
    ("What does Lopez eat?", MANY, ("Anna Maria Lopez",), ("Anna Maria Lopez",)),
    ("What does Anna eat?", MANY, (), ()),
    ("What does Jon eat?", MANY, ("Jon",), ("Jon",)),
    ("What does Jonathan eat?", MANY, ("Jonathan",), ("Jonathan",)),
    ("Will it rain?", MANY, (), ()),
    ("What did Will eat?", MANY, ("Will",), ("Will",)),
    ("May I come?", MANY, (), ()),
    ("May's dog?", MANY, ("May",), ("May",)),
    ("what will the user do", MANY, (), ()),
    ("Was hat Melanie gemalt?", TWO, ("Melanie",), ("Melanie",)),
    ("Wie heißt Melanies Hund?", TWO, ("Melanie",), ("Melanie",)),
    ("¿Qué pintó Melanie?", TWO, ("Melanie",), ("Melanie",)),
    ("Qu'est-ce que Melanie a peint ?", TWO, ("Melanie",), ("Melanie",)),
    ("小明上周画了什么？", HAN, ("小明",), ("小明",)),
    ("小明和小红去了哪里？", HAN, ("小明", "小红"), ("小明", "小红")),
    ("健太さんの犬の名前は？", HAN, ("健太",), ("健太",)),
    ("민수는 어디에 살아요?", HAN, ("민수",), ("민수",)),
    ("Melanie上周画了什么？", TWO, ("Melanie",), ("Melanie",)),
    ("MELANIE'S DOG", TWO, ("Melanie",), ("Melanie",)),
    ("Mélanie's dog", TWO, ("Melanie",), ("Melanie",)),
]


@pytest.mark.parametrize(("query", "speakers", "people", "about"), ABOUT)
def test_people_and_about(
    query: str, speakers: dict[str, int], people: tuple[str, ...], about: tuple[str, ...]
) -> None:
    """A query names known speakers, by any form of their name, and asks about its subject."""
    cues = parse_query(query, NOW, speakers)
    assert cues.people == people
    assert cues.asked_about == about


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Did Melanie like the song by Vivaldi?", ("Vivaldi",)),
        ("Has Melanie been to New York City or Rome?", ("New York City", "Rome")),
        ("What did we eat in Paris?", ("Paris",)),
        ("Where did Oscar hide his bone?", ("Oscar",)),
        ("When is Christmas?", ()),
        ("Is it Monday?", ()),
        ("Was isst der Hund?", ()),
    ],
)
def test_other_names(query: str, names: tuple[str, ...]) -> None:
    """Capitals inside a sentence are names of others."""
    assert parse_query(query, NOW, TWO).other_names == names


@pytest.mark.parametrize(
    ("query", "role"),
    [
        ("Where did I park my car?", "user"),
        ("what's my sister's name", "user"),
        ("What did you recommend me for Paris?", "assistant"),
        ("What was your advice on sleep?", "assistant"),
        ("What would you suggest for my balcony?", "user"),
        ("Do you know where I live?", "user"),
        ("Can you tell me where the park is?", ""),
        ("What is the capital of France?", ""),
        ("Wo habe ich mein Auto geparkt?", "user"),
        ("Was hast du mir empfohlen?", "assistant"),
        ("¿Dónde vive mi hermana?", "user"),
        ("¿Qué me recomendaste?", "assistant"),
        ("Où habite ma sœur ?", "user"),
        ("Qu'est-ce que tu m'as conseillé ?", "assistant"),
        ("我妹妹住在哪里？", "user"),
        ("你推荐了什么书？", "assistant"),
        ("私の妹はどこに住んでいますか", "user"),
        ("あなたは何を勧めましたか", "assistant"),
        ("What did Melanie tell me?", ""),
    ],
)
def test_role(query: str, role: str) -> None:
    """Pronouns mean the asker, or the assistant where it is asked what it said or did."""
    assert parse_query(query, NOW, TWO).role == role


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "\0",
        "\ud800",
        "?" * 10_000,
        "Melanie " * 5_000,
        "'" * 5_000,
        "\u202eMelanie's",
        "🎉 Melanie 🎉",
        "A" * 50_000,
    ],
)
@pytest.mark.parametrize(
    "speakers", [{}, TWO, {"": 1, " ": 2, "\0": 1, "a@b.c": 1, "x" * 5_000: 1, "_": 1, "的": 1}]
)
def test_hostile(query: str, speakers: dict[str, int]) -> None:
    """Any query and any speakers are understood somehow, without an error."""
    cues = parse_query(query, NOW, speakers)
    assert cues.query == query
    assert set(cues.asked_about) <= set(cues.people) <= set(speakers)
    assert isinstance(cues.to_json(), dict)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join) | st.text(max_size=80),
    st.sampled_from([{}, TWO, MANY, HAN]),
)
def test_any_query(query: str, speakers: dict[str, int]) -> None:
    """Whatever the query:
    the people asked about are among those named, and the rewritten texts are never lost or long.
    """
    cues = parse_query(query, NOW, speakers)
    assert set(cues.asked_about) <= set(cues.people) <= set(speakers)
    assert bool(cues.dense_text.strip()) == bool(cues.lexical_text.strip()) == bool(query.strip())
    assert "\1" not in cues.dense_text or "\1" in query
    assert not (cues.asked_about and cues.role)


def test_nicknames_must_be_unambiguous() -> None:
    """A short form that fits two speakers names neither."""
    assert parse_query("What did Mel do?", NOW, {"Melanie": 1, "Melissa": 1}).asked_about == ()


def test_another_surname_is_somebody_else() -> None:
    """A speaker's first name with another surname is not the speaker."""
    cues = parse_query("What does Jane Austen write?", NOW, {"Jane Miller": 5})
    assert (cues.asked_about, cues.other_names) == ((), ("Jane Austen",))
