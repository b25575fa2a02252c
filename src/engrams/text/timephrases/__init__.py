"""Find the times that a text mentions."""

from engrams.text.timephrases.interval import EARLIEST as EARLIEST
from engrams.text.timephrases.interval import LATEST as LATEST
from engrams.text.timephrases.interval import TimeSpan as TimeSpan
from engrams.text.timephrases.language import detect_language as detect_language
from engrams.text.timephrases.timefinder import find_times as find_times
