"""Cues of a query: people, times, predicates asked for, rewritten texts. Pure functions.

``parse_query`` finds them; ``score_dates`` and ``score_speakers`` score candidates against them.
"""

from engrams.read.cues.asked_predicates import asked_predicates, asks_of_oneself
from engrams.read.cues.conversation_query import extract_query, extract_turn_query
from engrams.read.cues.cue_scores import score_dates, score_speakers
from engrams.read.cues.query_cues import QueryCues, parse_query

__all__ = [
    "QueryCues",
    "asked_predicates",
    "asks_of_oneself",
    "extract_query",
    "extract_turn_query",
    "parse_query",
    "score_dates",
    "score_speakers",
]
