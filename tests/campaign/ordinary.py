"""Ordinary work on a home, after which nobody may say that another program changed it:
``python -m tests.campaign --at ordinary``.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
from tests.campaign import doors
from tests.campaign.deadlypoints import arm
from tests.campaign.ledger import OWNERS, Ledger
from tests.campaign.process import ask, command, kill, nap, spawn
from tests.campaign.series import Result
from tests.campaign.world import QUIET, VAULT, World, look, scope

from engrams.encryption.seal_keys import KEY_BYTES

_ROUNDS = 14
_ACTS = 120
"""Acts of one life that nobody kills."""
_SEALED_ALONE = 8
"""The last schema whose tables had no sums."""


def failing(world: World) -> Callable[[str], None]:
    """Return what notes that a child failed by itself."""
    return lambda problem: world.ledger.tell("failed", problem)


def work(world: World) -> None:
    """Act some times, and close."""
    with world.open() as memory:
        for _ in range(_ACTS):
            doors.act(world, memory)


def die(world: World) -> None:
    """Act until a kill, at a point that matters or at any."""

    def act() -> None:
        if world.dice.random() < 0.5:
            arm(world.dice)
        doors.use_engine(world)

    child = spawn(act, failing(world))
    nap(world.dice, 1.0)
    kill(child)


def work_together(world: World) -> None:
    """Two processes act at the same time; one of them is killed."""
    first = world.life(world.number * 100 + 1, f"{world.number} first")
    second = world.life(world.number * 100 + 2, f"{world.number} second")
    child = spawn(lambda: doors.use_engine(first), failing(world))
    ask(lambda: work(second))
    kill(child)


def garden(world: World) -> None:
    """Merge, dream, tidy and end sessions."""
    with world.open() as memory:
        for owner in OWNERS:
            memory.garden.run(scope=scope(owner))
            memory.dream(scope=scope(owner), force=True)
        memory.drain(10)


def back_up(world: World) -> None:
    """Make a backup, and put the home back as it was then."""
    target = world.home.with_name(f"{world.home.name}-{world.key()}.backup")
    for words in (("backup", str(target)), ("restore", str(target))):
        home = world.home if words[0] == "backup" else target.with_suffix(".home")
        if (done := command(home, *words, *world.set)).code:
            world.ledger.tell("failed", f"{words[0]}: {done.err}")
            return
    told = ask(
        lambda: look(World(target.with_suffix(".home"), world.ledger, world.settings, world.dice))
    )
    if told.get("alarms"):
        world.ledger.tell("failed", f"alarm: the backup: {told['alarms']}")
    target.unlink()
    shutil.rmtree(target.with_suffix(".home"), ignore_errors=True)


def change_key(world: World) -> None:
    """Encrypt the home, with another key, and decrypt it."""
    key = world.home.with_name("home.key")
    options = ("--set", "encryption.key=file", "--set", f"encryption.key_file={key}")
    for words in ((), ("--rekey",), ("--off",)):
        if (done := command(world.home, "encrypt", *words, *options, *world.set)).code:
            world.ledger.tell("failed", f"encrypt {words}: {done.err}")
            return


def repair(world: World) -> None:
    """Let the doctor repair a home that needs none."""
    with world.open() as memory:
        memory.check(True)


def grow_old(home: Path) -> None:
    """Make a home one of the release before: rows with seals, and tables without sums."""
    with closing(apsw.Connection(str(home / "memory.db"))) as connection:
        for table in ("table_sums", "attachments"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute(f"DELETE FROM migrations WHERE number > {_SEALED_ALONE}")
        connection.pragma("user_version", _SEALED_ALONE)
    key = home / "seal.key"
    key.write_bytes(key.read_bytes()[:KEY_BYTES])
    for backup in home.glob("memory.db.v*.bak"):
        backup.unlink()


EVENTS: dict[str, tuple[Callable[[World], None], int]] = {
    "work": (work, 5),
    "kill": (die, 4),
    "two processes": (work_together, 3),
    "garden": (garden, 1),
    "backup": (back_up, 1),
    "key": (change_key, 1),
    "repair": (repair, 1),
    "upgrade": (lambda world: grow_old(world.home), 1),
}
"""What happens, and how often it is drawn."""


def run_series(
    seed: str, place: Path, kept: Path, _upstream: str, only: str = ""
) -> Iterator[Result]:
    """Run a series in an empty folder; a result for each event, with the acts that it acknowledged."""
    dice = random.Random(seed)
    settings = {**QUIET, **(VAULT if dice.random() < 0.3 else {})}
    world = World(place / "home", Ledger(place / "home.acks"), settings, dice)
    names = ["work", *dice.choices([*EVENTS], [weight for _, weight in EVENTS.values()], k=_ROUNDS)]
    told = 0
    failures = 0
    for number, name in enumerate(names):
        if number and not name.startswith(only):
            continue
        life = world.life(number, f"{seed}/{number}/{name}")
        done = ask(lambda: EVENTS[name][0](life), 300)  # noqa: B023 - called at once
        expected = world.ledger.expect()
        problems = [f"{name}: {done[key]}" for key in ("raised", "hung") if done and key in done]
        problems += expected.failures[failures:]
        failures = len(expected.failures)
        seen = ask(lambda: look(life))  # noqa: B023
        alarms = [*seen.get("alarms", ()), *(text for text in problems if text.startswith("alarm"))]
        errors = [text for text in problems if not text.startswith("alarm")]
        errors += [str(seen[key]) for key in ("refused", "raised", "hung") if key in seen]
        acts = expected.acknowledged
        result = Result(
            f"ordinary: {name}",
            acts - told,
            home=str(kept / seed.replace("/", "-")),
            alarms=alarms,
            errors=errors,
        )
        told = acts
        if result.failed and not Path(result.home).exists():
            shutil.copytree(world.home, result.home, symlinks=True)
        yield result
