"""A series against the files of search indexes:
one home whose processes write, map, merge and purge them while they are killed.
"""

from __future__ import annotations

import functools
import os
import random
import resource
import shutil
import signal
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.campaign import crowd, deadlypoints, doors, odd, segment_damage, segment_look, staleness
from tests.campaign.ledger import OWNERS, Ledger, text_of
from tests.campaign.process import PATIENCE, ask, command, kill, nap, spawn, wait
from tests.campaign.series import Result, Series
from tests.campaign.world import QUIET, VAULT, World, scope

from engrams import Turn
from engrams.errors import EngramsError
from engrams.index import ann
from engrams.store.sql import index_cache

_ROUNDS = 14
_EVENTS = {
    "kill": 5,
    "crowd": 3,
    "damage": 6,
    "damage while open": 3,
    "stale": 3,
    "full disk": 1,
    "permission": 2,
    "encryption": 1,
}
_SERVERS = {(): 5, ("mcp",): 3, ("serve",): 1, ("serve", "mcp"): 2}
_FILES = {40: 3, 150: 2, 2000: 2}
"""Records from which an index is kept in a file, and how often: real processes of their own keep
the product's number.
"""
_CODED = 0.2
"""Share of the series whose vectors are coded from a hundred records on."""
_NOBODY = 65534
_PASSPHRASE = "correct horse battery"  # of homes that hold parcels
_WHOLE = index_cache._CachedIndex
_MOST = 400
"""Memories beyond the first ones after which a home is left in peace."""


class SegmentSeries(Series):
    """State of one series."""

    def __init__(self, seed: str, place: Path, kept: Path, upstream: str, only: str) -> None:
        super().__init__(seed, place, kept, upstream, only)
        settings = {**QUIET, **(VAULT if self.dice.random() < 0.2 else {})}
        if self.dice.random() < 0.6:
            settings["write__extract"] = "off"
        self.rows = self.dice.choices([*_FILES], [*_FILES.values()])[0]
        self.coded = self.dice.random() < _CODED
        if self.coded:
            settings["store__exact_limit"] = 100
        self.world = World(place / "home", Ledger(place / "home.acks"), settings, self.dice)
        os.environ["ENGRAMS_PASSPHRASE"] = _PASSPHRASE
        _keep_files_from(self.rows, 100 if self.coded else 50_000)
        self.earlier: tuple[Path, ...] = ()
        self.first = 0

    def run(self) -> Iterator[Result]:
        yield from self._fill()
        stranger = self.place / "stranger"
        self._make_stranger(stranger)
        self.earlier = (stranger,)
        for _ in range(_ROUNDS):
            name = self.dice.choices([*_EVENTS], [*_EVENTS.values()])[0]
            if self._wanted(f"segments: {name}"):
                yield getattr(self, f"_{name.replace(' ', '_')}")()
            if len(self.world.ledger.expect().stored) > self.first + _MOST:
                return

    def _fill(self) -> Iterator[Result]:
        """Enough memories of both owners for an index file each."""
        number = self.rows + self.dice.randrange(10, 100)

        def work() -> None:
            fill(self.world, number)

        world = self.world
        self.world = self._next("fill")
        start = time.perf_counter()
        told = ask(work, PATIENCE * 4)
        world.pace = max(1.0, (time.perf_counter() - start) / (0.5 + number / 1000))
        self.world = world
        self.first = len(world.ledger.expect().stored)
        yield self._judged(
            "segments: fill",
            str(number),
            [told[name] for name in ("raised", "hung") if told and name in told],
        )

    def _make_stranger(self, home: Path) -> None:
        """Another memory of the same owners."""
        other = World(
            home, Ledger(home.with_name("stranger.acks")), self.world.settings, self.dice, 9_999_999
        )
        ask(lambda: fill(other, self.rows + 10))

    def _judged(self, kind: str, what: str, errors: list[str] | None = None) -> Result:
        found = segment_look.verify(self.world, self.place, exact=not self.coded)
        return super()._judged(kind, what, [*(errors or ()), *found])

    def _failed(self, what: str) -> Callable[[str], None]:
        return lambda problem: self.world.ledger.tell("failed", f"{what}: {problem}")

    # ----------------------------------------------------------------------------------------------
    # events

    def _kill(self) -> Result:
        """Kill a process that writes and purges, at a moment that matters or at any."""
        world = self._next("kill")
        point = ""
        if self.dice.random() < 0.7:
            moment = self.dice.getrandbits(32)
            point = deadlypoints.name_point(random.Random(moment))

            def work() -> None:
                deadlypoints.arm(random.Random(moment))
                doors.use_engine(world)

            wait(spawn(work, self._failed("kill")), 1.5 * world.pace)
        else:
            child = spawn(lambda: doors.use_engine(world), self._failed("kill"))
            nap(self.dice, 0.6 * world.pace)
            kill(child)
        if self.dice.random() < 0.3:
            earlier = self.place / f"earlier-{self.events}"
            self.world.copy(earlier)
            self.earlier = (*self.earlier, earlier)
        return self._judged("segments: kill", point)

    def _crowd(self) -> Result:
        """Kill some of several processes that read, write, map and merge the same files."""
        servers = self.dice.choices([*_SERVERS], [*_SERVERS.values()])[0]
        crowd.Crowd(self._next("crowd"), self.upstream).run(servers)
        return self._judged("segments: crowd", ", ".join(servers))

    def _damage(self) -> Result:
        """Damage files of a home that nobody uses."""
        self._next("damage")
        what = segment_damage.damage_files(self.dice, self.world.home, self.earlier)
        return self._judged("segments: damage", what)

    def _damage_while_open(self) -> Result:
        """Damage files that a process has mapped, and let it go on; it never dies of it."""
        world = self._next("open")
        seed = self.dice.getrandbits(32)

        def work() -> list[str]:
            dice = random.Random(seed)
            done = []
            with world.open() as memory:
                for _ in range(4):
                    problems = segment_look.ask_for_keys(world, memory, world.ledger.expect())
                    if found := [*problems]:
                        return [f"{found} after {done}"]
                    done.append(segment_damage.damage_files(dice, world.home, self.earlier))
                    for _ in range(6):
                        doors.act(world, memory)
            return []

        return self._judged("segments: damage while open", "", _problems(ask(work)))

    def _stale(self) -> Result:
        """Change memories in one process, and ask all others at once."""
        world = self._next("stale")
        upstream = self.upstream if self.dice.random() < 0.25 else ""
        told = ask(lambda: staleness.look(world, upstream), PATIENCE * 3)
        return self._judged("segments: stale", "", _problems(told))

    def _full_disk(self) -> Result:
        """Write until the disk, or the largest size of a file, is reached while index files are
        written and mapped.
        """
        if self.dice.random() < 0.5:
            odd.fill_disk(self._next("full disk"))
            return self._judged("segments: full disk", "a small disk")
        world = self._next("full disk")
        limit = self.dice.randrange(10_000, 2_000_000)

        def work() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            with world.open() as memory:
                memory.search("parcel", scope=scope("ada"))
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
                _act_in_spite(world, memory, 60)
                resource.setrlimit(
                    resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                )

        return self._judged("segments: full disk", f"files of {limit} bytes", _problems(ask(work)))

    def _permission(self) -> Result:
        """Take the right to read, write, list or enter the files or their folder, and work on as a
        user without privileges.
        """
        world = self._next("permission")
        place = segment_look.folder_of(self.world.home)
        chosen = [
            path
            for path in (place, *segment_look.files_of(world.home))
            if path.exists() and not path.is_symlink()
        ]
        if not chosen:
            return self._judged("segments: permission", "no files")
        target = self.dice.choice([place, *chosen])
        mode = self.dice.choice((0o000, 0o100, 0o200, 0o300, 0o400, 0o500))
        before = {path: stat.S_IMODE(path.stat().st_mode) for path in chosen}

        def work() -> None:
            if os.geteuid() == 0:
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
            target.chmod(mode)
            with world.open() as memory:
                _act_in_spite(world, memory, 40)

        if os.geteuid() == 0:
            for path in (world.home, *world.home.rglob("*")):
                os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
            for path in (self.place, self.place.parent):
                path.chmod(0o711)
        problems = _problems(ask(work))
        for path, right in before.items():
            if path.exists():
                path.chmod(right)
        return self._judged("segments: permission", f"{target.suffix} {mode:o}", problems)

    def _encryption(self) -> Result:
        """Encrypt a home with index files, killed in the middle now and then;
        work on, and write it plain again.
        """
        world = self._next("encryption")
        words = ("encrypt", "--key", "passphrase", *world.set)
        if self.dice.random() < 0.5:
            child = spawn(lambda: command(world.home, *words), self._failed("encryption"))
            nap(self.dice, 0.6 * world.pace)
            kill(child)
        done = command(world.home, *words)
        errors = [f"encrypt: {done.err}"] if done.code else []

        def work() -> list[str]:
            with world.open() as memory:
                for _ in range(20):
                    doors.act(world, memory)
                return [*segment_look.ask_for_keys(world, memory, world.ledger.expect())]

        errors += _problems(ask(work))
        errors += [f"{path} in an encrypted home" for path in segment_look.files_of(world.home)]
        result = self._judged("segments: encryption", "", errors)
        done = command(world.home, "encrypt", "--off", *world.set)
        return replace(
            result, errors=[*result.errors, *([f"decrypt: {done.err}"] if done.code else [])]
        )


