"""Cue words and other features of a pair of messages."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from engrams.text.normalize import fold
from engrams.text.terms import is_unspaced, terms
from engrams.text.textcaches import text_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engrams.ports.modelports import Floats

    Embed = Callable[[list[str]], Floats]


import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

# By cue: words of Latin scripts, folded (``*`` stands for any ending), and strings of Chinese and Japanese.
_CUES: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("cues.json").read_text("utf-8"))
NAMES = tuple(_CUES)
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uff1f]")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*'?")
_MOST_WORDS = 400


@dataclass(frozen=True, slots=True)
class _CueTable:
    """Lookup of cue words by word, stem, phrase and string.

    ``lengths``: numbers of words of the phrases that begin with a word; ``widest``: characters of the longest string.
    ``gapped``: patterns, each with letters that it begins with."""

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
    for place, cue in enumerate(_CUES.values()):
        for word in cue["words"]:
            if " " in word and ("*" in word or "?" in word):
                lead = re.split(r"[ *?]", word)[0]
                gapped.append((place, lead, re.compile(r"\b" + word.replace(" * ", r" \S+ (?:\S+ )?").replace("*", r"\w*"))))
                continue
            table, key = (phrases, word) if " " in word else (stems, word[:-1]) if word.endswith("*") else (words, word)
            table[key] = (*table.get(key, ()), place)
        for text in cue["strings"]:
            strings[text] = (*strings.get(text, ()), place)
    lengths: dict[str, set[int]] = {}
    for phrase in phrases:
        first, *more = phrase.split(" ")
        lengths.setdefault(first, set()).add(1 + len(more))
    following = {word: tuple(sorted(some)) for word, some in lengths.items()}
    return _CueTable(words, stems, phrases, strings, tuple(gapped), following, max(map(len, strings)))


@text_cache(1 << 14)
def _find_word(word: str) -> tuple[int, ...]:
    table = _load_table()
    found = [*table.words.get(word, ())]
    for end in range(1, len(word) + 1):
        found.extend(table.stems.get(word[:end], ()))
    return tuple(found)


def count_cues(folded: str) -> list[int]:
    """Count each cue in a folded text, in the order of ``NAMES``.

    A string at the very end of a text counts about two thousand times: the weights were trained on such counts."""
    counts = [0] * len(NAMES)
    table = _load_table()
    words = _WORD.findall(folded)[:_MOST_WORDS]
    for at, word in enumerate(words):
        for place in _find_word(word):
            counts[place] += 1
        for length in table.lengths.get(word, ()):
            for place in table.phrases.get(" ".join(words[at : at + length]), ()) if at + length <= len(words) else ():
                counts[place] += 1
    for place, lead, pattern in table.gapped:
        counts[place] += lead in folded and bool(pattern.search(folded))
    if not folded.isascii() and _HAN.search(folded):
        for at in range(min(len(folded), _MOST_WORDS)):
            for size in range(1, min(table.widest, len(folded) - at) + 1):
                times = 1 if at + size < len(folded) else _LONGEST - size + 1
                for place in table.strings.get(folded[at : at + size], ()):
                    counts[place] += times
    return counts


_CLAUSE = re.compile(
    r"(?<=[.!?;…])(?<!\b[DMS][rst]\.)(?<!\bMrs\.)(?<!\bSra\.)(?<!\bDra\.)(?<!\bNr\.)(?<!\bProf\.)\s+|\n+|(?<=[。！？；])|(?<!\s)\s+[–—-]\s+|,\s+(?=(?:and|but|so|und|aber|y|pero|et|mais)\b)"
)
_NUMBER = re.compile(r"\d+(?:[.:,]\d+)*")
_NAME = re.compile(r"(?<![.!?…:]\s)(?<!^)(?<!\w)[A-ZÄÖÜÉÁÍÓÚÑÇ][\w'’-]+")
_QUOTE = re.compile(r"[\"“”„«»「『]([^\"“”„«»」』]+)[\"“”»«」』]")
_QUESTION = re.compile(r"[?？]|か。?$|吗$")
_LAUGH = re.compile("[😂🤣😅😜😆🙃]|:\\)|;\\)|xd\\b|lol|haha|mdr|jaja|哈哈|笑|ｗｗ|/s\\b")
_JOY = re.compile("[🎉😭🥳💪🙌😢💔]|!{2,}|！{2,}")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TASK = re.compile(
    r"\b(?:can|could|would) you (?:please |also )?(?:help|show|explain|review|check|give|suggest|provide|recommend|write)\b"
    r"|\bi'?m (?:trying|working on|having (?:some )?(?:trouble|issues|difficulties)|getting an?|encountering|considering|wondering)\b"
    r"|\bhow (?:can|do|would|should) i\b|\bi(?:'d| would) like (?:to|some)\b|\bi want to (?:make sure|improve|know)\b",
    re.IGNORECASE,
)
_MOST_CLAUSES = 6
_FEW_WORDS = 3
# Beside a unit vector: so that a cue counts about as much as a few columns.
_MOST_CUES, _CUE_WEIGHT = 2, 0.3
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class MessageClause:
    """One clause with what is read from it.
    ``cues``: counts; ``present``: 1 for each that is there, else 0."""

    text: str
    words: frozenset[str]
    cues: tuple[int, ...]
    present: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MessageFeatures:
    """Words, numbers, names, cues and vectors read from one message.
    ``rows``: unit vectors of the message and of its clauses."""

    text: str
    speaker: str
    at: datetime
    clauses: tuple[MessageClause, ...]
    whole: MessageClause
    numbers: frozenset[str]
    names: frozenset[str]
    quoted: str
    rows: Floats

    @property
    def words_once(self) -> frozenset[str]:
        """Words of the message that are names or numbers."""
        return self.names | self.numbers


_MAY = tuple(
    NAMES.index(name)
    for name in ("end", "begin", "switch", "no_more", "now", "correction", "new", "instead", "from_now", "finally", "back", "old")
)


def may_change(text: str) -> bool:
    """True unless a message has nothing that could speak of a change.
    A plain statement could: "so we're henless now"."""
    text = text[:_LONGEST]
    if _NUMBER.search(text) or (not _QUESTION.search(text[-3:]) and len(terms(text)) > _FEW_WORDS):
        return True
    counts = count_cues(fold(text))
    return any(counts[place] for place in _MAY)


def read_messages(said: Sequence[tuple[str, str, datetime]], embed: Embed) -> list[MessageFeatures]:
    """Read clauses, cues, names and vectors of messages (text, speaker, time).
    Blocks of code say nothing about anybody."""
    texts = [(_CODE.sub(" ", text[: 2 * _LONGEST]).strip() or text)[:_LONGEST] for text, _, _ in said]
    pieces = [[piece for piece in _CLAUSE.split(text) if piece and piece.strip()][:_MOST_CLAUSES] or [text] for text in texts]
    rows = embed([part for text, some in zip(texts, pieces, strict=True) for part in (text, *some)])
    read: list[MessageFeatures] = []
    place = 0
    for text, some, (_, speaker, at) in zip(texts, pieces, said, strict=True):
        own, place = rows[place : place + 1 + len(some)], place + 1 + len(some)
        read.append(_read_parts(text, some, speaker, at, own))
    return read


def _read_parts(text: str, pieces: Sequence[str], speaker: str, at: datetime, rows: Floats) -> MessageFeatures:
    clauses = tuple(map(_read_clause, pieces))
    whole = clauses[0] if len(clauses) == 1 else _read_clause(text)
    quoted = " ".join(found for found in _QUOTE.findall(text) if len(found) > 12 or (not found.isascii() and len(found) > 5))
    numbers, names = frozenset(_NUMBER.findall(text)), frozenset(fold(name) for name in _NAME.findall(text))
    return MessageFeatures(text, speaker, at, clauses, whole, numbers, names, quoted, rows)


@text_cache(1 << 13)
def _read_clause(text: str) -> MessageClause:
    counts = count_cues(fold(text))
    return MessageClause(text, frozenset(terms(text)), tuple(counts), tuple(float(count > 0) for count in counts))


def describe_pair(old: MessageFeatures, new: MessageFeatures, rarity: Mapping[str, float]) -> list[float]:
    """Compute the features of an older and a newer message."""
    cosines = old.rows @ new.rows.T
    inner = cosines[1:, 1:]
    at_old, at_new = divmod(int(inner.argmax()), inner.shape[1])
    near, told = old.clauses[at_old], new.clauses[at_new]
    minutes = max((new.at - old.at).total_seconds() / 60, 0.0)
    shared_names, fresh_names = old.names & new.names, new.names - old.names
    shared_numbers, fresh_numbers = old.numbers & new.numbers, new.numbers - old.numbers
    features = [
        float(cosines[0, 0]), float(inner.max()), float(cosines[0, 1:].max()), float(cosines[1:, 0].max()),
        *_overlap(old.whole, new.whole, rarity), *_overlap(near, told, rarity),
        math.log1p(minutes), float(minutes < 3), float(minutes < 60), float(minutes > 60 * 24 * 7),
        float(old.speaker == new.speaker),
        float(bool(fresh_names)), float(bool(shared_names)), float(bool(old.names) and bool(fresh_names) and not shared_names),
        float(bool(shared_names) and bool(fresh_names)),
        float(bool(fresh_numbers)), float(bool(shared_numbers)), float(bool(old.numbers) and bool(fresh_numbers)),
        float(bool(old.numbers) and bool(fresh_numbers) and not shared_numbers),
        *_shape(old.text), *_shape(new.text),
        float(bool(new.quoted)), len(new.quoted) / (len(new.text) + 1), float(bool(old.quoted)),
        math.log1p(len(old.text)), math.log1p(len(new.text)), len(new.clauses), len(old.clauses), float(at_new), float(at_new == 0),
        math.log(len(told.text) / (len(near.text) + 1) + 0.1),
    ]  # fmt: skip
    quoted = frozenset(terms(new.quoted)) if new.quoted else frozenset()
    features.append(float(bool(quoted & old.whole.words)))
    features.extend(float(min(count, 3)) for count in new.whole.cues)
    features += (*told.present, *old.whole.present, *near.present)
    cue = dict(zip(NAMES, new.whole.cues, strict=True))
    features.extend(_combine(cue, old, new))
    features.extend(_echoes(old, new, near.words))
    features.extend(_replaced_values(old, new))
    features.extend((_count_tasks(old.text), _count_tasks(new.text)))
    return features


@text_cache(1 << 12)
def _count_tasks(text: str) -> float:
    return float(min(len(_TASK.findall(text)), 3))


def describe_message(message: MessageFeatures) -> tuple[Floats, Floats]:
    """Return vectors and cues of a message.
    Of the whole and of its clauses [1 + clauses, columns]."""
    import numpy as np

    cues = np.array([message.whole.cues, *(clause.cues for clause in message.clauses)])
    return message.rows, (np.minimum(cues, _MOST_CUES) * _CUE_WEIGHT).astype(np.float32)


_ECHOED = tuple(
    NAMES.index(name) for name in ("still", "almost", "temporary", "also", "end", "no_more", "switch", "old", "no", "past", "report", "now")
)


def _echoes(old: MessageFeatures, new: MessageFeatures, near: frozenset[str]) -> list[float]:
    """Count cues of clauses that repeat the older message's words."""
    repeating = [clause for clause in new.clauses if clause.words & old.whole.words]
    found = [float(any(clause.cues[place] for clause in repeating)) for place in _ECHOED]
    last = new.clauses[-1]
    return [
        *found, float(len(repeating)), float(len(new.clauses) - len(repeating)), float(len(old.words_once & new.whole.words)),
        float(len(near & new.whole.words)), float(last.cues[_ECHOED[0]] > 0), float(bool(_SHOUT.search(new.text))),
    ]  # fmt: skip


