"""What a query asks for: whom, when, and in which words to look for it. Pure functions."""

from engrams.read.cues.focus import focus as focus
from engrams.read.cues.parse import understand as understand
from engrams.read.cues.score import date_score as date_score
from engrams.read.cues.score import speaker_score as speaker_score
from engrams.read.cues.understood import Understood as Understood
