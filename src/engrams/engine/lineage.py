"""Proofs: what a memory is made of, and what memory believed at a time, in certificates.

They hold ids, hashes, numbers and names of doors, and no text. Whoever has the texts can compare
their hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engrams.core import Meta, Record, Scope
from engrams.core.meta_keys import ABSORBED
from engrams.frozen_data import replace
from engrams.ports import AsOf, Clock, RecordQuery, ScopeReach, Store

_MAX_RECORDS = 1_000
"""Memories of a lineage."""
_PAGE = 500


def prove_lineage(store: Store, record: Record, clock: Clock) -> Meta:
    """Issue a certificate of what a memory is made of, through all that this was made of."""
    owner = record.scope.owner
    lineage = {record.id: record}
    waiting = _list_sources(record)
    while waiting and len(lineage) < _MAX_RECORDS:
        fresh = store.get(owner, [each for each in dict.fromkeys(waiting) if each not in lineage])
        lineage.update((source.id, source) for source in fresh)
        waiting = [
            record_id
            for source in fresh
            for record_id in _list_sources(source)
            if record_id not in lineage
        ]
    statement = _begin("lineage", store, owner, clock)
    statement["memories"] = [record.id]
    statement["lineage"] = [_describe(source) for source in lineage.values()]
    statement["trust"] = min(source.trust for source in lineage.values())
    return store.certify(statement)


def prove_moment(store: Store, owner: Scope, moment: datetime, clock: Clock) -> Meta:
    """Issue a certificate of which memories were active at a time, each with its hash."""
    statement = _begin("moment", store, owner, clock)
    statement["as_of"] = moment.isoformat()
    query = RecordQuery(ScopeReach.of_owner(owner), as_of=AsOf(moment, moment), limit=_PAGE)
    hashes: dict[str, str] = {}
    while True:
        page = store.find(query)
        hashes.update((record.id, record.hash) for record in page.records)
        if not page.next:
            break
        query = replace(query, after=page.next)
    statement["memories"] = sorted(hashes)
    statement["hashes"] = hashes
    return store.certify(statement)


def _begin(certificate: str, store: Store, owner: Scope, clock: Clock) -> dict[str, object]:
    return {
        "certificate": certificate,
        "format": 1,
        "at": clock().isoformat(),
        "owner": owner.key,
        "head": store.read_head(owner),
    }


def _list_sources(record: Record) -> Sequence[str]:
    """List the ids of the memories that a memory quotes, and of those that a merge put into it."""
    quoted_ids = [quote.source for quote in record.evidence if quote.source]
    return [*quoted_ids, *record.meta.get(ABSORBED, ())]


def _describe(record: Record) -> Meta:
    return {
        "id": record.id,
        "version": record.version,
        "kind": str(record.kind),
        "status": str(record.status),
        "role": record.role,
        "channel": record.provenance.channel,
        "extractor": record.provenance.extractor,
        "trust": record.trust,
        "recorded_at": record.recorded_at.isoformat(),
        "hash": record.hash,
        "sources": list(dict.fromkeys(_list_sources(record))),
    }
