"""Statements extracted from talk by rules, without a model."""

from __future__ import annotations

from engrams.extract.rules.rule_extraction import extract_statements, is_explicit
from engrams.extract.rules.utterance import UtteranceContext

__all__ = ["UtteranceContext", "extract_statements", "is_explicit"]
