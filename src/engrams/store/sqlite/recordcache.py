"""Decoded records of a database, each until its row changes."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from engrams.store.sql.namedqueries import SqlConnection, fetch_all, fetch_composed, query
from engrams.store.sql.rowconversion import decode_record, is_short
from engrams.text.textcaches import register_cache
from engrams.types import Record, Scope

_KEPT = 8192


class DecodedRecordCache:
    """Records by file and row, with the mark of what was decoded.
    Every change of a row changes its mark, which is read much faster than the row."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int], tuple[tuple[Any, ...], Record]] = OrderedDict()
        register_cache(self)

    def get_records(self, connection: SqlConnection, generation: int, owner: Scope, ids: Sequence[str]) -> tuple[Record, ...]:
        """Existing records in the order of ``ids``; purged ones as tombstones.
        ``generation``: which file the connection reads."""
        found, fresh = dict[str, Record](), dict[str, tuple[Any, ...]]()
        for mark in fetch_all(connection, "record_marks", _to_json(ids), owner.key):
            kept = self._kept.get((generation, mark[0]))
            if kept is not None and kept[0] == mark:
                found[mark[1]] = kept[1]
            else:
                fresh[mark[1]] = mark
        if fresh:
            for row in fetch_composed(connection, f"{query('select_records')} {query('named_records')}", (_to_json([*fresh]), owner.key)):
                record = decode_record(row, cached=False)
                found[record.id] = record
                if is_short(row):
                    self._kept[generation, fresh[record.id][0]] = fresh[record.id], record
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return tuple(found[name] for name in ids if name in found)

    def cache_clear(self) -> None:
        """Forget all: purged texts must not stay in memory."""
        self._kept.clear()


def _to_json(ids: Sequence[str]) -> str:
    return json.dumps(ids, ensure_ascii=False)
