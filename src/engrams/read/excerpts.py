"""Excerpts of long texts: a cut around a word, or the sentences that bear on a query."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engrams.text.terms import terms

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def cut_excerpt(text: str, words: Sequence[str], characters: int = 500) -> str:
    """Cut a long text around the first of the words."""
    if len(text) <= characters:
        return text
    # Folding may change the length, and with it the positions of words.
    low = text.casefold() if len(text.casefold()) == len(text) else text.lower()
    positions = [low.find(word) for word in words]
    first = min((position for position in positions if position >= 0), default=0)
    start = max(0, min(first - characters // 4, len(text) - characters))
    cut = text[start : start + characters]
    if start:
        cut = "…" + cut[1:]
    return cut[:-1] + "…" if start + characters < len(text) else cut


def split_sentences(text: str) -> list[str]:
    """Split a text at the ends of its sentences and lines."""
    return [part for part in _SENTENCE_END.split(text) if part.strip()]


def cut_sentences(text: str, query_terms: frozenset[str], characters: int) -> str:
    """Cut a long text to its sentences with most query words."""
    if len(text) <= characters:
        return text
    sentences = split_sentences(text)
    by_worth = sorted(
        range(len(sentences)),
        key=lambda number: (-len(query_terms & set(terms(sentences[number]))), number),
    )
    chosen: list[int] = []
    room = characters - 1
    for number in by_worth:
        # Two characters more for the mark of what is left out before it.
        length = len(sentences[number]) + 2
        if length <= room:
            chosen.append(number)
            room -= length
    if not chosen:
        return text[: max(characters - 1, 0)].rstrip() + "…"
    pieces = [
        ("" if number - 1 in chosen or number == 0 else "… ") + sentences[number]
        for number in sorted(chosen)
    ]
    return " ".join(pieces) + ("" if len(sentences) - 1 in chosen else " …")
