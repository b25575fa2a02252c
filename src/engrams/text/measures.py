"""Measure a text: question or not, number of words."""

from __future__ import annotations

import re

from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.terms import is_unspaced, tokens

_MARK_AT_END = late_pattern(r"[?？؟][^\w?？؟]*$")
# One set of first characters: a search skips to them, but not to those of alternatives.
_OTHER_SENTENCE = late_pattern(r"[.!。\n](?:\s+|(?<=[。\n]))\S")

_AUX = (
    r"(?:am|are|is|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|might|must)(?:n't)?\b"
    r"|(?:can't|won't|shan't)\b"
)
_SUBJECT = r"(?:i|you|he|she|it|we|they|there|this|that|these|those|the|any\w*|my|your|his|her|our|their|[a-z]+'s)\b"
_OPENING = r"\W*(?:(?:so|and|but|well|hey|hi|oh|ok|okay|um|wow|please)\b[\s,]*)*"
_ASKING = late_pattern(
    _OPENING + r"(?:"
    r"(?:who|what|where|when|why|how)(?:'(?:s|re|d|ll|ve)|s)\b(?! app\b)"
    rf"|(?:whom?|whose|what|which|where|when|why|how)\s+(?!(?:i|you|he|she|it|we|they|an?)\b)(?:[\w'-]+\s+){{0,3}}?(?:{_AUX})"
    r"|how\s+(?:many|much|long|often|old|far|come)\b"
    # Not "do it" or "have a nice day": requests and wishes.
    r"|(?:do|have)(?:n't)?\s+(?:i|you|we|they|any\w*|your|my|our|their|these|those)\b"
    r"|(?:did|does)(?:n't)?\s+\w"
    rf"|(?!do\b|have\b)(?:{_AUX})\s+{_SUBJECT}"
    r"|(?:wer|wen|wem|wessen|wann|warum|wieso|weshalb|wohin|woher|wo|wie(?! immer| schon)|welche[rsmn]?)\s+\w+\s"
    r"|was\s+\w+\s+(?:ich|du|wir|ihr|man|mein\w*|unser\w*)\b"
    r"|(?:pourquoi|combien|est-ce|qu'est-ce|quand est-ce|ou est|qui est|quel(?:le)?s?"
    r" (?:est|sont))\b"
    r"|(?:谁|誰|什么|什麼|为什么|為什麼|怎么|怎麼|几|幾|多少|何|いつ|どこ|誰が|なぜ))"
)
_ASKING_AT_END = late_pattern(r"(?:吗|嗎|呢|么|か)\W*$")

_SURELY_ASKED = late_pattern(
    r"(?:(?:so|and|but|ok|hey),? )*(?:(?:should|shall|can|could|may|must|do|did|are|were|have) (?:i|we)\b"
    r"(?! (?:ever|please|not|stop|always|never|agree|keep)\b)"
    r"|(?:soll|sollte|darf|kann|muss) ich\b|(?:sollen|sollten|dürfen|können|müssen) wir\b"
    r"|(?:où|dónde|adónde|cómo|qué|quiénes|quién|cuándo|cuáles|cuál|cuánt[oa]s?)\b)",
    re.IGNORECASE,
)
"""Beginning of somebody who asks whether, where or how they should do something."""
_ASKED_BEHIND = late_pattern(
    r",\s+(?:(?:and|but|so|also)\s+)?(?P<question>(?:what|why|how|which|who)\b.*)", re.IGNORECASE
)
"""Question behind what leads to it: "i'm new here, which branches do we protect"."""


def cut_unmarked_question(sentence: str) -> str:
    """Cut the question that a sentence asks without a mark; empty where it is nothing else."""
    if _SURELY_ASKED.match(sentence):
        return ""
    behind = _ASKED_BEHIND.search(sentence)
    if behind is not None and is_question(behind["question"]):
        return sentence[: behind.start()]
    return sentence


def is_question(text: str) -> bool:
    """Detect a question.

    It ends with a question mark of any script, or is one sentence that opens like a question.
    """
    ending = text[-40:]
    # Most texts are of ASCII and ask nothing: they need no pattern for other scripts.
    is_plain = text.isascii()
    if (not is_plain or "?" in ending) and _MARK_AT_END.search(ending):
        return True
    folded = fold(text[:400]).strip()
    if len(text) > 400 or _OTHER_SENTENCE.search(folded):
        return False
    if _ASKING.match(folded):
        return True
    return not is_plain and bool(_ASKING_AT_END.search(folded) or text.lstrip().startswith("¿"))


def word_count(text: str) -> int:
    """Count words.

    A character of a script without blanks counts half a word; the sum is rounded up.
    """
    words = tokens(text)
    if text.isascii():
        return len(words)
    halves = sum(1 if is_unspaced(token) else 2 for token in words)
    return (halves + 1) // 2
