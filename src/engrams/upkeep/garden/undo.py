"""Undo of a cycle: the log that its steps leave, and the write that takes them back.

The log of a cycle is ``{"records": […], "links": […]}``. A record's entry is [id, version after the
step]: a record may have several, and one that something else changed since stays as it is. A link's entry is
[source, target, type, weight before (None: no link), count before].
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from engrams.core import Edge, EdgeType, Record, Scope, Status
from engrams.errors import NotFoundError
from engrams.ports import RecordChange, Store, WriteBatch
from engrams.upkeep.garden.state import GardenStateStore, decode_state, encode_state
from engrams.upkeep.garden.steps import ACTOR, PlannedGardenStep
from engrams.upkeep.topics import ACTOR as TOPICS_ACTOR

_NODES_PER_READ = 500


@dataclass(frozen=True, slots=True)
class GardenCycleUndoResult:
    """Result of undoing a cycle."""

    cycle: str
    restored: tuple[str, ...]
    """Ids of memories that are as before."""
    left: tuple[str, ...] = ()
    """Ids of those that changed since, and stay."""


def load_links(store: Store, owner: Scope, ids: Sequence[str]) -> dict[tuple[str, str, str], Edge]:
    """Load the links at any of these nodes, by source, target and type."""
    links: dict[tuple[str, str, str], Edge] = {}
    for start in range(0, len(ids), _NODES_PER_READ):
        for edge in store.edges(owner, ids[start : start + _NODES_PER_READ]):
            links[edge.source, edge.target, edge.type] = edge
    return links


def make_undo_log(
    store: Store, owner: Scope, steps: Sequence[PlannedGardenStep]
) -> tuple[list[Any], list[Any]]:
    """Build the undo log of steps that are about to be committed: records and links."""
    records = [[change.id, (change.expect or 0) + 1] for step in steps for change in step.changes]
    changed_links = dict.fromkeys(
        (edge.source, edge.target, edge.type)
        for step in steps
        for edge in (*step.edges, *step.unlink)
    )
    sources = list(dict.fromkeys(source for source, _, _ in changed_links))
    current_links = load_links(store, owner, sources)
    links = []
    for key in changed_links:
        before = current_links.get(key)
        links.append([*key, before.weight if before else None, before.count if before else 0])
    return records, links


def undo_cycle(
    store: Store, states: GardenStateStore, owner: Scope, cycle: str, now: datetime
) -> GardenCycleUndoResult:
    """Undo a cycle (empty: the last one that changed something).

    Memories that changed since stay as they are. NotFoundError: there is no such cycle, or it is
    too long ago.
    """
    logs = states.get(owner).undo
    cycle_id = cycle or max(logs, default="")  # ids sort by time
    if cycle_id not in logs:
        message = f"There is no cycle {cycle!r} to undo." if cycle else "There is nothing to undo."
        raise NotFoundError(message, hint="`engrams garden status` lists them.")
    entry = logs[cycle_id]
    changes, unrestorable = _restore_records(store, owner, entry["records"])
    restored_links, removed_links = _restore_links(owner, entry["links"])
    row = states.load_row(owner)
    state = decode_state(row.data)
    remaining = {key: value for key, value in state.undo.items() if key != cycle_id}
    store.commit(
        WriteBatch(
            ACTOR,
            "undone",
            now,
            changes=changes,
            edges=restored_links,
            unlink=removed_links,
            states=(replace(row, data=encode_state(replace(state, undo=remaining))),),
        )
    )
    return GardenCycleUndoResult(cycle_id, tuple(change.id for change in changes), unrestorable)


def _restore_records(
    store: Store, owner: Scope, log: Sequence[tuple[str, int]]
) -> tuple[tuple[RecordChange, ...], tuple[str, ...]]:
    """Build the changes that restore logged records; and the ids of those that changed since."""
    versions: dict[str, set[int]] = {}
    for id, version in log:
        versions.setdefault(id, set()).add(version)
    records = {record.id: record for record in store.get(owner, list(versions))}
    changes = []
    changed_since = []
    for id, cycle_versions in versions.items():
        record = records.get(id)
        fields = None
        if record is not None and record.status is not Status.PURGED:
            fields = _find_previous_fields(store, record, cycle_versions)
        if record is None or not fields:
            changed_since.append(id)
            continue
        changes.append(
            RecordChange(owner=owner, id=id, fields=fields, action="undo", expect=record.version)
        )
    return tuple(changes), tuple(changed_since)


def _find_previous_fields(
    store: Store, record: Record, cycle_versions: Collection[int]
) -> dict[str, Any] | None:
    """Return the fields that a cycle's changes of a record replaced, as its history has them.

    None: something else changed the record since. Tags of its topic do not count, and stay: the
    topics of the same cycle may have added them.
    """
    fields: dict[str, Any] = {}
    kept_names: set[str] = set()
    first_version = min(cycle_versions)
    for entry in reversed(store.history(record.scope.owner, record.id)):
        if entry.version < first_version:
            break
        if entry.version in cycle_versions:
            fields.update(
                (name, value) for name, value in entry.before.items() if name not in kept_names
            )
        elif entry.actor == TOPICS_ACTOR:
            kept_names.update(entry.after)
        else:
            return None
    return fields


def _restore_links(
    owner: Scope, log: Sequence[Sequence[Any]]
) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Split logged links into those to write again and those to remove."""
    restored = []
    removed = []
    for source, target, type, weight, count in log:
        edge = Edge(
            owner=owner,
            source=source,
            target=target,
            type=EdgeType(type),
            weight=weight or 0.0,
            count=0,
        )
        if weight is None:
            removed.append(edge)
        else:
            restored.append(replace(edge, count=count))
    # A write adds to a link's count: removing the link first gives it the count of before.
    return tuple(restored), (*removed, *restored)
