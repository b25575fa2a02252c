"""Word lists as data."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a list written as text."""
    return frozenset(text.split())
