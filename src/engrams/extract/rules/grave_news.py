"""Losses and illness: sentences that are kept at once, in six languages.

Enter at ``find_grave_news``. ``vocabulary/grave.txt`` holds the patterns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from engrams.extract.rules.named_people import RELATIVES
from engrams.extract.rules.sentence_segmenter import TextSentence, split_sentences
from engrams.extract.rules.word_classes import CLASSES
from engrams.text.late_patterns import holds_any
from engrams.text.times import detect_language
from engrams.text.vocabulary import read_rows

_LONGEST = 200
"""Characters of the longest sentence that is looked at."""
_POINTS = re.compile(
    r"\W*(?:(?:it|its|it's|he|she|her|his|their|they|es|er|sie|ihr\w*|sein\w*|su|sus|él|ella|son|sa|il|elle|c['’]est)\b|是|她|他|彼女|彼)",
    re.IGNORECASE,
)
_TALE = re.compile(
    r"\b(?:movie|film|novel|book|episode|season|series|game|level|character|boss|battery|phone|laptop|plant"
    r"|research|awareness|charity|fundraiser|laughing|star sign|zodiac|roman|serie|spiel|película|juego"
    r"|livre|série|jeu)\b|电影|小说|游戏|映画|小説|ゲーム",
    re.IGNORECASE,
)


_ENGLISH_WORDS = (
    *("died", "passed", "killed", "dead", "put down", "own life", "lost ", "miscarr"),
    *CLASSES["grave_en"],
)
"""Each match holds one of these: looking for them is cheaper than matching."""
_REPORT = re.compile(
    r"\b(?:biops|scan|mri|test|result|befund|diagnos|arzt|ärzt|médic|médec|doctor|docteur)|活检|医生|検査|生検|医者",
    re.IGNORECASE,
)


def is_medical_report(text: str) -> bool:
    """True for what a finding or a doctor says, which is no hearsay."""
    return _REPORT.search(text) is not None


def tells_grave_news(text: str) -> bool:
    """True if a text tells a loss or an illness."""
    return bool(find_grave_news(split_sentences(text), detect_language(text)))


def find_grave_news(sentences: Sequence[TextSentence], language: str) -> list[tuple[int, int, int]]:
    """Find sentences that tell a loss or an illness: index, start and end of the words to quote.

    One that begins with a pronoun brings the sentence before it.
    """
    said = " ".join(sentence.text for sentence in sentences).lower()
    if language == "en" and not holds_any(said, _ENGLISH_WORDS):
        return []
    pattern = _compile_patterns(language)
    spans = []
    for index, sentence in enumerate(sentences):
        if language == "en" and not holds_any(sentence.text.lower(), _ENGLISH_WORDS):
            continue
        is_told = sentence.modality == "asserted" and not sentence.is_question
        is_short = len(sentence.text) <= _LONGEST
        if not (is_told and is_short and pattern.search(sentence.text)):
            continue
        if _TALE.search(sentence.text):
            continue
        start = sentence.start
        before = sentences[index - 1] if index else None
        if before is not None and before.modality == "asserted" and not before.is_question:
            is_pointer = _POINTS.match(sentence.text) and len(before.text) <= _LONGEST
            start = before.start if is_pointer else start
        spans.append((index, start, sentence.start + len(sentence.text)))
    return spans


@cache
def _compile_patterns(language: str) -> re.Pattern[str]:
    relatives = "|".join(sorted(map(re.escape, RELATIVES), key=len, reverse=True))
    illness = "|".join(sorted(CLASSES.get(f"grave_{language}", {"(?!)"}), key=len, reverse=True))
    rows = [
        pattern.strip()
        for code, _, pattern in (row.partition(":") for row in read_rows(__file__, "grave"))
        if code == language
    ]
    joined = "|".join(rows) or "(?!)"
    joined = joined.replace("<relative>", f"(?:{relatives})").replace("<illness>", f"(?:{illness})")
    return re.compile(joined, re.IGNORECASE)
