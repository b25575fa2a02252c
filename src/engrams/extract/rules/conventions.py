"""Conventions that developers and others tell an assistant without "always" or "never".

"Use pnpm, not npm", "no emojis please", "all money is integer cents, never floats", "we squash
merge", "tests go next to the file". Enter at ``find_convention``. A request for this turn ("use
the other file", "run all tests") is none, nor is what is so at the moment ("the build is red"): a
convention is general, has no question, and is short.
"""

from __future__ import annotations

import re

from engrams.core import Kind
from engrams.text.late_patterns import late_pattern
from engrams.text.times import detect_language
from engrams.text.vocabulary import read_forms

_LONGEST = 180
_FORMS = read_forms(__file__, "conventions")[""]
_PARTS = dict(_FORMS)
_POINTS = re.compile(
    r"\b(?:this|that|these|those|it|here|above|below|now|today|again|previous|following|you|your)\b",
    re.IGNORECASE,
)
_FROM_NOW = ("from now on", "from here on", "going forward")
_TECHNICAL = late_pattern(_PARTS["$technical"])
"""Words and forms of code that others seldom use."""
_STATUS = re.compile(_PARTS["$status"], re.IGNORECASE)
"""Words of what is so at the moment, or unsure."""
_TASK = re.compile(
    rf"{_PARTS['$lead']}(?:{_PARTS['$ordered']}|{_PARTS['$tasks']})\b(?!')", re.IGNORECASE
)
"""Beginning that may ask for work of the moment: "log the customer id when …"."""
_GENERAL = re.compile(rf"\b{_PARTS['$general']}\b", re.IGNORECASE)
_WE = re.compile(rf"{_PARTS['$lead']}we\b", re.IGNORECASE)
_DECISION = re.compile(_PARTS["$decision"], re.IGNORECASE)
_BEFORE_YOU = re.compile(r"\bbefore you\b", re.IGNORECASE)
_BEFORE = late_pattern(
    r"\b(?:before|when|until) you\b[^,;]*|\bbecause\b[^,;]*?\b(?:was|were)\b", re.IGNORECASE
)
"""Conditions, and reasons of the past, which tell no passing state: "because caching was a pain"."""
_AGAINST = re.compile(
    r"\b(?:decided|against|gave up on|got rid of|no longer|stopped)\b", re.IGNORECASE
)


def _compile_forms(kind: str) -> tuple[re.Pattern[str], ...]:
    return tuple(
        late_pattern(rf"{_PARTS['$lead']}{pattern}[\s.!]*", re.IGNORECASE)
        for form_kind, pattern in _FORMS
        if form_kind == kind
    )


_RULES = _compile_forms("rule")
_BANS = _compile_forms("ban")
_WAYS = _compile_forms("way")
_TABOOS = _compile_forms("taboo")


def find_convention(piece: str, *, has_fact: bool = False, of_project: bool = False) -> Kind | None:
    """Return the kind of a convention, a rule or a ban; None for other sentences.

    ``piece``: the sentence without what leads to it, code included. ``has_fact``: it is a fact
    already, and so no rule about code besides. ``of_project``: it was said in a project, whose
    conventions need no word of code.
    """
    text = " ".join(piece.split()).replace("’", "'")
    if not 6 < len(text) <= _LONGEST or "?" in text:
        return None
    if any(pattern.fullmatch(text) for pattern in _BANS) and detect_language(text) == "en":
        return (
            None if _POINTS.search(text) and not text.lower().startswith("never") else Kind.NEGATIVE
        )
    if any(pattern.fullmatch(text) for pattern in _RULES) and not _is_passing(text):
        return Kind.RULE
    may_be = is_technical(text) or (of_project and _is_general(text))
    kind = _find_technical(text) if may_be else None
    # "We decided against GraphQL" is no fact that GraphQL was decided.
    is_told_by_fact = has_fact and kind is Kind.RULE and not _AGAINST.search(text)
    if of_project and _WE.match(text):
        return kind
    return None if is_told_by_fact else kind


def tells_status(text: str) -> bool:
    """True for words of what is so at the moment, or unsure: "the build is red again"."""
    return _STATUS.search(text) is not None


def is_technical(text: str) -> bool:
    """True for words of code and tools."""
    return _TECHNICAL.search(text) is not None


def holds_from_now(text: str) -> bool:
    """True for words that hold from now on."""
    lower = text.lower()
    return any(words in lower for words in _FROM_NOW)


def is_decision(piece: str) -> bool:
    """True for a convention that was chosen: "let's go with Zustand", "we decided against GraphQL"."""
    return _DECISION.search(piece) is not None


def _is_general(text: str) -> bool:
    """True for words of what holds in general, which ask for no work of the moment.

    A number alone is none: "the import is 9 minutes off".
    """
    is_lasting = _GENERAL.search(text) or _WE.match(text) or text.lower().startswith("no ")
    return bool(is_lasting) and _TASK.match(text) is None


def _find_technical(text: str) -> Kind | None:
    """Return the kind of a convention about code, told as what is done or where things go."""
    if _STATUS.search(_BEFORE.sub("", text)):
        return None
    if any(pattern.fullmatch(text) for pattern in _TABOOS):
        return Kind.NEGATIVE
    return Kind.RULE if any(pattern.fullmatch(text) for pattern in _WAYS) else None


def _is_passing(text: str) -> bool:
    opens_future = text.lower().startswith(_FROM_NOW)
    pointed = _BEFORE_YOU.sub("before", text)
    return not opens_future and _POINTS.search(pointed) is not None
