"""Records that share the fate of another one: those derived from it alone, or holding its words.

``find_dependents`` finds what goes with a record, ``find_returning`` what comes back with it,
``find_learned`` the statements that end with it, and ``build_release`` frees the records that it had
replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from engrams.core import (
    ABSORBED,
    ENDS,
    GONE_STATUSES,
    MERGED,
    RUNNING,
    STATEMENT_KINDS,
    Kind,
    Record,
    Status,
)
from engrams.core.records import repeats_turns
from engrams.ports import RecordChange, RecordQuery, RecordStore, ScopeReach, WriteBatch

GOING_ON = {"valid_to": None, "ended_at": None, "superseded_by": ""}
"""Fields of a statement that does not end after all."""
WENT_WITH = "went_with"
"""Metadata key of a message forgotten with a statement; its value is the statement's id."""
RELEASED = "what replaced it is gone"
"""Reason in the history of a record that is current again."""
_LIMIT = 1000
"""Records derived from one record that go with it, at most."""


def find_dependents(
    record: Record, store: RecordStore, *, with_halves: bool = True
) -> tuple[Record, ...]:
    """Find the records that quote only this one, or repeat its words.

    ``with_halves``: if the record is an exchange, also its two messages, and the records derived
    from each of them alone.
    """
    owner = record.scope.owner
    quoting = _find_quoting(record, store)
    dependents = [
        *_select_quoting_only(record, quoting),
        *(quoter for quoter in quoting if repeats_turns(quoter)),
    ]
    if with_halves and repeats_turns(record):
        for half in store.get(owner, [item.source for item in record.evidence]):
            dependents += [half, *_select_quoting_only(half, _find_quoting(half, store))]
    dependents += _find_candidates(record, store)
    absorbed_ids = [
        absorbed_id
        for dependent in (record, *dependents)
        for absorbed_id in dependent.meta.get(ABSORBED, ())
    ]
    dependents += store.get(owner, absorbed_ids)
    dependents += _find_accounts([record, *dependents], store)
    return tuple(
        {dependent.id: dependent for dependent in dependents if dependent.id != record.id}.values()
    )


def find_learned(record: Record, store: RecordStore) -> tuple[Record, ...]:
    """Find the statements that were learned from a record alone, of every status."""
    learned = _select_quoting_only(record, _find_quoting(record, store))
    return tuple(statement for statement in learned if statement.kind in STATEMENT_KINDS)


def find_returning(record: Record, store: RecordStore) -> tuple[Record, ...]:
    """Find the records that return with a restored one.

    A record that also repeats a memory which stays forgotten stays forgotten with that one, such as
    the episode of a session. So does a running summary that another one has replaced.
    """
    dependents = find_dependents(record, store)
    returning_ids = {record.id, *(dependent.id for dependent in dependents)}
    quoted_ids = {item.source for dependent in dependents for item in dependent.evidence}
    gone_ids = {
        quoted.id
        for quoted in store.get(record.scope.owner, sorted(quoted_ids - returning_ids))
        if quoted.status in GONE_STATUSES and quoted.meta.get(WENT_WITH) != record.id
    }
    return tuple(
        dependent
        for dependent in dependents
        if gone_ids.isdisjoint(item.source for item in dependent.evidence)
        and not has_later_summary(dependent, store)
    )


def has_later_summary(record: Record, store: RecordStore) -> bool:
    """Return True for a running summary whose conversation has another one now."""
    kind = record.meta.get(RUNNING)
    if kind is None:
        return False
    query = RecordQuery(
        ScopeReach(record.scope.owner, (record.scope,)), (Kind.SUMMARY,), session=record.session
    )
    return any(
        summary.id != record.id and summary.meta.get(RUNNING) == kind
        for summary in store.find(query).records
    )


def is_account(record: Record) -> bool:
    """Return True for an episode, a running summary or a merged fact.

    Their text mixes several sources, and nobody can take it apart again.
    """
    return record.kind is Kind.EPISODE or bool({RUNNING, MERGED} & record.meta.keys())


def build_release(removed: Sequence[Record], store: RecordStore, now: datetime) -> WriteBatch:
    """Build the batch that undoes what records that go did to others.

    A fact that was merged into one of them is current again, and a fact that one of them planned to
    end goes on.
    """
    removed_ids = {record.id for record in removed}
    replacements = {
        replaced_id: (record.id, key)
        for record in removed
        for key in (MERGED, ENDS)
        for replaced_id in record.meta.get(key, ())
        if replaced_id not in removed_ids
    }
    changes = list[RecordChange]()
    for owner in {record.scope.owner for record in removed} if replacements else ():
        for replaced in store.get(owner, list(replacements)):
            replacement_id, key = replacements[replaced.id]
            if replaced.superseded_by != replacement_id:
                continue
            fields = _release_fields(replaced, key)
            if fields:
                changes.append(RecordChange(owner, replaced.id, fields, "release", reason=RELEASED))
    return WriteBatch("user", RELEASED, now, changes=tuple(changes))


def _release_fields(record: Record, key: str) -> dict[str, Any]:
    """Build the fields that undo a fact's merge or planned end."""
    if key == ENDS:
        return dict(GOING_ON) if record.status is Status.ACTIVE else {}
    if record.status is Status.SUPERSEDED:
        return {"status": Status.ACTIVE, "superseded_by": ""}
    return {}


def _find_accounts(quoted: Sequence[Record], store: RecordStore) -> tuple[Record, ...]:
    """Find the summaries, episodes and merged facts made from these records."""
    query = RecordQuery(
        ScopeReach.of_owner(quoted[0].scope.owner),
        statuses=tuple(Status),
        sources=tuple(record.id for record in quoted),
        limit=_LIMIT,
    )
    return tuple(filter(is_account, store.find(query).records))


def _find_candidates(record: Record, store: RecordStore) -> tuple[Record, ...]:
    """Find the held candidates that say the same: promoted later, they would bring it back."""
    if record.kind not in STATEMENT_KINDS:
        return ()
    from engrams.write.held_promotion_rules import find_matching

    candidates = store.find(
        RecordQuery(
            ScopeReach.of_owner(record.scope.owner),
            STATEMENT_KINDS,
            (Status.CANDIDATE,),
            limit=_LIMIT,
        )
    ).records
    return find_matching(record, candidates)


def _find_quoting(record: Record, store: RecordStore) -> tuple[Record, ...]:
    return store.find(
        RecordQuery(
            ScopeReach.of_owner(record.scope.owner),
            statuses=tuple(Status),
            sources=(record.id,),
            limit=_LIMIT,
        )
    ).records


def _select_quoting_only(record: Record, quoting: Sequence[Record]) -> list[Record]:
    """Select those that quote this record and no other."""
    return [
        quoter for quoter in quoting if {item.source for item in quoter.evidence} == {record.id}
    ]
