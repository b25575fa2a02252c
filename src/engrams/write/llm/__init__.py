"""Extraction, policy and reconciliation by a chat model."""

from __future__ import annotations

from engrams.write.llm.extract import ExtractionBriefing as ExtractionBriefing
from engrams.write.llm.extract import extract_by_model as extract_by_model
from engrams.write.llm.extract import extract_in_lanes as extract_in_lanes
from engrams.write.llm.policy import decide_by_model as decide_by_model
from engrams.write.llm.reconcile import reconcile_by_model as reconcile_by_model
