"""Measure a text: question or not, words, mention of a time."""

from __future__ import annotations

import re

from engrams.text.normalize import fold
from engrams.text.terms import is_unspaced, tokens

_MARK_AT_END = re.compile(r"[?？؟][^\w?？؟]*$")
_OTHER_SENTENCE = re.compile(r"[.!]\s+\S|[。\n]\s*\S")

_AUX = (
    r"(?:am|are|is|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|might|must)(?:n't)?\b"
    r"|(?:can't|won't|shan't)\b"
)
_SUBJECT = r"(?:i|you|he|she|it|we|they|there|this|that|these|those|the|any\w*|my|your|his|her|our|their|[a-z]+'s)\b"
_OPENING = r"^\W*(?:(?:so|and|but|well|hey|hi|oh|ok|okay|um|wow|please)\b[\s,]*)*"
_ASKING = re.compile(
    _OPENING + r"(?:"
    r"(?:who|what|where|when|why|how)'(?:s|re|d|ll|ve)\b"
    rf"|(?:whom?|whose|what|which|where|when|why|how)\s+(?!(?:i|you|he|she|it|we|they|an?)\b)(?:[\w'-]+\s+){{0,3}}?(?:{_AUX})"
    r"|how\s+(?:many|much|long|often|old|far|come)\b"
    # Not "do it" or "have a nice day": requests and wishes.
    r"|(?:do|have)(?:n't)?\s+(?:i|you|we|they|any\w*|your|my|our|their|these|those)\b"
    r"|(?:did|does)(?:n't)?\s+\w"
    rf"|(?!do\b|have\b)(?:{_AUX})\s+{_SUBJECT}"
    r"|(?:wer|wen|wem|wessen|wann|warum|wieso|weshalb|wohin|woher|wo|wie|welche[rsmn]?)\s+\w+\s"
    r"|(?:pourquoi|combien|est-ce|qu'est-ce|quand est-ce|ou est|qui est|quel(?:le)?s? (?:est|sont))\b"
    r"|(?:谁|誰|什么|什麼|为什么|為什麼|怎么|怎麼|几|幾|多少|何|いつ|どこ|誰が|なぜ))"
)
_ASKING_AT_END = re.compile(r"(?:吗|嗎|呢|么|か)\W*$")


_MONTHS = (
    r"january|february|april|june|july|august|september|october|november|december|jan|feb|apr|aug|sept?|oct|nov|dec"
    r"|januar|februar|marz|mai|juni|juli|oktober|dezember"
    r"|enero|febrero|abril|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|janvier|fevrier|avril|juin|juillet|aout|septembre|octobre|novembre|decembre"
)
_DAYS = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?"
    r"|lunes|martes|miercoles|jueves|viernes|sabado|domingo|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
)
_SPAN = r"(?:second|minute|hour|day|night|week|weekend|month|year|decade|morning|afternoon|evening|summer|winter|spring|autumn|fall)s?"
_TIME = re.compile(
    rf"\b(?:{_MONTHS}|{_DAYS}"
    r"|today|tonight|yesterday|tomorrow|ago|recently|lately|nowadays|midnight|noon|o'clock|christmas|easter|halloween|thanksgiving"
    rf"|(?:last|next|this|past|every|other|few|couple of|in an?|for an?|\d+|two|three|four|five|six|seven|ten)[ -]{_SPAN}"
    r"|(?:in|since|until|till|by|during|around) (?:the )?(?:1[5-9]|20)\d\d|(?:the )?(?:1[5-9]|20)\d\ds"
    r"|in (?:march|may|spring|summer|autumn|fall|winter)|(?:march|may) \d+|\d+(?:st|nd|rd|th)?(?: of)? (?:march|may)"
    r"|\d{1,2}(?::\d\d)? ?[ap]\.?m\b|\d{1,2}:\d\d"
    r"|heute|gestern|vorgestern|morgen|ubermorgen|neulich|letzte[nrs]?|nachste[nrs]?|kommende[nrs]?|vor \w+ (?:tag|woche|monat|jahr)e?n?"
    r"|hoy|ayer|anteayer|manana|anoche|semana|hace \w+ (?:dia|ano|mes|hora)(?:e?s)?|(?:ano|mes) pasado|proxim[oa]"
    # French "hier" alone is German for "here".
    r"|aujourd'hui|hier (?:soir|matin)|avant-hier|demain|semaine|il y a \w+|mois|annee|(?:an|mois) dernier"
    r")\b"
    r"|\b(?:1[5-9]|20)\d\d(?:[-/.]\d{1,2}){0,2}\b|\b\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}\b"
    r"|[今昨明前后後去来來][天日年晩晚月周週]|上个?[周月]|下个?[周月]|上個[週月]|下個[週月]|星期|周[一二三四五六日末]|曜日|昨[日夜]|先[週月]|来[週月]"
    r"|\d+ ?[年月日号號时時点點]"
    r"|(?:最近|刚才|以前|以后)"
)


def is_question(text: str) -> bool:
    """Detect a question.

    It ends with a question mark of any script, or is one sentence that opens like a question.
    """
    if _MARK_AT_END.search(text[-40:]):
        return True
    folded = fold(text[:400]).strip()
    if len(text) > 400 or _OTHER_SENTENCE.search(folded):
        return False
    return bool(_ASKING.search(folded) or _ASKING_AT_END.search(folded) or text.lstrip().startswith("¿"))


def word_count(text: str) -> int:
    """Count words.

    A character of a script without blanks counts half a word; the sum is rounded up.
    """
    found = tokens(text)
    halves = sum(1 if is_unspaced(token) else 2 for token in found)
    return (halves + 1) // 2


def mentions_time(text: str) -> bool:
    """Detect a date, year, weekday, month or words like "last week".

    English, German, Spanish, French, Chinese and Japanese.
    """
    return bool(_TIME.search(fold(text)))
