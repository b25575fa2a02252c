"""Batches for manual changes: edit, forget, restore.

Records derived from one record alone share its fate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import replace
from datetime import datetime
from typing import Any

from engrams.core import (
    ABSORBED,
    BESIDE,
    CORRECTED,
    MERGED,
    RUNNING,
    TAG_CHARS,
    Edge,
    EdgeType,
    Kind,
    Record,
    Scope,
    Status,
    Tier,
    Vector,
    bury,
    drop_faults,
    require_visible,
    revive,
)
from engrams.core.clock import utc
from engrams.errors import InputError, RefusedError
from engrams.ports import (
    ENDS,
    LinkStore,
    RecordChange,
    RecordQuery,
    RecordStore,
    ScopeReach,
    WriteBatch,
)
from engrams.text.word_list import word_set

EDITABLE = word_set("""
    text caption tags category importance confidence valid_from valid_to meta kind summary triggers steps subject predicate
    object speaker
    """)
_BY_HAND = "user"
_STATEMENTS = (
    Kind.FACT,
    Kind.PREFERENCE,
    Kind.PROCEDURE,
    Kind.CORRECTION,
    Kind.NEGATIVE,
    Kind.RULE,
)
EVICTED = "evicted"
"""Metadata key of what a conversation's cap put away: nobody asked to forget it."""
WENT_WITH = "went_with"
"""Metadata key of a source forgotten with a statement; its value is the statement's id."""
_RELEASED = "what replaced it is gone"
ENDING = ("status", "valid_to", "ended_at", "retired_at", "superseded_by")
"""Fields of a record that tell of its end."""
_MARKS = (EdgeType.SUPERSEDES, EdgeType.MAY_OUTDATE)
_TUPLES = frozenset(("tags", "triggers", "steps"))


GOING_ON = {"valid_to": None, "ended_at": None, "superseded_by": ""}
"""Fields of a statement that does not end after all."""


