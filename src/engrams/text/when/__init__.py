"""Find the times that a text mentions."""

from engrams.text.when.language import detect_language as detect_language
from engrams.text.when.scan import find_times as find_times
from engrams.text.when.span import EARLIEST as EARLIEST
from engrams.text.when.span import LATEST as LATEST
from engrams.text.when.span import TimeSpan as TimeSpan
