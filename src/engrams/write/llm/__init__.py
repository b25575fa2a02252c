"""Extraction, policy and reconciliation by a chat model."""

from __future__ import annotations

from engrams.write.llm.answercache import CachedChat as CachedChat
from engrams.write.llm.extract import ExtractionContext as ExtractionContext
from engrams.write.llm.extract import count_together as count_together
from engrams.write.llm.extract import extract_by_model as extract_by_model
from engrams.write.llm.extract import extract_in_lanes as extract_in_lanes
from engrams.write.llm.reconcile import ReconcileDecisions as ReconcileDecisions
from engrams.write.llm.reconcile import ask_verdicts as ask_verdicts
from engrams.write.llm.reconcile import judge_candidate as judge_candidate
from engrams.write.llm.storagepolicy import decide_by_model as decide_by_model
