"""Whatever happens on several devices, and to the files between them, ends in one memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.sync.replicas import OWNER, Device

from engrams.core import EdgeType, Record, Status
from engrams.errors import InputError, RefusedError
from engrams.sync.own_segments import OwnSegments
from engrams.sync.places import FolderPlace
from engrams.sync.waiting_purges import WaitingPurge

PLAIN = {"write.reconcile": "off", "sessions.trigger": "manual", "write.infer_tags": False}
SAYINGS = (
    "The red kettle stands in the kitchen",
    "Aunt Olga visits on Sundays",
    "The bicycle has a flat tyre",
    "Tomatoes grow behind the shed",
    "The ladder is in the cellar",
)
STEP = st.tuples(
    st.sampled_from(
        "say say edit edit edit forget restore purge supersede tag untag now now now carry carry"
        " part clock crash unlink".split()
    ),
    st.integers(0, 9),
    st.integers(0, 30),
    st.integers(0, 30),
)


class DiedError(Exception):
    """The process of a device ended."""


@dataclass
class Edited:
    """A text that somebody gave a memory, and the one that it replaced."""

    record_id: str
    text: str
    base: str


@dataclass
class World:
    """Devices, each with its own copy of the place: a carrier copies files between them."""

    folder: Path
    number: int
    settings: dict[str, Any]
    devices: list[Device] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    edits: list[Edited] = field(default_factory=list)
    purged: set[str] = field(default_factory=set)

    def start(self) -> None:
        for number in range(self.number):
            self.devices.append(Device(self.folder, f"device{number}", **self.settings))
        first = self.devices[0]
        first.engine.sync.init(str(self.place(0)), OWNER, first.label)
        for number, device in enumerate(self.devices[1:], 1):
            code = first.engine.sync.pair()
            self.carry_all()
            device.engine.sync.join(str(self.place(number)), code, OWNER, device.label)
            self.carry_all()
            first.engine.sync.now()
        self.carry_all()

    def place(self, number: int) -> Path:
        folder = self.folder / f"place{number}"
        folder.mkdir(exist_ok=True)
        return folder

    def files(self, number: int) -> list[Path]:
        return sorted(p for p in self.place(number).glob("devices/*/*") if p.suffix != ".new")

    def copy(self, source: int, target: int, path: Path, size: int | None = None) -> None:
        """Copy a file; a carrier never replaces a file of the target's own device."""
        if path.parent.name == self.devices[target].id:
            return
        new = self.place(target) / path.relative_to(self.place(source))
        new.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        new.write_bytes(data if size is None else data[:size])

    def carry_all(self) -> None:
        """Bring every file from the device that writes it to all others."""
        for source, device in enumerate(self.devices):
            if not device.id:
                continue
            for path in self.files(source):
                for target in range(len(self.devices)):
                    if target == source:
                        continue
                    new = self.place(target) / path.relative_to(self.place(source))
                    is_own = path.parent.name == device.id
                    # No device owns the file of an invitation: whoever has the whole one carries it.
                    is_partial = new.exists() and new.stat().st_size < path.stat().st_size
                    if is_own or not new.exists() or (is_partial and path.suffix == ".key"):
                        new.parent.mkdir(parents=True, exist_ok=True)
                        shutil.copyfile(path, new)

    def step(self, action: str, who: int, first: int, second: int) -> None:
        number = who % self.number
        device = self.devices[number]
        live = [r for r in device.all_records() if r.status is not Status.PURGED]
        record = live[first % len(live)] if live else None
        # Some cannot be done, such as a restore of what is not forgotten.
        with suppress(InputError, RefusedError, DiedError):
            self.act(action, number, device, record, live, first, second)

    def act(  # noqa: PLR0913, C901, PLR0912
        self,
        action: str,
        number: int,
        device: Device,
        record: Record | None,
        live: list[Record],
        first: int,
        second: int,
    ) -> None:
        engine = device.engine
        match action:
            case "say":
                text = f"{SAYINGS[first % len(SAYINGS)]} {second % 3}"
                self.said.append(device.say(text))
            case "now":
                engine.sync.now()
            case "clock":
                device.clock.forward(days=(first - 15) * 40)
            case "carry" | "part":
                files = self.files(number)
                if files:
                    path = files[first % len(files)]
                    target = (number + 1 + second % (self.number - 1)) % self.number
                    size = path.stat().st_size * second // 31 if action == "part" else None
                    self.copy(number, target, path, size)
            case "crash":
                crash(device, first % 12)
            case _ if record is None:
                return
            case "edit":
                text = f"Edited words {len(self.edits)} by {device.label}"
                engine.edit(record.id, scope=device.owner, text=text)
                self.edits.append(Edited(record.id, text, record.text))
            case "forget":
                engine.forget(record.id, scope=device.owner)
            case "restore":
                engine.restore(record.id, scope=device.owner)
            case "purge":
                before = {r.id for r in live}
                engine.purge(record.id, scope=device.owner)
                self.purged |= before - {
                    r.id for r in device.all_records() if r.status is not Status.PURGED
                }
            case "supersede" | "unlink":
                other = live[second % len(live)]
                link = engine.links.link if action == "supersede" else engine.links.unlink
                link(record.id, other.id, scope=device.owner, type=EdgeType.SUPERSEDES)
            case "tag":
                engine.links.tag(record.id, f"tag{second % 4}", scope=device.owner)
            case "untag":
                engine.links.untag(record.id, f"tag{second % 4}", scope=device.owner)

    def finish(self) -> None:
        """Let everything arrive, and every device exchange until nothing is left to tell."""
        for _ in range(4):
            for device in self.devices:
                device.engine.drain()
                device.engine.sync.now()
            self.carry_all()

    def list_purges(self, device: Device) -> Sequence[WaitingPurge]:
        """List the purges that not every device made yet."""
        return device.engine.sync.status().purges

    def check(self) -> None:
        exports = [device.export() for device in self.devices]
        for device, export in zip(self.devices[1:], exports[1:], strict=True):
            assert export == exports[0], f"{device.label} differs"
        for device in self.devices:
            assert not self.list_purges(device)
            records = {r.id: r for r in device.all_records()}
            live = {i for i, r in records.items() if r.status is not Status.PURGED}
            assert not self.purged & live
            assert set(self.said) - self.purged <= live
            texts = {record.text for record in records.values()}
            replaced = {edited.base for edited in self.edits}
            for edited in self.edits:
                is_gone = edited.record_id in self.purged or edited.text in replaced
                assert is_gone or edited.text in texts, f"{edited} is lost"
        assert_no_problem(self.devices)


