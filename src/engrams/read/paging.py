"""Walks through everything that a query finds, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from engrams.core import Record
from engrams.ports import RecordQuery, RecordStore


def iter_pages(records: RecordStore, query: RecordQuery) -> Iterator[Sequence[Record]]:
    """Yield the pages of a query one after the other, each of ``query.limit`` records at most."""
    while True:
        page = records.find(query)
        yield page.records
        if not page.next:
            return
        query = replace(query, after=page.next)


def iter_records(records: RecordStore, query: RecordQuery) -> Iterator[Record]:
    """Yield everything that a query finds, in its order."""
    for page in iter_pages(records, query):
        yield from page
