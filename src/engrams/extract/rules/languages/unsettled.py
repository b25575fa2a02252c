"""Clauses of other languages that are denied, to come, or over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from engrams.extract.rules import clause_dates
from engrams.frozen_data import dataclass

_CUT = re.compile(r"[,;:，；、]|\b(?:und|aber|sondern|y|pero|sino|et|mais)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?。！？\n]")
_LEAD = 60
_AROUND = 400
_NO_MORE = re.compile(r"\b(?:nicht|kein\w*)\b[^,.]*\bmehr\b|\bya no\b", re.IGNORECASE)
_DENIED: Mapping[str, re.Pattern[str]] = {
    "de": re.compile(
        r"\b(?:nicht(?! nur\b| weit\b)|nie|niemals|kein(?:e[nmrs]?)?|fast|beinahe|weder)\b",
        re.IGNORECASE,
    ),
    "es": re.compile(r"\b(?:no|nunca|jamás|casi|tampoco|ni)\b", re.IGNORECASE),
    "fr": re.compile(r"\b(?:pas|jamais|presque|failli|aucune?)\b", re.IGNORECASE),
    "ja": re.compile(r"ない|ません|なかった"),
    "zh": re.compile(r"没(?!事)|并不|不是|不过敏|未|差点|几乎|不(?:住|在|搬|叫|喜欢)"),
}
_OVER: Mapping[str, re.Pattern[str]] = {
    "de": re.compile(r"\b(?:damals|früher|einst|als kind|als ich)\b", re.IGNORECASE),
    "es": re.compile(
        r"\b(?:antes(?! de\b)|de niñ[oa]|de joven|en aquel\w*|cuando era)\b", re.IGNORECASE
    ),
    "fr": re.compile(r"\b(?:autrefois|jadis|à l['’]époque|quand j['’]étais)\b", re.IGNORECASE),
    "ja": re.compile(r"昔|以前|子供の頃|当時|かつて"),
    "zh": re.compile(r"以前|曾经|过去|小时候|当年|当时|那时|那会儿"),
}
_COMING: Mapping[str, re.Pattern[str]] = {
    "de": re.compile(
        r"\bab (?!sofort\b|jetzt\b|heute\b|und\b)(?=\w)|(?<!\bbis"
        r" )\b(?:über)?(?:nächste|kommende)[nrsm]?\b"
        r"|\b(?:demnächst|bald|übermorgen)\b",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"\ba partir del? (?!ahora\b|hoy\b)|(?<!\bhasta el )(?<!\bhasta la"
        r" )\bpróxim[oa]s?\b|\b(?:pronto|(?:año|mes|semana) que viene)\b"
        r"|(?<!\bla )\bmañana\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\b(?:à partir d[eu]s?|à compter d[eu]|dès) (?!maintenant\b|aujourd|ce"
        r" jour)|\b(?:prochaine?s?|bientôt|demain)\b",
        re.IGNORECASE,
    ),
    "ja": re.compile(r"来(?:年|月|週)|明日|再来|今度|これから|予定|まもなく"),
    "zh": re.compile(
        r"(?<!到)(?:明年|后年|明天|后天|下(?:个月|周|星期|学期|半年))|即将|快要|马上要|将[要会在]|从(?!今|现在|小|\d{4}年|去年|上)[^，"
        r"。]{1,10}(?:起|开始)"
    ),
}
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
    code: str, predicate: str, effect: str, clause: ForeignClause, said: datetime
) -> bool:
    """Test if a clause of a language tells no present fact.

    "Ich bin nicht nach Wien gezogen", "à partir de janvier, j'habite à Lyon", "以前我住在北京".
    """
    if _DENIED[code].search(_NO_MORE.sub(" ", clause.text) if effect == "ends" else clause.text):
        return True
    if predicate not in _CHANGING:
        return False
    whole = clause.lead + clause.text
    if effect != "ends" and (
        _OVER[code].search(whole) or (predicate == "lives_in" and _LEFT.search(clause.sentence))
    ):
        return True
    if _COMING[code].search(whole):
        return True
    spans = clause_dates.find_spans(whole, said) if effect != "changes" else ()
    return any(span.start > said and not _UNTIL.search(whole[: span.at]) for span in spans)


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