def assert_no_problem(devices: list[Device]) -> None:
    for device in devices:
        assert device.engine.store.check(repair=False)["problems"] == []


def crash(device: Device, steps: int) -> None:
    """Exchange, and die at one of the writes: to the memory, or to the place."""
    left = [steps]

    def failing(write: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise DiedError
            return write(*values, **named)

        return call

    store = device.engine.store
    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(FolderPlace, "_write", failing(FolderPlace._write))
        patched.setattr(FolderPlace, "_remove", failing(FolderPlace._remove))
        patched.setattr(OwnSegments, "prepare", failing(OwnSegments.prepare))
        patched.setattr(store, "commit", failing(store.commit), raising=False)
        device.engine.sync.now()


def play(number: int, steps: list[tuple[str, int, int, int]], **options: Any) -> None:
    play_in(lambda folder: World(folder, number, options), steps)


def play_in(
    make_world: Callable[[Path], World], steps: Sequence[tuple[str, int, int, int]]
) -> None:
    """Play steps, let everything arrive, and look whether all devices have one memory."""
    with tempfile.TemporaryDirectory(prefix="engrams-") as folder:
        world = make_world(Path(folder))
        try:
            world.start()
            for step in steps:
                world.step(*step)
            world.finish()
            world.check()
        finally:
            for device in world.devices:
                device.close()


QUICK = settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@QUICK
@given(st.lists(STEP, min_size=25, max_size=40))
def test_three_devices_end_in_one_memory(steps: list[tuple[str, int, int, int]]) -> None:
    """Writes, edits, forgets, undos, purges and lost, late, partial or repeated files on three
    devices whose clocks jump and whose exchanges die: all end with the same, and nothing is lost.
    """
    play(3, steps, **PLAIN)


@pytest.mark.slow
def test_what_lost_a_link_to_something_purged_is_told_anew() -> None:
    """A purge takes a link from a memory, and no change of its own; the others have it all the same."""
    steps = [
        ("say", 2, 27, 12),
        ("say", 2, 25, 13),
        ("supersede", 2, 21, 8),
        ("now", 2, 8, 20),
        ("edit", 2, 30, 5),
        ("purge", 2, 0, 11),
    ]
    play(3, steps)


@pytest.mark.slow
@pytest.mark.parametrize("number", [3, 4, 5])
def test_many_steps_end_in_one_memory(number: int) -> None:
    """The same with more steps and up to five devices, and with all that memory learns by rules."""

    @settings(QUICK, max_examples=60, derandomize=False)
    @given(st.lists(STEP, min_size=20, max_size=120), st.booleans())
    def run(steps: list[tuple[str, int, int, int]], learns: bool) -> None:
        play(number, steps, **({} if learns else PLAIN))

    run()
