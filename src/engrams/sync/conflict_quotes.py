"""Quotes of texts that lost a conflict: they go to the memory that keeps the text.

``move_quotes`` is the entry. A fact that was learned from one of two edited texts names the edited
message as its source. If the other text stays in that message, the fact would be shown with it, and
would not go with its own text when that is forgotten or purged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from engrams.core import CONFLICT_OF, Edge, EdgeType, Evidence, Record, Scope, Status
from engrams.ports import Clock, RecordChange, RecordQuery, ScopeReach, Store, WriteBatch

_REASON = "the text that says it is in another memory"
_LIMIT = 1000
"""Memories that quote the texts of one segment's conflicts, at most."""


def move_quotes(
    store: Store, owner: Scope, clock: Clock, actor: str, told_ids: Collection[str]
) -> None:
    """Let memories quote the text that says their words, where two texts of a message are kept.

    ``told_ids``: memories that another device told, and those that they quote. Every device does the
    same, so it does not matter which of them is first.
    """
    edges = store.edges(owner, sorted(told_ids), (EdgeType.CONTRADICTS,))
    copies = _load_copies(store, owner, {edge.source for edge in edges})
    if not copies:
        return
    messages = [
        message
        for message in store.get(owner, sorted(copies))
        if message.status is not Status.PURGED
    ]
    query = RecordQuery(
        ScopeReach.of_owner(owner),
        statuses=tuple(Status),
        sources=tuple(message.id for message in messages),
        limit=_LIMIT,
    )
    quoting = store.find(query).records if messages else ()
    texts = {message.id: message.text for message in messages}
    for record in quoting:
        evidence = _requote(record, texts, copies)
        if evidence != record.evidence:
            store.commit(_build_batch(record, evidence, actor, clock()))


def _load_copies(store: Store, owner: Scope, ids: Collection[str]) -> dict[str, list[Record]]:
    """Load the memories that keep texts which lost, by the message that they are of."""
    copies: dict[str, list[Record]] = {}
    for record in store.get(owner, sorted(ids)) if ids else ():
        message_id = record.meta.get(CONFLICT_OF)
        if isinstance(message_id, str) and record.status is not Status.PURGED:
            copies.setdefault(message_id, []).append(record)
    return copies


def _requote(
    record: Record, texts: Mapping[str, str], copies: Mapping[str, Sequence[Record]]
) -> tuple[Evidence, ...]:
    """Return the quotes of a memory, with the copy as source of those that stand in a copy alone."""
    return tuple(
        item
        if item.quote in texts.get(item.source, item.quote)
        else replace(item, source=_find_saying(copies[item.source], item.quote) or item.source)
        for item in record.evidence
    )


def _find_saying(copies: Sequence[Record], quote: str) -> str:
    """Return the id of the first memory whose text holds a quote; empty: there is none."""
    return next((copy.id for copy in copies if quote in copy.text), "")


def _build_batch(
    record: Record, evidence: tuple[Evidence, ...], actor: str, now: datetime
) -> WriteBatch:
    """Build the write that gives a memory its quotes, with the links to their sources."""
    owner = record.scope.owner
    old_sources = {item.source for item in record.evidence}
    new_sources = {item.source for item in evidence}

    def link(source_ids: set[str]) -> tuple[Edge, ...]:
        return tuple(
            Edge(owner, record.id, source_id, EdgeType.DERIVED_FROM)
            for source_id in sorted(source_ids)
        )

    change = RecordChange(owner, record.id, {"evidence": evidence}, actor, expect=record.version)
    return WriteBatch(
        actor,
        _REASON,
        now,
        changes=(change,),
        edges=link(new_sources - old_sources),
        unlink=link(old_sources - new_sources),
    )
