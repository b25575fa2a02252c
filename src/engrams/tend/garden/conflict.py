"""Conflicting statements: listed for a decision, or resolved by rules (003)."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from itertools import pairwise

from engrams.tend.garden.plan import GardenScope, GardenStep, StatementConflict, make_change, order_pair, preview_texts
from engrams.text.normalize import fold
from engrams.types import EdgeType, Kind, Record, Status
from engrams.write.reconcile import is_affirmative, is_ending, object_terms
from engrams.write.slots import canonical_predicate, is_single

_FACTS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)


def find_conflicts(garden: GardenScope) -> list[StatementConflict]:
    """Find contradictions and competing values of single-valued slots, latest first."""
    known = {record.id: record for _, record in garden.untouched()}
    found: dict[tuple[str, str], str] = {}
    for edge in garden.links:
        if edge.type is EdgeType.CONTRADICTS and edge.source in known and edge.target in known:
            found[order_pair(edge.source, edge.target)] = "they contradict each other"
    for first, second in _find_slot_pairs(list(known.values())):
        found.setdefault(order_pair(first.id, second.id), f"only one {second.predicate.replace('_', ' ')} can be so at a time")
    open_ones = [(known[one], known[other], reason) for (one, other), reason in found.items() if (one, other) not in garden.settled]
    open_ones.sort(key=lambda each: (max(each[0].recorded_at, each[1].recorded_at), each[0].id), reverse=True)
    return [_make_conflict(one, other, reason) for one, other, reason in open_ones]


def _make_conflict(one: Record, other: Record, reason: str) -> StatementConflict:
    first, second = sorted((one, other), key=_valid_since)
    return StatementConflict(first, second, reason, _pick_trusted(one, other).id)


def settle_conflicts(garden: GardenScope, found: list[StatementConflict]) -> list[GardenStep]:
    """Resolve each conflict in favour of the statement it would keep."""
    steps = []
    for conflict in found[: garden.settings.max_changes]:
        if {conflict.one.id, conflict.other.id} & garden.taken:
            continue
        keep, drop = (conflict.one, conflict.other) if conflict.keep == conflict.one.id else (conflict.other, conflict.one)
        steps.append(decide_conflict(garden, keep, drop, conflict.reason))
    return steps


def decide_conflict(garden: GardenScope, keep: Record, drop: Record, reason: str) -> GardenStep:
    """Build the step that supersedes one of two statements.

    An earlier loser ends when the winner begins; a later one never held.
    """
    fields = {"status": Status.SUPERSEDED, "superseded_by": keep.id}
    later = _valid_since(keep) > _valid_since(drop)
    ended = {"valid_to": _valid_since(keep), "ended_at": garden.now} if later else {"retired_at": garden.now}
    garden.taken.update((keep.id, drop.id))
    return GardenStep(
        "conflicts",
        "supersede",
        (keep.id, drop.id),
        preview_texts((keep, drop)),
        reason,
        (make_change(drop, {**fields, **ended}, "supersede"),),
    )


def _find_slot_pairs(records: list[Record]) -> list[tuple[Record, Record]]:
    """Pair consecutive, differing values of single-valued slots that hold now."""
    slots: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in records:
        holds = record.kind in _FACTS and record.subject and is_affirmative(record) and not is_ending(record) and record.valid_to is None
        if holds and is_single(record.predicate, record.subject, record.object):
            slots[record.scope, fold(record.subject), canonical_predicate(record.predicate)].append(record)
    every = [both for values in slots.values() for both in pairwise(sorted(values, key=_valid_since))]
    return [(first, second) for first, second in every if object_terms(first.object) != object_terms(second.object)]


def _pick_trusted(one: Record, other: Record) -> Record:
    """Pick the more trusted record; of equals the later one."""
    return max(one, other, key=lambda record: (record.trust, _valid_since(record), record.id))


def _valid_since(record: Record) -> datetime:
    return record.valid_from or record.recorded_at
