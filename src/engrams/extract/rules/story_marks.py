"""Marks of a tale: a dream, a game, a chapter."""

from __future__ import annotations

import re

from engrams.text.late_patterns import holds_any

# What matches holds one of these: looking for them is cheaper than matching, for each text of each
# write.
_WORDS = (
    "dream",
    "nightmare",
    "chapter",
    "scene",
    "prologue",
    "epilogue",
    "game",
    "let's",
    "lets play",
    "truths",
    "character",
    ":",
)
_NUMBER = r"(?:\d{1,3}|[ivx]{1,6}|one|two|three|four|five|six|seven|eight|nine|ten)"
_OPENS = re.compile(
    r"(?:^|[\n.!?])\W{0,8}(?:"
    r"(?:(?:last night'?s|my|today'?s) )?(?:dream|nightmare)(?: (?:last"
    r" night|journal|diary|log))?\s?[:.–—-]"
    rf"|(?:chapter|scene) {_NUMBER}\b[^.:\n]{{0,40}}[:.–—\n-]|(?:prologue|epilogue)\s?[:.–—\n-]"
    r"|let'?s play (?:a|the|this|some|pretend|make-believe|dungeons|d&d|[\w ]{1,20} game)\b"
    r"|(?:\w+'?s? ){0,4}(?:future|past|19\d\d|20\d\d) (?:me|self)\s?:|(?:future )?me in (?:the year"
    r" )?(?:19\d\d|20\d\d|\w{1,8} years?)\s?:"
    r"|(?:please |can you |could you )?(?:correct|fix|check|improve|polish|edit|rephrase|reword)(?:"
    r" \w+){0,3}"
    r" (?:english|grammar|spelling|punctuation|sentences?|paragraphs?|text|essay|wording)\b[^.\n]{0,40}:"
    r")"
    r"|\btwo truths and (?:a|one) lie\b"
    r"|\bI(?:'ve)?(?: just)? (?:had|woke(?: up)? from) (?:a|an|the|this|that|such"
    r" a|another|some)(?: \w+){0,3}"
    r" (?:dreams?|nightmares?)\b"
    r"|\bI(?: just)? dream(?:ed|t)\b(?! (?:of|about)\b)"
    r"|\bmy character(?:'s| is| was| lives| works)\b",
    re.IGNORECASE,
)
_REAL = re.compile(
    r"\b(?:in real(?:ity| life)|irl|for real|out of character|ooc|back to reality|anyways?|when I"
    r" woke up|then I woke up)\b",
    re.IGNORECASE,
)


def find_story(text: str) -> tuple[int, int]:
    """Find where a text tells of a dream, game or tale.

    Up to words such as "in real life"; (0, 0): nowhere.
    """
    opened = _OPENS.search(text) if holds_any(text.lower(), _WORDS) else None
    if opened is None:
        return 0, 0
    real = _REAL.search(text, opened.end())
    return opened.start(), real.start() if real else len(text)
