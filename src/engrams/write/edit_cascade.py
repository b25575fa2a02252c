"""Consequences of a manual edit for related records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from engrams.core import CORRECTED, UNSAID, Kind, Record, Status
from engrams.ports import RecordChange, RecordQuery, RecordStore, ScopeReach, WriteBatch
from engrams.text.redact import find_sentence
from engrams.text.terms import tokens
from engrams.write import manual_edits, source_changes
from engrams.write.stated_facts import keeps_slot, read_edited

_SAID = (Kind.NOTE, Kind.TURN, Kind.EXCHANGE)
_ACCOUNTS = (Kind.EPISODE, Kind.EXCHANGE)
"""Kinds that repeat words of several messages."""


def restate_slot(record: Record, text: str) -> dict[str, Any]:
    """Find the slot of a statement whose text is edited.

    Returns fields. Where rules read the new text as one statement with the same subject and
    predicate: those of that. Else the new ``object`` where only that one's words changed, emptied
    ``predicate`` and ``object`` where the text differs elsewhere, says several things, or never
    held the object's words, and none where no word changes, or where it still holds the object.
    Pure.
    """
    if not record.object or tokens(record.text) == tokens(text):
        return {}
    read = read_edited(record, text)
    if len(read) == 1 and keeps_slot(read[0], record):
        return {name: getattr(read[0], name) for name in ("subject", "predicate", "object")}
    if record.object in text:
        return {}
    if len(read) > 1 or record.object not in record.text:
        return {"predicate": "", "object": ""}
    before, _, after = record.text.partition(record.object)
    inner = text[len(before) : len(text) - len(after)]
    held = (
        text.startswith(before) and text.endswith(after) and len(text) >= len(before) + len(after)
    )
    thing = inner.strip().rstrip(".!")
    return {"object": thing} if held and thing else {"predicate": "", "object": ""}


def cascade_changes(
    record: Record, values: Mapping[str, Any], records: RecordStore, at: datetime, min_words: int
) -> tuple[RecordChange, ...]:
    """Return changes of other records for one record's new values.

    The same as of an edit, a forget and a restore through the engine.
    """
    if values.get("status") is Status.FORGOTTEN:
        changes = source_changes.build_forgetting([record], records, at, "", min_words).changes
        return tuple(change for change in changes if change.id != record.id)
    if record.status is Status.FORGOTTEN and "status" in values:
        batch = manual_edits.build_restore(manual_edits.find_returning(record, records), at)
        return source_changes.with_restored_sources(batch, record, records).changes
    if "text" not in values:
        return ()
    if record.kind in _SAID:
        ended, returned = _sort_facts(record, values["text"], records)
        retract = {"status": Status.SUPERSEDED, "retired_at": at}
        facts = [
            _change(fact, {**retract, "meta": {**fact.meta, UNSAID: True}}, "retract")
            for fact in ended
        ]
        facts += [
            _change(
                fact,
                {"status": Status.ACTIVE, "retired_at": None, "meta": _without(fact.meta, UNSAID)},
                "restore",
            )
            for fact in returned
        ]
        return (*facts, *_correct_accounts(record, values["text"], ended, records, at))
    return source_changes.with_sources(
        WriteBatch("", "", at), record, "edit", records, min_words
    ).changes


def _sort_facts(
    source: Record, text: str, records: RecordStore
) -> tuple[list[Record], list[Record]]:
    """Facts that end with an edit, and those that return.

    Of those that only this source said.
    """
    ended = list[Record]()
    returned = list[Record]()
    for fact in _find_derived(source, (Status.ACTIVE, Status.SUPERSEDED), records):
        if {quote.source for quote in fact.evidence} != {source.id}:
            continue
        said = _supports_fact(text, fact)
        if fact.status is Status.ACTIVE and not said:
            ended.append(fact)
        elif fact.status is Status.SUPERSEDED and said and fact.meta.get(UNSAID):
            returned.append(fact)
    return ended, returned


def _find_derived(
    source: Record, statuses: tuple[Status, ...], records: RecordStore, kinds: tuple[Kind, ...] = ()
) -> Sequence[Record]:
    owner = source.scope.owner
    return records.find(
        RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            kinds,
            statuses=statuses,
            sources=(source.id,),
            limit=1000,
        )
    ).records


def _change(record: Record, fields: dict[str, Any], verb: str) -> RecordChange:
    return RecordChange(
        owner=record.scope.owner, id=record.id, fields=fields, action=verb, expect=record.version
    )


def _without(meta: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in meta.items() if name != key}


def _correct_accounts(
    source: Record, text: str, ended: Sequence[Record], records: RecordStore, at: datetime
) -> list[RecordChange]:
    """Mark the words of an edited message in what repeats them.

    A model tells in its own words: there, sentences with the object of a fact that ended. Marks of
    what is said again go.
    """
    changes = []
    for account in _find_derived(source, (Status.ACTIVE, Status.ARCHIVED), records, _ACCOUNTS):
        told = [item.quote for item in account.evidence if item.source == source.id]
        told += [
            find_sentence(account.text, fact.object) for fact in ended if fact.object not in text
        ]
        known = account.meta.get(CORRECTED, ())
        kept = [
            item
            for item in known
            if (item["by"], item["action"]) != (source.id, "edit") or item["quote"] not in text
        ]
        said = {"", *(item["quote"] for item in kept)}
        gone = [quote for quote in dict.fromkeys(told) if quote not in said and quote not in text]
        kept += [
            {"quote": quote, "at": at.isoformat(), "action": "edit", "by": source.id}
            for quote in gone
        ]
        if kept != list(known):
            meta = _without(account.meta, CORRECTED)
            changes.append(
                _change(account, {"meta": {**meta, CORRECTED: kept} if kept else meta}, "edit")
            )
    return changes


def _supports_fact(text: str, fact: Record) -> bool:
    """True if a text holds the fact's quote, or its restated object."""
    if any(quote.quote and quote.quote in text for quote in fact.evidence):
        return True
    restated = bool(fact.object) and not any(fact.object in quote.quote for quote in fact.evidence)
    return restated and fact.object in text
