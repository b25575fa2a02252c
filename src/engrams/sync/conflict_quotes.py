"""Quotes of texts that lost a conflict: they go to the memory that keeps the text.

``move_quotes`` is the entry. A fact that was learned from one of two edited texts names the edited
message as its source. If the other text stays in that message, the fact would be shown with it, and
would not go with its own text when that is forgotten or purged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from engrams.core import CONFLICT_OF, EdgeType, Record, Scope, Status
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
    changes = tuple(
        change for record in quoting if (change := _move(record, texts, copies, actor)) is not None
    )
    if changes:
        store.commit(WriteBatch(actor, _REASON, clock(), changes=changes))


def _load_copies(store: Store, owner: Scope, ids: Collection[str]) -> dict[str, list[Record]]:
    """Load the memories that keep texts which lost, by the message that they are of."""
    copies: dict[str, list[Record]] = {}
    for record in store.get(owner, sorted(ids)) if ids else ():
        message_id = record.meta.get(CONFLICT_OF)
        if isinstance(message_id, str) and record.status is not Status.PURGED:
            copies.setdefault(message_id, []).append(record)
    return copies


def _move(
    record: Record,
    texts: Mapping[str, str],
    copies: Mapping[str, Sequence[Record]],
    actor: str,
) -> RecordChange | None:
    """Build the change of a memory whose quotes stand in copies alone; None: there is none."""
    evidence = tuple(
        item
        if item.quote in texts.get(item.source, item.quote)
        else replace(item, source=_find_saying(copies[item.source], item.quote) or item.source)
        for item in record.evidence
    )
    if evidence == record.evidence:
        return None
    return RecordChange(
        record.scope.owner, record.id, {"evidence": evidence}, actor, expect=record.version
    )


def _find_saying(copies: Sequence[Record], quote: str) -> str:
    """Return the id of the first memory whose text holds a quote; empty: there is none."""
    return next((copy.id for copy in copies if quote in copy.text), "")
