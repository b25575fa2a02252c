"""Find the times that a text mentions."""

from engrams.text.times.finder import find_times
from engrams.text.times.interval import EARLIEST, LATEST, TimeDirection, TimeSpan
from engrams.text.times.language import detect_language

__all__ = ["EARLIEST", "LATEST", "TimeDirection", "TimeSpan", "detect_language", "find_times"]
