"""Texts without the words that were corrected or forgotten."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from engrams.core import CORRECTED, Json, Record
from engrams.text.terms import terms


def mask_corrected(record: Record) -> Record:
    """Replace corrected or forgotten quotes by a mark; pure.

    In metadata and evidence, too.
    """
    marks = record.meta.get(CORRECTED, ())
    if not marks:
        return record
    text = record.text
    meta = {**record.meta, CORRECTED: None}
    evidence = record.evidence
    for item in marks:
        mark = "[forgotten]" if item["action"] == "forget" else f"[corrected on {item['at'][:10]}]"
        text = text.replace(item["quote"], mark)
        meta = _replace_in_values(meta, item["quote"], mark)
        evidence = tuple(
            replace(each, quote=each.quote.replace(item["quote"], mark)) for each in evidence
        )
    told = [{name: value for name, value in item.items() if name != "quote"} for item in marks]
    return replace(record, text=text, meta={**meta, CORRECTED: told}, evidence=evidence)


def matches_only_masked(record: Record, asked: Collection[str]) -> bool:
    """True if the asked words stand in corrected quotes only."""
    marks = record.meta.get(CORRECTED, ())
    if not marks:
        return False
    words = set(asked)
    removed = set[str]()
    text = record.search_text
    for item in marks:
        removed |= set(terms(item["quote"]))
        text = text.replace(item["quote"], " ")
    return bool(words & removed) and not words & set(terms(text))


def _replace_in_values(value: Json, quote: str, mark: str) -> Json:
    match value:
        case str():
            return value.replace(quote, mark)
        case dict():
            return {name: _replace_in_values(part, quote, mark) for name, part in value.items()}
        case list() | tuple():
            return [_replace_in_values(part, quote, mark) for part in value]
        case _:
            return value
