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

from engrams.text.late_patterns import holds_any, late_pattern
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
_FIRST = (
    r"(?=(?:i|i'm|i've|i'd|ich|wir|je|nous|yo|nunca|siempre|"
    rf"{_table('spanish_verbs')})\b|j['’])"
)
_READ_OUT = late_pattern(rf"{_table('readings')}\s+{_FIRST}", re.IGNORECASE)
"""Words that a text or a talk is told with: "in her letter it says", "she goes on and on"."""
_READ_SIGNS = (
    " steht", " stand", "ß", "sst es", "st man", "las man", "lese ich", "zu lesen", "on lit", "on peut", "crit",
    "marqu", " lee ", "leer", " pone", "poní", " dice", "'s like", "’s like", "s like", "re like", "e all,",
    "s all,", "going,", "talking,", "on and on", "on about", "on for", "minutes,", "speaker ", "sprecher", "voi", "stimme",
    "locut", "habl", "voz ", "person ", "caller ", "anrufer ", ", que ",
)  # fmt: skip
"""One of these stands in every text in which the two patterns before and behind find anything."""
_SENT = late_pattern(
    r"\b(?:mand|envi|dej|grab|solt)[óo]\b[^.!?\n]{0,40}, "
    rf"(?=que {_FIRST}[^,.!?\n]+, que {_FIRST})",
    re.IGNORECASE,
)
"""Words before what somebody said in a recording: "dejó un audio, que vivo …, que siempre …"."""
_HEALER = late_pattern(rf"\b{_table('healers')}\b", re.IGNORECASE)
_ORDERED = late_pattern(
    r"^\W*(?:(?:please|then|also|and|now|(?:can|could|would) you|bitte|und|et|y|por favor)[, ]+)*"
    r"(?:tell|write|inform|report|announce|post|schreib|erz[äa]hle?|[ée]cris|annonce|raconte"
    r"|escribe|cuenta|anuncia)\b",
    re.IGNORECASE,
)
"""Order to say something for the sender: "tell Tom that I …"."""
_SELF = late_pattern(
    r"\b(?:i|i'm|i've|i'd|we|me|us|ich|wir|mir|uns|je|nous|yo|me|nos)\b|\b[jm]['’]", re.IGNORECASE
)
"""First person who says it, or to whom it is said."""
_END = late_pattern(r"[,;] (?=(?:but|so|which|aber|darum|mais|donc|pero|asi)\b)", re.IGNORECASE)
"""Words with which the sender goes on."""
_CHINESE = late_pattern(r"(?:^|[，,；、])([^，,；、]*?)(?:说|声称|宣称|传言|写道?)(?=我)")
_CHINESE_PUBLIC = late_pattern(
    "突然|大声|小声|嘟囔|嚷嚷|到处|朋友圈|背后|公开|群里|网上|会上|逢人|大家|别人|声称|宣称|传言|写|[跟对向](?!我)"
)
_CHINESE_SELF = late_pattern(
    "我(?![的同妈爸老朋邻室房哥姐弟妹爷奶女男儿婆上])|(?:告诉|对|跟|和|给)我"
)
_CHINESE_END = re.compile("[，,；、]")
_CHINESE_STATED = re.compile("我(?:以后|现在|一直|从来|总|只|住|在|是|用|每)")
"""Beginning of a statement, not of a name or a grievance; a row of them is one speech."""
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
    may_be_read = holds_any(text.lower(), _READ_SIGNS)
    if text.isascii() and not may_be_read and not _SAYING.search(text):
        return
    for match in _SENTENCE.finditer(text):
        sentence = match[0]
        if len(sentence) <= _LONGEST:
            for start, end in _find_in_sentence(sentence, may_be_read):
                yield ReportedClause(match.start() + start, match.start() + end)


def _find_in_sentence(sentence: str, may_be_read: bool) -> Iterator[tuple[int, int]]:
    if may_be_read and (read_out := _READ_OUT.search(sentence) or _SENT.search(sentence)):
        yield read_out.end(), len(sentence)
    else:
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
    if not (_SELF.search(lead) or _HEALER.search(lead) or _ORDERED.search(lead)):
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
            yield clause.start(1), _find_chinese_end(sentence, clause.end())


def _find_chinese_end(sentence: str, start: int) -> int:
    """Return where a speech ends that begins at ``start``."""
    end = _CHINESE_END.search(sentence, start)
    while end and all(_CHINESE_STATED.match(sentence, at) for at in (start, end.end())):
        start = end.end()
        end = _CHINESE_END.search(sentence, start)
    return end.start() if end else len(sentence)