_SHOUT = re.compile(r"\b(?:NOT|NO|NEVER|STILL|NICHT|PAS|STAYS|ONLY)\b")
_VALUE = re.compile(r"(?:(?<![^\W\d])([^\W\d]++)[\s:#-]*+)?(?<!\w)[$€£¥]?(\d+(?:[.:,h]\d+)*)\s*([^\W\d]+|[%€$£°])?")
_NAMED = re.compile(r"(?<![^\W\d])([^\W\d]++)\.?\s++([A-ZÄÖÜÉÁÍÓÚÑÇ][\w'’-]+)")
_HAN_VALUE = re.compile(
    r"((?<!\d)\d++(?:[.:,]\d++)*+|(?<![一二三四五六七八九十百两半])[一二三四五六七八九十百两半]++)\s*+([\u4e00-\u9fff\u3040-\u30ff%])"
)


def _replaced_values(old: MessageFeatures, new: MessageFeatures) -> list[float]:
    """Return signs that a number or a name was replaced."""
    was, now = _read_values(old.text), _read_values(new.text)
    other = [key for key in was.keys() & now.keys() if not was[key] & now[key]]
    same = [key for key in was.keys() & now.keys() if was[key] & now[key]]
    return [
        float(any(key[0] == "unit" for key in other)), float(any(key[0] == "before" for key in other)),
        float(any(key[0] == "name" for key in other)), float(bool(same)), float(len(other)),
    ]  # fmt: skip


