"""Tags of a topic's members: the one they share, or a word that most of their texts have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from engrams.core import Edge, EdgeType, Record
from engrams.text.normalize import fold
from engrams.text.stopwords import STOP

_MIN_LETTERS = 4
_MAX_LETTERS = 32
_WORD = re.compile(r"[^\W\d_]+")


def find_common_tag(records: Sequence[Record]) -> str:
    """Return the most frequent tag of at least two records; else empty."""
    counts = Counter(tag for record in records for tag in set(record.tags))
    best = min(counts, key=lambda tag: (-counts[tag], tag), default="")
    return best if best and counts[best] > 1 else ""


def infer_tags(
    groups: Sequence[Sequence[Record]],
) -> tuple[tuple[tuple[str, dict[str, Any]], ...], tuple[Edge, ...]]:
    """Infer a tag for each group whose members share none.

    Returns (id, changed fields) of the records, and the links to the tags.
    """
    changed_fields: dict[str, dict[str, Any]] = {}
    edges: list[Edge] = []
    for records in groups:
        if set.intersection(*(set(record.tags) for record in records)):
            continue
        word = infer_tag(_list_statements(records))
        if not word:
            continue
        for record in records:
            changed_fields[record.id] = {"tags": (*record.tags, word)}
            edges.append(Edge(record.scope.owner, record.id, f"tag:{word}", EdgeType.HAS_TAG))
    return tuple(changed_fields.items()), tuple(edges)


def _list_statements(records: Sequence[Record]) -> list[str]:
    """List the texts of records; of a memory and its facts that of the memory alone."""
    ids = {record.id for record in records}
    return [
        record.text for record in records if ids.isdisjoint(item.source for item in record.evidence)
    ]


def infer_tag(texts: Sequence[str]) -> str:
    """Return the most frequent word of at least half the texts.

    It stands in two texts at least, has 4 to 32 letters and is no stop word; empty: there is none.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(find_tag_words(text))
    best = min(counts, key=lambda word: (-counts[word], -len(word), word), default="")
    return best if best and counts[best] >= max(2, len(texts) / 2) else ""


def find_tag_words(text: str) -> set[str]:
    """Find possible tags: folded words of 4 to 32 letters."""
    return {
        word
        for word in _WORD.findall(fold(text))
        if _MIN_LETTERS <= len(word) <= _MAX_LETTERS and word not in STOP
    }
