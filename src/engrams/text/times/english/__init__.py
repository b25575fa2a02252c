"""Grammar of English times."""

from engrams.text.times.english.rules import GRAMMAR

__all__ = ["GRAMMAR"]
