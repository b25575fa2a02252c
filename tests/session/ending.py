"""Ends sessions and dies, over and over: ``python ending.py HOME KILLS SEED``.

The home holds sessions that nobody ended. Each life is a forked child that ends them and kills
itself with SIGKILL just before, or just after, one of its writes to the store, if it makes so many.
Everything is imported before the first fork.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from typing import Any

import engrams
from engrams import Turn
from engrams.store.sqlite import SqliteStore
from engrams.testing import SettableClock

OWNER = ("user", "storm")
WRITES = ("commit", "enqueue", "claim", "renew", "finish", "save")


def armed(commits_left: int, after: bool) -> None:
    """Die just before, or just after, the write number ``commits_left`` from now."""
    count = [commits_left]

    def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
        def write(*arguments: Any, **options: Any) -> Any:
            count[0] -= 1
            if count[0] == 0 and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*arguments, **options)
            if count[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return write

    for name in WRITES:
        setattr(SqliteStore, name, deadly(getattr(SqliteStore, name)))


def life(home: str, clock: SettableClock, number: int, dice: random.Random) -> None:
    """Ends what is over; every third child also says something new first, and ends that itself."""
    armed(dice.randint(1, 14), after=dice.random() < 0.5)
    with engrams.open(home=home, clock=clock, jobs__workers=0, jobs__lease_seconds=0.01) as memory:
        if number % 3 == 0:
            name = f"s{number % 4}"
            turns = [
                f"I kind of like sport number {number}.",
                f"Boat {number} is a boat.",
                f"The boat of Ann number {number} sails.",
            ]
            memory.observe(
                [
                    Turn(text, session=name, external_id=f"{number}-{at}")
                    for at, text in enumerate(turns)
                ],
                scope=OWNER,
            )
            memory.sessions.end(name, scope=OWNER)
        memory.drain(5)


def main(home: str, kills: int, seed: int) -> None:
    clock = SettableClock()
    number = killed = 0
    while killed < kills:
        number += 1
        clock.forward(hours=1)
        child = os.fork()
        if not child:
            try:
                life(home, clock, number, random.Random(seed * 1000 + number))
            except BaseException:  # a child that fails by itself is what must not happen: say so
                import traceback

                traceback.print_exc()
                os._exit(3)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            sys.exit(3)


if __name__ == "__main__":
    with engrams.open(
        store__url=":memory:", jobs__workers=0
    ) as warm:  # every module that the children will use
        warm.observe(
            [Turn(f"I kind of like boat {n}. It is a boat.", session="w") for n in range(4)],
            scope=OWNER,
        )
        warm.drain()
        warm.sessions.end("w", scope=OWNER)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
