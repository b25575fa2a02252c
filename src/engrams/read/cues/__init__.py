"""Cues of a query: people, times, rewritten texts. Pure functions."""

from engrams.read.cues.conversation_query import extract_query, extract_turn_query
from engrams.read.cues.cue_scores import score_dates, score_speakers
from engrams.read.cues.query_cues import QueryCues, parse_query

__all__ = [
    "QueryCues",
    "extract_query",
    "extract_turn_query",
    "parse_query",
    "score_dates",
    "score_speakers",
]
