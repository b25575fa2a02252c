"""The address of the speaker's home: "we live at 5 Mill Lane", "Wir nehmen das Haus! Ab August: Lindenallee 20".

Enter at ``find_home_address``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.extract.rules.sentence_segmenter import TextSentence
from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.vocabulary import word_pattern

_ADDRESS = late_pattern(
    r"\b\d{1,4}(?: ?bis)?,? (?:(?:rue|chemin|avenue|boulevard|place|allée|quai|impasse) [\w'’ -]{3,30}"
    r"|(?:[\w'’-]+ ){1,2}(?:street|road|lane|avenue|close|drive|row|terrace|crescent|gardens|square)\b)"
    r"|\b(?:calle|avenida|avda|plaza|paseo|via|viale|piazza|rua|travessa|largo)\.? [\w'’ -]{3,30}?,? \d{1,4}\b"
    r"|\b(?:[A-ZÄÖÜ][\w-]+er )?[\w-]*(?:straße|strasse|str\.|weg|allee|platz|gasse|ring|damm|ufer) \d{1,4}\b",
    re.IGNORECASE,
)
_MOST_WORDS = 40
"""Words of the longest message that is read: a longer one may name many places."""


def find_home_address(text: str, sentences: Sequence[TextSentence]) -> tuple[str, int, int] | None:
    """Find the address that a message says to be the speaker's home, and the place of its sentence.

    They live there, or tell that they found or took a home. None where it was theirs until now, for
    a question or a task, and where several are named.
    """
    if not any(map(str.isdigit, text)) or len(text.split(None, _MOST_WORDS)) > _MOST_WORDS:
        return None
    matches = list(_ADDRESS.finditer(text))
    if len(matches) != 1:
        return None
    (match,) = matches
    sentence = next(
        (
            sentence
            for sentence in sentences
            if sentence.start <= match.start() < sentence.start + len(sentence.text)
        ),
        None,
    )
    if sentence is None or sentence.is_question or sentence.modality != "asserted":
        return None
    folded = fold(sentence.text)
    if word_pattern(__file__, "former_home").search(folded):
        return None
    lives_there = word_pattern(__file__, "own_home").search(folded)
    if not lives_there and not word_pattern(__file__, "taken_home").search(fold(text)):
        return None
    return match[0].strip(" ,"), sentence.start, sentence.start + len(sentence.text)
