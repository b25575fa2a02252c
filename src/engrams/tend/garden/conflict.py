"""Statements that cannot both be so: shown to somebody who decides, or settled as a new one would have settled them (003)."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from itertools import pairwise

from engrams.tend.garden.plan import Bed, Conflict, Step, changed, pair, shown
from engrams.text.normalize import fold
from engrams.types import EdgeType, Kind, Record, Status
from engrams.write.dedup import bare, ends, polarity
from engrams.write.slots import is_single, same

_FACTS = (Kind.FACT, Kind.PREFERENCE, Kind.CORRECTION)


def conflicts(bed: Bed) -> list[Conflict]:
    """Pairs that are marked as contradicting each other, and values of one slot that has room for one; the latest first."""
    known = {record.id: record for _, record in bed.free()}
    found: dict[tuple[str, str], str] = {}
    for edge in bed.links:
        if edge.type is EdgeType.CONTRADICTS and edge.source in known and edge.target in known:
            found[pair(edge.source, edge.target)] = "they contradict each other"
    for first, second in _slots(list(known.values())):
        found.setdefault(pair(first.id, second.id), f"only one {second.predicate.replace('_', ' ')} can be so at a time")
    open_ones = [(known[one], known[other], reason) for (one, other), reason in found.items() if (one, other) not in bed.settled]
    open_ones.sort(key=lambda each: (max(each[0].recorded_at, each[1].recorded_at), each[0].id), reverse=True)
    return [_conflict(one, other, reason) for one, other, reason in open_ones]


def _conflict(one: Record, other: Record, reason: str) -> Conflict:
    first, second = sorted((one, other), key=_since)
    return Conflict(first, second, reason, _holds(one, other).id)


def settled(bed: Bed, found: list[Conflict]) -> list[Step]:
    """Each conflict decided for the one that holds."""
    steps = []
    for conflict in found[: bed.settings.most]:
        if {conflict.one.id, conflict.other.id} & bed.taken:
            continue
        keep, drop = (conflict.one, conflict.other) if conflict.keep == conflict.one.id else (conflict.other, conflict.one)
        steps.append(decided(bed, keep, drop, conflict.reason))
    return steps


def decided(bed: Bed, keep: Record, drop: Record, reason: str) -> Step:
    """One of two statements holds from when it was said; the other did until then, or never, if it is the later one."""
    fields = {"status": Status.SUPERSEDED, "superseded_by": keep.id}
    later = _since(keep) > _since(drop)
    ended = {"valid_to": _since(keep), "ended_at": bed.now} if later else {"retired_at": bed.now}
    bed.taken.update((keep.id, drop.id))
    return Step(
        "conflicts", "supersede", (keep.id, drop.id), shown((keep, drop)), reason, (changed(drop, {**fields, **ended}, "supersede"),)
    )


def _slots(records: list[Record]) -> list[tuple[Record, Record]]:
    """Neighbours in time of one slot with room for one value, where the values differ and both hold now."""
    slots: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in records:
        holds = record.kind in _FACTS and record.subject and polarity(record) and not ends(record) and record.valid_to is None
        if holds and is_single(record.predicate, record.subject, record.object):
            slots[record.scope, fold(record.subject), same(record.predicate)].append(record)
    every = [both for values in slots.values() for both in pairwise(sorted(values, key=_since))]
    return [(first, second) for first, second in every if bare(first.object) != bare(second.object)]


def _holds(one: Record, other: Record) -> Record:
    """What is trusted less never closes what is trusted more; of equals the later one holds."""
    return max(one, other, key=lambda record: (record.trust, _since(record), record.id))


def _since(record: Record) -> datetime:
    return record.valid_from or record.recorded_at
