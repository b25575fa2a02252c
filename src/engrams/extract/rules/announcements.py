"""Words that announce a statement: ``please note that I moved``."""

from __future__ import annotations

import re

from engrams.text.late_patterns import holds_any

# What matches holds one of these: looking for them is cheaper than matching, for each sentence of
# each write.
_WORDS = (
    " note",
    " be a",
    "inform",
    "let you",
    "tell you",
    "announce",
    "to share",
    "to say",
    "to report",
    "as of ",
)
_FRAME = re.compile(
    r"\b(?:(?:please|kindly|pls|plz) (?:note|be (?:advised|informed|aware))"
    r"|(?:(?:i|we) )?(?:just )?(?:(?:want(?:ed)?|would like|'d like) to|writing to|to)"
    r" (?:let you(?: all| guys)? know|inform you(?: all)?|tell you(?: all)?|announce|share)"
    r"|(?:i'?m|i am|we'?re|we are) (?:so |very |really"
    r" )?(?:happy|glad|excited|pleased|proud|thrilled|delighted|sad|sorry) to"
    r" (?:share|announce|say|report|inform you|tell you|let you(?: all| guys)? know)"
    r"|as of (?:now|today|right now|this week|this month|immediately))"
    r"(?: that)?(?=,? (?:i|we|my|our)\b)",
    re.IGNORECASE,
)


def blank_announcements(text: str) -> str:
    """Blank out what only announces a statement; positions stay."""
    if not holds_any(text.lower(), _WORDS):
        return text
    return _FRAME.sub(lambda match: " " * len(match[0]), text)
