"""Standing wishes of how an assistant is to answer, in six languages: "keep your answers short", 回答简短一点.

Enter at ``find_answer_rule``. Language, length, tone, address and units hold for every answer, so that such
a sentence is a rule without "always". The forms are in ``vocabulary/answer_rules.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from engrams.extract.rules.sentence_segmenter import TextSentence
from engrams.frozen_data import dataclass
from engrams.text.late_patterns import holds_any, late_pattern
from engrams.text.vocabulary import read_forms

_LONGEST = 180
_KINDS = frozenset(("rule", "ban", "alone", "name", "lift", "implied"))
_MARKS = " \t\n.!,;:。！，、…·~～-"
_OF_NOW = re.compile(
    r"\b(?:this|that|these|those|(?:above|below)(?!\s+\w)|today|tonight|tomorrow|once|email|letter|essay|poem|story"
    r"|diese[nrsm]?|das hier|heute|est[eao]s?|hoy|cette?|ces|aujourd)\b|这[个篇段封]|今天|今日|この",
    re.IGNORECASE,
)
"""Words of the task at hand."""
_REASON = late_pattern(
    r"(?:[,;]|\s[–-])\s+(?:(?:i|my|we|it|they|because|since|cause|ich|mein\w*|wir|weil|denn|sonst|otherwise|mi|porque|je|mon|ma|car"
    r"|parce)\b|j'|i').*",
    re.IGNORECASE | re.DOTALL,
)
"""Reason behind a wish: "keep it short, I read this on a phone"."""

_ASKED_FOR_GOOD = late_pattern(
    r"^\W*(?:(?:please|und|y|et) )?(?:(?:can|could|would|will) you|(?:kannst|könntest|würdest) du|(?:puedes|podrías)"
    r"|(?:peux|pourrais)-tu|tu peux|能不能|可以|请)\b.*"
    r"(?:\b(?:from now on|always|in (?:the )?future|ab jetzt|immer|künftig|in zukunft|siempre|a partir de ahora"
    r"|toujours|désormais|dorénavant)\b|以后|今后|これから)",
    re.IGNORECASE | re.DOTALL,
)
"""Polite question that asks for a lasting thing: "could you answer in French from now on?"."""


class AnswerRule(NamedTuple):
    """Kind of a wish: ``rule``, ``implied`` (an unsure rule), ``ban``, ``name`` or ``lift``, which ends a ban."""

    kind: str
    object: str = ""
    """Name to call the speaker by, or thing that is allowed again."""


@dataclass(frozen=True, slots=True)
class _AnswerForms:
    """Forms of one language."""

    hints: tuple[str, ...]
    trim: re.Pattern[str]
    """Polite words at either end; the group ``said`` is what lies between."""
    forms: Sequence[tuple[str, re.Pattern[str]]]


def find_answer_rule(sentence: TextSentence, text: str) -> AnswerRule | None:
    """Find the wish that a sentence of ``text`` is; None: it is none, or speaks of the task at hand."""
    spoken_words = sentence.text.strip(_MARKS)
    if not spoken_words or len(spoken_words) > _LONGEST:
        return None
    lower = f"{spoken_words.lower()} "
    for language in _read_languages():
        if not holds_any(lower, language.hints):
            continue
        wishes = [_trim(spoken_words, language)]
        if reason := _REASON.search(spoken_words):
            wishes.append(_trim(spoken_words[: reason.start()], language))
        for kind, pattern in language.forms:
            # "Tu peux" is polite before a wish, and says what is allowed in a permission.
            texts = [spoken_words] if kind == "lift" else wishes
            wish, match = next(
                ((text, match) for text in texts if (match := pattern.fullmatch(text))), ("", None)
            )
            if match is None or (kind == "alone" and len(text.strip(_MARKS)) > len(spoken_words)):
                continue
            if kind == "name":
                return AnswerRule(kind, match["name"])
            if kind == "lift":
                return AnswerRule(kind, match["act"])
            if _OF_NOW.search(wish):
                return None
            return AnswerRule("rule" if kind == "alone" else kind)
    return None


def _trim(words: str, language: _AnswerForms) -> str:
    """Cut the polite words at either end of a wish."""
    trimmed = language.trim.fullmatch(words)
    return (trimmed["said"] if trimmed else words).strip(_MARKS)


def asks_for_good(question: str) -> bool:
    """Return True for a question that asks an assistant to do something from now on."""
    return bool(_ASKED_FOR_GOOD.search(question))


@cache
def _read_languages() -> tuple[_AnswerForms, ...]:
    """Read the table, once a process; each pattern is compiled when it is first used."""
    return tuple(
        _build_forms(code, lines) for code, lines in read_forms(__file__, "answer_rules").items()
    )


def _build_forms(code: str, lines: Sequence[tuple[str, str]]) -> _AnswerForms:
    parts = dict(lines)
    edge = "" if code in ("zh", "ja") else r"\b"
    gap = r"[\s,.:!，、]*"
    trim = late_pattern(
        rf"(?:{parts['$polite']}{edge}{gap})*(?P<said>.+?)(?:{gap}{edge}{parts['$tail']})*",
        re.IGNORECASE | re.DOTALL,
    )
    # Names are told by their capital.
    forms = [
        (kind, late_pattern(pattern, 0 if kind == "name" else re.IGNORECASE))
        for kind, pattern in lines
        if kind in _KINDS
    ]
    return _AnswerForms(tuple(parts["$hint"].split("|")), trim, forms)
