"""Commit what another device told: merged records, in one transaction with their stamps.

What was purged here stays purged. A memory that quotes something purged is not taken over: its device
takes the words out, and tells it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from engrams.core import (
    ABSORBED,
    CONFLICT_OF,
    STATEMENT_KINDS,
    Edge,
    Json,
    Kind,
    Record,
    Scope,
    Status,
    Vector,
    build_tag_edges,
)
from engrams.core.clock import micros
from engrams.errors import ConflictError
from engrams.forget.edits import diff_tag_edges
from engrams.ports import (
    Clock,
    NewRecord,
    OwnerStateRow,
    RecordChange,
    RecordQuery,
    ScopeReach,
    Store,
    WriteBatch,
)
from engrams.sync.conflict_quotes import move_quotes
from engrams.sync.local_records import LocalRecord, LocalRecords
from engrams.sync.record_state import (
    CONTENT_FIELDS,
    STATUS,
    STATUS_FIELDS,
    Link,
    MergedState,
    RecordState,
    join_record,
    merge,
    unpack_stamps,
)
from engrams.sync.replica_state import ReplicaState
from engrams.sync.segments import Segment

MakeVectors: TypeAlias = Callable[[Sequence[Record]], Mapping[str, Vector]]
"""Makes vectors of texts, by record id, where that is quick; none where a job does it."""

ACTOR = "sync"
_TWIN_REASON = "the same was stored on two devices"
_TRIES = 5
_TWIN_KINDS = (*STATEMENT_KINDS, Kind.NOTE)
"""Kinds of which a scope holds the same text once."""
_TWINS = 10
_COMPARED = 200
"""Memories of which one read looks for others that say the same."""
_MERGED_FIELDS = (
    CONTENT_FIELDS
    | STATUS_FIELDS
    | frozenset(
        """
        scope tier session external_id recorded_at tags evidence provenance importance confidence trust
        strength summary meta
        """.split()
    )
)


@dataclass(slots=True)
class TakenCounts:
    """Counts of what a device took over."""

    added: int = 0
    changed: int = 0
    conflicts: int = 0
    """Texts that two devices changed at once; both are kept."""
    numbered: int | None = None
    """Changes of the owner that the commit numbered; None: that is not known."""

    def add(self, counts: TakenCounts) -> None:
        self.added += counts.added
        self.changed += counts.changed
        self.conflicts += counts.conflicts


@dataclass(slots=True)
class _Draft:
    """Parts of a batch that grows."""

    puts: list[NewRecord] = field(default_factory=list)
    changes: list[RecordChange] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    unlink: list[Edge] = field(default_factory=list)
    rows: list[OwnerStateRow] = field(default_factory=list)
    retold: list[Record] = field(default_factory=list)
    """Stored records with new texts."""
    due_ids: set[str] = field(default_factory=set)
    """Memories of which this home has something to tell."""
    declined_ids: list[str] = field(default_factory=list)
    """Memories that are not taken over for their secrets."""
    loses_words: bool = False
    """True: another device took words from a text that this home has."""
    twins: set[tuple[str, str]] = field(default_factory=set)
    """Ids of memories that are the same, told on two devices: the one that stays, and the other."""
    external_ids: set[tuple[str, str]] = field(default_factory=set)
    """Scopes and external ids of the new records."""
    counts: TakenCounts = field(default_factory=TakenCounts)


@dataclass(frozen=True, slots=True)
class _MergedRecord:
    """A record as it is to be, beside what is here."""

    record: Record
    links: tuple[Link, ...]
    state: RecordState
    local_record: LocalRecord | None
    """The record of this home; None: it is new here."""
    row: OwnerStateRow
    """Its stamps as they are stored."""
    is_due: bool
    """True: this home has something to tell of it."""


class RecordImporter:
    """Applies segments of other devices to this home."""

    def __init__(
        self,
        store: Store,
        local: LocalRecords,
        clock: Clock,
        make_vectors: MakeVectors,
        holds_secret: Callable[[Record], bool],
    ) -> None:
        self._holds_secret = holds_secret
        self._store = store
        self._local = local
        self._owner = local.owner
        self._clock = clock
        self._make_vectors = make_vectors

    def _reach_of(self, record: Record) -> ScopeReach:
        """Reach the scope of a record alone."""
        return ScopeReach(self._owner, (record.scope,))

    def bury(self, ids: Iterable[str]) -> None:
        """Note purged memories: what is told of them later is not taken over."""
        stored_rows = self._local.load_rows(list(ids)).values()
        rows = tuple(self._local.make_gone_row(row) for row in stored_rows)
        self._store.commit(
            WriteBatch(ACTOR, "purged on another device", self._clock(), states=rows)
        )

    def apply(self, segment: Segment, replica: ReplicaState, device: str) -> TakenCounts:
        """Commit the memories of a segment, with a state that notes the segment.

        Applying it again changes nothing.
        """
        told_states = [_read_state(item) for item in segment.records]
        replica.note_segment(segment)
        for attempt in range(_TRIES):
            try:
                draft, new_records = self._draft(told_states)
                replica.again |= draft.due_ids
                replica.note_declined(segment, draft.declined_ids)
                replica.must_clean |= draft.loses_words
                self._commit(segment, draft, replica, device)
                break
            except ConflictError:
                # Somebody changed one of the records meanwhile.
                if attempt == _TRIES - 1:
                    raise
        self._check_versions(draft)
        quoted_ids = {quote.source for item in new_records for quote in item.record.evidence}
        told_ids = {state.id for state in told_states}
        move_quotes(self._store, self._owner, self._clock, ACTOR, told_ids | quoted_ids)
        self._join_twins(draft, new_records if replica.has_own else ())
        return draft.counts

    def _draft(self, told_states: Sequence[RecordState]) -> tuple[_Draft, list[_MergedRecord]]:
        """Merge states with what is here; return what to write, and the records that are new."""
        merged = self._merge(told_states, {})
        purged_ids = self._find_purged(merged.values())
        draft = _Draft()
        new_records = []
        for item in merged.values():
            record = item.record
            evidence = tuple(quote for quote in record.evidence if quote.source not in purged_ids)
            if item.local_record is None and len(evidence) < len(record.evidence):
                continue
            if self._brings_secret(item):
                draft.declined_ids.append(record.id)
                continue
            links = tuple(link for link in item.links if link[1] not in purged_ids)
            clean = replace(item, record=replace(record, evidence=evidence), links=links)
            settled = self._settle_external_id(clean, draft)
            if settled.is_due:
                draft.due_ids.add(record.id)
            if settled.local_record is None:
                self._draft_new(draft, settled)
                new_records.append(settled)
                draft.counts.conflicts += settled.is_due and CONFLICT_OF in record.meta
            else:
                self._draft_change(draft, settled, settled.local_record)
        return draft, new_records

    def _brings_secret(self, item: _MergedRecord) -> bool:
        """Return True for a memory with a secret that this home does not keep, and does not have."""
        is_here = item.local_record is not None and self._holds_secret(item.local_record.record)
        return not is_here and self._holds_secret(item.record)

    def _merge(
        self, told_states: Sequence[RecordState], earlier: Mapping[str, _MergedRecord]
    ) -> dict[str, _MergedRecord]:
        """Merge states with the records of this home, and with those that were merged before."""
        local = self._local.load([state.id for state in told_states])
        unknown_ids = [state.id for state in told_states if state.id not in local]
        unknown_rows = self._local.load_rows(unknown_ids)
        merged = dict(earlier)
        copies: list[RecordState] = []
        for state in told_states:
            local_record = local.get(state.id)
            is_copy = bool(earlier)
            row = unknown_rows[state.id] if local_record is None else local_record.row
            if self._local.is_gone(row) or (
                local_record is not None and local_record.state is None
            ):
                continue
            base = local_record.state if local_record is not None else None
            if state.id in merged:
                base = merged[state.id].state
            is_due = is_copy or (local_record is not None and local_record.is_due)
            result = MergedState(state) if base is None else merge(base, state)
            copies += result.copies
            record, links = join_record(result.state, self._owner)
            merged[state.id] = _MergedRecord(record, links, result.state, local_record, row, is_due)
        return self._merge(copies, merged) if copies else merged

    def _find_purged(self, merged: Iterable[_MergedRecord]) -> set[str]:
        """Find purged memories that merged ones quote or link to."""
        ids = {
            related_id
            for item in merged
            for related_id in (
                *(quote.source for quote in item.record.evidence),
                *(target for _, target, _ in item.links),
            )
        }
        related = self._store.get(self._owner, sorted(ids))
        purged_ids = {record.id for record in related if record.status is Status.PURGED}
        missing_ids = ids - {record.id for record in related}
        return purged_ids | self._local.list_buried(missing_ids)

    def _settle_external_id(self, item: _MergedRecord, draft: _Draft) -> _MergedRecord:
        """Let the lower of two records of one scope have the sender's id, the same on all devices."""
        record = item.record
        key = (record.scope.key, record.external_id)
        if not record.external_id or (
            item.local_record is not None
            and (item.local_record.record.scope.key, item.local_record.record.external_id) == key
        ):
            return item
        query = RecordQuery(
            self._reach_of(record),
            statuses=tuple(Status),
            external_id=record.external_id,
            limit=_TWINS,
        )
        twins = [twin for twin in self._store.find(query).records if twin.id != record.id]
        if not twins and key not in draft.external_ids:
            draft.external_ids.add(key)
            return item
        for twin in twins:
            draft.twins.add((min(twin.id, record.id), max(twin.id, record.id)))
        if twins and all(record.id < twin.id for twin in twins) and key not in draft.external_ids:
            draft.external_ids.add(key)
            fields = {"external_id": ""}
            changes = tuple(
                RecordChange(self._owner, twin.id, fields, ACTOR, expect=twin.version)
                for twin in twins
            )
            self._store.commit(WriteBatch(ACTOR, _TWIN_REASON, self._clock(), changes=changes))
            return item
        stamp = item.state.next_stamp(micros(self._clock()), self._local.actor)
        state = item.state.set_values({"external_id": None}, stamp)
        return replace(item, record=replace(record, external_id=""), state=state, is_due=True)

    def _draft_new(self, draft: _Draft, item: _MergedRecord) -> None:
        record = item.record
        draft.puts.append(NewRecord(record))
        draft.edges += build_tag_edges(record, record.tags)
        draft.edges += (self._make_edge(record.id, link) for link in item.links)
        draft.rows.append(self._local.make_row(item.row, item.state, 1, is_due=item.is_due))
        draft.counts.added += 1

    def _draft_change(self, draft: _Draft, item: _MergedRecord, local_record: LocalRecord) -> None:
        record, before = item.record, local_record.record
        known_redactions = local_record.state.redactions if local_record.state is not None else 0
        draft.loses_words |= item.state.redactions > known_redactions
        fields = {
            name: getattr(record, name)
            for name in _MERGED_FIELDS
            if getattr(record, name) != getattr(before, name)
        }
        if "status" in fields:
            # Or the store works it out from the status, for this moment.
            fields["retired_at"] = record.retired_at
        if fields:
            draft.changes.append(
                RecordChange(self._owner, record.id, fields, ACTOR, expect=before.version)
            )
            draft.counts.changed += 1
            if record.search_text != before.search_text:
                draft.retold.append(record)
        added_tags, removed_tags = diff_tag_edges(before, record.tags)
        draft.edges += added_tags
        draft.unlink += removed_tags
        draft.edges += (
            self._make_edge(record.id, link) for link in set(item.links) - set(local_record.links)
        )
        targets = {link[:2] for link in item.links}
        draft.unlink += (
            self._make_edge(record.id, link)
            for link in local_record.links
            if link[:2] not in targets
        )
        version = before.version + bool(fields)
        row = self._local.make_row(local_record.row, item.state, version, is_due=item.is_due)
        if row.data != local_record.row.data:
            draft.rows.append(row)

    def _make_edge(self, source: str, link: Link) -> Edge:
        kind, target, weight = link
        return Edge(self._owner, source, target, kind, weight)

    def _commit(self, segment: Segment, draft: _Draft, replica: ReplicaState, device: str) -> None:
        new_records = [put.record for put in draft.puts]
        vectors = self._make_vectors([*new_records, *draft.retold])
        row = replica.make_row(device)
        result = self._store.commit(
            WriteBatch(
                ACTOR,
                f"from {segment.label}",
                self._clock(),
                puts=tuple(replace(put, vector=vectors.get(put.record.id)) for put in draft.puts),
                changes=tuple(draft.changes),
                vectors=tuple(
                    (self._owner, vectors[record.id])
                    for record in draft.retold
                    if record.id in vectors
                ),
                edges=tuple(draft.edges),
                unlink=tuple(draft.unlink),
                states=(*draft.rows, row),
            )
        )
        replica.row = replace(row, token=row.token + 1)
        if not draft.changes and not result.existing:
            # Each new record has one number, and its links none.
            draft.counts.numbered = len(draft.puts)

    def _check_versions(self, draft: _Draft) -> None:
        """Correct the stored version of a record that the store found to be as it was already."""
        changed_ids = [change.id for change in draft.changes]
        for local_record in self._local.load(changed_ids).values():
            if (
                local_record.state is not None
                and local_record.record.version < local_record.row.data["version"]
            ):
                data = {**local_record.row.data, "version": local_record.record.version}
                self._store.save_state(replace(local_record.row, data=data), local_record.row.token)

    def _join_twins(self, draft: _Draft, new_records: Sequence[_MergedRecord]) -> None:
        """Let the lower of two memories that say the same stay, as a write on one device would."""
        listed = [
            item.record
            for item in new_records
            if item.record.kind in _TWIN_KINDS and item.record.status is Status.ACTIVE
        ]
        pairs = set(draft.twins)
        for first in range(0, len(listed), _COMPARED):
            pairs |= self._find_twins(listed[first : first + _COMPARED])
        for kept_id, other_id in sorted(pairs):
            records = {
                record.id: record for record in self._store.get(self._owner, (kept_id, other_id))
            }
            keeper, twin = records[kept_id], records[other_id]
            if keeper.status is not Status.ACTIVE or twin.status is not Status.ACTIVE:
                continue
            absorbed = [*keeper.meta.get(ABSORBED, ()), other_id]
            changes = (
                RecordChange(
                    self._owner,
                    other_id,
                    {"status": Status.SUPERSEDED, "superseded_by": kept_id},
                    "merge",
                ),
                RecordChange(
                    self._owner,
                    kept_id,
                    {"meta": {**keeper.meta, ABSORBED: sorted(set(absorbed))}},
                    "merge",
                ),
            )
            self._store.commit(WriteBatch(ACTOR, _TWIN_REASON, self._clock(), changes=changes))

    def _find_twins(self, records: Sequence[Record]) -> set[tuple[str, str]]:
        """Find pairs of memories of one scope and kind that say the same, the lower id first."""
        by_saying: dict[tuple[Scope, Kind, str], list[str]] = {}
        for record in records:
            by_saying.setdefault(_saying_of(record), []).append(record.id)
        query = RecordQuery(
            ScopeReach.of_owner(self._owner),
            _TWIN_KINDS,
            hashes=tuple({record.hash for record in records}),
            limit=_TWINS * len(records),
        )
        return {
            (min(twin.id, record_id), max(twin.id, record_id))
            for twin in self._store.find(query).records
            for record_id in by_saying.get(_saying_of(twin), ())
            if twin.id != record_id
        }

    def find_redacted(self, segment: Segment) -> list[Record]:
        """Find memories of a segment from which a device took words: their history here has them."""
        told_ids = [state.id for state in map(_read_state, segment.records) if state.redactions]
        return [
            item.record for item in self._local.load(told_ids).values() if item.state is not None
        ]

    def find_orphans(self, segment: Segment) -> list[Record]:
        """Find memories of a segment that rest on messages which were forgotten here later.

        Their device did not know of it, or it would have forgotten them, too.
        """
        told_ids = [
            str(item["id"])
            for item in segment.records
            if any(name.startswith("evidence/") for name in item["values"])
        ]
        active = [
            item
            for item in self._local.load(told_ids).values()
            if item.state is not None
            and item.record.status is Status.ACTIVE
            and item.record.evidence
        ]
        source_ids = {quote.source for item in active for quote in item.record.evidence}
        sources = self._local.load(sorted(source_ids))
        return [
            item.record
            for item in active
            if item.state is not None
            and all(
                source is not None
                and source.state is not None
                and source.record.status is Status.FORGOTTEN
                and source.state.stamps[STATUS] > item.state.stamps[STATUS]
                for source in (sources.get(quote.source) for quote in item.record.evidence)
            )
        ]


def _saying_of(record: Record) -> tuple[Scope, Kind, str]:
    """Return the key that memories share which say the same in one scope."""
    return record.scope, record.kind, record.hash


def _read_state(item: Mapping[str, Json]) -> RecordState:
    """Read a state as ``record_export`` wrote it."""
    return unpack_stamps(str(item["id"]), item["values"], item["stamps"])
