"""The files that a device leaves stay few and small, and nothing is lost by that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sync.replicas import OWNER, Device, exchange_all, pair, plain
from tests.sync.test_convergence import PLAIN, QUICK, STEP, DiedError, World, crash, play_in

from engrams.core import Status
from engrams.errors import StoreError
from engrams.sync import compaction
from engrams.sync.places import FolderPlace

SECRET = "The wallpaper in Zanzibar was ultramarine."


@pytest.fixture
def _early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let six small segments be many, and ten states that were told again."""
    monkeypatch.setattr(compaction, "MANY_SMALL", 6)
    monkeypatch.setattr(compaction, "MANY_RETOLD", 10)


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[list[Device]]:
    """Two devices of a memory in `place`, and a third that is none yet."""
    made = [Device(tmp_path, label, **PLAIN) for label in ("laptop", "phone", "tablet")]
    made[0].engine.sync.init(str(tmp_path / "place"), OWNER, "laptop")
    pair(made[0], made[1], tmp_path / "place")
    exchange_all(made[:2], 2)
    yield made
    for device in made:
        device.close()


def count_files(device: Device, place: Path) -> int:
    """Count the segments of a device in the place."""
    return len(list(place.glob(f"devices/{device.engine.sync.status().device}/*.seg")))


def say_and_exchange(device: Device, count: int, word: str = "Note") -> list[str]:
    """Store so many notes, each told by an exchange of its own."""
    ids = []
    for number in range(count):
        ids.append(device.say(f"{word} number {number} of the {device.label}."))
        device.engine.sync.now()
    return ids


@pytest.mark.usefixtures("_early")
def test_many_exchanges_leave_few_files(devices: list[Device], tmp_path: Path) -> None:
    """Forty exchanges of one note each leave a few segments; the other device has all notes, and so has
    one that joins afterwards; a purge before and after is confirmed.
    """
    laptop, phone, tablet = devices
    place = tmp_path / "place"
    (secret, *_) = say_and_exchange(laptop, 1, SECRET)
    exchange_all([phone, laptop], 1)
    phone.engine.purge(secret, scope=OWNER)
    ids = []
    for part in range(10):
        ids += say_and_exchange(laptop, 4, f"Part {part}")
        exchange_all([phone, laptop], 1)
    assert count_files(laptop, place) <= 12
    # What the other says to them is merged, too.
    assert count_files(phone, place) <= 12
    assert phone.export() == laptop.export()
    assert {record.id for record in phone.records()} >= set(ids)
    pair(laptop, tablet, place)
    exchange_all(devices, 3)
    assert tablet.export() == laptop.export() == phone.export()
    assert "ultramarine" not in plain(laptop, place)
    last = ids[13]
    tablet.engine.purge(last, scope=OWNER)
    exchange_all(devices, 3)
    for device in devices:
        assert device.get(last).status is Status.PURGED
        assert not device.engine.sync.status().purges


@pytest.mark.usefixtures("_early")
def test_nothing_goes_before_a_device_that_is_off_has_it(
    devices: list[Device], tmp_path: Path
) -> None:
    """While a device is off all stays that it did not read; when it was on again, or was removed, it goes."""
    laptop, phone, _ = devices
    place = tmp_path / "place"
    say_and_exchange(laptop, 20)
    assert count_files(laptop, place) >= 20
    phone.engine.sync.now()
    assert phone.export() == laptop.export()
    exchange_all([laptop, phone], 3)
    assert count_files(laptop, place) <= 10
    say_and_exchange(laptop, 20, "More")
    laptop.engine.sync.remove("phone")
    exchange_all([laptop], 3)
    assert count_files(laptop, place) <= 12


@pytest.mark.usefixtures("_early")
def test_edits_leave_no_former_texts(devices: list[Device], tmp_path: Path) -> None:
    """Memories that were edited again and again are told once: no segment keeps their former texts."""
    laptop, phone, _ = devices
    ids = [laptop.say(f"Thing {number} stands here.") for number in range(10)]
    exchange_all([laptop, phone], 1)
    for version in range(4):
        for record_id in ids:
            laptop.engine.edit(record_id, scope=OWNER, text=f"{record_id} version {version}.")
        exchange_all([laptop, phone], 1)
    told = [
        item["id"]
        for segment in laptop.read_segments(tmp_path / "place")
        for item in segment.records
    ]
    assert len(told) <= 2 * len(set(told))
    assert "version 0" not in plain(laptop, tmp_path / "place")
    assert phone.export() == laptop.export()


@pytest.mark.parametrize(
    "steps",
    [pytest.param(steps, marks=[pytest.mark.slow] if steps % 3 else []) for steps in range(24)],
)
@pytest.mark.usefixtures("_early")
def test_a_crash_at_any_write(steps: int, devices: list[Device], tmp_path: Path) -> None:
    """An exchange that dies at any of its writes, also while it merges and removes, loses nothing."""
    laptop, phone, tablet = devices
    ids = say_and_exchange(laptop, 5)
    phone.engine.sync.now()
    for number in range(3):
        ids.append(laptop.say(f"Last {number}."))
        try:
            crash(laptop, steps)
        except DiedError:
            laptop.reopen()
        phone.engine.sync.now()
    pair(laptop, tablet, tmp_path / "place")
    exchange_all(devices, 3)
    assert {record.id for record in tablet.records()} >= set(ids)
    assert laptop.export() == phone.export() == tablet.export()


@pytest.mark.usefixtures("_early")
def test_a_place_that_lets_nobody_remove(
    devices: list[Device], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where files cannot be removed the exchange goes on and says so; later they go."""

    def refuse(*_: object) -> None:
        raise StoreError("Nobody may remove here.")

    laptop, phone, _ = devices
    say_and_exchange(laptop, 10)
    with monkeypatch.context() as patched:
        patched.setattr(FolderPlace, "_remove", refuse)
        phone.engine.sync.now()
        reports = [laptop.engine.sync.now() for _ in range(3)]
        assert "Nobody may remove here" in reports[-1].remains
    assert count_files(laptop, tmp_path / "place") >= 10
    exchange_all([laptop, phone], 2)
    assert count_files(laptop, tmp_path / "place") <= 6
    assert laptop.export() == phone.export()


@dataclass
class LateWorld(World):
    """Devices, and one more that joins when all is over."""

    def finish(self) -> None:
        super().finish()
        late = Device(self.folder, "late", **self.settings)
        self.devices.append(late)
        late.engine.sync.join(
            str(self.place(0)), self.devices[0].engine.sync.pair(), OWNER, late.label
        )
        late.engine.sync.move(str(self.place(self.number)))
        self.number += 1
        super().finish()


def play_late(number: int, steps: list[tuple[str, int, int, int]]) -> None:
    play_in(lambda folder: LateWorld(folder, number, PLAIN), steps)


@pytest.mark.slow
def test_plays_with_compaction_end_in_one_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens on three devices while their segments are merged all the time, they end with the
    same, and so does one that joins at the end.
    """
    monkeypatch.setattr(compaction, "MANY_SMALL", 2)
    monkeypatch.setattr(compaction, "MANY_RETOLD", 2)

    @QUICK
    @given(st.lists(STEP, min_size=40, max_size=80))
    def run(steps: list[tuple[str, int, int, int]]) -> None:
        play_late(3, steps)

    run()