@text_cache(1 << 12)
def _read_values(text: str) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for before, value, unit in _VALUE.findall(text):
        for key in (("unit", fold(unit)[:4]), ("before", fold(before)[:5])):
            if key[1]:
                found.setdefault(key, set()).add(value)
    for value, unit in _HAN_VALUE.findall(text):
        found.setdefault(("unit", unit), set()).add(value)
    for before, name in _NAMED.findall(text):
        found.setdefault(("name", fold(before)), set()).add(fold(name))
    return found


def _overlap(old: MessageClause, new: MessageClause, rarity: Mapping[str, float]) -> tuple[float, ...]:
    highest = rarity[""]
    weights = {word: rarity.get(word, highest) for word in old.words | new.words}
    shared = sum(weights[word] for word in old.words & new.words)
    mine, theirs = sum(weights[word] for word in old.words), sum(weights[word] for word in new.words)
    rarest = max((weights[word] for word in old.words & new.words), default=0.0)
    heads = {word[:4] for word in old.words - new.words if len(word) > 3} & {word[:4] for word in new.words - old.words if len(word) > 3}
    return shared, shared / (1 + mine), shared / (1 + theirs), float(len(old.words & new.words)), rarest, float(len(heads))


@text_cache(1 << 12)
def _shape(text: str) -> tuple[float, ...]:
    end = text.rstrip()[-3:]
    unspaced = any(is_unspaced(char) for char in text[:6])
    return (
        float(bool(_QUESTION.search(text))), float(bool(_QUESTION.search(end))), float(bool(_LAUGH.search(text.lower()))),
        float(bool(_JOY.search(text))), float(unspaced), float(text[:1].isupper()), float(text.count(":") > 0), float(text.count("!") > 0),
        float("..." in text or "…" in text), float("(" in text), float(text.isascii()), float(text.count(",")),
    )  # fmt: skip


def _combine(cue: Mapping[str, int], old: MessageFeatures, new: MessageFeatures) -> tuple[float, ...]:
    change = sum(cue[name] for name in ("end", "begin", "switch", "no_more", "now", "correction"))
    doubt = sum(cue[name] for name in ("if", "plan", "report", "fiction", "joke", "temporary", "past", "still", "almost"))
    asks = bool(_QUESTION.search(new.text[-3:]))
    subject = old.whole.cues[NAMES.index("self")] > 0
    return (
        float(change > 0), float(doubt > 0), float(change > 0 and doubt == 0), float(change - doubt), float(change == 0 and doubt == 0),
        float(cue["other"] > 0 and cue["self"] == 0), float(subject and cue["other"] > 0 and cue["self"] == 0),
        float(cue["end"] > 0 and cue["begin"] > 0), float(cue["now"] > 0 and cue["new"] > 0), float(cue["switch"] > 0 and cue["new"] > 0),
        float(asks and change == 0), float(asks and change > 0), float(cue["also"] > 0 and cue["end"] + cue["no_more"] == 0),
        float(cue["correction"] > 0 and cue["no"] > 0),
    )  # fmt: skip
