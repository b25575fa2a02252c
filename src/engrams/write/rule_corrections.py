"""Rules in whose place a correction stands: "no wait, cents only in the cart" after "money is cents".

Enter at ``find_corrected_rules``. A correction names no slot and no wrong value, so that what both are about
decides: the thing at their head, the words that they share, and whether both say the same sort of thing of
it. "Every commit needs a ticket" is beside "commits are in English", not in its place. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.core import Kind, Record
from engrams.frozen_data import dataclass
from engrams.text.comparison.statement_comparison import is_additional
from engrams.text.stopwords import STOP
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache

RULE_KINDS = (Kind.RULE, Kind.NEGATIVE)
_LEAST_SHARED = 2
"""Shared words from which two rules about one thing say the same sort of thing of it."""
_LEAST_SHARE = 0.5
"""Share of the words of the shorter rule that rules with different heads must have in common."""
_DOER = r"(?:we|wir|man|nous|on)"
_DEGREE = (
    r"(?:always|never|only|just|all|immer|nie|niemals|nur|stets|toujours|jamais|siempre|nunca)"
)
_HEADLESS = re.compile(
    rf"\W*(?:(?:please|and|so|also|then|actually|there)\W+)*"
    rf"(?:{_DOER} (?:{_DEGREE} )*(?:(?:don't|dont|do not) )?[\w-]+ "
    r"|(?:never|don't|dont|do not|avoid) [\w-]+ |(?:use|put|keep|prefer) )?"
    rf"(?:(?:{_DEGREE}|every|each|all|any|no|max|the|an?|our|new|one|two|keine?n?|alle|\d+)\b\W*)*",
    re.IGNORECASE,
)
"""Words before the thing that a rule is about."""
_PREPOSITION = (
    r"(?:in|into|on|onto|at|to|against|under|beside|behind|below|next|inside|outside|from|through|via|with|by|per|for"
    r"|auf|unter|neben|aus|mit|über|gegen|dans|sur|en|contra)"
)
_HEAD = re.compile(
    rf"(?:(?!(?:is|are|must|should|can|may|has|have|needs?|gets?|goes?|go|sits?|lives?|uses?|only|{_PREPOSITION})\b)"
    r"[\w./@`-]+ ?){1,3}?(?=$|[,;:]| (?:is|are|must|should|can|may|has|have|needs?|gets?|goes?|go|sits?|lives?|uses?"
    rf"|only|nur|never|nie|always|immer|{_PREPOSITION})\b)",
    re.IGNORECASE,
)
_PLACED = re.compile(rf"\W*(?:[\w-]+ ){{0,2}}{_PREPOSITION}\b", re.IGNORECASE)
_NEEDED = re.compile(
    r"\W*(?:\w+ )?(?:needs?|gets?|has|have|requires?|must have|brauch\w+)\b", re.IGNORECASE
)
_USED = re.compile(r"\W*(?:uses?|using|is built with|runs on)\b", re.IGNORECASE)
_USED_FOR = re.compile(
    rf"\W*(?:{_DOER} )?use [^,;]+? (?:for|in|on|at) (?:the |all |our )?(?P<purpose>[\w -]+)",
    re.IGNORECASE,
)
"""Choice of a means, which is about what it is for: "use Redux Toolkit for the cart"."""
_RESTRICTED = re.compile(r"\b(?:only|just|nur|solo|sólo|uniquement)\b", re.IGNORECASE)
_FRAME_TERMS = frozenset(
    terms(
        "use uses go goes live lives sit sits need needs must should keep put get run is are have has allowed fine not never"
        " always only max min all every each any"
    )
)


@dataclass(frozen=True, slots=True)
class _RuleTopic:
    """Thing that a rule is about, and the sort of what it says."""

    head: str
    """Term of the thing that it says something of; empty: unclear."""
    frame: str
    """Sort of what it says of it: its place, what it needs, or another."""
    words: frozenset[str]


def find_corrected_rules(text: str, statements: Sequence[Record]) -> list[Record]:
    """Find the rule among statements in whose place a correction stands; empty: it is beside them."""
    if is_additional(text):
        return []
    topic = _read_topic(text)
    rated = [
        (shared, record.story_key, record)
        for record in statements
        if record.kind in RULE_KINDS and (shared := _count_shared(topic, text, record.text))
    ]
    return [max(rated, key=lambda rating: rating[:2])[2]] if rated else []


def corrects_rule(correction: Record, text: str) -> bool:
    """True for a stored correction that stands in the place of a rule."""
    if correction.kind not in RULE_KINDS or is_additional(correction.text):
        return False
    return _count_shared(_read_topic(correction.text), correction.text, text) > 0


def _count_shared(topic: _RuleTopic, text: str, former_text: str) -> int:
    """Count the words that a correction shares with the rule it corrects; 0: it corrects another."""
    former = _read_topic(former_text)
    shared = len(topic.words & former.words)
    if not shared:
        return 0
    is_same_head = bool(topic.head) and topic.head == former.head
    is_named = topic.head in former.words or former.head in topic.words
    restricted = _RESTRICTED.search(text)
    is_restricted = restricted is not None and topic.head in former.words
    is_near = shared >= _LEAST_SHARED and shared >= _LEAST_SHARE * min(
        len(topic.words), len(former.words)
    )
    is_same_sort = topic.frame == former.frame or shared >= _LEAST_SHARED
    corrects = (is_same_head and is_same_sort) or is_restricted or (is_named and is_near)
    return shared if corrects else 0


@text_cache(512)
def _read_topic(text: str) -> _RuleTopic:
    opening = _HEADLESS.match(text)
    begin = opening.end() if opening else 0
    purpose = _USED_FOR.match(text)
    head = None if purpose else _HEAD.match(text, begin)
    head_text = purpose["purpose"] if purpose else (head[0] if head else "")
    head_terms = [term for term in terms(head_text) if term not in STOP]
    predicate = text[head.end() if head else begin :]
    if purpose or _USED.match(predicate):
        frame = "used"
    elif _NEEDED.match(predicate):
        frame = "needed"
    else:
        frame = "placed" if _PLACED.match(predicate) else "other"
    words = frozenset(terms(text)) - _FRAME_TERMS - STOP
    return _RuleTopic(head_terms[-1] if head_terms else "", frame, words)
