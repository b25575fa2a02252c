"""The segments that this device writes: into the outbox first, then into the place.

The outbox has a sealed segment before the state that notes it is saved, and the place after. So a
segment of which the state knows is never lost, and one of which it does not know was never seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from engrams.core import Json
from engrams.errors import EncryptionError
from engrams.sync import segments
from engrams.sync.identity import DeviceHome, DeviceIdentity
from engrams.sync.places import Place, PlaceFile
from engrams.sync.segments import AppliedSegments, Segment

_PARTIAL = ".new"
_BATCH_BYTES = 4_000_000
"""Bytes that are carried to the place at once, and again if that is cut off."""


class OwnSegments:
    """Segments of this device, in the outbox and in the place."""

    def __init__(
        self,
        home: DeviceHome,
        identity: DeviceIdentity,
        carrier: Place,
        key: bytes,
        find_key: Callable[[str], bytes],
    ) -> None:
        self._outbox = home.outbox
        self._identity = identity
        self._place = carrier
        self._key = key
        """Key of the memory that new segments are sealed with."""
        self._find_key = find_key

    def prepare(self, segment: Segment) -> None:
        """Seal a segment into the outbox."""
        data = segments.pack(segment, self._identity.memory, self._key, self._identity.keys)
        path = self._outbox / str(segment.number)
        fresh = path.with_suffix(_PARTIAL)
        with fresh.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)

    def drop_unknown(self, applied: AppliedSegments) -> None:
        """Drop what a run left in the outbox that died before its state was saved."""
        for path in self._outbox.glob("*"):
            if path.suffix == _PARTIAL or not applied.has(self._identity.device, int(path.name)):
                path.unlink()

    def send(self) -> int:
        """Carry the outbox to the place; return the number of bytes."""
        sent = 0
        batch: dict[Path, bytes] = {}
        for path in sorted(self._outbox.glob("*"), key=lambda path: int(path.name)):
            batch[path] = path.read_bytes()
            if sum(map(len, batch.values())) >= _BATCH_BYTES:
                sent += self._send_batch(batch)
                batch = {}
        return sent + self._send_batch(batch)

    def _send_batch(self, batch: Mapping[Path, bytes]) -> int:
        if batch:
            self._place.write({self._name(int(path.name)): data for path, data in batch.items()})
        for path in batch:
            path.unlink()
        return sum(map(len, batch.values()))

    def rewrite(
        self,
        numbers: Iterable[int],
        load_states: Callable[[Sequence[str]], Mapping[str, Mapping[str, Json] | None]],
    ) -> dict[int, int]:
        """Write segments anew that differ from the memory as it is now; return how many states each holds.

        ``load_states``: loads the states of memories by id; None: no segment is to tell of it any more.
        What it leaves out stays as it is: this home may have lost it. Of several states of a memory only
        the latest segment keeps one.
        """
        rewritten: dict[int, int] = {}
        later_ids: set[str] = set()
        for number in sorted(numbers, reverse=True):
            segment = self._read(number)
            if segment is None:
                continue
            told_items = {str(item["id"]): item for item in segment.records}
            remaining = [record_id for record_id in told_items if record_id not in later_ids]
            states: dict[str, Mapping[str, Json] | None] = {
                record_id: told_items[record_id] for record_id in remaining
            }
            states |= load_states(remaining)
            records = tuple(state for state in states.values() if state is not None)
            later_ids.update(states)
            if records != segment.records:
                self.prepare(replace(segment, records=records))
                rewritten[number] = len(records)
        return rewritten

    def list_ids(self, number: int) -> list[str] | None:
        """List the memories of which a segment tells, if it tells of no purge.

        None: it does, or cannot be read.
        """
        segment = self._read(number)
        if segment is None or segment.purged_ids:
            return None
        return [str(item["id"]) for item in segment.records]

    def _read(self, number: int) -> Segment | None:
        """Read a segment of this device; None: the place does not have it."""
        path = self._outbox / str(number)
        data = path.read_bytes() if path.exists() else self._place.read(self._name(number))
        if data is None:
            return None
        identity = self._identity
        try:
            return segments.unpack(
                data,
                identity.memory,
                identity.device,
                number,
                identity.keys.public_signing,
                self._find_key,
            )
        except EncryptionError:
            return None

    def _name(self, number: int) -> PlaceFile:
        return PlaceFile(self._identity.device, number, "seg")
