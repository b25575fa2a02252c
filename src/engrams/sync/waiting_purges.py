"""Purges that not every device made yet, with the names of the devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engrams.sync.membership import MemberList
from engrams.sync.replica_state import ReplicaState


@dataclass(frozen=True, slots=True)
class WaitingPurge:
    """A purge that not every device made yet."""

    at: str
    memories: int
    waiting_for: tuple[str, ...]
    """Names of the devices that did not confirm it."""


def list_waiting_purges(
    replica: ReplicaState, members: MemberList, device: str, labels: Mapping[str, str]
) -> tuple[WaitingPurge, ...]:
    """List the purges that not every device made yet; ``labels``: names of the devices by id."""
    device_ids = [member.id for member in members.list_devices()]
    waiting = [
        (purge, replica.list_unconfirmed(purge, device_ids, device)) for purge in replica.purges
    ]
    return tuple(
        WaitingPurge(purge.at, purge.count, tuple(labels[device_id] for device_id in unconfirmed))
        for purge, unconfirmed in waiting
        if unconfirmed
    )
