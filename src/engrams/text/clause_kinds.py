"""Kinds of clauses: which tell a state or a plan that can end, and which can tell that one ended.

Enter at ``may_end`` for a clause of the older message and at ``may_tell_change`` for one of the
newer. Greetings, thanks, encouragement, opinions and questions do neither; a past event ends
nothing of its own accord and cannot end itself.
"""

from __future__ import annotations

import re

from engrams.text.late_patterns import late_pattern
from engrams.text.normalize import fold
from engrams.text.terms import terms
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import word_pattern

_VOCATIVE = late_pattern(r"^[A-ZÄÖÜÉ][a-zäöüéèß]{1,14}\s?[,!.:]+\s*")
_IMPERSONAL = late_pattern(
    r"^\W*(?:it|that|this|these|those|there|they|which|what|everything|nothing|life|people|things?"
    r"|sometimes|being|having|spending|seeing|getting|making|doing|working|talking|helping|finding"
    r"|sharing)\b"
)
_ADDRESSED = late_pattern(r"^\W*(?:you|your|yours|u|ur|y'all|du|dein\w*|tu|tus|vos|ton|ta)\b")
_VALUE = late_pattern(r"\d|[a-z]+@|https?:|`[^`]+`")
_NAME = late_pattern(r"(?<![.!?…:]\s)(?<!^)(?<!\w)[A-ZÄÖÜÉÁÍÓÚÑÇ][\w'’-]+")
_ORDER_TO_KEEP = late_pattern(
    r"^\W*(?:\w+ )?(?:can|could|would|will) (?:you|we|it)(?: please)? "
    r"(?:remember|note|be|call me|use|stop|keep|change|always|never)\b"
)
_BEFORE_REQUEST = late_pattern(r"^\W*(?:(?:please|pls|now|ok(?:ay)?|so|and|but) )*")
_QUESTION_END = late_pattern(r"[?？]\W*$|(?:吗|嗎|呢|か)[。.]?$")
_BEFORE_EVENT = late_pattern(
    r"^\W*(?:(?:last|this|the other|yesterday|today|earlier|on|in|at|after|when|while|then|so|and|but"
    r"|also|recently|just|finally)\b[\w\s,'’]{0,40}?[\s,])?"
    r"(?:(?:i|we|he|she|they|it|(?:my|our) [\w']+(?: [\w']+)?|[a-z]+(?: and (?:i|me))?) )?"
    r"(?:(?:just|also|even|actually|finally|really|recently|never|already|both|all) )*"
)
_ADDRESSEES = late_pattern(r" (?:there|all|everyone|guys|girl|man|mate|buddy|bro|dude)\b")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_HAN_JUDGEMENT = late_pattern(
    r"(?:真|挺|很|特别|蛮|非常|太|还)[^，。]{0,4}(?:不错|好用|给力|满意|棒|省心)|不错|给力|とても(?:いい|良い|よか)"
)
_YEAR = late_pattern(
    r"\b(?:in|im jahre?|en|around|by|until|bis|hasta) ((?:19|20)\d\d)\b|((?:19|20)\d\d)年"
)
_SINCE = late_pattern(r"\b(?:since|seit|desde|depuis|ab|from)\b|以来|から")
_YEARS_BEFORE = 2
"""Years from which an event ends nothing that was said after it: a change may be told later."""
_FEW_TERMS = 3
"""Terms beside a social phrase up to which a clause says nothing else."""


@text_cache(1 << 13)
def may_end(clause: str) -> bool:
    """True if a clause may tell a state or a plan of somebody or something.

    Not a question, thanks, a greeting, a cheer, an opinion in general, nor an event that is past.
    """
    folded = _read_told(clause)
    return bool(folded) and not _is_past_event(folded) and not _find("wish", folded)


@text_cache(1 << 13)
def may_tell_change(clause: str) -> bool:
    """True if a clause may tell that something changed.

    Not a question, thanks, a greeting, a cheer, an opinion in general, nor a memory of long ago; nor
    what has not happened yet, or what somebody else is quoted with.
    """
    folded = _read_told(clause)
    return bool(folded) and not _find("long_ago", folded) and not _find("unreal", folded)


def tells_something(clause: str) -> bool:
    """True for a clause that neither asks nor thanks, greets, cheers or judges in general."""
    return bool(_read_told(clause))


def tells_past_event(clause: str) -> bool:
    """True for what happened once and for what was."""
    return _is_past_event(fold(clause))


def is_joke(message: str) -> bool:
    """True for a message that says itself that it is not meant seriously."""
    return bool(_find("joke", fold(message)))


