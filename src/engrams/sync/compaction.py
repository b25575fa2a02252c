"""Keep the segments of a device few and small, however long it exchanges.

States that a later segment tells again go from the earlier ones, as after a purge. Many small segments
are told again in few new ones. When every device has said that it applied those, the small ones go from
the place. Segments that tell of purges stay: whoever comes late, or from an old backup, needs them.

Each step is noted in the state of the home before the next one, so a run that dies leaves segments too
many, never too few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from engrams.sync.local_records import LocalRecords
from engrams.sync.own_segments import OwnSegments
from engrams.sync.replica_state import ReplicaState

SMALL = 250
"""Memories below which a segment is small."""
MANY_SMALL = 64
"""Small segments that are told again at once."""
MANY_RETOLD = 1000
"""States told again from which segments are looked through, if they are half of all."""


def is_half_outdated(replica: ReplicaState) -> bool:
    """Return True where own segments hold about as many outdated states as others."""
    total = sum(replica.own_counts.values())
    return replica.retold >= MANY_RETOLD and 2 * replica.retold >= total


def merge_small(
    replica: ReplicaState,
    own: OwnSegments,
    local: LocalRecords,
    in_place: Collection[int],
    next_number: int,
) -> bool:
    """Note small segments to tell again in new ones; return True if there are enough of them.

    ``next_number``: of the next segment of this device.
    """
    small = sorted(
        number
        for number, count in replica.own_counts.items()
        if count < SMALL and number in in_place
    )
    if replica.merging or len(small) < MANY_SMALL:
        return False
    for number in small:
        told_ids = own.list_ids(number)
        if told_ids is None:
            continue
        items = local.load(told_ids)
        missing_ids = {record_id for record_id in told_ids if record_id not in items}
        # Of what this home has lost, or refused, the segment keeps the only copy.
        if local.list_buried(missing_ids) == missing_ids:
            replica.merging.add(number)
            replica.again.update(
                record_id for record_id, item in items.items() if item.state is not None
            )
    replica.merged_from = next_number
    replica.merged_to = 0
    return bool(replica.merging)


def note_merged(replica: ReplicaState, last_number: int) -> None:
    """Note that new segments, up to a number, tell all that the small ones do."""
    if replica.merging and not replica.merged_to:
        replica.merged_to = last_number


def retire_merged(replica: ReplicaState, devices: Iterable[str], own_device: str) -> bool:
    """Retire small segments if every device applied those that tell the same; return True then."""
    if not replica.merging or not replica.merged_to:
        return False
    new_numbers = range(replica.merged_from, replica.merged_to + 1)
    for device in devices:
        report = replica.peers.get(device)
        if device != own_device and not (
            report and all(report.applied.has(own_device, number) for number in new_numbers)
        ):
            return False
    replica.retired |= replica.merging
    for number in replica.merging:
        replica.own_counts.pop(number, None)
    replica.merging = set()
    return True


def note_counts(replica: ReplicaState, counts: Mapping[int, int]) -> None:
    """Note how many states segments hold that were written anew."""
    for number, count in counts.items():
        if number in replica.own_counts:
            replica.own_counts[number] = count
