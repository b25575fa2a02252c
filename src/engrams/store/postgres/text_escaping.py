"""Texts as Postgres can hold them: it knows no character 0, neither in texts nor in JSON.

So 0 is written as the pair 1 2, and 1 as the pair 1 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.types.string import StrDumperUnknown

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

_RAW = {"\x00": "\x01\x02", "\x01": "\x01\x01"}
_JSON = {"\\u0000": "\\u0001\\u0002", "\\u0001": "\\u0001\\u0001"}
_ESCAPES = {**_RAW, **_JSON}
_ORIGINALS = {escaped: plain for plain, escaped in _ESCAPES.items()}
_PLAIN = re.compile(r"[\x00\x01]|\\u000[01]")
_TEXT_TYPES = frozenset(psycopg.adapters.types[name].oid for name in ("text", "varchar"))
_ESCAPED = re.compile(r"\x01[\x01\x02]|\\u0001\\u000[12]")


def escape(text: str) -> str:
    """Write the characters 0 and 1 as pairs."""
    if "\x00" in text or "\x01" in text or "\\u000" in text:
        return _PLAIN.sub(lambda match: _ESCAPES[match[0]], text)
    return text


def unescape(text: str) -> str:
    """Undo ``escape``."""
    if "\x01" in text or "\\u0001" in text:
        return _ESCAPED.sub(lambda match: _ORIGINALS[match[0]], text)
    return text


def escape_values(values: Sequence[Any]) -> list[Any]:
    """Escape the texts among a statement's values."""
    return [escape(value) if isinstance(value, str) else value for value in values]


def make_row_reader(result: PGresult) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Make a psycopg row maker that undoes the escaping of texts.

    One look at all texts of a row together: hardly any holds something escaped.
    """
    positions = [
        position for position in range(result.nfields) if result.ftype(position) in _TEXT_TYPES
    ]
    if not positions:
        return tuple
    # One column twice: of a single one it would give the value, not a tuple.
    pick = itemgetter(*positions, positions[0])

    def read_row(row: Sequence[Any]) -> tuple[Any, ...]:
        texts = "".join(filter(None, pick(row)))
        if "\x01" in texts or "\\u0001" in texts:
            return tuple(unescape(value) if isinstance(value, str) else value for value in row)
        return tuple(row)

    return read_row


def make_adapters() -> AdaptersMap:
    """Make the psycopg adapters of all connections."""
    adapters = AdaptersMap(psycopg.adapters)
    # Texts have no type of their own: the server takes it from where they stand.
    adapters.register_dumper(str, StrDumperUnknown)
    return adapters
