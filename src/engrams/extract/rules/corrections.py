"""Corrections without a slot: "no, it's Berlin"."""

from __future__ import annotations

import re

from engrams.core import Kind
from engrams.extract.candidate import CandidateStatement
from engrams.extract.rules.clause_quote import collapse_space, trim_quote
from engrams.extract.rules.sentence_segmenter import TextSentence
from engrams.extract.rules.utterance import UtteranceContext
from engrams.extract.rules.word_classes import JOBS

_OPENING = (
    r"^\W*(?:(?:oh|oops|sorry|wait|hmm|ah|my bad|my mistake|correction|no|nope|nah|actually|i"
    r" mean|well|scratch that"
    r"|that's (?:wrong|not right|incorrect|not correct))\b[\s,:;.!-]*)+"
)
_IS = (
    r"(?:it's|it is|it was|its|that's|that is|that should be|it should be|should be|i meant|i"
    r" mean|make that|make it)"
)
_VALUE = r"(?P<v>[^,.;!?]{1,60}?)"
_NOT = r"(?:(?:\s*+,)?\s*+(?:not|rather than|instead of)\s++(?P<n>[^,.;!?]{1,60}?))?"
_ELLIPTIC = re.compile(rf"{_OPENING}{_IS}\s++(?:actually\s++)?{_VALUE}{_NOT}\s*$", re.IGNORECASE)
_MEANT = re.compile(
    r"^\W*(?:sorry\W+|oops\W+|no\W+)?(?:i meant|make that|correction:?|scratch"
    rf" that\W+(?:it's)?)\s++{_VALUE}{_NOT}\s*$",
    re.IGNORECASE,
)
_PAIR = re.compile(
    rf"^\W*(?:no\W+|actually\W+)?{_IS}\s++(?:actually\s++)?{_VALUE}"
    r"(?:\s*+,)?\s*+(?:not|rather than|instead of)\s++(?P<n>[^,.;!?]{1,60}?)\s*$",
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


_NOT_A = re.compile(
    r"^\W*(?i:(?:actually|no|nope|wait|sorry|oops|correction|well|oh|by the way|btw)\b[\s,:;.!-]*)*"
    r"(?P<s>(?:[Mm]y \w+ )?[A-Z][\w'-]*?|[Mm]y \w+)(?:'s not| is not| isn't| is no) (?P<na>an? |the"
    r" )?(?P<n>\w[\w -]{1,40}?)"
    r"\s*[,;–-]+\s*(?:but )?"
    r"(?:she|he|they)(?:'s|'re| is| are) (?:actually |really |now )?(?P<va>an? |the )?(?P<v>\w[\w"
    r" -]{1,40}?)(?: now)?$"
)


def _correct_kind(match: re.Match[str], quote: str, speech: UtteranceContext) -> CandidateStatement:
    """Correct "Anna isn't a doctor, she's a dentist"."""
    who = match["s"]
    value = match["v"]
    job = value.split()[-1].lower() in JOBS
    return CandidateStatement(
        text=trim_quote(collapse_space(quote)),
        kind=Kind.CORRECTION,
        subject=(
            who.split()[-1]
            if who.split()[-1][0].isupper()
            else f"{speech.subject}'s {who.split()[-1]}"
        ),
        predicate="job" if job else "is",
        object=value,
        category="work" if job else "knowledge",
        effect="corrects",
        single=job,
        wrong_value=match["n"],
        evidence=(speech.evidence(quote),),
        confidence=0.85,
        importance=0.7,
        trust=speech.trust,
        said_at=speech.said_at,
        effective_at=speech.said_at,
        reason="rule correction",
    )


def extract_correction(
    sentence: TextSentence, text: str, speech: UtteranceContext
) -> CandidateStatement | None:
    """Extract a correction without a slot: new and rejected value."""
    piece = sentence.text.strip()
    if len(piece) > 140:
        return None
    if match := _NOT_A.match(piece):
        return _correct_kind(
            match, text[sentence.start : sentence.start + len(sentence.text)].strip(), speech
        )
    match = _PAIR.match(piece) or _ELLIPTIC.match(piece) or _MEANT.match(piece)
    if match is None:
        return None
    value = match["v"].strip()
    wrong = (match["n"] or "").strip()
    if not value or len(value.split()) > 6 or (_EMPTY.match(value) and not wrong):
        return None
    quote = text[sentence.start : sentence.start + len(sentence.text)].strip()
    return CandidateStatement(
        text=trim_quote(collapse_space(quote)),
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
