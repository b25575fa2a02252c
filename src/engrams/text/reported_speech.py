"""Clauses in which somebody else says something of the sender: "a colleague wrote that I moved".

The words of such a clause are in the first person, and yet another's: gossip, a complaint, a mistake.
What somebody tells the sender ("my boss told me that I …"), what a doctor finds, and what the sender
says ("I told her that I …") stay the sender's own. A bare "she said that I …" tells nobody to whom, and
stays, too. English, German, French, Spanish, Chinese and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from engrams.text.late_patterns import late_pattern
from engrams.text.vocabulary import read_patterns

_table = partial(read_patterns, __file__, "reported")

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]?")
_LONGEST = 400
"""Characters of a sentence that is read."""
_CONNECTIVE = late_pattern(
    r"\b(?:that (?=(?:i|i'm|i've|i'd|my|we|our)\b)|dass (?=(?:ich|wir|mein\w*)\b)"
    r"|qu(?:e |['’])(?=(?:je|nous|mon|ma|mes)\b|j['’])"
    rf"|que (?=(?:yo|mi|mis|nunca|siempre|me|{_table('spanish_verbs')})\b))",
    re.IGNORECASE,
)
"""Word that leads in a clause of a first person."""
_SAYING = late_pattern(rf"\b{_table('sayings')}\b", re.IGNORECASE)
_DIRECT = late_pattern(rf"\b{_table('sayings')},? (?=(?:i|i'm|i've|ich)\b)", re.IGNORECASE)
"""Saying whose words follow at once: "he claims I never …"."""
_HEALER = late_pattern(rf"\b{_table('healers')}\b", re.IGNORECASE)
_SELF = late_pattern(
    r"\b(?:i|i'm|i've|i'd|we|me|us|ich|wir|mir|uns|je|nous|yo|me|nos)\b|\b[jm]['’]", re.IGNORECASE
)
"""First person who says it, or to whom it is said."""
_END = late_pattern(r"[,;] (?=(?:but|so|which|aber|darum|mais|donc|pero|asi)\b)", re.IGNORECASE)
"""Words with which the sender goes on."""
_CHINESE = late_pattern(r"(?:^|[，,；、])([^，,；、]*?)(?:说|声称|宣称|传言|写道?)(?=我)")
_CHINESE_PUBLIC = late_pattern(
    "到处|朋友圈|背后|公开|群里|网上|会上|逢人|大家|别人|声称|宣称|传言|写|[跟对向](?!我)"
)
_CHINESE_SELF = late_pattern(
    "我(?![的同妈爸老朋邻室房哥姐弟妹爷奶女男儿婆上])|(?:告诉|对|跟|和|给)我"
)
_CHINESE_END = re.compile("[，,；、]")
_CHINESE_MORE = frozenset("还也又再")
_JAPANESE = late_pattern(
    r"^([^。]*?)(?:[がは]、?(?=(?:私|僕|俺)[はが][^。]*と[^。]{0,6}(?:言いふら|書|主張|噂|吹聴|投稿))"
    r"|に、?(?=(?:私|僕|俺)[はが][^。]*と(?:あり|あっ|書かれ|書いてあ)))"
)
_JAPANESE_SELF = re.compile("私|僕|俺|に")


class ReportedClause(NamedTuple):
    """Place of a clause in a text."""

    start: int
    end: int


def find_reported_clauses(text: str) -> Iterator[ReportedClause]:
    """Find the clauses in which somebody else says something of the sender, in order."""
    if text.isascii() and not _SAYING.search(text):
        return
    for match in _SENTENCE.finditer(text):
        sentence = match[0]
        if len(sentence) <= _LONGEST:
            for start, end in _find_in_sentence(sentence):
                yield ReportedClause(match.start() + start, match.start() + end)


def _find_in_sentence(sentence: str) -> Iterator[tuple[int, int]]:
    yield from _find_led_in(sentence)
    yield from _find_chinese(sentence)
    japanese = _JAPANESE.search(sentence)
    if japanese is not None and not _JAPANESE_SELF.search(japanese[1]):
        yield 0, len(sentence)


def _find_led_in(sentence: str) -> Iterator[tuple[int, int]]:
    """Find the clause behind "that" and its like, or behind the saying itself."""
    connective = _CONNECTIVE.search(sentence)
    direct = _DIRECT.search(sentence)
    if connective is not None and _SAYING.search(sentence[: connective.start()]):
        lead = sentence[: connective.start()]
    elif direct is not None:
        lead = sentence[: direct.end()]
    else:
        return
    if not (_SELF.search(lead) or _HEALER.search(lead)):
        end = _END.search(sentence, len(lead))
        yield len(lead), end.start() if end else len(sentence)


def _find_chinese(sentence: str) -> Iterator[tuple[int, int]]:
    """Find clauses such as "… tells everywhere that I …", and those that go on with one."""
    is_reported = False
    for clause in _CHINESE.finditer(sentence):
        lead = clause[1].strip()
        is_more = bool(lead) and set(lead) <= _CHINESE_MORE
        is_public = _CHINESE_PUBLIC.search(clause[0]) and not _CHINESE_SELF.search(lead)
        if (is_more and is_reported) or (is_public and not is_more):
            is_reported = True
            end = _CHINESE_END.search(sentence, clause.end())
            yield clause.start(1), end.start() if end else len(sentence)
