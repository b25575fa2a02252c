"""Tell the words that only look like a time: names, titles, values, things and habits.

"the Saturday market", "11/22/63 by Stephen King", "a 2015 Toyota", "I went with June 15".
"""

from __future__ import annotations

import re

from engrams.extract.rules.english_lexicon import ADVERBS, find_lemma
from engrams.text.stopwords import STOP
from engrams.text.times import TimeSpan

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_THING = re.compile(
    r"(?:\s+(?:19|20)\d\d)?[\s-]+(?:break|breaks|camp|vacation|holidays?|sports?|coats?|jackets?|cleaning|garden|festival|fairs?|schools?"
    r"|class|classes|course|semester|term|league|season|internship|program|programme|solstice|collection|job|house|olympics|training|tires"
    r"|markets?|meetings?|prayers?|mornings|afternoons|evenings|nights|mass|service|church|choir|club|groups?|edition|issue|paper|newspaper|times|shifts?|lessons?|sales?|deals?"
    r"|lunch|lunches|brunch|brunches|roasts?|lights?)\b",
    re.IGNORECASE,
)
_DAYPART = "morning|afternoon|evening|night"
_BARE = re.compile(
    rf"(?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)day(?:\s+(?:{_DAYPART}))?|{_MONTHS})|(?:the\s+)?(?:weekend|{_DAYPART})|christmas",
    re.IGNORECASE,
)
_NAMED_DAY = re.compile(r"(?:black|good|cyber|ash|shrove|palm|maundy)\s+\w+day", re.IGNORECASE)
_OWNED = re.compile(r"(?:\b(?:the|my|our|your|his|her|their)|\w['’]s)\s+$", re.IGNORECASE)
_ON = re.compile(r"\bon\s+$", re.IGNORECASE)
_BEARS_DATE = re.compile(r"\bdated\s+$", re.IGNORECASE)
_WORD = re.compile(r"\s+([^\W\d_]+)")
_ROMANCE_DAY = re.compile(
    r"lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|miercoles|jueves|viernes|sábado|sabado|domingo",
    re.IGNORECASE,
)
_OF_DAY = re.compile(
    r"\b(?!partir|noche|nuit|matin|soir|tarde|mañana)[^\W\d_]{3,}\s+(?:du|del)\s+$", re.IGNORECASE
)
_PAST_AGE = re.compile(r"(?:the )?\d{3}0s")
_FOR = re.compile(r"\bfor (?:the )?$", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\s+(?:the\s+)?$", re.IGNORECASE)
_RECURS = re.compile(
    r"\b(?:alternate|each|every|every other|most|same)\s+(?:on\s+)?$", re.IGNORECASE
)
_DAYPARTS = re.compile(r"\s+(?:mornings|afternoons|evenings|nights)\b", re.IGNORECASE)
_ORDINAL = re.compile(r"\d{1,2}(?:st|nd|rd|th)", re.IGNORECASE)
_MOVED = re.compile(
    r"\b(?:moved|changed|postponed|pushed|switched|rescheduled|shifted|extended)\s+\Z",
    re.IGNORECASE,
)
_REARRANGED = re.compile(
    r"\b(?:mov(?:e|es|ed|ing)|chang(?:e|es|ed|ing)|push(?:es|ed|ing)?|switch(?:es|ed|ing)?|reschedul\w+|shift(?:s|ed|ing)?|postpon\w+"
    r"|verschieb\w*|verleg\w*|déplac\w*|décal\w*|report(?:e|ons|ent|é\w*)|pass(?:e|ons|ent|é)|cambi\w+|muev\w+|mov(?:emos|ió|er|ido)|pas(?:a|an|amos|ó|ado)|aplaz\w+|adelant\w+)"
    r"\s(?:(?!(?:to|into|nach|à|a)\s)[^\s.;,!?]+\s+){0,6}\Z",
    re.IGNORECASE,
)
"""Words before two days of which one takes the other's place: "moving the release from Thursday …".

Who "moved to Madrid from May to July" was there.
"""
_FROM_TO = re.compile(
    r"(?:from|du|de|del|desde|von|vom)\b.*\b(?:to|au|à|al|a|auf|zum)\b", re.IGNORECASE
)
_MOVED_FROM = re.compile(r"\b(?:from|von|vom|du|de|del)\s+(?:the\s+|dem\s+)?\Z", re.IGNORECASE)
_LASTS = re.compile(
    r"\b(?!(?:this|his|is|was|has|its|as|us|yes|always|these|those|across|plus|perhaps|was|does)\b)[^\W\d_]{2,}s\s+\Z",
    re.IGNORECASE,
)
"""Word before a verb that a time begins like: "sessions last 8 hours"."""
_LAST = re.compile(
    r"last\s+(?:\d+|a|an|one|two|three|four|five|six|seven|eight|nine|ten|several|a few)\b",
    re.IGNORECASE,
)
_MODEL = re.compile(r"\b(?:an?|my|our|the|his|her|their|old|new)\s+$", re.IGNORECASE)
_LEAN = re.compile(r"\b(?:last|past|previous|ago|this|next|coming)\b", re.IGNORECASE)

_NUMERIC = re.compile(r"[\d/.-]+")
_BY_AUTHOR = re.compile(r"['\"”’]?,?\s+(?:by|von|de|por|di)\s+[A-ZÄÖÜ]")
_READS = re.compile(
    r"\b(?:read|reading|reread|watch|watched|watching|finished|finishing|playing|played|book|novel|film|movie|series|song|album"
    r"|called|named|titled|listening to|gelesen|lese|leyendo|leído|leí|lisant|lu|relu|lis|roman|livre|libro|novela|buch)\s+['\"“„«‘]?\Z",
    re.IGNORECASE,
)
_STREET = re.compile(
    r"\b(?:rue|place|avenue|boulevard|quai|cours|square|calle|plaza|avenida|paseo|barrio|straße|strasse|platz|allee|via|piazza"
    r"|estación|station)\s+(?:(?:de\s+la|des?|du|del|vom)\s+)?\Z",
    re.IGNORECASE,
)
"""Words before a day that a street is named after: "Straße des 17. Juni"."""
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "《": "》", "「": "」", "『": "』", "*": "*"}
_CHOSE = re.compile(
    r"\b(?:(?:go|going|goes|gone|went|stick|sticking|stuck)\s+with|chose|choose|chosen|choosing|picked?|picking|prefer(?:red)?"
    r"|settled\s+on|opted\s+for|entschieden\s+für|elegí|choisi)\s+(?:the\s+|den\s+|el\s+|le\s+)?\Z",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(
    r"\b(?:except(?:\s+for)?|excluding|apart\s+from|other\s+than|außer|ausser|ausgenommen|bis\s+auf"
    r"|salvo|excepto|menos|sauf|excepté|hormis|à\s+part)\s+(?:on\s+|an\s+|am\s+|el\s+|los\s+|le\s+|les\s+)?\Z"
    r"|除了?\Z",
    re.IGNORECASE,
)
"""Words before a day on which something is not so: "every day except Monday"."""
_PROPER_BEFORE = re.compile(r"(?:^|[\s\"“'(«])[A-ZÄÖÜ][\w&'-]+\s\Z")
_NO_NAME_BEFORE = re.compile(
    rf"(?:{_MONTHS}|Spring|Summer|Autumn|Fall|Winter|In|Since|Until|By|From|Before|After|During|Around|Late|Early|Mid|Of|And"
    r"|Seit|Ab|Bis|Im|Ende|Anfang|Mitte|Desde|En|Hasta|Depuis|Avant|Jahr|Christmas|Easter|Q[1-4])\s\Z",
)


_FAMILY_NAME = re.compile(
    r"(?:^|[^\u4e00-\u9fff]|我|叫|是)[王李张刘陈杨赵黄周吴徐孙胡朱林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎](?:国庆|元旦|春节|建军|五一|中秋|清明)$"
)


def is_left_out(text: str, start: int, end: int) -> bool:
    """Check for a time at which something is not so: "every day except Monday"."""
    before = text[max(0, start - 40) : start]
    return _LEFT_OUT.search(before) is not None or text.startswith(("以外", "を除"), end)


def names_thing(span: TimeSpan, text: str) -> bool:
    """Check for a time that is part of a name, a title, a value, a thing or a habit."""
    before = text[max(0, span.at - 40) : span.at]
    end = span.at + len(span.text)
    is_name = _is_model(span, text, before, end) or _is_title(span, text, before, end)
    if is_name or is_left_out(text, span.at, end):
        return True
    if _BEARS_DATE.search(before) or (_PAST_AGE.fullmatch(span.text) and _FROM.search(before)):
        return True  # "a letter dated May 2", "a book from the 1900s"
    if span.grain == "day" and (_CHOSE.search(before) or _STREET.search(before)):
        return True  # "I went with June 15", "Straße des 17. Juni"
    if _ORDINAL.fullmatch(span.text) and _ON.search(before):
        return True  # "Planet Fitness on 5th": a street
    if _is_moved_from(span, before) or (_LAST.match(span.text) and _LASTS.search(before)):
        return True  # "sessions last 8 hours"
    if _FOR.search(before) and span.text.lower().endswith(" back"):
        return True  # "for two years back in 2012"
    if span.grain == "season":
        return not _LEAN.search(span.text) and _THING.match(text, end) is not None
    if _ROMANCE_DAY.fullmatch(span.text):
        return _OF_DAY.search(before) is not None
    if _NAMED_DAY.fullmatch(span.text) or _RECURS.search(before) or _DAYPARTS.match(text, end):
        return True  # "every other Monday", "on Tuesday evenings"
    return _stands_before_thing(span, text, before, end)


def _stands_before_thing(span: TimeSpan, text: str, before: str, end: int) -> bool:
    """Check for a bare day or month that says which thing: "my Monday class"."""
    bare = _BARE.fullmatch(span.text)
    if bare is None:
        return False
    if _THING.match(text, end):
        return not _ON.search(before)
    return bool(bare["day"] and _OWNED.search(before) and _is_noun(text, end))


def tells_rearrangement(before: str) -> bool:
    """True if something is moved in the words before a time: "moving the release from"."""
    return _REARRANGED.search(before) is not None


def _is_moved_from(span: TimeSpan, before: str) -> bool:
    """Check for a day that another replaces: "moving the release from Thursday to Monday"."""
    if span.grain == "range":
        is_pair = _FROM_TO.match(span.text) is not None and tells_rearrangement(before)
        return is_pair or _MOVED.search(before) is not None
    preposition = _MOVED_FROM.search(before)
    return preposition is not None and tells_rearrangement(before[: preposition.start()])


def _is_model(span: TimeSpan, text: str, before: str, end: int) -> bool:
    """Check for a year of a thing: "my 2015 Toyota", "Cyberpunk 2077"."""
    if not span.text.isdigit():
        return False
    if _MODEL.search(before) and text[end : end + 2].strip().isalpha():
        return True
    return _PROPER_BEFORE.search(before) is not None and not _NO_NAME_BEFORE.search(before)


def _is_title(span: TimeSpan, text: str, before: str, end: int) -> bool:
    """Check for a number or a name of a day that is a title: "reading 11/22/63 by King"."""
    opening = before[-1:]
    if opening in _QUOTES and text[end : end + 1] == _QUOTES[opening]:
        return True
    if opening == "/" or _FAMILY_NAME.search(before + span.text):
        return True  # "30/week", 王国庆
    if not _NUMERIC.fullmatch(span.text):
        return False
    return _BY_AUTHOR.match(text, end) is not None or _READS.search(before) is not None


def _is_noun(text: str, at: int) -> bool:
    """Check that a noun in small letters comes next."""
    following = _WORD.match(text, at)
    if following is None or not following[1].islower():
        return False
    if following[1] in STOP or following[1] in ADVERBS:
        return False
    verb = find_lemma(following[1])
    return verb is None or "past" not in verb.forms
