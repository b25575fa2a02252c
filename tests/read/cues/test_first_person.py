"""The query as the embedder and BM25 see it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engrams.read.cues import parse_query

NOW = datetime(2023, 7, 12, 15, 30, tzinfo=UTC)
TWO = {"Caroline": 200, "Melanie": 210}
THREE = TWO | {"Bob": 3}

DENSE = [
    ("What did Melanie paint recently?", "What did I paint recently?"),
    ("Where does Caroline's sister live", "Where does my sister live"),
    ("Where does Caroline live?", "Where do I live?"),
    ("Has Melanie been to Rome?", "Have I been to Rome?"),
    ("Is Melanie married?", "Am I married?"),
    ("What did Mel and her kids make?", "What did I and my kids make?"),
    ("How did Melanie feel about her family?", "How did I feel about my family?"),
    ("What did Melanie say about him?", "What did I say about me?"),
    ("Who supports Caroline when she is sad?", "Who supports me when I am sad?"),
    ("What book did Caroline recommend to Melanie?", "What book did I recommend to you?"),
    ("What was grandma's gift to Caroline?", "What was grandma's gift to me?"),
    ("What do Caroline and Melanie have in common?", "What do we have in common?"),
    ("What are Caroline and Melanie's plans?", "What are our plans?"),
    ("What did Melanie tell me about my dog?", "What did I tell you about your dog?"),
    ("Can you tell me where Melanie lives?", "where I lives?"),
    ("Do you remember my sister's name?", "my sister's name?"),
    ("Where did I park my car?", "Where did I park my car?"),
    ("What did you recommend me?", "What did I recommend you?"),
    ("What is the capital of France?", "What is the capital of France?"),
    ("Was hat Melanie gemalt?", "Was habe ich gemalt?"),
    ("Wo wohnt Melanies Schwester?", "Wo wohnt mein Schwester?"),
    ("¿Dónde vive la hermana de Melanie?", "¿Dónde vive mi hermana?"),
    ("Où habite le frère de Melanie ?", "Où habite mon frère ?"),
    ("Melanie 上周画了什么？", "我 上周画了什么？"),
]


@pytest.mark.parametrize(("query", "dense"), DENSE)
def test_dense(query: str, dense: str) -> None:
    """The embedder gets the question in the first person of whom it is about, without names."""
    assert parse_query(query, NOW, TWO).dense_text == dense


@pytest.mark.parametrize(
    ("query", "dense"),
    [
        ("小明的妹妹住在哪里？", "我的妹妹住在哪里？"),
        ("小明画了什么？", "我画了什么？"),
        ("小明和小红去了哪里？", "我们去了哪里？"),
        ("健太さんの犬の名前は？", "私の犬の名前は？"),
        ("健太はどこに住んでいますか", "私はどこに住んでいますか"),
    ],
)
def test_dense_without_blanks(query: str, dense: str) -> None:
    """So it is in scripts without blanks."""
    assert parse_query(query, NOW, {"小明": 1, "小红": 1, "健太": 1}).dense_text == dense


def test_among_three_others_keep_their_names() -> None:
    """Where more than two speak, "you" could be anybody."""
    assert (
        parse_query("What did Melanie say to Caroline?", NOW, THREE).dense_text
        == "What did I say to Caroline?"
    )


@pytest.mark.parametrize(
    ("query", "lexical"),
    [
        ("What did Melanie paint recently?", "What did paint recently?"),
        ("Where does Caroline's sister live", "Where does sister live"),
        ("What book did Caroline recommend to Melanie?", "What book did recommend to Melanie?"),
        ("Did Melanie like the song by Vivaldi?", "Did like the song by Vivaldi?"),
        ("小明的妹妹", "小明的妹妹"),
        ("Melanie", "Melanie"),
    ],
)
def test_lexical(query: str, lexical: str) -> None:
    """BM25 gets the question without the name of whom it is about;
    all other names stay, and something always does.
    """
    assert parse_query(query, NOW, TWO).lexical_text == lexical


def test_long_query_is_read_from_its_end() -> None:
    """The last 4000 characters count."""
    cues = parse_query("x" * 10_000 + " What did Melanie paint?", NOW, TWO)
    assert len(cues.dense_text) <= 4000
    assert cues.dense_text.endswith("What did I paint?")
    assert cues.asked_about == ("Melanie",)
