"""Features of messages, and of pairs of an older and a newer one.

``read_messages`` reads messages one by one; ``describe_pairs`` computes the columns on which the
trees were trained, in the order of ``_COLUMN_BLOCKS``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from engrams.frozen_data import dataclass
from engrams.text import clause_kinds
from engrams.text.normalize import fold
from engrams.text.people import PEOPLE
from engrams.text.terms import is_unspaced, terms
from engrams.text.text_caches import text_cache
from engrams.write.change_detection.cue_words import LONGEST, NAMES, count_cues
from engrams.write.change_detection.typed_values import TypedValues, read_typed_values

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from engrams.ports.models import Floats

    Embed = Callable[[list[str]], Floats]

_CLAUSE = re.compile(
    r"(?<=[.!?;…])(?<!\b[DMS][rst]\.)(?<!\bMrs\.)(?<!\bSra\.)(?<!\bDra\.)(?<!\bNr\.)(?<!\bProf\.)(?!(?<=\d\.)\s+(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|[a-zäöü]))\s+|\n+|(?<=[。"
    r"！？；])|(?<!\s)\s+[–—-]\s+|,\s+(?=(?:and|but|so|und|aber|y|pero|et|mais)\b)"
)
_NUMBER = re.compile(r"\d+(?:[.:,]\d+)*")
_NAME = re.compile(r"(?<![.!?…:]\s)(?<!^)(?<!\w)[A-ZÄÖÜÉÁÍÓÚÑÇ][\w'’-]+")
_QUOTE = re.compile(r"[\"“”„«»「『]([^\"“”„«»」』]+)[\"“”»«」』]")
_QUESTION = re.compile(r"[?？]|か。?$|吗$")
_LAUGH = re.compile("[😂🤣😅😜😆🙃]|:\\)|;\\)|xd\\b|lol|haha|mdr|jaja|哈哈|笑|ｗｗ|/s\\b")
_JOY = re.compile("[🎉😭🥳💪🙌😢💔]|!{2,}|！{2,}")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TASK = re.compile(
    r"\b(?:can|could|would) you (?:please |also"
    r" )?(?:help|show|explain|review|check|give|suggest|provide|recommend|write)\b"
    r"|\bi'?m (?:trying|working on|having (?:some )?(?:trouble|issues|difficulties)|getting"
    r" an?|encountering|considering|wondering)\b"
    r"|\bhow (?:can|do|would|should) i\b|\bi(?:'d| would) like (?:to|some)\b|\bi want to (?:make"
    r" sure|improve|know)\b",
    re.IGNORECASE,
)
_MOST_CLAUSES = 6
_FEW_WORDS = 3
# Beside a unit vector: so that a cue counts about as much as a few columns.
_MOST_CUES = 2
_CUE_WEIGHT = 0.3


_CHANGE_CUES = tuple(
    NAMES.index(name)
    for name in (
        "end",
        "begin",
        "switch",
        "no_more",
        "now",
        "correction",
        "new",
        "instead",
        "from_now",
        "finally",
        "back",
        "old",
        "since",
        "news",
    )
)
"""Cues by which a message of few words may tell a change: "we're in Porto since May"."""

_ECHOED = tuple(
    NAMES.index(name)
    for name in (
        "still",
        "almost",
        "temporary",
        "also",
        "end",
        "no_more",
        "switch",
        "old",
        "no",
        "past",
        "report",
        "now",
    )
)
_SELF = NAMES.index("self")
_OTHER = NAMES.index("other")
_SHOUT = re.compile(r"\b(?:NOT|NO|NEVER|STILL|NICHT|PAS|STAYS|ONLY)\b")
_VALUE = re.compile(
    r"(?:(?<![^\W\d])([^\W\d]++)[\s:#-]*+)?(?<!\w)[$€£¥]?(\d+(?:[.:,h]\d+)*)\s*([^\W\d]+|[%€$£°])?"
)
_NAMED = re.compile(r"(?<![^\W\d])([^\W\d]++)\.?\s++([A-ZÄÖÜÉÁÍÓÚÑÇ][\w'’-]+)")
_HAN_VALUE = re.compile(
    r"((?<!\d)\d++(?:[.:,]\d++)*+|(?<![一二三四五六七八九十百两半])[一二三四五六七八九十百两半]++)\s*+([\u4e00-\u9fff\u3040-\u30ff%])"
)


# Blocks of the columns of a pair, in their order: who fills a block (both messages, the older, the
# newer, or the clause of one that is nearest to the other), and how many columns it has.
_COLUMN_BLOCKS = (
    ("pair", 29), ("older", 12), ("newer", 14), ("older", 2), ("newer", 2), ("older", 1), ("pair", 4), ("newer", len(NAMES)),
    ("newer clause", len(NAMES)), ("older", len(NAMES)), ("older clause", len(NAMES)), ("newer", 6), ("pair", 1), ("newer", 7),
    ("pair", len(_ECHOED) + 4), ("newer", 2), ("pair", 5), ("older", 1), ("newer", 1),
    ("pair", 7),
)  # fmt: skip
COLUMNS = sum(count for _, count in _COLUMN_BLOCKS)


@dataclass(frozen=True, slots=True)
class MessageClause:
    """One clause, and its words and cues."""

    text: str
    words: frozenset[str]
    """Search terms."""
    heads: frozenset[str]
    """First letters of its longer words."""
    cues: tuple[int, ...]
    """Count of each cue, in the order of ``NAMES``."""
    present: npt.NDArray[np.float64]
    """1 for each cue that is there, else 0."""
    topics: int
    """A bit for each topic that is there."""
    echoed: int
    """A bit for each cue of ``_ECHOED`` that is there."""

    @property
    def may_end(self) -> bool:
        """True if it may tell a state or a plan."""
        return clause_kinds.may_end(self.text)

    @property
    def may_tell_change(self) -> bool:
        """True if it may tell that something ended."""
        return clause_kinds.may_tell_change(self.text)


@dataclass(frozen=True, slots=True)
class MessageFeatures:
    """Words, numbers, names, cues and vectors read from one message."""

    text: str
    speaker: str
    at: datetime
    """When it was said."""
    clauses: tuple[MessageClause, ...]
    whole: MessageClause
    """The message as if it were one clause."""
    numbers: frozenset[str]
    names: frozenset[str]
    people: frozenset[str]
    """Other people that it tells of, as it calls them."""
    quoted: frozenset[str]
    """Words of its quotations."""
    values: Mapping[tuple[str, str], set[str]]
    """Numbers and names by their neighbours: (``unit``, ``before`` or ``name``; word)."""
    typed: TypedValues
    """Its days, times, months and dates."""
    rows: Floats
    """Unit vectors of the message, and of its clauses [1 + clauses, dimension]."""
    older: npt.NDArray[np.float64]
    """Columns of a pair that it alone fills as the older message."""
    newer: npt.NDArray[np.float64]
    """Columns of a pair that it alone fills as the newer message."""

    @property
    def words_once(self) -> frozenset[str]:
        """Words of the message that are names or numbers."""
        return self.names | self.numbers


def may_change(text: str) -> bool:
    """True if a message could speak of a change.

    Any plain statement could: "so we're henless now".
    """
    text = text[:LONGEST]
    if _NUMBER.search(text) or (not _QUESTION.search(text[-3:]) and len(terms(text)) > _FEW_WORDS):
        return True
    counts = count_cues(text)
    return any(counts[index] for index in _CHANGE_CUES)


def read_messages(
    messages: Sequence[tuple[str, str, datetime]], embed: Embed
) -> list[MessageFeatures]:
    """Read clauses, cues, names and vectors of messages (text, speaker, time).

    Blocks of code say nothing about anybody.
    """
    texts = [
        (_strip_code(text[: 2 * LONGEST]).strip() or text)[:LONGEST] for text, _, _ in messages
    ]
    clause_lists = [
        [clause for clause in _CLAUSE.split(text) if clause and clause.strip()][:_MOST_CLAUSES]
        or [text]
        for text in texts
    ]
    # A message of one clause is embedded once.
    parts = [
        part for text, clauses in zip(texts, clause_lists, strict=True) for part in (text, *clauses)
    ]
    row_of_part = {part: row for row, part in enumerate(dict.fromkeys(parts))}
    rows = embed([*row_of_part])[[row_of_part[part] for part in parts]]
    features: list[MessageFeatures] = []
    start = 0
    for text, clauses, (_, speaker, at) in zip(texts, clause_lists, messages, strict=True):
        end = start + 1 + len(clauses)
        features.append(_read_message(text, clauses, speaker, at, rows[start:end]))
        start = end
    return features


def _strip_code(text: str) -> str:
    return _CODE.sub(" ", text) if "```" in text else text


def _read_message(
    text: str, clause_texts: Sequence[str], speaker: str, at: datetime, rows: Floats
) -> MessageFeatures:
    clauses = tuple(map(read_clause, clause_texts))
    whole = clauses[0] if len(clauses) == 1 else read_clause(text)
    quotations = " ".join(
        quotation
        for quotation in _QUOTE.findall(text)
        if len(quotation) > 12 or (not quotation.isascii() and len(quotation) > 5)
    )
    parts = _MessageParts(
        text=text,
        quotations=quotations,
        clauses=clauses,
        whole=whole,
        shape=_shape(text),
        tasks=float(min(len(_TASK.findall(text)), 3)),
    )
    numbers = frozenset(_NUMBER.findall(text))
    return MessageFeatures(
        text=text,
        speaker=speaker,
        at=at,
        clauses=clauses,
        whole=whole,
        numbers=numbers,
        names=frozenset(fold(name) for name in _NAME.findall(text)),
        people=frozenset(match[match.lastgroup or 0] for match in PEOPLE.finditer(fold(text))),
        quoted=frozenset(terms(quotations)) if quotations else frozenset(),
        values=read_values(text),
        typed=read_typed_values(fold(text)),
        rows=rows,
        older=_fill_older(parts),
        newer=_fill_newer(parts),
    )


@text_cache(1 << 13)
def read_clause(text: str) -> MessageClause:
    """Read the words, cues and topics of one clause."""
    import numpy as np

    counts = count_cues(text)
    cues = counts[: len(NAMES)]
    topics = counts[len(NAMES) :]
    words = frozenset(terms(text))
    return MessageClause(
        text=text,
        words=words,
        heads=_find_heads(words),
        cues=tuple(cues),
        present=np.array([float(count > 0) for count in cues]),
        topics=sum(1 << bit for bit, count in enumerate(topics) if count),
        echoed=sum(1 << bit for bit, index in enumerate(_ECHOED) if counts[index]),
    )


def describe_message(message: MessageFeatures) -> tuple[Floats, Floats]:
    """Return the vectors and the cues of a message.

    Both of the whole and of its clauses [1 + clauses, columns].
    """
    import numpy as np

    cues = np.array([message.whole.cues, *(clause.cues for clause in message.clauses)])
    return message.rows, (np.minimum(cues, _MOST_CUES) * _CUE_WEIGHT).astype(np.float32)


def describe_pairs(
    pairs: Sequence[tuple[MessageFeatures, MessageFeatures]], rarity: Mapping[str, float]
) -> npt.NDArray[np.float64]:
    """Compute the features of older and newer messages [pairs, columns].

    ``rarity``: weight of a word; of an unknown one at the empty word.
    """
    import numpy as np

    clause_weights: dict[int, float] = {}
    compared = [_compare(old, new, rarity, clause_weights) for old, new in pairs]
    values = {
        "pair": np.array([columns for columns, _, _ in compared]),
        "older": np.array([old.older for old, _ in pairs]),
        "newer": np.array([new.newer for _, new in pairs]),
        "older clause": np.array([old_clause.present for _, old_clause, _ in compared]),
        "newer clause": np.array([new_clause.present for _, _, new_clause in compared]),
    }
    described = np.empty((len(pairs), COLUMNS))
    used = dict.fromkeys(values, 0)
    start = 0
    for source, count in _COLUMN_BLOCKS:
        first = used[source]
        described[:, start : start + count] = values[source][:, first : first + count]
        start += count
        used[source] = first + count
    return described


@dataclass(frozen=True, slots=True)
class _MessageParts:
    """Parts of a message from which the columns that it alone fills are computed."""

    text: str
    quotations: str
    clauses: Sequence[MessageClause]
    whole: MessageClause
    shape: Sequence[float]
    tasks: float
    """Requests for help in it, 3 at most."""


def _fill_older(parts: _MessageParts) -> npt.NDArray[np.float64]:
    """Fill the columns of a pair that its older message alone fills."""
    import numpy as np

    return np.array(
        [
            *parts.shape,
            float(bool(parts.quotations)),
            math.log1p(len(parts.text)),
            len(parts.clauses),
            *parts.whole.present,
            parts.tasks,
        ]
    )


def _fill_newer(parts: _MessageParts) -> npt.NDArray[np.float64]:
    """Fill the columns of a pair that its newer message alone fills."""
    import numpy as np

    return np.array(
        [
            *parts.shape,
            float(bool(parts.quotations)),
            len(parts.quotations) / (len(parts.text) + 1),
            math.log1p(len(parts.text)),
            len(parts.clauses),
            *[float(min(count, 3)) for count in parts.whole.cues],
            *_combine(parts.text, parts.whole),
            float(parts.clauses[-1].cues[_ECHOED[0]] > 0),
            float(bool(_SHOUT.search(parts.text))),
            parts.tasks,
        ]
    )


def _compare(
    old: MessageFeatures,
    new: MessageFeatures,
    rarity: Mapping[str, float],
    clause_weights: dict[int, float],
) -> tuple[list[float], MessageClause, MessageClause]:
    """Compute the columns that both messages fill, and find the nearest clauses of both.

    ``clause_weights``: by identity of the clause, filled on the way.
    """
    whole, *cosines = (old.rows @ new.rows.T).tolist()
    best = [max(row[1:]) for row in cosines]
    highest = max(best)
    old_index = best.index(highest)
    new_index = cosines[old_index].index(highest, 1) - 1
    old_clause = old.clauses[old_index]
    new_clause = new.clauses[new_index]
    minutes = max((new.at - old.at).total_seconds() / 60, 0.0)
    shared_names = old.names & new.names
    fresh_names = new.names - old.names
    shared_numbers = old.numbers & new.numbers
    fresh_numbers = new.numbers - old.numbers
    repeating = [clause for clause in new.clauses if not clause.words.isdisjoint(old.whole.words)]
    echoed = reduce(or_, [clause.echoed for clause in repeating], 0)
    old_topics = old.whole.topics
    new_topics = new.whole.topics
    shared_topics = old_topics & new_topics
    return (
        [
            whole[0],
            highest,
            max(whole[1:]),
            max(row[0] for row in cosines),
            *_overlap(old.whole, new.whole, rarity, clause_weights),
            *_overlap(old_clause, new_clause, rarity, clause_weights),
            math.log1p(minutes),
            minutes < 3,
            minutes < 60,
            minutes > 60 * 24 * 7,
            old.speaker == new.speaker,
            bool(fresh_names),
            bool(shared_names),
            bool(old.names and fresh_names and not shared_names),
            bool(shared_names and fresh_names),
            bool(fresh_numbers),
            bool(shared_numbers),
            bool(old.numbers and fresh_numbers),
            bool(old.numbers and fresh_numbers and not shared_numbers),
            new_index,
            new_index == 0,
            math.log(len(new_clause.text) / (len(old_clause.text) + 1) + 0.1),
            not new.quoted.isdisjoint(old.whole.words),
            old.whole.cues[_SELF] > 0 and new.whole.cues[_OTHER] > 0 and new.whole.cues[_SELF] == 0,
            *[echoed >> bit & 1 for bit in range(len(_ECHOED))],
            len(repeating),
            len(new.clauses) - len(repeating),
            len(old.words_once & new.whole.words),
            len(old_clause.words & new.whole.words),
            *_replaced_values(old.values, new.values),
            shared_topics.bit_count(),
            (old_clause.topics & new_clause.topics).bit_count(),
            bool(old_topics and not shared_topics),
            bool(new_topics and not shared_topics),
            bool(new_topics & ~old_topics),
            not (new.people <= old.people | old.names),
            bool(new.people & old.people),
        ],
        old_clause,
        new_clause,
    )


def _replaced_values(
    old_values: Mapping[tuple[str, str], set[str]], new_values: Mapping[tuple[str, str], set[str]]
) -> tuple[float, ...]:
    """Return signs that a number or a name was replaced."""
    shared = old_values.keys() & new_values.keys()
    if not shared:
        return (0, 0, 0, 0, 0)
    replaced = [key[0] for key in shared if old_values[key].isdisjoint(new_values[key])]
    return (
        "unit" in replaced,
        "before" in replaced,
        "name" in replaced,
        len(replaced) < len(shared),
        len(replaced),
    )


def read_values(text: str) -> dict[tuple[str, str], set[str]]:
    """Read numbers and names by the words beside them."""
    values: dict[tuple[str, str], set[str]] = {}
    for before, value, unit in _VALUE.findall(text) if _NUMBER.search(text) else ():
        for key in (("unit", fold(unit)[:4]), ("before", fold(before)[:5])):
            if key[1]:
                values.setdefault(key, set()).add(value)
    for value, unit in _HAN_VALUE.findall(text) if "%" in text or not text.isascii() else ():
        values.setdefault(("unit", unit), set()).add(value)
    for before, name in _NAMED.findall(text):
        values.setdefault(("name", fold(before)), set()).add(fold(name))
    return values


def _overlap(
    old: MessageClause,
    new: MessageClause,
    rarity: Mapping[str, float],
    clause_weights: dict[int, float],
) -> tuple[float, ...]:
    """Weigh the words that two clauses share.

    Returns their weight, its share of that of each clause, their number, the weight of the rarest,
    and the number of other words with the same beginning.
    """
    old_weight = _weigh_words(old, rarity, clause_weights)
    new_weight = _weigh_words(new, rarity, clause_weights)
    shared = old.words & new.words
    heads = old.heads & new.heads
    if not shared:
        return (0, 0, 0, 0, 0, len(heads))
    if heads:
        heads = _find_heads(old.words - shared) & _find_heads(new.words - shared)
    weights = [rarity.get(word, rarity[""]) for word in shared]
    weight = sum(weights)
    return (
        weight,
        weight / (1 + old_weight),
        weight / (1 + new_weight),
        len(shared),
        max(weights),
        len(heads),
    )


def _find_heads(words: frozenset[str]) -> frozenset[str]:
    """Return the first letters of the longer words."""
    return frozenset([word[:4] for word in words if len(word) > 3])


def _weigh_words(
    clause: MessageClause, rarity: Mapping[str, float], clause_weights: dict[int, float]
) -> float:
    """Return the weight of a clause's words, computed once."""
    weight = clause_weights.get(id(clause))
    if weight is None:
        highest = rarity[""]
        weight = sum([rarity.get(word, highest) for word in clause.words])
        clause_weights[id(clause)] = weight
    return weight


