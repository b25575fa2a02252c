"""The judge of clauses: which of them are lasting statements that a stranger understands.

Two logistic regressions over words and over what was understood; ``scripts/train_clauses.py`` trains
them. Enter at ``judge_clause``.
"""

from __future__ import annotations

import re
from itertools import pairwise

from engrams.extract.rules.hashed_judge import load_judge
from engrams.extract.rules.named_people import RELATIVES
from engrams.extract.rules.word_classes import RELATIONS
from engrams.frozen_data import dataclass
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.stopwords import STOP
from engrams.text.text_caches import text_cache
from engrams.text.vocabulary import read_vocabulary, word_set

_KEEP_BARE = 0.6
_KEEP_FOREIGN = 0.58
_KEEP_TRIPLE = 0.45
_KEEP_VALUE = 0.3
_KEEP_POINTING = 0.85
_KEEP_DATED = 0.65
_KEEP_GRAVE = 0.5
"""Probabilities from which a clause is kept: without a triple in English and elsewhere, with one, with the one value of a
slot, a change or what has lasted (an error of these is the rarest and costs recall most), without
a triple where it points to somebody whom it does not name, read for its day alone, and of an illness,
of which silence is the graver error."""
_POINTERS = word_set(read_vocabulary(__file__, "pointers"))
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[\u3040-\u30ff\u4e00-\u9fff]")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_PERSONS = word_set("he him his himself she her hers herself they them their theirs it")
_OWN = word_set("my our mein meine meinen unser unsere mi mis nuestra nuestro mon ma mes notre nos")
_UNSPACED_KIN = re.compile(
    "|".join([*filter(_UNSPACED.search, RELATIVES), "[叔姨舅姑孙婶侄岳嫂邻]", "老师|下属"])
)
_LASTS = re.compile(
    r"\b(?:for|since|seit|desde|hace|llevo|depuis)\b.{0,24}?\b(?:years?|months?|weeks?|jahr\w*|monat\w*|años|meses|ans|mois|childhood|born|(?:19|20)\d\d)\b"
    r"|[一二三四五六七八九十两\d]\s?(?:年(?:了|间|間)|个月|ヶ月)",
    re.IGNORECASE,
)
"""Words for how long something has been so."""
_LASTING_WORDS = ("for", "since", "seit", "desde", "hace", "llevo", "depuis")
"""Each match in an ASCII text holds one of these: looking for them is cheaper than matching."""
_ILLNESS = late_pattern(
    r"(?i:\b(?:allerg|alérg|c(?:o?e|œ)liac|zöliakie|celíac|diabet|diabét|epilep|intoleran|unverträglich|anaphyla|asth?m))"
    r"|过敏|過敏|アレルギー|哮喘|喘息|糖尿|癫痫|てんかん"
)
_KIN = RELATIONS | RELATIVES.keys()
_STEM = 5
"""Letters of a word by which its other forms are known."""


@dataclass(frozen=True, slots=True)
class ClauseView:
    """A clause as the judge sees it."""

    quote: str
    before: str
    """Words of its sentence before it."""
    mark: str
    """Character that follows it; empty at the end of the message."""
    index: int
    """Its sentence's place among the sentences of the message, from 0."""
    sentences: int
    language: str
    predicate: str = ""
    category: str = ""
    effect: str = ""
    is_single: bool = False
    is_grave: bool = False
    """It tells a loss or an illness."""
    is_dated: bool = False
    """It is read for the day that it names: it says no "I" and "my"."""


def judge_clause(view: ClauseView) -> float:
    """Return the probability that a clause is a lasting statement, 0..1."""
    is_own = view.language == "en" and not view.is_dated
    return load_judge("clauses" if is_own else "everyday").judge(describe_clause(view))


def is_kept(view: ClauseView) -> bool:
    """True if a clause is to become a statement."""
    chance = judge_clause(view)
    is_value = view.predicate and (view.is_single or view.effect in ("changes", "ends"))
    if is_value or _tells_duration(view.quote):
        return chance >= _KEEP_VALUE
    if not view.predicate and view.language == "en" and _points_outside(view.quote):
        return chance >= _KEEP_POINTING
    if view.is_dated:
        return chance >= _KEEP_DATED
    if view.predicate:
        return chance >= _KEEP_TRIPLE
    if tells_illness(view.quote):
        return chance >= _KEEP_GRAVE
    return chance >= (_KEEP_BARE if view.language == "en" else _KEEP_FOREIGN)


def tells_illness(quote: str) -> bool:
    """True for a clause that names an allergy or a lasting illness, of whomever."""
    return _ILLNESS.search(quote) is not None


@text_cache(256)
def _tells_duration(quote: str) -> bool:
    """True for a clause that says for how long something has been so."""
    if quote.isascii() and not holds_any(quote.lower(), _LASTING_WORDS):
        return False
    return _LASTS.search(quote) is not None


def _points_outside(quote: str) -> bool:
    """True for "I met her on Friday", where nobody is named whom "her" can mean."""
    words = _WORD.findall(quote)
    lower = [word.lower() for word in words]
    is_named = any(word[0].isupper() and not word.startswith("I") for word in words[1:])
    return not (is_named or _PERSONS.isdisjoint(lower) or not RELATIONS.isdisjoint(lower))


def describe_clause(view: ClauseView) -> list[str]:
    """List the features of a clause."""
    words = _WORD.findall(view.quote)
    lower = [word.lower().replace("’", "'") for word in words]
    features = [f"w:{word}" for word in lower]
    features += [f"b:{first} {second}" for first, second in pairwise(lower)]
    features += [f"stem:{word[:_STEM]}" for word in lower if len(word) > _STEM]
    features += [f"head:{' '.join(lower[:size])}" for size in (1, 2, 3)]
    features += [f"before:{word.lower()}" for word in _WORD.findall(view.before)[-2:]]
    content = [word for word in lower if word not in STOP and len(word) > 1]
    is_unspaced = bool(_UNSPACED.search(view.quote))
    length = len(lower) // 3 if is_unspaced else len(lower)
    has_number = any(map(str.isdigit, view.quote))
    names_relative = _names_relative(view, lower)
    features += [
        f"length:{min(length // 3, 7)}",
        f"content:{min(len(content), 6)}",
        f"language:{view.language}",
        f"mark:{view.mark}",
        f"index:{min(view.index, 3)}",
        f"last:{view.index + 1 == view.sentences}",
        f"sentences:{min(view.sentences, 5)}",
        f"name:{any(word[0].isupper() for word in words[1:] if not word.startswith('I'))}",
        f"number:{has_number}",
        f"lasts:{_tells_duration(view.quote)}",
        f"code:{'`' in view.quote}",
        f"you:{not {'you', 'your', 'u'}.isdisjoint(lower)}",
        f"kin:{names_relative}",
        f"kin+language:{names_relative}/{view.language}",
        f"number+language:{has_number}/{view.language}",
        f"own:{not _OWN.isdisjoint(lower)}",
        f"triple:{view.predicate}",
        f"category:{view.category}",
        f"effect:{view.effect}",
        f"single:{view.is_single}",
    ]
    if view.is_dated:
        features += ["dated", f"dated+language:{view.language}"]
    pointers = [word for word in lower if word in _POINTERS]
    features += [f"pointer:{word}" for word in pointers]
    features.append(f"pointers:{min(len(pointers), 3)}")
    return features


def _names_relative(view: ClauseView, lower: list[str]) -> bool:
    if view.language in ("zh", "ja"):
        return _UNSPACED_KIN.search(view.quote) is not None
    return not _KIN.isdisjoint(lower)
