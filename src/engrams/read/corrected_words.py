"""Texts without the words that were corrected or forgotten.

A record keeps in ``meta[CORRECTED]`` the quotes that no longer stand, each with what was done to it;
whoever shows or searches a record masks them first.
"""

from __future__ import annotations

from collections.abc import Collection

from engrams.core import CORRECTED, Json, Record
from engrams.frozen_data import replace
from engrams.text.terms import terms


def mask_corrected(record: Record) -> Record:
    """Replace corrected or forgotten quotes by a mark, in text, metadata and evidence; pure."""
    corrections = record.meta.get(CORRECTED, ())
    if not corrections:
        return record
    text = record.text
    meta = {**record.meta, CORRECTED: None}
    evidence = record.evidence
    for correction in corrections:
        quote = correction["quote"]
        mark = "[forgotten]"
        if correction["action"] != "forget":
            mark = f"[corrected on {correction['at'][:10]}]"
        text = text.replace(quote, mark)
        meta = _replace_in_values(meta, quote, mark)
        evidence = tuple(replace(item, quote=item.quote.replace(quote, mark)) for item in evidence)
    meta[CORRECTED] = [
        {key: value for key, value in correction.items() if key != "quote"}
        for correction in corrections
    ]
    return replace(record, text=text, meta=meta, evidence=evidence)


def matches_only_masked(record: Record, query_terms: Collection[str]) -> bool:
    """True if the query's terms stand in corrected quotes only."""
    corrections = record.meta.get(CORRECTED, ())
    if not corrections:
        return False
    wanted = set(query_terms)
    removed = set[str]()
    text = record.search_text
    for correction in corrections:
        removed |= set(terms(correction["quote"]))
        text = text.replace(correction["quote"], " ")
    return bool(wanted & removed) and not wanted & set(terms(text))


def _replace_in_values(value: Json, quote: str, mark: str) -> Json:
    match value:
        case str():
            return value.replace(quote, mark)
        case dict():
            return {key: _replace_in_values(part, quote, mark) for key, part in value.items()}
        case list() | tuple():
            return [_replace_in_values(part, quote, mark) for part in value]
        case _:
            return value
