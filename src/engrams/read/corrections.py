"""Texts without the words that were corrected or forgotten."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from engrams.text.terms import terms
from engrams.types import CORRECTED, Record


def mask_corrected(record: Record) -> Record:
    """Replace corrected or forgotten quotes by a mark; pure."""
    text = record.text
    for item in record.meta.get(CORRECTED, ()):
        mark = "[forgotten]" if item["action"] == "forget" else f"[corrected on {item['at'][:10]}]"
        text = text.replace(item["quote"], mark)
    return record if text == record.text else replace(record, text=text)


def matches_only_masked(record: Record, asked: Collection[str]) -> bool:
    """True if the asked words stand in corrected quotes only."""
    marks = record.meta.get(CORRECTED, ())
    if not marks:
        return False
    words, removed, text = set(asked), set[str](), record.search_text
    for item in marks:
        removed |= set(terms(item["quote"]))
        text = text.replace(item["quote"], " ")
    return bool(words & removed) and not words & set(terms(text))
