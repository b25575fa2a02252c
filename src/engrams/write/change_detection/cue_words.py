"""Cue words of a change and of topics, counted in a text: enter at ``count_cues``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import TypeAlias

from engrams.frozen_data import dataclass
from engrams.text.normalize import fold
from engrams.text.text_caches import text_cache

_Words: TypeAlias = dict[str, dict[str, list[str]]]
# By cue or topic: words of Latin scripts, folded (``*`` stands for any ending), and strings of
# Chinese and Japanese.
_CUES: _Words = json.loads(Path(__file__).with_name("cues.json").read_text("utf-8"))
_TOPICS: _Words = json.loads(Path(__file__).with_name("topics.json").read_text("utf-8"))
NAMES = tuple(_CUES)
TOPIC_NAMES = tuple(_TOPICS)
_OTHER_WORDS = (
    (
        NAMES.index("if"),
        re.compile(r"\b(?:wurde(?:n|st|t)?|konnte(?:n|st|t)?|waren|hatte ich|sí)\b", re.IGNORECASE),
    ),
    (NAMES.index("end"), re.compile(r"\bdéj\w+", re.IGNORECASE)),
)
"""Words that only their accents tell from a cue: "wurde" from "würde", "sí" from "si"; and "déjà"."""
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uff1f]")
_KANA = re.compile("[\u3041-\u30ff]")
_ONLY_CHINESE = frozenset("都先再也")
"""Cues that in Japanese are parts of other words: 京都, 仕入れ先, 先生, 再開."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*'?")
_MOST_WORDS = 400
LONGEST = 2000
"""Characters of a message that are read."""


@dataclass(frozen=True, slots=True)
class _CueTable:
    """Indices of cues by their words, stems, phrases and strings."""

    words: Mapping[str, tuple[int, ...]]
    stems: Mapping[str, tuple[int, ...]]
    phrases: Mapping[str, tuple[int, ...]]
    strings: Mapping[str, tuple[int, ...]]
    """Strings of Chinese and Japanese, which has no blanks between words."""
    gapped: tuple[tuple[int, str, re.Pattern[str]], ...]
    """Patterns of phrases with a gap: index of the cue, letters that a match needs, pattern."""
    lengths: Mapping[str, tuple[int, ...]]
    """Numbers of words of the phrases that begin with a word."""
    widest: int
    """Characters of the longest string."""


@cache
def _load_table() -> _CueTable:
    words: dict[str, tuple[int, ...]] = {}
    stems: dict[str, tuple[int, ...]] = {}
    phrases: dict[str, tuple[int, ...]] = {}
    strings: dict[str, tuple[int, ...]] = {}
    gapped = []
    for index, cue in enumerate((*_CUES.values(), *_TOPICS.values())):
        for word in cue["words"]:
            if " " in word and ("*" in word or "?" in word):
                gapped.append((index, *_compile_gapped(word)))
            elif " " in word:
                phrases[word] = (*phrases.get(word, ()), index)
            elif word.endswith("*"):
                stem = word.removesuffix("*")
                stems[stem] = (*stems.get(stem, ()), index)
            else:
                words[word] = (*words.get(word, ()), index)
        for string in cue["strings"]:
            strings[string] = (*strings.get(string, ()), index)
    lengths: dict[str, set[int]] = {}
    for phrase in phrases:
        phrase_words = phrase.split(" ")
        lengths.setdefault(phrase_words[0], set()).add(len(phrase_words))
    return _CueTable(
        words=words,
        stems=stems,
        phrases=phrases,
        strings=strings,
        gapped=tuple(gapped),
        lengths={word: tuple(sorted(counts)) for word, counts in lengths.items()},
        widest=max(map(len, strings)),
    )


def _compile_gapped(phrase: str) -> tuple[str, re.Pattern[str]]:
    """Compile a phrase with gaps; also the longest letters that each match has."""
    needed = max(re.split(r"[ *?]", phrase), key=len)
    pattern = phrase.replace(" * ", r" \S+ (?:\S+ )?").replace("*", r"\w*")
    return needed, re.compile(r"\b" + pattern)


@text_cache(1 << 14)
def _find_word(word: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Find the cues of a word, and the lengths of the phrases that it begins; None: neither."""
    table = _load_table()
    indices = [*table.words.get(word, ())]
    for end in range(1, len(word) + 1):
        indices.extend(table.stems.get(word[:end], ()))
    lengths = table.lengths.get(word, ())
    return (tuple(indices), lengths) if indices or lengths else None


def count_cues(text: str) -> list[int]:
    """Count each cue and each topic in a text.

    Cues in the order of ``NAMES``, then topics: home, job, diet … A string at the very end of a
    text counts about two thousand times: the weights were trained on such counts.
    """
    counts = [0] * (len(_CUES) + len(_TOPICS))
    table = _load_table()
    folded = fold(text)
    _count_words(folded, counts, table)
    for index, needed, pattern in table.gapped:
        if needed in folded and pattern.search(folded):
            counts[index] += 1
    for index, other_words in _OTHER_WORDS:
        if counts[index]:
            counts[index] = max(0, counts[index] - len(other_words.findall(text)))
    if not folded.isascii() and _HAN.search(folded):
        _count_strings(folded, counts, table)
    return counts


def find_cue_words(folded: str, cues: AbstractSet[int]) -> list[tuple[int, int]]:
    """Find where the single words of some cues stand in a folded text; cues as indices."""
    return [
        match.span()
        for match in _WORD.finditer(folded)
        if (cues_and_lengths := _find_word(match[0])) is not None
        and not cues.isdisjoint(cues_and_lengths[0])
    ]


def _count_words(folded: str, counts: list[int], table: _CueTable) -> None:
    """Count the cues of words and of phrases without a gap."""
    words = _WORD.findall(folded)[:_MOST_WORDS]
    for position, word in enumerate(words):
        cues_and_lengths = _find_word(word)
        if cues_and_lengths is None:
            continue
        indices, lengths = cues_and_lengths
        for index in indices:
            counts[index] += 1
        for length in lengths:
            phrase_words = words[position : position + length]
            if len(phrase_words) == length:
                for index in table.phrases.get(" ".join(phrase_words), ()):
                    counts[index] += 1


def _count_strings(folded: str, counts: list[int], table: _CueTable) -> None:
    """Count the cues of strings of a script without blanks."""
    ignored_strings = _ONLY_CHINESE if _KANA.search(folded) else frozenset()
    for start in range(min(len(folded), _MOST_WORDS)):
        for size in range(1, min(table.widest, len(folded) - start) + 1):
            times = 1 if start + size < len(folded) else LONGEST - size + 1
            string = folded[start : start + size]
            if string in ignored_strings:
                continue
            for index in table.strings.get(string, ()):
                counts[index] += times
