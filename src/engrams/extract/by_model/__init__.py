"""Extraction of statements, and decisions about storing them, by a chat model."""

from __future__ import annotations

from engrams.extract.by_model.answer_cache import AnswerCachingChat
from engrams.extract.by_model.extraction import (
    ExtractionContext,
    count_together,
    extract_by_model,
)
from engrams.extract.by_model.lanes import extract_in_lanes
from engrams.extract.by_model.policy import decide_by_model

__all__ = [
    "AnswerCachingChat",
    "ExtractionContext",
    "count_together",
    "decide_by_model",
    "extract_by_model",
    "extract_in_lanes",
]
