"""Cues of a query: people, times, rewritten texts. Pure functions."""

from engrams.read.cues.conversationquery import extract_query as extract_query
from engrams.read.cues.conversationquery import extract_turn_query as extract_turn_query
from engrams.read.cues.cuescores import score_dates as score_dates
from engrams.read.cues.cuescores import score_speakers as score_speakers
from engrams.read.cues.querycues import QueryCues as QueryCues
from engrams.read.cues.querycues import parse_query as parse_query
