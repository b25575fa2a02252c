"""Writes to one home and dies, over and over: ``python storm.py HOME ACKS ROUNDS SEED``.

Each round forks a child that opens the engine and writes until it is killed with SIGKILL at a random moment, sometimes
while it is still opening. What the engine acknowledged is appended to the file ACKS, one JSON line each: the kernel keeps
that line even though the writer is gone in the next instant. Everything is imported before the first fork.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import engrams
from engrams import Turn

OWNER = ("user", "storm")
CITIES = ("Oslo", "Lima", "Cairo", "Quito", "Hanoi", "Turin", "Dakar", "Perth")


def text(key: str, dice: random.Random) -> str:
    """Something that rules draw a fact from, or something with a word of its own to search for."""
    return f"I moved to {dice.choice(CITIES)}." if dice.random() < 0.3 else f"Parcel {key} is in the hall."


def write(home: str, acks: int, number: int) -> None:
    """The child: never returns by itself."""
    dice = random.Random(number)
    memory = engrams.open(home=home, jobs__lease=1.0, jobs__workers=2)
    step = 0
    while True:
        step += 1
        keys = [f"r{number}x{step}y{part}" for part in range(3 if dice.random() < 0.2 else 1)]
        turns = [Turn(text(key, dice), external_id=key, session=f"round-{number}") for key in keys]
        if len(turns) > 1:
            receipts = memory.observe(turns, scope=OWNER)
        else:
            receipts = (memory.add(turns[0], scope=OWNER, settle=dice.random() < 0.5),)
        said = [{"key": key, "id": receipt.id, "does": "stored"} for key, receipt in zip(keys, receipts, strict=True)]
        os.write(acks, "".join(json.dumps(row) + "\n" for row in said).encode())
        if dice.random() < 0.1:
            memory.forget(receipts[0].id, scope=OWNER)
            os.write(acks, (json.dumps({"key": keys[0], "id": receipts[0].id, "does": "forgotten"}) + "\n").encode())


def opening(home: str) -> float:
    """Seconds that a child needs here and now until its first acknowledgement."""
    start = time.perf_counter()
    child = os.fork()
    if not child:
        with engrams.open(home=home, jobs__workers=0) as memory:
            memory.add("The first words of all.", scope=OWNER)
        os._exit(0)
    os.waitpid(child, 0)
    return time.perf_counter() - start


def main(home: str, path: str, rounds: int, seed: int) -> None:
    dice = random.Random(seed)
    acks = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    longest = 3 * opening(home) + 0.1
    for number in range(rounds):
        child = os.fork()
        if not child:
            try:
                write(home, acks, number)
            except BaseException as problem:  # a child that fails by itself is what must not happen: say so
                os.write(acks, (json.dumps({"does": "failed", "error": repr(problem)}) + "\n").encode())
            os._exit(1)
        time.sleep(dice.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def warm() -> None:
    """Load every module that the children will use, without starting a thread."""
    with engrams.open(store__url=":memory:", jobs__workers=0) as memory:
        memory.add("I moved to Oslo.", scope=OWNER)
        memory.search("Where?", scope=OWNER)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    warm()
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
