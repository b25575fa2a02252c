"""Statements that cannot both be so: shown to somebody who decides, or settled as a new one would have settled them (003)."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from itertools import pairwise

from engrams.tend.garden.plan import GardenScope, GardenStep, StatementConflict, make_change, order_pair, preview_texts
from engrams.text.normalize import fold
from engrams.types import EdgeType, Kind, Record, Status
from engrams.write.dedup import is_affirmative, is_ending, object_terms
from engrams.write.slots import canonical_predicate, is_single

_FACTS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)


def find_conflicts(garden: GardenScope) -> list[StatementConflict]:
    """Pairs that are marked as contradicting each other, and values of one slot that has room for one; the latest first."""
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
    """Each conflict decided for the one that holds."""
    steps = []
    for conflict in found[: garden.settings.max_changes]:
        if {conflict.one.id, conflict.other.id} & garden.taken:
            continue
        keep, drop = (conflict.one, conflict.other) if conflict.keep == conflict.one.id else (conflict.other, conflict.one)
        steps.append(decide_conflict(garden, keep, drop, conflict.reason))
    return steps


def decide_conflict(garden: GardenScope, keep: Record, drop: Record, reason: str) -> GardenStep:
    """One of two statements holds from when it was said; the other did until then, or never, if it is the later one."""
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
    """Neighbours in time of one slot with room for one value, where the values differ and both hold now."""
    slots: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in records:
        holds = record.kind in _FACTS and record.subject and is_affirmative(record) and not is_ending(record) and record.valid_to is None
        if holds and is_single(record.predicate, record.subject, record.object):
            slots[record.scope, fold(record.subject), canonical_predicate(record.predicate)].append(record)
    every = [both for values in slots.values() for both in pairwise(sorted(values, key=_valid_since))]
    return [(first, second) for first, second in every if object_terms(first.object) != object_terms(second.object)]


def _pick_trusted(one: Record, other: Record) -> Record:
    """What is trusted less never closes what is trusted more; of equals the later one holds."""
    return max(one, other, key=lambda record: (record.trust, _valid_since(record), record.id))


def _valid_since(record: Record) -> datetime:
    return record.valid_from or record.recorded_at
