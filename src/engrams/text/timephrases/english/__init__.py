"""Grammar of English times."""

from engrams.text.timephrases.english.rules import GRAMMAR

__all__ = ["GRAMMAR"]
