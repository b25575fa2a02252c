"""What a query asks for: whom, when, and in which words to look for it. Pure functions."""

from engrams.read.cues.conversation import extract_query as extract_query
from engrams.read.cues.features import date_score as date_score
from engrams.read.cues.features import speaker_score as speaker_score
from engrams.read.cues.parse import parse_query as parse_query
from engrams.read.cues.query import Understood as Understood
