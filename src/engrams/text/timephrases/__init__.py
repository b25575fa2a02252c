"""Find the times that a text mentions."""

from engrams.text.timephrases.interval import EARLIEST, LATEST, TimeSpan
from engrams.text.timephrases.language import detect_language
from engrams.text.timephrases.timefinder import find_times

__all__ = ["EARLIEST", "LATEST", "TimeSpan", "detect_language", "find_times"]
