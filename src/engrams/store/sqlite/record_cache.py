"""Decoded records of a database, each until its row changes."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from engrams.core import Record, Scope
from engrams.frozen_data import replace
from engrams.store.sql.named_queries import SqlConnection, fetch_all, fetch_composed, query
from engrams.store.sql.row_conversion import FIELDS, decode_time, is_short
from engrams.store.sql.row_seals import READ_COLUMNS, RowSeals
from engrams.text.text_caches import register_cache

Mark: TypeAlias = tuple[Any, ...]
"""Id of a record, its change, its version, its uses and the time of the last one."""

_MAX_RECORDS = 8192
_MARK_COLUMNS = tuple(map(FIELDS.index, ("version", "access_count", "last_accessed")))
"""Positions of a row's columns that belong to its mark, after id and change."""
_USES = 3
"""Position in a mark from which it tells of uses, which change nothing else of the row."""


class DecodedRecordCache:
    """Decoded records by file, owner and id, each with its mark.

    Every change of a row changes its mark, which is read much faster than the row.
    """

    def __init__(self, seals: RowSeals) -> None:
        self._seals = seals
        self._records: OrderedDict[tuple[int, str, str], tuple[Mark, Record]] = OrderedDict()
        """By generation of the file, key of the owner and id."""
        register_cache(self)

    def get_records(
        self,
        connection: SqlConnection,
        generation: int,
        owner: Scope,
        record_ids: Sequence[str],
        short: dict[str, Record],
    ) -> dict[str, Record]:
        """Get existing records by id; purged ones as tombstones.

        ``generation``: which file the connection reads. ``short``: takes those that are small
        enough to be remembered.
        """
        owner_key = owner.key
        records = dict[str, Record]()
        stale_ids = list[str]()
        cached = {
            record_id: entry
            for record_id in record_ids
            if (entry := self._records.get((generation, owner_key, record_id))) is not None
        }
        if cached:
            marks = fetch_all(connection, "record_marks", _to_json([*cached]), owner_key)
            for mark in marks:
                record_id = mark[0]
                cached_mark, record = cached[record_id]
                if cached_mark[:_USES] != mark[:_USES]:
                    stale_ids.append(record_id)
                    continue
                if cached_mark != mark:
                    record = replace(
                        record, access_count=mark[_USES], last_accessed=decode_time(mark[_USES + 1])
                    )
                    self._records[generation, owner_key, record_id] = mark, record
                records[record_id] = record
            short.update(records)
        missing_ids = [record_id for record_id in record_ids if record_id not in cached]
        self._read(connection, (generation, owner_key), stale_ids + missing_ids, records, short)
        return records

    def get_marked(
        self,
        connection: SqlConnection,
        generation: int,
        owner: Scope,
        marks: Sequence[Mark],
    ) -> list[Record] | None:
        """Get records by their marks, in order; None where one changed since."""
        file_and_owner = (generation, owner.key)
        records = dict[str, Record]()
        missing_marks = []
        for mark in marks:
            entry = self._records.get((*file_and_owner, mark[0]))
            if entry is not None and entry[0] == mark:
                records[mark[0]] = entry[1]
            else:
                missing_marks.append(mark)
        missing_ids = [mark[0] for mark in missing_marks]
        read_marks = self._read(connection, file_and_owner, missing_ids, records, {})
        if read_marks != {*missing_marks}:
            return None
        return [records[mark[0]] for mark in marks if mark[0] in records]

    def _read(
        self,
        connection: SqlConnection,
        file_and_owner: tuple[int, str],
        record_ids: Sequence[str],
        records: dict[str, Record],
        short: dict[str, Record],
    ) -> set[Mark]:
        """Read rows into ``records``, and small ones into ``short``; return their marks.

        ``file_and_owner``: generation of the file, and the owner's key.
        """
        if not record_ids:
            return set()
        marks = set[Mark]()
        parameters = (_to_json(record_ids), file_and_owner[1])
        for *row, changed in fetch_composed(connection, _select_marked(), parameters):
            columns = tuple(row)
            mark = (columns[0], changed, *[columns[position] for position in _MARK_COLUMNS])
            marks.add(mark)
            for record in self._seals.read_all((columns,)):
                records[record.id] = record
                if not is_short(columns):
                    continue
                self._records[*file_and_owner, record.id] = mark, record
                short[record.id] = record
        while len(self._records) > _MAX_RECORDS:
            self._records.popitem(last=False)
        return marks

    def cache_clear(self) -> None:
        """Forget all: purged texts must not stay in memory."""
        self._records.clear()


@cache
def _select_marked() -> str:
    """Build the statement for records by id, each with its last change."""
    return f"SELECT {', '.join(READ_COLUMNS)}, changed FROM records {query('named_records')}"  # noqa: S608 - columns are fields of Record


def _to_json(record_ids: Sequence[str]) -> str:
    return json.dumps(record_ids, ensure_ascii=False)
