"""What sort of answer a query wants."""

from __future__ import annotations

import re

from engrams.read.cues.understood import Asked

# Tried in this order on the folded query; the first that matches decides.
_KINDS: tuple[tuple[Asked, str], ...] = (
    (
        "how_many",
        r"\bhow\s+(?:many|much|often|old|far|tall|big)\b|\bnumber\s+of\b|\bwie\s*(?:viele?|oft|alt)\b|\bcuant[oa]s?\b|\bcombien\b|多少|几(?:次|个|只|岁|天|本|种|年)"
        r"|いくつ|何(?:回|人|個|匹|歳|冊|度|枚)",
    ),
    (
        "when",
        r"^\W*(?:and\s+|so\s+)?when\b|\bwhen\s+(?:did|does|do|is|was|were|are|has|have|had|will|would|should|can|could)\b|\b(?:what|which)\s+(?:year|month|day|date|time|week|season)\b|\bsince\s+when\b|\bhow\s+long\b|\bwann\b|\bseit\s+wann\b|\bwie\s+lange\b"
        r"|\bwelche[mnrs]?\s+(?:jahr|monat|tag)\b|\bcuando\b|\bque\s+(?:dia|ano|mes)\b|\bquand\b|\bquel(?:le)?\s+(?:jour|annee|mois|date)\b"
        r"|什么时候|什麼時候|何时|何時|哪[年天]|哪一[年天]|哪个月|几[号月点]|多久|いつ|何[年月日時]",
    ),
    (
        "where",
        r"\bwhere\b|\b(?:what|which)\s+(?:city|country|place|town|state|location)\b|\bwo(?:her|hin)?\b(?=.*\?|\s)|\bdonde\b|\bou\s+(?:est|vit|habite|va)\b|哪里|哪裡|哪儿|在哪|どこ",
    ),
    ("who", r"\b(?:who|whom|whose)\b|\bwer\b|\bwem\b|\bwen\b|\bwessen\b|\bquien(?:es)?\b|\bqui\b|谁|誰|だれ"),
    (
        "said",
        r"\b(?:say|said|says|tell|told|mention(?:ed)?|recommend(?:ed)?|suggest(?:ed)?|advi[cs]ed?|describe[ds]?|think\s+(?:about|of)|opinion|promise[ds]?)\b"
        r"|\b(?:gesagt|sagte|empfohlen|erzahlt|erwahnt|vorgeschlagen)\b|\b(?:dijo|dice|dijiste|recomend\w+|menciono|conto|sugiri\w+)\b|\b(?:dit|raconte|recommande|conseille|suggere)\b"
        r"|说(?:了|过)|提到|推荐|建议|告诉|言(?:った|い)|勧め|話し",
    ),
    (
        "list",
        r"\b(?:list|name)\s+(?:all|the|some)\b|\b(?:what|which)\s+(?:\w+\s+){0,3}?(?!(?:is|was|does|has|his|this)\b)\w{3,}s\s+(?:has|have|does|do|did|is|are|was|were|can|will|would)\b"
        r"|\bwhat\s+(?:are|were)\b|\b(?:kinds|types|sorts)\s+of\b|\bevents?\b.*\border\b|\bwelche\s+\w+n\b|\bque\s+\w+s\s+(?:ha|han|tiene|hizo)\b|\bquel(?:le)?s\b|哪些|有什么|どんな",
    ),
    (
        "did",
        r"^\W*(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would|should)\b|^\W*(?:hat|hast|habe|ist|bin|war|kann|wird)\b|^\W*(?:est-ce|a-t|as-tu|ai-je)"
        r"|吗[?？]?\s*$|(?:ましたか|ですか)[?？]?\s*$",
    ),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
_HOW_LONG = re.compile(r"\bhow\s+long\b|\bwie\s+lange\b|多久|\bhow\s+old\b")
_LATEST = re.compile(
    r"\b(?:currently|now|nowadays|these\s+days|still|at\s+the\s+moment|right\s+now|at\s+present|present(?:ly)?|latest|most\s+recent(?:ly)?|anymore|up\s+to\s+date|new(?:est)?"
    r"\s+(?:job|address|phone|number)|current)\b|\b(?:aktuell\w*|derzeit|momentan|zurzeit|jetzt|immer\s+noch|neueste\w*)\b|\b(?:actualmente|ahora|todavia|aun|hoy\s+en\s+dia|actual)\b"
    r"|\b(?:actuellement|maintenant|toujours|encore|actuel(?:le)?|en\s+ce\s+moment)\b|现在|目前|如今|还在|最新|当前|現在|今は|今も|まだ|最新"
)
_PAST = re.compile(
    r"\b(?:used\s+to|before|originally|previous(?:ly)?|former(?:ly)?|in\s+the\s+past|back\s+then|at\s+first|initial(?:ly)?|no\s+longer|earlier|once|old\s+(?:job|address|phone"
    r"|number|apartment|house)|at\s+the\s+time)\b|\b(?:fruher\w*|damals|ursprunglich|ehemalig\w*|vorher|zuvor|anfangs)\b|\b(?:antes|anteriormente|originalmente|solia|al\s+principio|anterior)\b"
    r"|\b(?:avant|auparavant|autrefois|a\s+l'origine|ancien(?:ne)?|au\s+debut|jadis)\b|以前|之前|原来|原本|曾经|当初|過去|かつて|もともと|前は|昔"
)
_SPLIT = re.compile(
    r"\?\s+(?=\S)|\s*,?\s+(?:and|und|y|et)\s+(?=(?:what|when|where|who|why|how|which|did|does|was|wann|wo|wer|warum|wie|cuando|donde|quien|como|quand|ou|qui|comment)\b)",
    re.IGNORECASE,
)
_CJK_SPLIT = re.compile(r"[?？]\s*(?=\S)|[，、](?=(?:什么|谁|哪|何|いつ|どこ|誰))")


def kind(folded: str) -> Asked:
    """The sort of question, of a folded query."""
    return next((name for name, pattern in _COMPILED if pattern.search(folded)), "other")


def wants_time(folded: str) -> bool:
    """Whether a time or a length of time is asked for."""
    return _COMPILED[1][1].search(folded) is not None or _HOW_LONG.search(folded) is not None


def latest(folded: str) -> bool:
    """Whether what holds now is asked for ("where does she live now")."""
    return _LATEST.search(folded) is not None


def past(folded: str) -> bool:
    """Whether what held once is asked for ("where did she use to live")."""
    return _PAST.search(folded) is not None or "use to" in folded


def parts(query: str) -> tuple[str, ...]:
    """The questions of a query: "Where does Ann live, and when did she move?" are two."""
    split = _CJK_SPLIT.split(query) if not query.isascii() else _SPLIT.split(query)
    found = tuple(part.strip() for part in split if len(part.strip()) > 3)
    return found if len(found) > 1 else (query.strip(),)
