"""English."""

from engrams.text.when.english.rules import GRAMMAR as GRAMMAR
