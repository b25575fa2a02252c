"""Decoded records of a database, each until its row changes."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from engrams.core import Record, Scope
from engrams.store.sql.named_queries import SqlConnection, fetch_all, fetch_composed, query
from engrams.store.sql.row_conversion import FIELDS, decode_record, decode_time, is_short
from engrams.text.text_caches import register_cache

_KEPT = 8192


_MARKS = tuple(map(FIELDS.index, ("version", "access_count", "last_accessed")))
"""Columns of a row that belong to its mark, after id and change."""
_USES = 3
"""Place in a mark from which it tells of uses, which change nothing else of the row."""


class DecodedRecordCache:
    """Decoded records by file, owner and id, each with its mark.

    Every change of a row changes its mark, which is read much faster than the row.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, str, str], tuple[tuple[Any, ...], Record]] = (
            OrderedDict()
        )
        register_cache(self)

    def get_records(
        self,
        connection: SqlConnection,
        generation: int,
        owner: Scope,
        ids: Sequence[str],
        short: dict[str, Record],
    ) -> dict[str, Record]:
        """Existing records by id; purged ones as tombstones.

        ``generation``: which file the connection reads. ``short``: takes those that are small
        enough to be remembered.
        """
        key = owner.key
        kept = self._kept
        found = dict[str, Record]()
        fresh = list[str]()
        known = {
            name: one for name in ids if (one := kept.get((generation, key, name))) is not None
        }
        if known:
            for mark in fetch_all(connection, "record_marks", _to_json([*known]), key):
                held, record = known[mark[0]]
                if held[:_USES] != mark[:_USES]:
                    fresh.append(mark[0])
                    continue
                if held != mark:
                    record = replace(
                        record, access_count=mark[_USES], last_accessed=decode_time(mark[_USES + 1])
                    )
                    kept[generation, key, mark[0]] = mark, record
                found[mark[0]] = record
            short.update(found)
        fresh += [name for name in ids if name not in known]
        self._read(connection, (generation, key), fresh, found, short)
        return found

    def get_marked(
        self,
        connection: SqlConnection,
        generation: int,
        owner: Scope,
        marks: Sequence[tuple[Any, ...]],
    ) -> list[Record] | None:
        """Records by their marks, in order; None where one changed since."""
        key = owner.key
        kept = self._kept
        found = dict[str, Record]()
        short = dict[str, Record]()
        for mark in marks:
            if (one := kept.get((generation, key, mark[0]))) is not None and one[0] == mark:
                found[mark[0]] = one[1]
        fresh = [mark for mark in marks if mark[0] not in found]
        read = self._read(connection, (generation, key), [mark[0] for mark in fresh], found, short)
        return [found[mark[0]] for mark in marks] if read == {*fresh} else None

    def _read(
        self,
        connection: SqlConnection,
        place: tuple[int, str],
        fresh: Sequence[str],
        found: dict[str, Record],
        short: dict[str, Record],
    ) -> set[tuple[Any, ...]]:
        """Read rows into ``found``, and small ones into ``short``; their marks."""
        kept = self._kept
        marks = set[tuple[Any, ...]]()
        for row in (
            fetch_composed(connection, _select_marked(), (_to_json(fresh), place[1]))
            if fresh
            else ()
        ):
            record = decode_record(row[:-1], cached=False)
            found[record.id] = record
            mark = (record.id, row[-1], *[row[at] for at in _MARKS])
            marks.add(mark)
            if is_short(row[:-1]):
                kept[*place, record.id] = mark, record
                short[record.id] = record
        while len(kept) > _KEPT:
            kept.popitem(last=False)
        return marks

    def cache_clear(self) -> None:
        """Forget all: purged texts must not stay in memory."""
        self._kept.clear()


@cache
def _select_marked() -> str:
    """Build the statement for records by id, each with its last change."""
    return f"SELECT {', '.join(FIELDS)}, changed FROM records {query('named_records')}"  # noqa: S608 - columns are fields of Record


def _to_json(ids: Sequence[str]) -> str:
    return json.dumps(ids, ensure_ascii=False)
