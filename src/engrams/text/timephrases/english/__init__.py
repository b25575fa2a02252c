"""Grammar of English times."""

from engrams.text.timephrases.english.rules import GRAMMAR as GRAMMAR
