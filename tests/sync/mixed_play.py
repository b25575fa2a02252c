"""Random plays of devices with two versions of engrams: `python -m tests.sync.mixed_play CHECKOUT MINUTES [SEED]`.

Two devices run this version, and two that of another checkout, each in a process of its own, over one folder.
A play that fails prints its seed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.sync.replicas import OWNER, Device
from tests.sync.test_convergence import PLAIN

from engrams.core import Status
from engrams.errors import EngramsError

ROOT = Path(__file__).resolve().parents[2]
STEPS = 60
ACTIONS = "say say say edit edit forget restore purge tag untag now now now clock".split()


def serve(folder: str, label: str) -> None:
    """Be one device: do what each line says, and answer it with a line."""
    device = Device(Path(folder), label, **PLAIN)
    engine = device.engine
    place = str(Path(folder) / "place")
    for line in sys.stdin:
        action, *values = json.loads(line)
        answer: Any = None
        live = _list_live(device) if action in _ON_RECORDS else ()
        record_id = live[values[0] % len(live)] if live else ""
        with suppress(EngramsError):
            match action:
                case "init":
                    engine.sync.init(place, OWNER, label)
                case "pair":
                    answer = engine.sync.pair()
                case "join":
                    engine.sync.join(place, values[0], OWNER, label)
                case "now":
                    engine.drain()
                    engine.sync.now()
                case "say":
                    answer = [device.say(f"{values[0]} {each}") for each in range(8)]
                case "clock":
                    device.clock.forward(days=(values[0] - 15) * 40)
                case "export":
                    answer = [device.export(), len(engine.sync.status().purges)]
                case _ if record_id:
                    answer = change(device, action, record_id, values[1])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    device.close()


_ON_RECORDS = ("edit", "forget", "restore", "purge", "tag", "untag")


def change(device: Device, action: str, record_id: str, number: int) -> list[str]:
    """Change a memory; return the ids of those that a purge erased."""
    engine = device.engine
    before = _list_live(device)
    match action:
        case "edit":
            text = f"Edited {number} by {device.label}"
            engine.edit(record_id, scope=OWNER, text=text)
        case "forget":
            engine.forget(record_id, scope=OWNER)
        case "restore":
            engine.restore(record_id, scope=OWNER)
        case "purge":
            engine.purge(record_id, scope=OWNER)
        case "tag":
            engine.links.tag(record_id, f"tag{number % 4}", scope=OWNER)
        case "untag":
            engine.links.untag(record_id, f"tag{number % 4}", scope=OWNER)
    return sorted(set(before) - set(_list_live(device)))


def _list_live(device: Device) -> list[str]:
    return [record.id for record in device.all_records() if record.status is not Status.PURGED]


class RemoteDevice:
    """A device in a process of its own, of the version in a checkout."""

    def __init__(self, checkout: Path, folder: Path, label: str) -> None:
        path = os.pathsep.join((str(checkout / "src"), str(checkout)))
        self._process = subprocess.Popen(
            [sys.executable, __file__, "device", str(folder), label],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            cwd=folder,
            text=True,
        )

    def do(self, action: str, *values: Any) -> Any:
        """Have the device do something; return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([action, *values]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def play(other: Path, seed: int) -> int:
    """Play, and compare the exports at the end; return the number of operations."""
    chance = random.Random(seed)
    operations = 0
    with tempfile.TemporaryDirectory(prefix="engrams-") as name:
        folder = Path(name)
        devices = [
            RemoteDevice(ROOT if number % 2 else other, folder, f"device{number}")
            for number in range(4)
        ]
        try:
            devices[0].do("init")
            for device in devices[1:]:
                device.do("join", devices[0].do("pair"))
                devices[0].do("now")
            said: set[str] = set()
            purged: set[str] = set()
            for step in range(STEPS):
                action = chance.choice(ACTIONS)
                device = chance.choice(devices)
                values = (f"Note {seed} {step}",) if action == "say" else ()
                values = values or (chance.randrange(31), chance.randrange(31))
                answer = device.do(action, *values)
                operations += {"say": 8, "now": 0, "clock": 0}.get(action, 1)
                said.update(answer if action == "say" else ())
                purged.update(answer if action == "purge" and answer else ())
            for _ in range(4):
                for device in devices:
                    device.do("now")
            exports = [device.do("export") for device in devices]
        finally:
            for device in devices:
                device.close()
    assert all(export == [exports[0][0], 0] for export in exports), "They differ."
    live = {record["id"] for record in json.loads(exports[0][0])[0]}
    assert not purged & live, "What was purged is there."
    assert said - purged <= live, "Something is lost."
    return operations


def main(other: Path, minutes: float, seed: int) -> int:
    """Play until the time is over; return 1 where a play failed."""
    end = time.monotonic() + 60 * minutes
    operations = failed = 0
    while time.monotonic() < end:
        try:
            operations += play(other, seed)
        except AssertionError as problem:
            failed += 1
            print(f"seed {seed} failed: {problem}", flush=True)
        seed += 1
        print(f"{operations:,} operations, next seed {seed}, {failed} failed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    if sys.argv[1] == "device":
        serve(*sys.argv[2:])
    else:
        first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
        sys.exit(main(Path(sys.argv[1]).resolve(), float(sys.argv[2]), first))
