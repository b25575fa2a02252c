"""Extraction, policy and reconciliation by a chat model."""

from __future__ import annotations

from engrams.write.llm.answer_cache import AnswerCachingChat
from engrams.write.llm.model_extraction import (
    ExtractionContext,
    count_together,
    extract_by_model,
    extract_in_lanes,
)
from engrams.write.llm.model_policy import decide_by_model
from engrams.write.llm.model_reconciliation import (
    NumberedReconcileDecisions,
    ask_verdicts,
    judge_candidate,
)

__all__ = [
    "AnswerCachingChat",
    "ExtractionContext",
    "NumberedReconcileDecisions",
    "ask_verdicts",
    "count_together",
    "decide_by_model",
    "extract_by_model",
    "extract_in_lanes",
    "judge_candidate",
]
