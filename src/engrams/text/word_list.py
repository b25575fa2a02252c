"""Word lists written as text."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Split a text at blanks into a set of words."""
    return frozenset(text.split())
