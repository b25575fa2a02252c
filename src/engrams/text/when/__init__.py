"""Times that a text speaks of."""

from engrams.text.when.scan import find as find
from engrams.text.when.span import EARLIEST as EARLIEST
from engrams.text.when.span import LATEST as LATEST
from engrams.text.when.span import Span as Span
from engrams.text.when.tongue import language as language
