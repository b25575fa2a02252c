"""Words that only announce a correction: "you got that wrong", "Quatsch", "perdona".

Enter at ``strip_announcement``. Pure.
"""

from __future__ import annotations

import re
from functools import cache

from engrams.extract.command_languages import strip_accents
from engrams.frozen_data import dataclass
from engrams.text.vocabulary import read_rows

_PUNCTUATION = r"[\s,.;:!…、，。；：！–—-]"


@dataclass(frozen=True, slots=True)
class AnnouncedText:
    """Text without the words that announce that something was wrong."""

    text: str
    is_strong: bool
    """The words can mean nothing else."""


def strip_announcement(text: str) -> AnnouncedText:
    """Cut the words at both ends that announce a correction."""
    plain = strip_accents(text).lower()
    strong, opening, closing = _compile_announcements()
    start = 0
    is_strong = False
    while match := opening.match(plain, start):
        is_strong = is_strong or strong.fullmatch(match["words"]) is not None
        start = match.end()
    end = len(plain)
    while match := closing.search(plain, start, end):
        is_strong = is_strong or strong.fullmatch(match["words"]) is not None
        end = match.start()
    return AnnouncedText(text[start:end].strip(), is_strong)


@cache
def _compile_announcements() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Compile the table: the strong ones, and any at the opening and at the end of a text."""
    rows = [row.partition(": ") for row in read_rows(__file__, "correction_announcements")]
    strong = "|".join(pattern for name, _, pattern in rows if name == "strong")
    words = "|".join(pattern for _, _, pattern in rows)
    edge = rf"(?:{_PUNCTUATION}+|$|(?<=[\u3040-\u9fff]))"
    opening = rf"{_PUNCTUATION}*(?P<words>{words})(?!\w(?<![\u3040-\u9fff])){edge}"
    before = rf"(?:^|{_PUNCTUATION}+)"
    closing = rf"{before}(?P<words>{words}){_PUNCTUATION}*$"
    return re.compile(strong), re.compile(opening), re.compile(closing)
