"""Language to answer a message in. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from engrams.text.comparison import language_tables
from engrams.text.times import detect_language

_ENGLISH = "en"
_QUOTES = {"de": "„{}“", "es": "«{}»", "fr": "« {} »", "ja": "「{}」"}
_UNSPACED = ("zh", "ja")
_CODES = {"german": "de", "spanish": "es", "french": "fr", "chinese": "zh", "japanese": "ja"}


def find_reply_language(text: str) -> str:
    """Find the language to answer a message in: English where nothing tells another one.

    "Ich wohne in Kassel" has as many frequent words of English as of German, and more of its words.
    """
    language = detect_language(text)
    if language != _ENGLISH:
        return language
    return _CODES.get(language_tables.detect_language(text), _ENGLISH)


def quote(text: str, language: str) -> str:
    """Put a text into the quotation marks of a language."""
    return _QUOTES.get(language, "“{}”").format(text)


def quote_each(texts: Iterable[str], language: str) -> str:
    """Put texts into quotation marks, one behind the other."""
    separator = "、" if language in _UNSPACED else "; "
    return separator.join(quote(text, language) for text in texts)
