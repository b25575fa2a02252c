"""Whatever happens in the homes that share a space, and to the files between them, ends in one space."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sync.replicas import OWNER, Device
from tests.sync.test_convergence import PLAIN, QUICK, STEP, World, play_in

from engrams.sync.identity import list_space_homes
from engrams.sync.waiting_purges import WaitingPurge


class SpaceDevice(Device):
    """A home that shares a space."""

    @property
    def id(self) -> str:
        """Name of this home's folder in a place; empty before it shares the space."""
        folders = list_space_homes(self.home)
        return folders[0].load().device if folders else ""


class SpaceWorld(World):
    """Homes of several people, each with its own copy of the space's place."""

    def start(self) -> None:
        """Share a space of the first home, which owns it, with editors."""
        for number in range(self.number):
            self.devices.append(SpaceDevice(self.folder, f"home{number}", **self.settings))
        first = self.devices[0]
        first.engine.spaces.create("home", scope=OWNER)
        first.engine.spaces.share("home", str(self.place(0)), scope=OWNER)
        for number, device in enumerate(self.devices[1:], 1):
            code = first.engine.spaces.invite("home", device.label, "editor", scope=OWNER)
            self.carry_all()
            device.engine.spaces.join(str(self.place(number)), code, scope=OWNER)
            self.carry_all()
            first.engine.sync.now()
        self.carry_all()
        for device in self.devices:
            device.owner = device.engine.spaces.enter("home", scope=OWNER)
            # What is the person's own must be nowhere at the end.
            device.engine.add(f"My own secret, in {device.label}", scope=OWNER)

    def list_purges(self, device: Device) -> Sequence[WaitingPurge]:
        (status,) = device.engine.sync.spaces.status()
        return status.purges

    def finish(self) -> None:
        super().finish()
        for device in self.devices:
            (exchanged,) = device.engine.sync.now().spaces
            assert exchanged.problem == ""
            assert exchanged.report is not None
            assert exchanged.report.refused == exchanged.report.waiting == []

    def check(self) -> None:
        super().check()
        assert not [text for device in self.devices for text in device.texts() if "secret" in text]


def play_space(number: int, steps: Sequence[tuple[str, int, int, int]], *, learns: bool) -> None:
    chosen = {} if learns else PLAIN

    def make_world(folder: Path) -> World:
        return SpaceWorld(folder, number, chosen)

    play_in(make_world, steps)


@settings(QUICK, max_examples=1)
@given(st.lists(STEP, min_size=10, max_size=16))
def test_three_homes_end_in_one_space(steps: list[tuple[str, int, int, int]]) -> None:
    """Writes, edits, forgets, undos, purges and lost, late, partial or repeated files in three homes
    whose clocks jump and whose exchanges die: all end with the same space, and nothing is lost.
    """
    play_space(3, steps, learns=False)


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 4])
def test_many_steps_end_in_one_space(number: int) -> None:
    """The same with more steps and other numbers of homes, and with all that memory learns by rules."""

    @settings(QUICK, max_examples=20, derandomize=False)
    @given(st.lists(STEP, min_size=20, max_size=100), st.booleans())
    def run(steps: list[tuple[str, int, int, int]], learns: bool) -> None:
        play_space(number, steps, learns=learns)

    run()