def fill(world: World, number: int) -> None:
    """Say so many parcels as each owner, and search, so that a file is written."""
    with world.open(write__extract="off") as memory:
        for owner in OWNERS:
            keys = [world.key(owner) for _ in range(number)]
            world.ledger.tell("try-store", *keys)
            turns = [
                Turn(text_of(key), external_id=key, session=f"first{place // 12}")
                for place, key in enumerate(keys)
            ]
            for start in range(0, number, 400):
                memory.observe(turns[start : start + 400], scope=scope(owner))
            world.ledger.tell("store", *keys)
            memory.search("Which parcel is in the hall of house 7?", scope=scope(owner))


def _act_in_spite(world: World, memory: object, times: int) -> None:
    """Act so often; refusals in words are fine."""
    for _ in range(times):
        try:
            doors.act(world, memory)
        except EngramsError:
            continue


def _problems(told: object) -> list[str]:
    if isinstance(told, dict):
        return [str(told.get("raised") or told.get("hung"))]
    return [*map(str, told)] if isinstance(told, list) else []


def _keep_files_from(rows: int, coded: int) -> None:
    """Set from how many records on an index is kept in a file, and vectors are coded;
    for this process and its children.
    """
    index_cache._MIN_ROWS = rows
    ann.MIN_CODED = coded
    index_cache._CachedIndex = functools.partial(_WHOLE, due=rows)  # type: ignore[misc,assignment]


def run_series(
    seed: str, place: Path, kept: Path, upstream: str, only: str = ""
) -> Iterator[Result]:
    """Run a series in an empty folder; a result for each event."""
    yield from SegmentSeries(seed, place, kept, upstream, only).run()
    for left in place.glob("earlier-*"):
        shutil.rmtree(left, ignore_errors=True)
