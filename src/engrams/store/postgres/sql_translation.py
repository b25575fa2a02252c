"""Statements of the shared store in the words of Postgres."""

from __future__ import annotations

import re
from functools import lru_cache

from engrams.frozen_data import dataclass
from engrams.store.sql.named_queries import load_queries

_MARK = re.compile(r"\?(\d*)")
_HINT = re.compile(r" INDEXED BY \w+")
_LISTED = re.compile(r"\b(NOT )?IN \(SELECT value FROM json_each\((\?\d*)\)\)")
_CROSSING = re.compile(r"\b(FROM|JOIN|INTO|UPDATE) (jobs|counters)\b")
_STREAMED = ("load_rows", "all_lexemes")
_KEPT = 2000
"""Statements kept in this form: lists of different length make many."""


@dataclass(frozen=True, slots=True)
class TranslatedStatement:
    """SQL text for Postgres, and whether it crosses owners or streams rows.

    ``crossing``: it touches what belongs to no single owner. ``streamed``: its rows are too many to
    hold.
    """

    text: str
    crossing: bool
    streamed: bool


@lru_cache(_KEPT)
def translate(text: str, reads: bool = False) -> TranslatedStatement:
    """Put a shared statement into the words of Postgres.

    ``reads``: it may lock nothing.
    """
    shared = load_queries()
    streamed = any(text == shared[name] for name in _STREAMED)
    for name, own in load_queries("engrams.store.postgres").items():
        text = text.replace(shared[name], own)
    if reads:
        text = text.removesuffix(" FOR UPDATE SKIP LOCKED")
    text = _LISTED.sub(_list_values, _HINT.sub("", text))
    count = 0

    def number(mark: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"${mark[1] or count}"

    return TranslatedStatement(
        _MARK.sub(number, text), _CROSSING.search(text) is not None, streamed
    )


def _list_values(found: re.Match[str]) -> str:
    """Translate an IN list of JSON values into a Postgres array."""
    test = "<> ALL" if found[1] else "= ANY"
    return f"{test} (ARRAY(SELECT value FROM json_each({found[2]})))"  # noqa: S608 - the mark of a value
