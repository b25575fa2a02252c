"""Statements extracted from talk by rules, without a model."""

from __future__ import annotations

from engrams.write.rules.clausemeaning import UtteranceContext
from engrams.write.rules.ruleextraction import extract_statements, is_explicit

__all__ = ["UtteranceContext", "extract_statements", "is_explicit"]