def validate_fields(record: Record, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as record fields.

    InputError: a field is not editable, the value does not fit, or no text is left. RefusedError:
    the record is purged.
    """
    if record.status is Status.PURGED:
        raise RefusedError("A purged memory cannot be edited.", hint="Add it anew.")
    unknown = sorted(set(values) - EDITABLE)
    if unknown or not values:
        raise InputError(
            f"Cannot edit {', '.join(unknown) or 'nothing'}.",
            hint=f"Editable: {', '.join(sorted(EDITABLE))}.",
        )
    known = {field.name for field in fields_of(Record)}
    fields = {name: _validate_value(name, value) for name, value in values.items() if name in known}
    if {"text", "caption"} & fields.keys():
        require_visible(fields.get("text", record.text) + fields.get("caption", record.caption))
    if "meta" in fields and CORRECTED in record.meta:
        fields["meta"][CORRECTED] = record.meta[
            CORRECTED
        ]  # reads leave its quotes out: new metadata must not bring them back
    return fields


def _validate_value(name: str, value: Any) -> Any:
    match name:
        case "importance" | "confidence":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{name} is a number from 0 to 1, not {value!r}.")
            return float(value)
        case "valid_from" | "valid_to":
            if value is not None and not isinstance(value, datetime):
                raise InputError(f"{name} is a time, not {value!r}.")
            return value if value is None else utc(value)
        case "kind":
            if value not in tuple(Kind):
                raise InputError(
                    f"There is no kind {value!r}.", hint=f"The kinds are: {', '.join(Kind)}."
                )
            return Kind(value)
        case "meta":
            if not isinstance(value, Mapping):
                raise InputError("meta is an object.")
            return _clean_json(value)
        case _ if name in _TUPLES:
            if isinstance(value, str) or not all(isinstance(part, str) for part in value):
                raise InputError(f"{name} is a list of texts.")
            texts = tuple(map(drop_faults, value))
            return require_short_tags(texts) if name == "tags" else texts
        case _:
            if not isinstance(value, str):
                raise InputError(f"{name} is a text, not {value!r}.")
            return drop_faults(value)


def _clean_json(value: Any) -> Any:
    """Drop from metadata what no store can hold."""
    match value:
        case str():
            return drop_faults(value)
        case Mapping():
            return {
                drop_faults(key) if isinstance(key, str) else key: _clean_json(held)
                for key, held in value.items()
            }
        case list() | tuple():
            return [_clean_json(held) for held in value]
        case _:
            return value


def require_short_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return tags that every store can hold. InputError: one is too long."""
    if any(len(tag) > TAG_CHARS for tag in tags):
        raise InputError(
            f"A tag has at most {TAG_CHARS} characters.",
            hint="Put what is longer into the text or into `meta`.",
        )
    return tags


def build_edit(
    record: Record,
    fields: Mapping[str, Any],
    vectors: Sequence[Vector],
    at: datetime,
    reason: str,
    expect: int | None,
) -> WriteBatch:
    """Build the batch that sets new values of one record."""
    change = RecordChange(
        owner=record.scope.owner, id=record.id, fields=dict(fields), action="edit", expect=expect
    )
    new, gone = diff_tag_edges(record, fields.get("tags", record.tags))
    known = tuple((record.scope.owner, v) for v in vectors)
    return WriteBatch(
        _BY_HAND, reason or "edited", at, changes=(change,), vectors=known, edges=new, unlink=gone
    )


def diff_tag_edges(
    record: Record, tags: Sequence[str]
) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Return the tag edges to add and to remove."""

    def edges(names: Sequence[str]) -> tuple[Edge, ...]:
        return tuple(
            Edge(record.scope.owner, record.id, f"tag:{name}", EdgeType.HAS_TAG) for name in names
        )

    return edges([tag for tag in tags if tag not in record.tags]), edges(
        [tag for tag in record.tags if tag not in tags]
    )


def build_forget(records: Sequence[Record], at: datetime, reason: str) -> WriteBatch:
    """Build tombstones that keep the former status."""
    changes = tuple(
        RecordChange(r.scope.owner, r.id, bury(r, at), "forget")
        for r in records
        if r.status not in (Status.FORGOTTEN, Status.PURGED)
    )
    return WriteBatch(_BY_HAND, reason or "asked to forget", at, changes=changes)


def build_restore(records: Sequence[Record], at: datetime) -> WriteBatch:
    """Build the batch that restores tombstones to their former status."""
    changes = []
    for record in records:
        if record.status is Status.FORGOTTEN:
            fields = revive(record)
            fields["meta"].pop(EVICTED, None)
            changes.append(RecordChange(record.scope.owner, record.id, fields, "restore"))
    return WriteBatch(_BY_HAND, "restored", at, changes=tuple(changes))


def build_unmark(
    record: Record, records: RecordStore, graph: LinkStore, at: datetime
) -> WriteBatch | None:
    """Build the batch that removes the mark of being outdated.

    None if nothing marks it. A fact that a later statement ended is current again, and what it was
    said in.
    """
    owner = record.scope.owner
    if record.kind in _STATEMENTS and record.status is Status.SUPERSEDED and record.superseded_by:
        said = records.get(owner, [quote.source for quote in record.evidence])
    else:
        said = (record,) if record.status is Status.ACTIVE else ()
    names = {one.id for one in said}
    marks = (
        [edge for edge in graph.edges(owner, sorted(names), _MARKS) if edge.target in names]
        if said
        else []
    )
    later = {edge.source for edge in marks}
    if not later or (record.kind in _STATEMENTS and record.superseded_by not in later):
        return None
    quoting = RecordQuery(
        ScopeReach(owner, (owner,), tree=True),
        statuses=(Status.SUPERSEDED,),
        sources=tuple(sorted(names)),
        limit=1000,
    )
    doubted = {
        fact.id for fact in records.find(replace(quoting, statuses=(Status.ACTIVE,))).records
    }
    marks += [
        edge
        for edge in graph.edges(owner, sorted(later), (EdgeType.MAY_OUTDATE,))
        if edge.target in doubted
    ]
    newer = replace(quoting, statuses=tuple(Status), sources=tuple(later))
    by = later | {fact.id for fact in records.find(newer).records}
    facts = [fact for fact in records.find(quoting).records if fact.superseded_by in by]
    fields: dict[str, Any] = {
        "status": Status.ACTIVE,
        "valid_to": None,
        "ended_at": None,
        "superseded_by": "",
    }
    changes = [
        RecordChange(
            owner=owner, id=fact.id, fields=dict(fields), action="restore", expect=fact.version
        )
        for fact in facts
    ]
    changes += [
        RecordChange(
            owner=owner,
            id=one.id,
            fields={"meta": {**one.meta, BESIDE: sorted({*one.meta.get(BESIDE, ()), *later})}},
            action="restore",
            expect=one.version,
        )
        for one in said
    ]
    return WriteBatch(_BY_HAND, "it still holds", at, changes=tuple(changes), unlink=tuple(marks))


def build_return(record: Record, records: RecordStore, at: datetime) -> WriteBatch | None:
    """Build the batch that makes a superseded record current again.

    None unless what took its place is forgotten or purged. A message returns with its statements,
    and a statement with its message.
    """
    owner = record.scope.owner
    by = record.superseded_by
    if record.status is not Status.SUPERSEDED or not by:
        return None
    if not any(one.status in (Status.FORGOTTEN, Status.PURGED) for one in records.get(owner, [by])):
        return None
    said = tuple({record.id, *(quote.source for quote in record.evidence)})
    quoting = RecordQuery(
        ScopeReach(owner, (owner,), tree=True),
        statuses=(Status.SUPERSEDED,),
        sources=said,
        limit=1000,
    )
    beside = {one.id: one for one in (*records.get(owner, said), *records.find(quoting).records)}
    back = [
        record,
        *(
            one
            for one in beside.values()
            if one.status is Status.SUPERSEDED and one.superseded_by == by and one.id != record.id
        ),
    ]
    return WriteBatch(
        _BY_HAND, _RELEASED, at, changes=tuple(build_former(one, records) for one in back)
    )


def build_former(record: Record, records: RecordStore) -> RecordChange:
    """Build the change that takes back how a record was superseded."""
    history = records.history(record.scope.owner, record.id)
    was = next(
        (
            entry.before
            for entry in reversed(history)
            if entry.after.get("superseded_by") == record.superseded_by
        ),
        {},
    )
    former = {name: was[name] for name in ENDING if name in was}
    return RecordChange(
        record.scope.owner,
        record.id,
        {"status": Status.ACTIVE, "superseded_by": "", **former},
        "restore",
    )


def find_dependents(
    record: Record, records: RecordStore, halves: bool = True
) -> tuple[Record, ...]:
    """Find records that quote only this one, or hold its words.

    ``halves``: of an exchange also its two messages, with what was made of them.
    """
    quoting = _find_quoting(record, records)
    found = [
        *_select_quoting_only(record, quoting),
        *(one for one in quoting if _repeats_quotes(one)),
    ]
    if halves and _repeats_quotes(record):
        said = records.get(record.scope.owner, [quote.source for quote in record.evidence])
        found += [
            one
            for half in said
            for one in (half, *_select_quoting_only(half, _find_quoting(half, records)))
        ]
    found += _find_held(record, records)
    found += records.get(
        record.scope.owner, [id for one in (record, *found) for id in one.meta.get(ABSORBED, ())]
    )
    found += _find_summaries([record, *found], records)
    return tuple({one.id: one for one in found if one.id != record.id}.values())


def find_returning(record: Record, records: RecordStore) -> tuple[Record, ...]:
    """Find what returns with a restored record.

    What also holds words of a memory that stays forgotten, such as a session's episode, stays with
    that one.
    """
    found = find_dependents(record, records)
    back = {record.id, *(one.id for one in found)}
    quoted = sorted({quote.source for one in found for quote in one.evidence} - back)
    away = {
        one.id
        for one in records.get(record.scope.owner, quoted)
        if one.status in (Status.FORGOTTEN, Status.PURGED) and one.meta.get(WENT_WITH) != record.id
    }
    return tuple(one for one in found if away.isdisjoint(quote.source for quote in one.evidence))


def _find_summaries(quoted: Sequence[Record], records: RecordStore) -> tuple[Record, ...]:
    """Find summaries, episodes and merged facts made from these records."""
    owner = quoted[0].scope.owner
    ids = tuple(one.id for one in quoted)
    query = RecordQuery(
        ScopeReach(owner, (owner,), tree=True), statuses=tuple(Status), sources=ids, limit=1000
    )
    return tuple(one for one in records.find(query).records if is_account(one))


def is_account(record: Record) -> bool:
    """Return whether it is an episode, running summary or merged fact.

    Nobody can take such a text apart again.
    """
    return record.kind is Kind.EPISODE or bool({RUNNING, MERGED} & record.meta.keys())


def build_release(gone: Sequence[Record], records: RecordStore, at: datetime) -> WriteBatch:
    """Build the undo of merges into records that go, and planned ends."""
    names = {one.id for one in gone}
    changes = list[RecordChange]()
    held = {
        name: (one.id, key)
        for one in gone
        for key in (MERGED, ENDS)
        for name in one.meta.get(key, ())
        if name not in names
    }
    for owner in {one.scope.owner for one in gone} if held else ():
        freed = [
            one for one in records.get(owner, list(held)) if one.superseded_by == held[one.id][0]
        ]
        fields = [(one, _release_fields(one, held[one.id][1])) for one in freed]
        changes += [
            RecordChange(owner, one.id, given, "release", reason=_RELEASED)
            for one, given in fields
            if given
        ]
    return WriteBatch(_BY_HAND, _RELEASED, at, changes=tuple(changes))


def _release_fields(record: Record, key: str) -> dict[str, Any]:
    """Build the fields that undo a fact's merge or planned end."""
    if key == ENDS:
        return dict(GOING_ON) if record.status is Status.ACTIVE else {}
    return (
        {"status": Status.ACTIVE, "superseded_by": ""} if record.status is Status.SUPERSEDED else {}
    )


def _find_held(record: Record, records: RecordStore) -> tuple[Record, ...]:
    """Find held candidates that say the same, lest they return."""
    if record.kind not in _STATEMENTS:
        return ()
    from engrams.write.candidate_promotion import find_matching

    owner = record.scope.owner
    waiting = records.find(
        RecordQuery(
            ScopeReach(owner, (owner,), tree=True), _STATEMENTS, (Status.CANDIDATE,), limit=1000
        )
    ).records
    return find_matching(record, waiting)


def _find_quoting(record: Record, records: RecordStore) -> tuple[Record, ...]:
    owner: Scope = record.scope.owner
    return records.find(
        RecordQuery(
            ScopeReach(owner, (owner,), tree=True),
            statuses=tuple(Status),
            sources=(record.id,),
            limit=1000,
        )
    ).records


def _select_quoting_only(record: Record, quoting: Sequence[Record]) -> list[Record]:
    return [one for one in quoting if {quote.source for quote in one.evidence} == {record.id}]


def _repeats_quotes(record: Record) -> bool:
    return record.kind is Kind.EXCHANGE and bool(record.evidence)


def evict_turn(record: Record, promote: float, at: datetime) -> RecordChange:
    """Move an evicted turn to the recent tier or archive, by importance.

    An archived turn stays in the journal, and no read finds it.
    """
    if record.importance >= promote:
        return RecordChange(record.scope.owner, record.id, {"tier": Tier.RECENT}, "promote")
    fields = {"tier": Tier.RECENT, "status": Status.ARCHIVED, "retired_at": at}
    return RecordChange(record.scope.owner, record.id, fields, "discard")
