"""Statements extracted from talk by rules, without a model."""

from __future__ import annotations

from engrams.extract.rules.clause_meaning import UtteranceContext
from engrams.extract.rules.rule_extraction import extract_statements, is_explicit

__all__ = ["UtteranceContext", "extract_statements", "is_explicit"]
