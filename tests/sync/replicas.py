"""Devices of one memory, each in a home of its own, over a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engrams.composition import open as open_engine
from engrams.core import Kind, Record, Scope, Status, Turn
from engrams.engine import MemoryEngine
from engrams.settings import load
from engrams.sync import segments
from engrams.sync.identity import DeviceHome
from engrams.sync.place_addresses import open_place
from engrams.sync.record_state import TRAVELLING_LINKS
from engrams.testing import SettableClock
from engrams.transfer.formats.engrams_jsonl import record_to_json

OWNER = Scope(("user", "ann"))
START = datetime(2026, 5, 1, 9, tzinfo=UTC)


class Device:
    """A home that synchronises."""

    owner = OWNER
    """Owner of the memory that the devices have in common."""

    def __init__(self, folder: Path, label: str, **settings: Any) -> None:
        self.home = folder / label
        self.label = label
        self.clock = SettableClock(START)
        self._settings = {"sessions.episodes": False, **settings}
        self._id = ""
        self.engine = self._open()

    def _open(self) -> MemoryEngine:
        loaded = load({"home": str(self.home), "user": "ann"} | self._settings, environ={})
        return open_engine(loaded.settings, clock=self.clock)

    def reopen(self, **settings: Any) -> None:
        self.engine.close()
        self._settings |= settings
        self.engine = self._open()

    @property
    def id(self) -> str:
        """Name of this device's folder in a place; empty before it is in a memory."""
        if not self._id and self.engine.sync.is_on:
            self._id = DeviceHome(self.home).load().device
        return self._id

    def say(self, text: str, **arguments: Any) -> str:
        self.clock.forward(minutes=1)
        return self.engine.add(text, scope=self.owner, **arguments).id

    def say_all(self, texts: Sequence[str]) -> list[str]:
        """Tell many notes at once; return their ids."""
        self.clock.forward(minutes=1)
        turns = [Turn(text) for text in texts]
        receipts = self.engine.write_turns(turns, self.owner, Kind.NOTE)
        return [receipt.id for receipt in receipts]

    def get(self, record_id: str) -> Record | None:
        found = self.engine.store.get(self.owner, [record_id])
        return found[0] if found else None

    def texts(self, *statuses: Status) -> list[str]:
        return sorted(record.text for record in self.records(*statuses))

    def records(self, *statuses: Status) -> list[Record]:
        wanted = statuses or (Status.ACTIVE,)
        return [record for record in self.all_records() if record.status in wanted]

    def all_records(self) -> list[Record]:
        changed = self.engine.store.changes(self.owner, 0, 100_000)
        return list(changed.records)

    def export(self) -> str:
        """Everything that devices must agree on, in one text."""
        live = [record for record in self.all_records() if record.status is not Status.PURGED]
        edges = self.engine.store.edges(
            self.owner, [record.id for record in live], tuple(TRAVELLING_LINKS)
        )
        links = sorted([e.source, e.target, str(e.type), e.weight] for e in edges)
        ignored = ("version", "access_count", "last_accessed")
        rows = []
        for record in live:
            data = record_to_json(record)
            rows.append({name: value for name, value in data.items() if name not in ignored})
        rows.sort(key=lambda row: row["id"])
        return json.dumps([rows, links], sort_keys=True, default=str, indent=1)

    def read_segments(self, place: Path) -> list[segments.Segment]:
        """Everything that this device can decrypt in the place."""
        identity = DeviceHome(self.home).load()
        members = identity.read_members()
        return [
            segments.unpack(
                path.read_bytes(),
                identity.memory,
                path.parent.name,
                int(path.stem),
                members.members[path.parent.name].signing,
                lambda name: members.open_key(name, identity.keys),
            )
            for path in sorted(place.glob("devices/*/*.seg"))
        ]

    def close(self) -> None:
        self.engine.close()


def pair(first: Device, other: Device, place: Path) -> None:
    """Add a device to a memory."""
    other.engine.sync.join(str(place), first.engine.sync.pair(), OWNER, other.label)


def exchange_all(devices: list[Device], rounds: int = 3) -> None:
    """Let all devices exchange until nothing is left to tell."""
    for _ in range(rounds):
        for device in devices:
            device.engine.drain()
            device.engine.sync.now()


def raw(folder: Path) -> bytes:
    """All bytes below a folder."""
    return b"\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def plain(device: Device, place: Path) -> str:
    """Everything that the segments of a place hold, decrypted."""
    return repr(device.read_segments(place))


def pair_at(first: Device, other: Device, address: str, **access: Any) -> None:
    """Add a device to a memory whose place has an address."""
    other.engine.sync.join(address, first.engine.sync.pair(), OWNER, other.label, **access)


def plain_at(device: Device) -> str:
    """Everything that the segments of a device's place hold, decrypted."""
    identity = DeviceHome(device.home).load()
    members = identity.read_members()
    place = open_place(identity.address, identity.access, DeviceHome(device.home).caches)
    return repr(
        [
            segments.unpack(
                place.read(file) or b"",
                identity.memory,
                file.member,
                file.number,
                members.members[file.member].signing,
                lambda name: members.open_key(name, identity.keys),
            )
            for file in sorted(place.list())
            if file.kind == "seg"
        ]
    )
