"""Grammar of English times."""

from engrams.text.when.english.rules import GRAMMAR as GRAMMAR
