"""The judge of what is said in a project: which sentences hold for good.

``standing_sentences`` and ``conventions`` know forms of such sentences. The judge weighs what they
say beside the words, so that it also knows sentences of other forms. ``scripts/train_standing.py``
trains it on labelled sentences of six languages. Enter at ``judge_sentence``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from engrams.extract.rules.conventions import is_technical, tells_status
from engrams.extract.rules.english_lexicon import find_lemma
from engrams.extract.rules.hashed_judge import load_judge
from engrams.extract.rules.standing_sentences import tells_moment
from engrams.text.vocabulary import word_set

_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]+")
_WORD = re.compile(rf"[^\W\d_\u3040-\u30ff\u4e00-\u9fff]+(?:'[^\W\d_]+)?|\d+|{_UNSPACED.pattern}")
_CODE = re.compile(r"`[^`]+`|\S*[_/]\S*|\S+\.\w{1,5}\b|\b[a-z]+[A-Z]\w+|\b[A-Z_]{3,}\b|[%@#]\w+")
_POINTERS = word_set("the this that these those my your it its")
_ARTICLES = word_set("a an")
_STEM = 5
"""Letters of a word by which its other forms are known."""
_LONGEST_BUCKET = 8
_FEW_WORDS = 3


class JudgedSentence(NamedTuple):
    """Sentence of a project as the judge sees it."""

    text: str
    has_form: bool
    """It has one of the forms of a rule."""


def judge_sentence(sentence: JudgedSentence) -> float:
    """Return the probability that a sentence holds for good, 0..1."""
    return load_judge("standing").judge(describe_sentence(sentence))


def describe_sentence(sentence: JudgedSentence) -> Iterator[str]:
    """Yield the features of a sentence."""
    text = sentence.text.replace("’", "'")
    words = _WORD.findall(_CODE.sub(" code ", text).lower())
    spaced = [word for word in words if not _UNSPACED.match(word)]
    unspaced = [word for word in words if _UNSPACED.match(word)]
    yield from _describe_spaced(spaced)
    yield from _describe_unspaced(unspaced)
    length = len(spaced) + sum(map(len, unspaced)) // 2
    yield f"length:{min(length // 2, _LONGEST_BUCKET)}"
    yield f"short:{length <= _FEW_WORDS}"
    yield f"code:{_CODE.search(text) is not None}"
    yield f"technical:{is_technical(text)}"
    yield f"comma:{',' in text}"
    yield f"colon:{':' in text}"
    yield f"number:{any(map(str.isdigit, text))}"
    yield f"form:{sentence.has_form}"
    yield f"moment:{tells_moment(text)}"
    yield f"status:{tells_status(text)}"


def _describe_spaced(words: list[str]) -> Iterator[str]:
    """Yield the features of words of languages that part them by spaces."""
    for word in words:
        yield f"word:{word}"
        if len(word) > _STEM:
            yield f"stem:{word[:_STEM]}"
    yield from (f"pair:{first} {second}" for first, second in pairwise(words))
    for size in (1, 2):
        yield f"head:{' '.join(words[:size])}"
    yield f"last:{' '.join(words[-1:])}"
    yield f"pointers:{min(2, sum(word in _POINTERS for word in words))}"
    yield f"plural:{any(len(word) > _FEW_WORDS and re.search('[^s]s$', word) for word in words)}"
    readings = [find_lemma(word) for word in words]
    pasts = [reading for reading in readings if reading and "past" in reading.forms]
    yield f"past:{any('base' not in reading.forms for reading in pasts)}"
    if readings and readings[0] and "base" in readings[0].forms:
        is_pointed = words[1:2] and words[1] in _POINTERS | _ARTICLES
        yield f"order:{'pointed' if is_pointed else 'bare'}"


def _describe_unspaced(runs: list[str]) -> Iterator[str]:
    """Yield the features of Chinese and Japanese."""
    for run in runs:
        yield from (f"sign:{sign}" for sign in run)
        yield from (f"signs:{first}{second}" for first, second in pairwise(run))
    for size in (2, 3, 4):
        yield from (f"tail:{run[-size:]}" for run in runs[-1:])
    yield from (f"begin:{run[:2]}" for run in runs[:1])
