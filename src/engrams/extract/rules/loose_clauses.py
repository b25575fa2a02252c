"""Clauses that no parser reads: in languages other than English, and broken ones in English.

Enter at ``split_loosely``: a sentence is cut at its commas and conjunctions, and a piece counts if
it says "I", "my" or "we" in its language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engrams.extract.rules.clause_quote import trim_quote
from engrams.extract.rules.languages.language_table import load_language
from engrams.extract.rules.sentence_segmenter import TextSentence

_ENGLISH_CUE = re.compile(
    r"\b(?:i|i'm|im|i've|ive|i'll|my|we|we're|our|mine|ours)\b", re.IGNORECASE
)
_JOINT = re.compile(
    r"[,;，；]\s*|\s+(?:-|–)\s+|\b(?:and|but|so|because|und|aber|denn|weil|y|pero|porque|et|mais|car|parce que)\b\s*",
    re.IGNORECASE,
)
_ENGLISH_JOINT = re.compile(r"[,;]\s*|\s+(?:-|–)\s+|\b(?:but|so)\b\s*", re.IGNORECASE)
_OPENS_QUESTION = re.compile(
    r"\W*(?:how|what|why|where|which|who|when|can|could|would|should|do|does|did|is|are|let's|please|since|if|like)\b",
    re.IGNORECASE,
)
_FEWEST_WORDS = 3
_ASKS = re.compile(r"(?:吗|嗎|呢|か|ですか|ますか|ください|てね)\s*[?？]?\Z")


def split_loosely(sentence: TextSentence, language: str) -> Iterator[tuple[int, int]]:
    """Yield the places of pieces that say "I": start and end in the whole text.

    Pieces without a first person belong to the piece before them.
    """
    table = load_language(language)
    cue = table.first_person if table else _ENGLISH_CUE
    if (table is None and language != "en") or sentence.is_question or _ASKS.search(sentence.text):
        return
    text = sentence.text
    if language == "ja":
        if cue.search(text.rstrip(" 。！!")):
            yield sentence.start, sentence.start + len(text)
        return
    if language == "en" and _OPENS_QUESTION.match(text):
        return
    joint = _ENGLISH_JOINT if language == "en" else _JOINT
    starts = [0, *(cut.end() for cut in joint.finditer(text) if cue.search(text, cut.end()))]
    starts = [begin for begin in starts if begin == 0 or _opens_clause(text, begin, cue)]
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = text[begin:end]
        is_short = language not in ("zh", "ja") and len(piece.split()) < _FEWEST_WORDS
        if cue.search(piece) and not is_short:
            yield sentence.start + begin, sentence.start + begin + len(piece.rstrip())


def quote_loosely(text: str, start: int, end: int) -> str:
    """Return a piece without the conjunction and marks at its ends."""
    return trim_quote(_TRAILING.sub("", text[start:end]))


_TRAILING = re.compile(
    r"[\s,;，；]+(?:and|but|so|because|und|aber|denn|weil|y|pero|porque|et|mais|car)\s*\Z",
    re.IGNORECASE,
)


def _opens_clause(text: str, begin: int, cue: re.Pattern[str]) -> bool:
    """True if a first person stands near the head of a piece."""
    match = cue.search(text, begin)
    return match is not None and match.start() - begin <= 24
