"""Clauses that say themselves that the very thing of an earlier clause is over.

"I'm vegan", then "I'm no longer vegan". Enter at ``tells_end`` and ``find_explicit_ending``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.text.normalize import fold
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import word_pattern
from engrams.write.change_detection.cue_words import NAMES
from engrams.write.change_detection.ended_part import list_parts, narrow_to_part
from engrams.write.change_detection.features import MessageClause, read_clause
from engrams.write.change_detection.replacement_evidence import (
    list_general_words,
    list_time_words,
)

_DOUBTS = tuple(map(NAMES.index, ("if", "plan", "report", "fiction", "joke", "temporary", "still")))
_OTHER = NAMES.index("other")
_MEANINGFUL = re.compile("[\u30a0-\u30fa\u4e00-\u9fff]")
"""Characters of Chinese, and of Japanese without its endings."""
_ENDING_CHARACTERS = frozenset("我私俺僕不再也了")
_PART_JOINT = re.compile(r"[,:;]\s+")
_NO = NAMES.index("no")


@text_cache(1 << 12)
def tells_end(text: str) -> bool:
    """True for a message with the words by which something is said to be no longer so."""
    return any(_find(table, text) for table in ("over", "divorced"))


def find_explicit_ending(
    old_clauses: Sequence[str], new_clauses: Sequence[str]
) -> tuple[str, str] | None:
    """Find a clause that a newer clause ends in its own words, or a part of one; and the newer one."""
    return next(
        (
            (narrow_to_part(ending, news), news)
            for news in new_clauses
            if tells_end(news)
            for clause in old_clauses
            for ending in (*list_parts(clause), clause)
            if _ends(ending, news)
        ),
        None,
    )


def _ends(ending: str, news: str) -> bool:
    """True if a newer clause says that what an older one tells is no longer so, in its own words.

    "Ich bin kein Vegetarier mehr" after "Ich bin Vegetarier", "ya no trabajo en Repsol" after
    "trabajo en Repsol". What it names besides may only be a time: "I don't drink coffee any more"
    ends "I drink coffee", "I don't drink coffee after five any more" does not. What stands before or
    behind, after a comma or colon, may be a reason: "we tested him: Leo isn't allergic after all".
    """
    old = read_clause(ending)
    if any(read_clause(news).cues[cue] for cue in _DOUBTS) or tells_end(ending):
        return False
    if _find("divorced", news) and _find("married", ending):
        return True
    parts = (news, *filter(tells_end, _PART_JOINT.split(news)))
    return any(_denies(old, read_clause(part)) for part in parts)


def _find(table: str, text: str) -> bool:
    return word_pattern(__file__, table).search(fold(text)) is not None


def _denies(old: MessageClause, new: MessageClause) -> bool:
    """True if a newer clause names what an older one tells, and nothing else; both may not deny it."""
    if old.cues[_OTHER] != new.cues[_OTHER] or (old.cues[_NO] and new.cues[_NO]):
        return False
    old_words = _list_topics(old)
    new_words = _list_topics(new)
    return bool(new_words - list_general_words()) and new_words <= old_words


def _list_topics(clause: MessageClause) -> set[str]:
    """List the words that tell what a clause is about: none of its end, none of a time.

    Of scripts without spaces the characters that carry meaning.
    """
    characters = set(_MEANINGFUL.findall(clause.text))
    if characters:
        return characters - _ENDING_CHARACTERS
    return {
        word for word in clause.words - list_time_words() if len(word) > 1 and not word.isdigit()
    }
