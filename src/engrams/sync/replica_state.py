"""The state of a home in exchanging its memory, stored as one state of the owner.

It goes back with the database where an old backup is restored. So the place is compared with it: if
this device wrote segments there that the state does not know, it takes them as another's, and goes on
as a new actor, whose stamps nobody has seen.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from engrams.core import Json, Scope
from engrams.ports import OwnerStateRow, Store
from engrams.sync.segments import AppliedSegments, Segment, pack_numbers, unpack_numbers

STATE_NAME = "sync"
_ACTOR_BYTES = 3


@dataclass(slots=True)
class ToldPurge:
    """A purge that a segment told of."""

    device: str
    number: int
    """Number of the segment."""
    count: int
    """Memories that were purged."""
    at: str

    def to_json(self) -> list[Json]:
        return [self.device, self.number, self.count, self.at]


@dataclass(slots=True)
class PeerReport:
    """The last that a device told of itself."""

    number: int
    """Number of the segment that told it."""
    label: str
    at: str
    applied: AppliedSegments

    def to_json(self) -> list[Json]:
        return [self.number, self.label, self.at, self.applied.pack()]


@dataclass(slots=True)
class ReplicaState:
    """State of a home in exchanging its memory."""

    row: OwnerStateRow
    actor: str
    cursor: int = 0
    """Number of the last change of the owner that was looked at."""
    applied: AppliedSegments = field(default_factory=AppliedSegments)
    """Segments that are known here, with one's own."""
    again: set[str] = field(default_factory=set)
    """Memories to tell even if nothing here changed them."""
    purges: list[ToldPurge] = field(default_factory=list)
    """Purges of which not every device said yet that it made them."""
    peers: dict[str, PeerReport] = field(default_factory=dict)
    """By device."""
    missing: set[int] = field(default_factory=set)
    """Own segments that the place lost, and whose content was told again."""
    retired: set[int] = field(default_factory=set)
    """Own segments that are to go from the place, because later ones tell the same."""
    merging: set[int] = field(default_factory=set)
    """Own segments that retire when every device applied those that tell the same."""
    merged_from: int = 0
    """Number of the first of these."""
    merged_to: int = 0
    """Number of the last of these; 0: not all are written yet."""
    own_counts: dict[int, int] = field(default_factory=dict)
    """Memories of which own segments tell, by number; those that tell of a purge are left out."""
    retold: int = 0
    """States that were told again since own segments were last looked through."""
    must_clean: bool = False
    """True: own segments may still hold what was purged."""
    must_confirm: bool = True
    """True: this home made purges of others, or joined, and did not say so yet."""
    has_own: bool = False
    """True: this home told memories. Others find what is the same among theirs by themselves."""
    tells_all: bool = False
    """True: every memory is to be told again."""
    secret_rules: str = ""
    """Settings by which secrets were looked for the last time."""
    kept_ids: set[str] = field(default_factory=set)
    """Memories that are not told, because they hold a secret that the settings of this home forbid."""
    declined: dict[str, list[str]] = field(default_factory=dict)
    """Memories of others that were not taken over for such a secret, by the path of their segment."""
    unfinished: str = ""
    """Path of a segment that was taken over, and of which something may be left to do."""

    @classmethod
    def load(cls, store: Store, owner: Scope, device: str) -> ReplicaState:
        """Load the state of a device, an empty one where the stored one is another's."""
        row = store.load_state(owner, STATE_NAME)
        data = row.data
        if data.get("device") != device:
            # Another place knows nothing of what this home told before.
            return cls(row, make_actor(device), tells_all=True)
        return cls(
            row=row,
            actor=data["actor"],
            cursor=data["cursor"],
            applied=AppliedSegments(data["applied"]),
            again=set(data["again"]),
            purges=[ToldPurge(*item) for item in data["purges"]],
            peers={
                peer: PeerReport(number, label, at, AppliedSegments(applied))
                for peer, (number, label, at, applied) in data["peers"].items()
            },
            missing=set(data["missing"]),
            retired=unpack_numbers(data.get("retired", ())),
            merging=set(data.get("merging", ())),
            merged_from=data.get("merged_from", 0),
            merged_to=data.get("merged_to", 0),
            own_counts={int(number): count for number, count in data.get("own_counts", {}).items()},
            retold=data.get("retold", 0),
            must_clean=data["must_clean"],
            must_confirm=data["must_confirm"],
            has_own=data["has_own"],
            tells_all=data["tells_all"],
            secret_rules=data.get("secret_rules", ""),
            kept_ids=set(data.get("kept", ())),
            declined=data.get("declined", {}),
            unfinished=data.get("unfinished", ""),
        )

    def make_row(self, device: str) -> OwnerStateRow:
        """Make the row to save; it expects that nobody saved another meanwhile."""
        data = {
            "device": device,
            "actor": self.actor,
            "cursor": self.cursor,
            "applied": self.applied.pack(),
            "again": sorted(self.again),
            "purges": [purge.to_json() for purge in self.purges],
            "peers": {peer: report.to_json() for peer, report in self.peers.items()},
            "missing": sorted(self.missing),
            "retired": [list(run) for run in pack_numbers(self.retired)],
            "merging": sorted(self.merging),
            "merged_from": self.merged_from,
            "merged_to": self.merged_to,
            "own_counts": {str(number): count for number, count in self.own_counts.items()},
            "retold": self.retold,
            "must_clean": self.must_clean,
            "must_confirm": self.must_confirm,
            "has_own": self.has_own,
            "tells_all": self.tells_all,
            "secret_rules": self.secret_rules,
            "kept": sorted(self.kept_ids),
            "declined": dict(self.declined),
            "unfinished": self.unfinished,
        }
        return replace(self.row, data=data)

    def note_segment(self, segment: Segment) -> None:
        """Note that a segment was applied, and what it tells of its device and of purges."""
        is_new = not self.applied.has(segment.device, segment.number)
        self.applied.add(segment.device, segment.number)
        for first, last in segment.retired:
            self.applied.add_run(segment.device, first, min(last, segment.number))
        # Nobody confirms a purge of a segment that is gone, but that of the one that told it again.
        self.purges = [
            purge
            for purge in self.purges
            if purge.device != segment.device
            or not any(first <= purge.number <= last for first, last in segment.lost)
        ]
        report = self.peers.get(segment.device)
        if report is None or report.number < segment.number:
            self.peers[segment.device] = PeerReport(
                segment.number,
                segment.label,
                segment.written_at,
                AppliedSegments(segment.applied),
            )
        if segment.purged_ids and is_new:
            self.note_purge(segment)

    def note_purge(self, segment: Segment) -> None:
        """Note that devices have to confirm the purges of a segment."""
        purge = ToldPurge(
            segment.device, segment.number, len(segment.purged_ids), segment.written_at
        )
        self.purges.append(purge)

    def note_declined(self, segment: Segment, ids: Sequence[str]) -> None:
        """Note which memories of a segment were not taken over for their secrets."""
        self.drop_declined(str(item["id"]) for item in segment.records)
        if ids:
            self.declined[segment.path] = list(ids)

    def drop_declined(self, ids: Iterable[str]) -> None:
        """Note that memories are taken over, or purged."""
        settled_ids = set(ids)
        remaining = {
            path: [record_id for record_id in declined_ids if record_id not in settled_ids]
            for path, declined_ids in self.declined.items()
        }
        self.declined = {
            path: declined_ids for path, declined_ids in remaining.items() if declined_ids
        }

    def list_unconfirmed(self, purge: ToldPurge, devices: Sequence[str], own: str) -> list[str]:
        """List the devices that did not say yet that they made a purge."""
        return [
            device
            for device in devices
            if device not in (purge.device, own)
            and not (
                device in self.peers and self.peers[device].applied.has(purge.device, purge.number)
            )
        ]

    def drop_confirmed(self, devices: Sequence[str], own: str) -> None:
        """Drop purges that every device made."""
        self.purges = [purge for purge in self.purges if self.list_unconfirmed(purge, devices, own)]


def make_actor(device: str) -> str:
    """Make a name for whoever stamps changes on a device, other than all before."""
    return f"{device[:8]}.{secrets.token_hex(_ACTOR_BYTES)}"
