"""A series: one home that is killed many times, and copies of it that are damaged."""

from __future__ import annotations

import gc
import json
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.campaign import damage, doors, kills, odd
from tests.campaign.ledger import Ledger
from tests.campaign.process import ask
from tests.campaign.world import QUIET, VAULT, Findings, World, judge, look

_KILLS = {"engine": 6, "commands": 4, "processes": 1, "files": 4, "serve": 1, "mcp": 1}
_ROUNDS = 6
"""Rounds of a series: kills, then damage to copies, then something odd."""
_KILLS_EACH = 6
_DAMAGES_EACH = 4
_UNSEEN = 0.5
"""Share of the kills after which the next child comes at once: what was lost is still lost at the
next look.
"""
_FILLED = 0.4
"""Seconds that the first memories take on a machine with nothing else to do."""
_FULL = 260
"""Acknowledged memories after which a home is left in peace."""


@dataclass(frozen=True)
class Result:
    """What one event did, and what was wrong afterwards."""

    kind: str
    acknowledged: int = 0
    what: str = ""
    home: str = ""
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    risen: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    empty: bool = False
    superlinear: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    """What was taken for an edit by another program, and was none."""
    unnoticed: list[str] = field(default_factory=list)
    """Edits by another program that nobody told of."""
    errors: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return bool(
            self.lost
            or self.doubled
            or self.risen
            or self.leaked
            or self.empty
            or self.superlinear
            or self.alarms
            or self.unnoticed
            or self.errors
        )

    def counts(self) -> dict[str, int]:
        """The columns of the table."""
        named = {
            "lost": self.lost,
            "doubled": self.doubled,
            "risen": self.risen,
            "leaks": self.leaked,
            "superlinear": self.superlinear,
            "alarms": self.alarms,
            "unnoticed": self.unnoticed,
        }
        lists = {name: len(items) for name, items in named.items()}
        return {
            "events": 1,
            "acknowledged": self.acknowledged,
            **lists,
            "empty": int(self.empty),
            "errors": len(self.errors),
        }

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Result:
        return cls(**json.loads(line))


def warm_up(home: Path) -> None:
    """Import everything that children will use, without a thread that stays."""
    import engrams.program.main
    import engrams.program.registry
    import engrams.surfaces.http.server
    import engrams.surfaces.mcp.server  # noqa: F401

    world = World(
        home,
        Ledger(home.with_name("warm.acks")),
        {**QUIET, **VAULT, "vault__git": True},
        random.Random(0),
    )
    with world.open() as memory:
        for _ in range(30):
            doors.act(world, memory)
        memory.vault.sync()  # type: ignore[union-attr]
        memory.drain(5)
    look(world)
    gc.freeze()  # children share these objects instead of copying them


