"""Extraction, policy and reconciliation by a chat model."""

from __future__ import annotations

from engrams.write.llm.answercache import AnswerCachingChat as AnswerCachingChat
from engrams.write.llm.modelextraction import ExtractionContext as ExtractionContext
from engrams.write.llm.modelextraction import count_together as count_together
from engrams.write.llm.modelextraction import extract_by_model as extract_by_model
from engrams.write.llm.modelextraction import extract_in_lanes as extract_in_lanes
from engrams.write.llm.modelpolicy import decide_by_model as decide_by_model
from engrams.write.llm.modelreconciliation import NumberedReconcileDecisions as NumberedReconcileDecisions
from engrams.write.llm.modelreconciliation import ask_verdicts as ask_verdicts
from engrams.write.llm.modelreconciliation import judge_candidate as judge_candidate
