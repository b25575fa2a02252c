"""Sentences that suppose something, in six languages. Pure.

"Maybe I should learn Italian", "wenn ich reich wäre": nobody tells that it is so.
"""

from __future__ import annotations

import re
from functools import cache

from engrams.text.vocabulary import read_rows


def is_supposition(sentence: str) -> bool:
    """True for a sentence that says what may be, could be or would be under a condition."""
    return _compile().search(sentence.replace("’", "'")) is not None


@cache
def _compile() -> re.Pattern[str]:
    return re.compile("|".join(read_rows(__file__, "unreal_sentences")), re.IGNORECASE)
