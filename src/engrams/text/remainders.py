"""Remainders of statements beside their value: "with my dog Rex" of "I live in Graz with my dog Rex".

The value may end, and the rest still hold. Enter at ``find_remainder``.
"""

from __future__ import annotations

from engrams.text.clause_kinds import holds_verb
from engrams.text.late_patterns import late_pattern
from engrams.text.terms import terms

_POSSESSIVE = r"(?:my|our|mein\w*|unser\w*|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?)\b"
_WITH = r"(?:(?:together|zusammen|junto|ensemble) )?(?:with|alongside|mit|avec|con)"
_NEAR = r"(?:near|beside|next to|close to|bei|neben|nahe|chez|près de|cerca de|junto a)"
_ADDITION = late_pattern(
    rf"\s*,?\s+(?:{_WITH}|and|but|und|aber|sowie|y|e|pero|et|mais)\s+\S|\s*[，,]?\s*[和跟与同](?=我)"
)
"""Words right behind a value that do not belong to it: "and allergic to nuts"."""
_COMPANION = late_pattern(
    rf"\s*,?\s+{_WITH}\s+(?:{_POSSESSIVE}|[A-ZÀ-ÖØ-Þ])|\s*,?\s+{_NEAR}\s+{_POSSESSIVE}"
)
"""Somebody's company, wherever it stands behind a value: "at St Mary's with my friend Jo"."""
_COMMA = late_pattern(r"\s*[,;，、；]\s*(?=\w)")
_RELATIVE_WORD = late_pattern(
    r"(?:which|who|where|that|whose|wo|welche[rsnm]?|qui|que|où|dont|donde|cuy[oa]s?)\b"
)
_COMPANION_BEFORE = late_pattern(
    r"[^、。はがをに]{1,16}と(?:一緒に|ともに|共に)?(?=[^\u3041-\u309f]|$)"
)
"""Company in front of a Japanese value: "愛犬のレックスと東京に住んでいます"."""
_FEWEST_TERMS = 2
"""Terms of the shortest clause behind a comma that says something of its own."""


def find_remainder(words: str, value: str) -> str:
    """Find the part of a statement's words that holds though its value ends; empty: none.

    It is somebody's company ("with my dog Rex"), another value ("and allergic to nuts"), or a clause
    of its own behind a comma.
    """
    if not value:
        return ""
    start = words.find(value)
    if start < 0:
        return ""
    companion = _COMPANION_BEFORE.match(words)
    if companion is not None and companion.end() <= start:
        return companion[0]
    behind = words[start + len(value) :]
    if _ADDITION.match(behind):
        return behind
    if company := _COMPANION.search(behind):
        return behind[company.start() :]
    comma = _COMMA.match(behind)
    if comma is None:
        return ""
    clause = behind[comma.end() :]
    is_clause = holds_verb(clause) and not _RELATIVE_WORD.match(clause)
    return behind if is_clause and len(terms(clause)) >= _FEWEST_TERMS else ""


def cut_remainder(words: str, value: str) -> str:
    """Cut from a statement's words the part that holds though its value ends."""
    remainder = find_remainder(words, value)
    return words.removesuffix(remainder).removeprefix(remainder).strip() if remainder else words
