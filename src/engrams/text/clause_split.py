"""Clauses of a message: each says one thing. Enter at ``split_clauses``."""

from __future__ import annotations

from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import word_pattern

_AND = r"(?:and|but|so|plus|und|aber|y|pero|et|mais)"
_SUBJECT = (
    r"(?:also )?(?:i|i'm|i've|i'll|im|ive|my|we|we're|we've|our|he|she|they|it's|its|there's|ich|mein\w*|wir"
    r"|unser\w*|yo|mis?|nuestr\w+|je|j'\w+|mon|ma|mes|nous|notre)"
)
# "We moved to Ghent, can I still claim that?": what is told does not ask.
_QUESTION = (
    r"(?i:can|could|should|would|do|does|is|are|what|when|where|how|why|who|which)"
    r"(?:'s)? (?i:i|you|we|he|she|they|it|that|there|the|my|our|do|does|should|can)\b[^.!?]*\?"
)
# "am 12. März": the full stop of an ordinal ends nothing.
_NO_ORDINAL = r"(?!(?<=\d\.)\s+(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|[a-zäöü]))"
_ENDS = late_pattern(
    r"(?<=[.!?;…])(?<!\b[DMS][rst]\.)(?<!\bMrs\.)(?<!\bSra\.)(?<!\bDra\.)(?<!\bNr\.)(?<!\bProf\.)"
    rf"{_NO_ORDINAL}\s+|\n+"
    r"|(?<=[。！？；，])|(?<=[てでし]、)|(?<!\s)\s+[–—-]\s+"
    rf"|,\s+(?={_QUESTION})|,\s+(?={_AND}\b)|\s+(?=(?i:{_AND} {_SUBJECT})\b)|,\s+(?=(?i:{_SUBJECT})\b)"
)
_JOINED_SUBJECT = late_pattern(rf"(?i:{_AND} {_SUBJECT})\b")
_MOST_NAMES = 2
"""Words of the longest name before "and I"."""
_COMMA = late_pattern(r",\s+")
_DEPENDENT = late_pattern(
    r"\W*(?:when|whenever|if|since|because|as|after|before|while|although|though|once|until|unless|which|who|whose|that|where|whom|so that"
    r"|wenn|weil|da|als|nachdem|bevor|obwohl|dass|der|die|das|si|cuando|porque|aunque|que|quand|parce|comme|qui|ou)\b"
)


@text_cache(1 << 12)
def split_clauses(text: str) -> tuple[str, ...]:
    """Split a text into clauses, each a part of it; cached: a message is compared with many.

    They end at full stops, at a conjunction or comma before a new subject, and at a comma between
    two parts with a verb each.
    """
    parts: list[str] = []
    for part in filter(None, _ENDS.split(text)):
        if parts and _JOINED_SUBJECT.match(part) and _is_name(parts[-1]):
            # "Callum | and I split up": the first of two subjects is no clause.
            joined = f"{parts[-1]} {part}"
            if joined in text:
                parts[-1] = joined
                continue
        if part.strip():
            parts.append(part)
    return tuple(clause for part in parts for clause in _split_at_commas(part))


def _is_name(part: str) -> bool:
    return len(part.split()) <= _MOST_NAMES and not _stands_alone(part)


def _split_at_commas(part: str) -> list[str]:
    """Split where both sides of a comma have a verb of their own and neither depends on the other."""
    clauses: list[str] = []
    start = 0
    for comma in _COMMA.finditer(part):
        left = part[start : comma.start()]
        right = _COMMA.split(part[comma.end() :], maxsplit=1)[0]
        if _stands_alone(left) and _stands_alone(right):
            clauses.append(left)
            start = comma.end()
    return [*clauses, part[start:]]


def _stands_alone(part: str) -> bool:
    folded = fold(part)
    if _DEPENDENT.match(folded):
        return False
    return bool(word_pattern(__file__, "clause_standing").search(folded))
