"""Words that mark a change, or its absence, in six languages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engrams.text.textcaches import text_cache

# By cue: words of Latin scripts, folded (``*`` stands for any ending), and strings of Chinese and Japanese.
_CUES: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("cues.json").read_text("utf-8"))
NAMES = tuple(_CUES)
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uff1f]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*'?")
_LONGEST = 4
_MOST_WORDS = 400


@dataclass(frozen=True, slots=True)
class _CueTable:
    """Places in ``NAMES`` by word, stem, phrase and string."""

    words: Mapping[str, tuple[int, ...]]
    stems: Mapping[str, tuple[int, ...]]
    phrases: Mapping[str, tuple[int, ...]]
    strings: Mapping[str, tuple[int, ...]]
    gapped: tuple[tuple[int, re.Pattern[str]], ...]


@cache
def _load_table() -> _CueTable:
    found: tuple[dict[str, tuple[int, ...]], ...] = ({}, {}, {}, {})
    words, stems, phrases, strings = found
    gapped = []
    for place, cue in enumerate(_CUES.values()):
        for word in cue["words"]:
            if " " in word and ("*" in word or "?" in word):
                gapped.append((place, re.compile(r"\b" + word.replace(" * ", r" \S+ (?:\S+ )?").replace("*", r"\w*"))))
                continue
            table, key = (phrases, word) if " " in word else (stems, word[:-1]) if word.endswith("*") else (words, word)
            table[key] = (*table.get(key, ()), place)
        for text in cue["strings"]:
            strings[text] = (*strings.get(text, ()), place)
    return _CueTable(words, stems, phrases, strings, tuple(gapped))


@text_cache(1 << 14)
def _find_word(word: str) -> tuple[int, ...]:
    table = _load_table()
    found = [*table.words.get(word, ())]
    for end in range(1, len(word) + 1):
        found.extend(table.stems.get(word[:end], ()))
    return tuple(found)


def count_cues(folded: str) -> list[int]:
    """Count each cue in a folded text, in the order of ``NAMES``."""
    counts = [0] * len(NAMES)
    table = _load_table()
    words = _WORD.findall(folded)[:_MOST_WORDS]
    for at, word in enumerate(words):
        for place in _find_word(word):
            counts[place] += 1
        for size in range(2, _LONGEST + 1):
            if at + size <= len(words):
                for place in table.phrases.get(" ".join(words[at : at + size]), ()):
                    counts[place] += 1
    for place, pattern in table.gapped:
        counts[place] += bool(pattern.search(folded))
    if not folded.isascii() and _HAN.search(folded):
        for at in range(min(len(folded), _MOST_WORDS)):
            for size in range(1, _LONGEST + 1):
                for place in table.strings.get(folded[at : at + size], ()):
                    counts[place] += 1
    return counts
