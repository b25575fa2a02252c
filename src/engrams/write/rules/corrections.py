"""Elliptic corrections: "no, it's Berlin", "I meant Tuesday"."""

from __future__ import annotations

import re

from engrams.types import Kind
from engrams.write.candidate import Candidate
from engrams.write.rules.reading import UtteranceContext
from engrams.write.rules.segment import Sentence

_OPENING = (
    r"^\W*(?:(?:oh|oops|sorry|wait|hmm|ah|my bad|my mistake|correction|no|nope|nah|actually|i mean|well|scratch that"
    r"|that's (?:wrong|not right|incorrect|not correct))\b[\s,:;.!-]*)+"
)
_IS = r"(?:it's|it is|it was|its|that's|that is|that should be|it should be|should be|i meant|i mean|make that|make it)"
_VALUE = r"(?P<v>[^,.;!?]{1,60}?)"
_NOT = r"(?:\s*,?\s*(?:not|rather than|instead of)\s+(?P<n>[^,.;!?]{1,60}?))?"
_ELLIPTIC = re.compile(rf"{_OPENING}{_IS}\s+(?:actually\s+)?{_VALUE}{_NOT}\s*$", re.IGNORECASE)
_MEANT = re.compile(
    rf"^\W*(?:sorry\W+|oops\W+|no\W+)?(?:i meant|make that|correction:?|scratch that\W+(?:it's)?)\s+{_VALUE}{_NOT}\s*$", re.IGNORECASE
)
_PAIR = re.compile(
    rf"^\W*(?:no\W+|actually\W+)?{_IS}\s+(?:actually\s+)?{_VALUE}\s*,?\s*(?:not|rather than|instead of)\s+(?P<n>[^,.;!?]{{1,60}}?)\s*$",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    (
        r"^(?:not|fine|ok|okay|good|great|true|right|wrong|a|an|the|so|too|very|really|all|just|my|your|me|you|i|we|that|this"
        r"|what|how|why|because|about|like|nothing|something)\b|\b(?:you|your)\b"
    ),
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:a|an|the|on|in|at|to|from)\s+", re.IGNORECASE)


def extract_correction(sentence: Sentence, text: str, speech: UtteranceContext) -> Candidate | None:
    """Extract a correction without a slot: new and rejected value."""
    piece = sentence.text.strip()
    if len(piece) > 140:
        return None
    match = _PAIR.match(piece) or _ELLIPTIC.match(piece) or _MEANT.match(piece)
    if match is None:
        return None
    value, wrong = match["v"].strip(), (match["n"] or "").strip()
    if not value or len(value.split()) > 6 or (_EMPTY.match(value) and not wrong):
        return None
    quote = text[sentence.start : sentence.start + len(sentence.text)].strip()
    return Candidate(
        text=f"It is {value}, not {wrong}" if wrong else f"It is {value}",
        kind=Kind.CORRECTION,
        subject=speech.subject,
        object=_ARTICLE.sub("", value),
        effect="corrects",
        wrong_value=_ARTICLE.sub("", wrong),
        evidence=(speech.evidence(quote),),
        confidence=0.75,
        importance=0.7,
        trust=speech.trust,
        said_at=speech.said_at,
        effective_at=speech.said_at,
        reason="rule correction",
    )
