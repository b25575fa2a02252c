"""Clauses of a message: each says one thing. Enter at ``split_clauses``."""

from __future__ import annotations

from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.vocabulary import word_pattern

_AND = r"(?:and|but|so|plus|und|aber|y|pero|et|mais)"
_SUBJECT = (
    r"(?:also )?(?:i|i'm|i've|i'll|im|ive|my|we|we're|we've|our|he|she|they|it's|its|there's|ich|mein\w*|wir"
    r"|unser\w*|yo|mis?|nuestr\w+|je|j'\w+|mon|ma|mes|nous|notre)"
)
_ENDS = late_pattern(
    r"(?<=[.!?;…])(?<!\b[DMS][rst]\.)(?<!\bMrs\.)(?<!\bSra\.)(?<!\bDra\.)(?<!\bNr\.)(?<!\bProf\.)(?!(?<=\d\.)\s+(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|[a-zäöü]))\s+|\n+"
    r"|(?<=[。！？；，])|(?<=[てでし]、)|(?<!\s)\s+[–—-]\s+"
    rf"|,\s+(?={_AND}\b)|\s+(?=(?i:{_AND} {_SUBJECT})\b)|,\s+(?=(?i:{_SUBJECT})\b)"
)
_COMMA = late_pattern(r",\s+")
_DEPENDENT = late_pattern(
    r"\W*(?:when|whenever|if|since|because|as|after|before|while|although|though|once|until|unless|which|who|whose|that|where|whom|so that"
    r"|wenn|weil|da|als|nachdem|bevor|obwohl|dass|der|die|das|si|cuando|porque|aunque|que|quand|parce|comme|qui|ou)\b"
)


def split_clauses(text: str) -> list[str]:
    """Split a text into clauses, each a part of it.

    They end at full stops, at a conjunction or comma before a new subject, and at a comma between
    two parts with a verb each.
    """
    clauses: list[str] = []
    for part in _ENDS.split(text):
        if part and part.strip():
            clauses += _split_at_commas(part)
    return clauses


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
