"""Which language a text is in, by its most frequent words or its script; enough to choose between a few grammars."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engrams.text.when.prefilter import TRIGGERS, trigger_languages
from engrams.text.when.spelling import fold

_WORDS = {
    "en": """
        the and is was i you my we to of in it that with what did does do when who how are have has he she for on at this be they her
        his
        """,
    "de": """
        der die das und ist war ich du mein meine wir zu von im es dass mit nicht ein eine einen auf den dem des sie er hat habe haben bin
        am wann wer wie wo was hier auch noch sich sind mir mich seit vom zum fur uber bei nach bis vor ende anfang wird werde wurde hatte
        waren letzten letzte
        """,
    "es": """
        el los las la y es era yo tu mi mis que en con no un una por para se lo como cuando donde quien esta este fui fue del al ha he muy
        desde pero hay le su sus cual ayer vi hasta entre hace tengo estoy soy tiene estaba anos
        """,
    "fr": """
        le les la et est j je tu mon ma mes nous que qu dans avec pas un une pour ce cette sur il elle ai suis c d l n s ou quand qui
        comment depuis du des au aux sont ont etait mais vous ils notre hier en jusqu entre fin debut pres etaient avait
        """,
}
_VOTES: dict[str, list[str]] = {}
for _name, _listed in _WORDS.items():
    for _word in _listed.split():
        _VOTES.setdefault(_word, []).append(_name)

# Compiled by `re` when a text comes that may hold them: large ranges take milliseconds.
_KANA = "[\u3041-\u309f\u30a1-\u30fa\u30fc]"
_HAN = "[\u3400-\u9fff]"
_HANGUL = "[\uac00-\ud7af]"
_SPLIT = re.compile(r"[^\W\d_]+")


def count_votes(words: Iterable[str]) -> dict[str, int]:
    """How many of the folded words are frequent in each language of the Latin script."""
    counts = dict.fromkeys(_WORDS, 0)
    for word in words:
        for name in _VOTES.get(word, ()):
            counts[name] += 1
    return counts


def detect_language(text: str) -> str:
    """en, de, es, fr, zh, ja or ko; en where nothing speaks for another."""
    folded = fold(text)
    if not folded.isascii():
        if re.search(_KANA, folded):
            return "ja"
        if re.search(_HANGUL, folded):
            return "ko"
        if re.search(_HAN, folded):
            return "zh"
    words = set(_SPLIT.findall(folded))
    counts = count_votes(words)
    for name, sure in trigger_languages(words & TRIGGERS).items():
        counts[name] += sure
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > counts["en"] else "en"
