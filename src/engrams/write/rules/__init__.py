"""Statements extracted from talk by rules, without a model."""

from __future__ import annotations

from engrams.write.rules.clausemeaning import UtteranceContext as UtteranceContext
from engrams.write.rules.ruleextraction import extract_statements as extract_statements
from engrams.write.rules.ruleextraction import is_explicit as is_explicit
