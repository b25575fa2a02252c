"""Cue words of a change and of topics, counted in a text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeAlias

from engrams.frozen_data import dataclass
from engrams.text.text_caches import text_cache

_Words: TypeAlias = dict[str, dict[str, list[str]]]
# By cue or topic: words of Latin scripts, folded (``*`` stands for any ending), and strings of
# Chinese and Japanese.
_CUES: _Words = json.loads(Path(__file__).with_name("cues.json").read_text("utf-8"))
_TOPICS: _Words = json.loads(Path(__file__).with_name("topics.json").read_text("utf-8"))
NAMES = tuple(_CUES)
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uff1f]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*'?")
_MOST_WORDS = 400
LONGEST = 2000
"""Characters of a message that are read."""


@dataclass(frozen=True, slots=True)
class _CueTable:
    """Lookup of cue words by word, stem, phrase and string.

    ``lengths``: numbers of words of the phrases that begin with a word; ``widest``: characters of
    the longest string. ``gapped``: patterns, each with the longest letters that it needs.
    """

    words: Mapping[str, tuple[int, ...]]
    stems: Mapping[str, tuple[int, ...]]
    phrases: Mapping[str, tuple[int, ...]]
    strings: Mapping[str, tuple[int, ...]]
    gapped: tuple[tuple[int, str, re.Pattern[str]], ...]
    lengths: Mapping[str, tuple[int, ...]]
    widest: int


@cache
def _load_table() -> _CueTable:
    found: tuple[dict[str, tuple[int, ...]], ...] = ({}, {}, {}, {})
    words, stems, phrases, strings = found
    gapped = []
    for place, cue in enumerate((*_CUES.values(), *_TOPICS.values())):
        for word in cue["words"]:
            if " " in word and ("*" in word or "?" in word):
                needed = max(re.split(r"[ *?]", word), key=len)
                gapped.append(
                    (
                        place,
                        needed,
                        re.compile(
                            r"\b" + word.replace(" * ", r" \S+ (?:\S+ )?").replace("*", r"\w*")
                        ),
                    )
                )
                continue
            if " " in word:
                table, key = (phrases, word)
            elif word.endswith("*"):
                table, key = (stems, word[:-1])
            else:
                table, key = (words, word)
            table[key] = (*table.get(key, ()), place)
        for text in cue["strings"]:
            strings[text] = (*strings.get(text, ()), place)
    lengths: dict[str, set[int]] = {}
    for phrase in phrases:
        first, *more = phrase.split(" ")
        lengths.setdefault(first, set()).add(1 + len(more))
    following = {word: tuple(sorted(some)) for word, some in lengths.items()}
    return _CueTable(
        words=words,
        stems=stems,
        phrases=phrases,
        strings=strings,
        gapped=tuple(gapped),
        lengths=following,
        widest=max(map(len, strings)),
    )


@text_cache(1 << 14)
def _find_word(word: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Find a word's cues, and the lengths of phrases it begins."""
    table = _load_table()
    found = [*table.words.get(word, ())]
    for end in range(1, len(word) + 1):
        found.extend(table.stems.get(word[:end], ()))
    lengths = table.lengths.get(word, ())
    return (tuple(found), lengths) if found or lengths else None


def count_cues(folded: str) -> list[int]:
    """Count each cue and each topic in a folded text.

    Cues in the order of ``NAMES``, then topics: home, job, diet … A string at the very end of a
    text counts about two thousand times: the weights were trained on such counts.
    """
    counts = [0] * (len(_CUES) + len(_TOPICS))
    table = _load_table()
    words = _WORD.findall(folded)[:_MOST_WORDS]
    for at, word in enumerate(words):
        if (known := _find_word(word)) is None:
            continue
        for place in known[0]:
            counts[place] += 1
        for length in known[1]:
            for place in (
                table.phrases.get(" ".join(words[at : at + length]), ())
                if at + length <= len(words)
                else ()
            ):
                counts[place] += 1
    for place, needed, pattern in table.gapped:
        if needed in folded and pattern.search(folded):
            counts[place] += 1
    if not folded.isascii() and _HAN.search(folded):
        for at in range(min(len(folded), _MOST_WORDS)):
            for size in range(1, min(table.widest, len(folded) - at) + 1):
                times = 1 if at + size < len(folded) else LONGEST - size + 1
                for place in table.strings.get(folded[at : at + size], ()):
                    counts[place] += times
    return counts
