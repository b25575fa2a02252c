"""Statements of the shared store in the words of Postgres."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from engrams.store.sql.named_queries import load_queries

_MARK = re.compile(r"\?(\d*)")
_HINT = re.compile(r" (?:INDEXED BY \w+|NOT INDEXED)")
_LISTED = re.compile(r"\b(NOT )?IN \(SELECT value FROM json_each\((\?\d*)\)\)")
_CROSSING = re.compile(r"\b(FROM|JOIN|INTO|UPDATE) (jobs|counters)\b")
_STREAMED_QUERIES = ("load_rows", "all_lexemes")
_MAX_TRANSLATED = 2000
"""Statements whose translation is kept: lists of different length make many."""


@dataclass(frozen=True, slots=True)
class TranslatedStatement:
    """Statement in the words of Postgres."""

    text: str
    crosses_owners: bool
    """True: it touches what belongs to no single owner."""
    is_streamed: bool
    """True: its rows may be too many to hold."""


@lru_cache(_MAX_TRANSLATED)
def translate(statement: str, is_read_only: bool = False) -> TranslatedStatement:
    """Put a shared statement into the words of Postgres.

    ``is_read_only``: it may lock nothing.
    """
    shared = load_queries()
    is_streamed = any(statement == shared[name] for name in _STREAMED_QUERIES)
    text = statement
    for name, postgres_text in load_queries("engrams.store.postgres").items():
        text = text.replace(shared[name], postgres_text)
    if is_read_only:
        text = text.removesuffix(" FOR UPDATE SKIP LOCKED")
    text = _LISTED.sub(_list_values, _HINT.sub("", text))
    count = 0

    def number(mark: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"${mark[1] or count}"

    crosses_owners = _CROSSING.search(text) is not None
    return TranslatedStatement(_MARK.sub(number, text), crosses_owners, is_streamed)


def _list_values(match: re.Match[str]) -> str:
    """Translate an IN list of JSON values into a Postgres array."""
    test = "<> ALL" if match[1] else "= ANY"
    return f"{test} (ARRAY(SELECT value FROM json_each({match[2]})))"  # noqa: S608 - the mark of a value
