"""Times that a text speaks of."""

from engrams.text.when.language import language as language
from engrams.text.when.scan import find as find
from engrams.text.when.span import EARLIEST as EARLIEST
from engrams.text.when.span import LATEST as LATEST
from engrams.text.when.span import Span as Span
