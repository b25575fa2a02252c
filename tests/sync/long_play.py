"""Random plays of five devices over two places, for as long as wanted: `python -m tests.sync.long_play MINUTES [SEED]`.

Beside all that ``test_convergence`` does, files get lost or come back as they were, devices go to another place
and back, small segments are merged, and one device joins at the end. Most steps change many memories; each one that
is told or changed counts as an operation. A play that fails prints its seed.
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.sync.replicas import OWNER
from tests.sync.test_compaction import LateWorld
from tests.sync.test_convergence import PLAIN, SAYINGS, play_in

from engrams.core import Record, Status
from engrams.errors import InputError, RefusedError
from engrams.sync import compaction

DEVICES = 5
STEPS = 150
_SAID = 40
"""Memories that one step tells, times 1 to 31."""
_BARE = {
    **PLAIN,
    "write.extract": "off",
    "write.changes.enabled": False,
    "embed.provider": "null",
    "usage.enabled": False,
}
"""Settings of a memory that learns nothing by itself: most plays only compare what was told and changed."""
ACTIONS = (
    "tell tell tell say edit edit edits edits forget forgets restore restores purge purges supersede tag tags untag"
    " now now now now carry carry carry part clock crash crash unlink lose keep stale move reopen"
).split()
_MANY = {
    "edits": "edit",
    "forgets": "forget",
    "restores": "restore",
    "tags": "tag",
}
"""Steps that do to many memories what another does to one."""
_CHANGES = "say edit forget restore purge supersede tag untag unlink".split()
_LIVE = tuple(status for status in Status if status is not Status.PURGED)
Step = tuple[str, int, int, int]


@dataclass
class TwoPlaces(LateWorld):
    """Devices that each have a copy of the first place, and a second place that all reach."""

    kept: dict[Path, bytes] = field(default_factory=dict)
    """Files of the first place as they were at some time."""
    operations: int = 0
    """Memories told, and changes of memories, on all devices."""

    def act(  # noqa: PLR0913
        self,
        action: str,
        number: int,
        device: object,
        record: Record | None,
        live: list[Record],
        first: int,
        second: int,
    ) -> None:
        files = self.files(number)
        own = self.devices[number].id
        match action:
            case "tell":
                texts = [
                    f"{SAYINGS[each % len(SAYINGS)]} {len(self.said) + each}"
                    for each in range(_SAID * (1 + first))
                ]
                self.said += self.devices[number].say_all(texts)
                self.operations += len(texts)
            case "purges":
                self.purge_many(number, live[first : first + 1 + second])
            case _ if action in _MANY:
                for each in range(first, min(first + 10 * (1 + second), len(live))):
                    with suppress(InputError, RefusedError):
                        self.act(_MANY[action], number, device, live[each], live, each, second)
            case "lose":
                segments = [path for path in files if path.suffix == ".seg"]
                if segments:
                    segments[first % len(segments)].unlink()
            case "keep":
                self.kept |= {path: path.read_bytes() for path in files}
            case "stale":
                others = [path for path in files if path in self.kept and path.parent.name != own]
                if others:
                    path = others[first % len(others)]
                    path.write_bytes(self.kept[path])
            case "move":
                self.move(number, is_second=second % 2 == 0)
            case "reopen":
                self.devices[number].reopen()
            case _:
                super().act(action, number, self.devices[number], record, live, first, second)
                self.operations += action in _CHANGES

    def purge_many(self, number: int, records: list[Record]) -> None:
        """Purge memories at once."""
        device = self.devices[number]
        before = {record.id for record in device.records(*_LIVE)}
        device.engine.purge([record.id for record in records], scope=OWNER)
        gone = before - {record.id for record in device.records(*_LIVE)}
        self.purged |= gone
        self.operations += len(gone)

    def move(self, number: int, *, is_second: bool) -> None:
        place = self.folder / "shared" if is_second else self.place(number)
        self.devices[number].engine.sync.move(str(place))

    def finish(self) -> None:
        for number in range(self.number):
            self.move(number, is_second=False)
        super().finish()


def make_steps(seed: int, count: int = STEPS) -> list[Step]:
    """Make the steps of a play; the same for a seed."""
    chance = random.Random(seed)
    return [
        (
            chance.choice(ACTIONS),
            chance.randrange(DEVICES),
            chance.randrange(31),
            chance.randrange(31),
        )
        for _ in range(count)
    ]


def play_steps(steps: list[Step], *, learns: bool) -> int:
    """Play, and return the number of operations."""
    worlds: list[TwoPlaces] = []

    def make_world(folder: Path) -> TwoPlaces:
        worlds.append(TwoPlaces(folder, DEVICES, {} if learns else _BARE))
        return worlds[0]

    play_in(make_world, steps)
    return worlds[0].operations


def main(minutes: float, seed: int) -> int:
    """Play until the time is over; return 1 where a play failed."""
    compaction.MANY_SMALL = compaction.MANY_RETOLD = 5
    end = time.monotonic() + 60 * minutes
    operations = 0
    failed = 0
    while time.monotonic() < end:
        learns = seed % 20 == 0
        try:
            operations += play_steps(make_steps(seed), learns=learns)
        except Exception:
            failed += 1
            print(f"seed {seed} failed", flush=True)
            traceback.print_exc()
        seed += 1
        print(f"{operations:,} operations, next seed {seed}, {failed} failed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
