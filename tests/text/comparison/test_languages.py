"""Language of a statement, by which the words to compare are chosen."""

import pytest

from engrams.text.comparison.language_tables import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("on répète lundi", "french"),
        ("Mon chat", "french"),
        ("Me encanta Mon Chéri", "spanish"),
        ("on monday", "english"),
        ("Please call me Captain", "english"),
        ("Paris", ""),
    ],
)
def test_a_word_of_two_languages_does_not_decide(text: str, language: str) -> None:
    """A word that two tables hold leaves the choice to other words and to the letters."""
    assert detect_language(text) == language
