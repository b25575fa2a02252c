"""Questions, word counts and mentions of time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engrams.text.measures import is_question, word_count


@pytest.mark.parametrize(
    "text",
    [
        "How are you?", "I was in Paris. And you?", "Really?! 😊", "(Is it?)", "What is your name", "where's the key",
        "how many do you want",
        "Do you like tea", "Hey, did Mary call", "你喜欢茶吗", "为什么不去",
        "你住在哪里？", "هل أنت بخير؟", "¿Dónde vives", "どこに行きますか",
        "wo wohnst du jetzt", "pourquoi tu pars",
    ],
)  # fmt: skip
def test_questions(text: str) -> None:
    """A question mark of any script at the end, or one sentence that opens like a question."""
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "hi", "What a day", "How nice of you", "do it now", "Have a nice day", "Was a great day",
        "Will went home", "When I was young I lived there",
        "Could you help me. Thanks", "She asked: why? I don't know.", "我住在北京。", "Ich wohne in Berlin", "\x00", "\ud800",
    ],
)  # fmt: skip
def test_statements(text: str) -> None:
    """Statements, exclamations and requests followed by another sentence are no questions."""
    assert not is_question(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("...", 0),
        ("one", 1),
        ("Mary's well-known dog", 4),
        ("你好", 1),
        ("你好吗", 2),
        ("I love 北京", 3),
        ("a" * 100_000, 1),
    ],
)
def test_word_count(text: str, count: int) -> None:
    """Words count one, characters of scripts without blanks a half, rounded up."""
    assert word_count(text) == count


@given(st.text())
def test_any_text_has_a_shape(text: str) -> None:
    """No text makes them fail."""
    assert word_count(text) >= 0
    assert is_question(text) in (True, False)
