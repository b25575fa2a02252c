"""Statements extracted from talk by rules, without a model."""

from __future__ import annotations

from engrams.write.rules.extract import extract_statements as extract_statements
from engrams.write.rules.extract import is_explicit as is_explicit
from engrams.write.rules.meaning import UtteranceContext as UtteranceContext