class Series:
    """State of one series."""

    def __init__(self, seed: str, place: Path, kept: Path, upstream: str, only: str) -> None:
        self.dice = random.Random(seed)
        self.place = place
        self.kept = kept / seed.replace("/", "-")
        self.upstream = upstream
        self.only = only
        self.seed = seed
        settings = dict(QUIET)
        if self.dice.random() < 0.45:
            settings |= VAULT | {"vault__git": self.dice.random() < 0.5}
        if self.dice.random() < 0.3:
            settings["write__extract"] = "off"
        self.world = World(place / "home", Ledger(place / "home.acks"), settings, self.dice)
        self.told = 0
        self.events = 0
        self.failures: list[str] = []
        self.other: Path | None = None

    def run(self) -> Iterator[Result]:
        yield from self._fill()
        for _ in range(_ROUNDS):
            for _ in range(_KILLS_EACH):
                door = self.dice.choices(list(_KILLS), list(_KILLS.values()))[0]
                if door == "files" and not self.world.vault:
                    door = "engine"
                if self._wanted(f"kill: {door}"):
                    snapshot = self.place / f"killed-{self.events + 1}"
                    yield self._kill(door, snapshot)
            for _ in range(_DAMAGES_EACH):
                if self._wanted("damage"):
                    yield self._damage()
            name = self.dice.choice([name for name in odd.ODD if odd.suits(name, self.world)])
            if self._wanted(name):
                yield self._odd(name)
            if len(self.world.ledger.expect().stored) > _FULL:
                return

    def _wanted(self, name: str) -> bool:
        return name.startswith(self.only)

    def _fill(self) -> Iterator[Result]:
        """Some memories to begin with, so that there is something to lose."""

        def work() -> None:
            with self.world.open() as memory:
                for _ in range(40):
                    doors.act(self.world, memory)

        world = self.world
        self.world = self._next("fill")
        start = time.perf_counter()
        told = ask(work)
        world.pace = max(1.0, (time.perf_counter() - start) / _FILLED)
        self.world = world
        yield self._judged(
            "fill", "", [told[name] for name in ("raised", "hung") if told and name in told]
        )

    def _next(self, name: str) -> World:
        self.events += 1
        return self.world.life(
            int(self.seed.partition("/")[2]) * 1000 + self.events,
            f"{self.seed}/{self.events}/{name}",
        )

    def _kill(self, door: str, snapshot: Path) -> Result:
        world = self._next(door)
        kills.kill_once(world, door, self.upstream)
        if self.other is not None:
            shutil.rmtree(self.other, ignore_errors=True)
        self.world.copy(snapshot)
        self.other = snapshot
        if self.dice.random() < _UNSEEN:
            return Result(f"kill: {door}")
        return self._judged(f"kill: {door}", "")

    def _damage(self) -> Result:
        """Damage a copy of the home as the last kill left it, or as it is now."""
        world = self._next("damage")
        source = (
            self.other if self.other is not None and self.dice.random() < 0.5 else self.world.home
        )
        whole = self.place / "whole"
        spoilt = self.place / "spoilt"
        for path in (whole, spoilt):
            shutil.rmtree(path, ignore_errors=True)
        base = World(
            source,
            Ledger(source.with_name(source.name + ".acks")),
            world.settings,
            world.dice,
            world.number,
        )
        if not (source / "memory.db").exists() or not (source / "memory.db").stat().st_size:
            return Result("damage: none")
        base.copy(whole)
        copy = base.copy(spoilt)
        before = copy.ledger.expect().acknowledged
        name, findings = damage.damage_once(copy, whole, self.other)
        kind = name.partition(" of ")[0]
        result = self._to_result(f"damage: {kind}", before, name, findings)
        if result.failed:
            again = base.copy(self.place / "again")
            again.dice = random.Random(f"{self.seed}/{self.events}/damage")
            for one in damage.choose(again, self.other):
                one.apply(again.home)
            self._keep(again.home)
            shutil.copytree(
                whole, self.kept / f"{self.events}.whole", symlinks=True, dirs_exist_ok=True
            )
            shutil.rmtree(again.home)
        for path in (whole, spoilt):
            shutil.rmtree(path, ignore_errors=True)
        return result

    def _odd(self, name: str) -> Result:
        world = self._next(name)
        odd.ODD[name](world)
        return self._judged(name, "")

    def _judged(self, kind: str, what: str, errors: list[str] | None = None) -> Result:
        """Verify the home after an event."""
        before = self.place / "before"
        shutil.rmtree(before, ignore_errors=True)
        if self.world.home.exists():
            self.world.copy(before)
        expected = self.world.ledger.expect()
        told = ask(lambda: look(self.world))
        findings = judge(expected, told)
        news = expected.failures[len(self.failures) :]
        self.failures = expected.failures
        problems = told.get("check", [])
        findings.errors = (
            *findings.errors,
            *(errors or ()),
            *news,
            *(f"check: {problem}" for problem in problems if _is_serious(problem)),
        )
        acknowledged = expected.acknowledged - self.told
        self.told = expected.acknowledged
        result = self._to_result(kind, acknowledged, what, findings)
        result.alarms.extend(told.get("alarms", ()))
        if result.failed:
            self._keep(before)
        return result

    def _to_result(self, kind: str, acknowledged: int, what: str, found: Findings) -> Result:
        errors = [str(error) for error in found.errors]
        slow = [error for error in errors if error.startswith("superlinear")]
        leaks = [error for error in errors if error.startswith("leak")]
        rest = [error for error in errors if error not in slow and error not in leaks]
        home = str(self.kept / str(self.events))
        return Result(
            kind,
            acknowledged,
            what,
            home,
            found.lost,
            found.doubled,
            found.risen,
            [*found.leaked, *leaks],
            found.empty,
            slow,
            errors=rest,
        )

    def _keep(self, home: Path) -> None:
        target = self.kept / str(self.events)
        if home.exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(home, target, symlinks=True)
            shutil.copy(self.world.ledger.path, target.with_name(target.name + ".acks"))


def _is_serious(problem: str) -> bool:
    """True unless it is about one odd file that a person has to look at."""
    return ".md" not in problem


def run_series(
    seed: str, place: Path, kept: Path, upstream: str, only: str = ""
) -> Iterator[Result]:
    """Run a series in an empty folder; a result for each event."""
    yield from Series(seed, place, kept, upstream, only).run()