def adds_something(clause: str) -> bool:
    """True for a clause that tells of one more thing: "also", "another", "a second"."""
    return bool(_find("also", fold(clause)))


def is_for_a_while(clause: str) -> bool:
    """True for a clause that holds for some days only: "this week", "till Thursday"."""
    return bool(_find("for_a_while", fold(clause)))


def is_of_years_before(clause: str, year: int) -> bool:
    """True for a clause about a year long before another: "in 2009" is, "since 2009" is not."""
    folded = fold(clause)
    years = [int(match) for pair in _YEAR.findall(folded) for match in pair if match]
    return bool(years) and max(years) <= year - _YEARS_BEFORE and not _SINCE.search(folded)


def holds_verb(clause: str) -> bool:
    """True for a clause with a verb of a state or a habit."""
    folded = fold(clause)
    return bool(_find("standing", folded) or _find("verbs", folded))


def _find(table: str, folded: str) -> re.Match[str] | None:
    return word_pattern(__file__, f"clause_{table}").search(folded)


def _match_start(table: str, folded: str, start: int = 0) -> re.Match[str] | None:
    return word_pattern(__file__, f"clause_{table}").match(folded, start)


@text_cache(1 << 13)
def _read_told(clause: str) -> str:
    """Fold a clause that tells something; empty: it asks, is social, or only judges in general."""
    folded = _read(clause)
    if not folded or _asks(folded) or _is_social(folded) or _is_opinion(clause, folded):
        return ""
    return folded


def _read(clause: str) -> str:
    """Fold a clause without the greeting or interjection it opens with; empty: nothing else."""
    words = clause.strip()
    folded = fold(words)
    start = _skip_openers(folded)
    if start:
        has_same_letters = len(folded) == len(words)
        folded = (
            fold(_VOCATIVE.sub("", words[start:], count=1)) if has_same_letters else folded[start:]
        )
    says_something = terms(folded) or _HAN.search(folded) or _VALUE.search(folded)
    return folded.strip() if says_something else ""


def _skip_openers(folded: str) -> int:
    """Return where a clause begins after "hey there, oh, thanks so much!"."""
    start = _skip_marks(folded, 0)
    while opener := _match_start("openers", folded, start):
        address = _ADDRESSEES.match(folded, opener.end())
        start = _skip_marks(folded, address.end() if address else opener.end())
    return start


def _skip_marks(folded: str, start: int) -> int:
    while start < len(folded) and not folded[start].isalnum():
        start += 1
    return start


def _asks(folded: str) -> bool:
    """True for a question or a request, unless it tells something by the way."""
    if not _QUESTION_END.search(folded):
        if _ORDER_TO_KEEP.match(folded):
            return False
        before = _BEFORE_REQUEST.match(folded)
        start = before.end() if before else 0
        if not _match_start("question_words", folded, start) and not _match_start(
            "requests", folded, start
        ):
            return False
    return not _find("aside", folded)


def _is_social(folded: str) -> bool:
    """True for thanks, greetings, farewells and cheers that say nothing else."""
    has_news = bool(_VALUE.search(folded) or _find("change", folded))
    if _ADDRESSED.match(folded) and not has_news:
        return True
    social = word_pattern(__file__, "clause_social")
    if social.search(folded) is None:
        return False
    remainder = social.sub(" ", folded)
    if _VALUE.search(remainder):
        return False
    return len(terms(remainder)) <= _FEW_TERMS or not _find("change", remainder)


def _is_opinion(clause: str, folded: str) -> bool:
    """True for a judgement of something in general, without a value or a name.

    Of scripts without spaces also of a thing with a name: "小米12这手机真不错".
    """
    if _HAN_JUDGEMENT.search(folded) and not _find("change", folded):
        return True
    if not _find("evaluation", folded) or _VALUE.search(folded):
        return False
    if _IMPERSONAL.match(folded):
        return True
    return not _find("first_person", folded) and not _NAME.search(clause)


def _is_past_event(folded: str) -> bool:
    """True for what happened once and for what was: neither holds now."""
    if _find("result", folded):
        return False
    before = _BEFORE_EVENT.match(folded)
    if before is not None and _is_event_verb(folded, before.end()):
        return not _find("standing", folded[: before.end()])
    return bool(_find("was", folded)) and not _find("standing", folded)


def _is_event_verb(folded: str, end: int) -> bool:
    """True if a clause goes on with the verb of an event; its subject may have been taken for it."""
    return any(
        _match_start("event_verbs", folded, start)
        for start in (end, *_list_word_starts(folded, end))
    )


def _list_word_starts(folded: str, end: int) -> list[int]:
    """List where the words begin that stand before a position."""
    return [match.start() for match in _WORD.finditer(folded[:end])]
