"""Cues of a query: people, times, rewritten texts. Pure functions."""

from engrams.read.cues.conversationquery import extract_query, extract_turn_query
from engrams.read.cues.cuescores import score_dates, score_speakers
from engrams.read.cues.querycues import QueryCues, parse_query

__all__ = [
    "QueryCues",
    "extract_query",
    "extract_turn_query",
    "parse_query",
    "score_dates",
    "score_speakers",
]