def _shape(text: str) -> tuple[float, ...]:
    end = text.rstrip()[-3:]
    unspaced = not text.isascii() and any(is_unspaced(char) for char in text[:6])
    return (
        float(bool(_QUESTION.search(text))),
        float(bool(_QUESTION.search(end))),
        float(bool(_LAUGH.search(text.lower()))),
        float(bool(_JOY.search(text))),
        float(unspaced),
        float(text[:1].isupper()),
        float(text.count(":") > 0),
        float(text.count("!") > 0),
        float("..." in text or "…" in text),
        float("(" in text),
        float(text.isascii()),
        float(text.count(",")),
    )


def _combine(text: str, whole: MessageClause) -> tuple[float, ...]:
    """Combine cues of a newer message."""
    cue = dict(zip(NAMES, whole.cues, strict=True))
    change = sum(cue[name] for name in ("end", "begin", "switch", "no_more", "now", "correction"))
    doubt = sum(
        cue[name]
        for name in (
            "if",
            "plan",
            "report",
            "fiction",
            "joke",
            "temporary",
            "past",
            "still",
            "almost",
        )
    )
    asks = bool(_QUESTION.search(text[-3:]))
    return (
        float(change > 0),
        float(doubt > 0),
        float(change > 0 and doubt == 0),
        float(change - doubt),
        float(change == 0 and doubt == 0),
        float(cue["other"] > 0 and cue["self"] == 0),
        float(cue["end"] > 0 and cue["begin"] > 0),
        float(cue["now"] > 0 and cue["new"] > 0),
        float(cue["switch"] > 0 and cue["new"] > 0),
        float(asks and change == 0),
        float(asks and change > 0),
        float(cue["also"] > 0 and cue["end"] + cue["no_more"] == 0),
        float(cue["correction"] > 0 and cue["no"] > 0),
    )
