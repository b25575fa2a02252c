"""Find the times that a text mentions."""

from engrams.text.when.find import find_times as find_times
from engrams.text.when.interval import EARLIEST as EARLIEST
from engrams.text.when.interval import LATEST as LATEST
from engrams.text.when.interval import TimeSpan as TimeSpan
from engrams.text.when.language import detect_language as detect_language
