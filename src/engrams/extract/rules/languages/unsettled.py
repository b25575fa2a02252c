"""Clauses of other languages that are denied, to come, or over."""

from __future__ import annotations

import re
from datetime import datetime

from engrams.extract.rules import clause_dates
from engrams.extract.rules.languages.language_table import (
    LanguageTable,
    SentencePattern,
    load_language,
)
from engrams.frozen_data import dataclass

_CUT = re.compile(r"[,;:，；、]|\b(?:und|aber|sondern|y|pero|sino|et|mais)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?。！？\n]")
_LEAD = 60
_AROUND = 400
_NO_MORE = re.compile(r"\b(?:nicht|kein\w*)\b[^,.]*\bmehr\b|\bya no\b", re.IGNORECASE)
# Of a whole sentence: "我2015年搬到北京，住了一年".
_LEFT = re.compile(
    r"住了(?:半|[一二两三四五六七八九十几\d]{1,3})个?(?:多)?(?:年|月|天|周|星期)多?(?!了)"
    r"|\b(?:dort|da)\b[^.!?]{0,30}\b(?:gewohnt|gelebt)\b|\bj['’]y ai (?:vécu|habité)\b|\bviví"
    r" (?:allí|ahí|allá)\b",
    re.IGNORECASE,
)
_CHANGING = frozenset(
    ("lives_in", "works_at", "job", "diet", "studies", "studies_at", "married_to", "has")
)
_UNTIL = re.compile(
    r"(?:\bbis(?: zum| zur)?|\bjusqu['’](?:en|à|au)|\bhasta(?: el| la)?|直?到)\s?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ForeignClause:
    """A clause, with what leads to it, and its sentence.

    ``lead``: "à partir de janvier," before "j'habite …"; empty if it has a first person itself.
    """

    text: str
    lead: str
    sentence: str


def is_unsettled(
    language: LanguageTable, form: SentencePattern, clause: ForeignClause, said: datetime
) -> bool:
    """Test if a clause of a language tells no present fact.

    "Ich bin nicht nach Wien gezogen", "à partir de janvier, j'habite à Lyon", "以前我住在北京".
    """
    is_ending = form.effect == "ends"
    if language.denied.search(_NO_MORE.sub(" ", clause.text) if is_ending else clause.text):
        return True
    if form.predicate not in _CHANGING:
        return False
    whole = clause.lead + clause.text
    has_left = form.predicate == "lives_in" and _LEFT.search(clause.sentence)
    if not is_ending and (language.over.search(whole) or has_left):
        return True
    if language.coming.search(whole):
        return True
    spans = clause_dates.find_spans(whole, said) if form.effect != "changes" else ()
    return any(span.start > said and not _UNTIL.search(whole[: span.at]) for span in spans)


def tells_other_time(text: str, language_code: str) -> bool:
    """True for a text that speaks of what is over or to come: "à partir de janvier, …", "住了一年"."""
    language = load_language(language_code)
    if language is None:
        return False
    patterns = (language.over, language.coming, _LEFT)
    return any(pattern.search(text) is not None for pattern in patterns)


def find_clause(text: str, at: int, cue: re.Pattern[str]) -> ForeignClause:
    """Find the clause at a place of a text.

    ``cue``: the first person of its language.
    """
    begin = max(
        (match.end() for match in _SENTENCE.finditer(text, max(0, at - _AROUND), at)),
        default=max(0, at - _AROUND),
    )
    stop = _SENTENCE.search(text, at, at + _AROUND)
    end = stop.start() if stop else min(at + _AROUND, len(text))
    cuts = [*_CUT.finditer(text, begin, end)]
    head = max((cut.end() for cut in cuts if cut.end() <= at), default=begin)
    tail = min((cut.start() for cut in cuts if cut.start() > at), default=end)
    lead = text[max(begin, head - _LEAD) : head]
    return ForeignClause(text[head:tail], "" if cue.search(lead) else lead, text[begin:end])
