"""Writes to one home and dies, over and over: ``python storm.py HOME ACKS KILLS SEED``.

Each life is a forked child that opens the engine and writes: turns in several sessions, what rules
or a model learn from them, held statements, tiers, topics, summaries, ends of sessions. It is
killed with SIGKILL, two of three just before or just after one of its writes to the store, the
others at a random moment, sometimes while they are still opening; several run at once. What the
engine acknowledged is appended to the file ACKS, one JSON line each: the kernel keeps that line
even though the writer is gone in the next instant. Everything is imported before the first fork;
the model is a process of its own, which nobody kills.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engrams
from engrams import MemoryEngine, Turn
from engrams.store.sqlite import SqliteStore
from engrams.testing import ReceivedModelRequest, ScriptedModel

OWNER = ("user", "storm")
CITIES = ("Oslo", "Lima", "Cairo", "Quito", "Hanoi", "Turin", "Dakar", "Perth")
WRITES = ("commit", "enqueue", "claim", "renew", "finish", "save", "fail")
LIVES = 4
"""How many write at once."""
TURNS = 3
"""Writes of a session before it is ended."""
_SETTINGS: dict[str, Any] = {
    "jobs__lease_seconds": 0.5, "jobs__backoff_seconds": 0.1, "write__debounce_seconds": 0.05, "tiers__enabled": True,
    "tiers__working_size": 4, "tiers__promote_importance": 0.0, "tiers__duplicate_cosine": 0.0, "tiers__check_turns": 10,
    "topics__enabled": True, "topics__refresh_searches": 5, "topics__names": "text", "summary__enabled": True,
}  # fmt: skip


def settings(url: str) -> dict[str, Any]:
    """Of a life with the model at ``url``; empty: with rules."""
    chat = {
        "chat__provider": "openai",
        "chat__model": "m",
        "chat__url": url,
        "chat__retries": 0,
        "chat__timeout_seconds": 20.0,
    }
    return {**_SETTINGS, **chat} if url else _SETTINGS


def answer(request: ReceivedModelRequest) -> Any:
    """A model that learns of moves and of likes, lets everything stand, and tells sessions apart."""
    prompt = request.prompt
    key = next(iter(re.findall(r"r\d+x\d+y\d+", prompt)), "nothing")
    if "Write a short account of it" in prompt:
        return {"summary": f"They spoke of {key}."}
    if "keep the summary of a conversation" in prompt:
        return f"Summary with {key}."
    if "How much will it matter" in prompt:
        return "0.8"
    if "one short sentence" in prompt:
        return f"It is about {key}."
    if "Below are numbered messages" not in prompt:
        return {"decisions": []}
    rows = []
    for line in prompt.partition("The messages:")[2].splitlines():
        number = int((re.match(r"\[(\d+)\]", line) or ["", "0"])[1])
        if found := re.search(r"I moved to (\w+)", line):
            told = {
                "text": f"The user lives in {found[1]}.",
                "predicate": "lives_in",
                "object": found[1],
                "effect": "changes",
            }
            rows.append(
                {
                    "turn": number,
                    "quote": found[0],
                    "subject": "user",
                    "kind": "fact",
                    "confidence": 0.9,
                    **told,
                }
            )
        if found := re.search(r"I kind of like (sport \w+)", line):
            told = {"text": f"The user likes {found[1]}.", "predicate": "likes", "object": found[1]}
            rows.append(
                {
                    "turn": number,
                    "quote": found[0],
                    "subject": "user",
                    "kind": "preference",
                    "confidence": 0.6,
                    **told,
                }
            )
    return {"statements": rows}


def text(key: str, dice: random.Random) -> str:
    """Something that a fact is drawn from, something that is held, or something with a word of its
    own to search for.
    """
    chance = dice.random()
    if chance < 0.3:
        return f"I moved to {dice.choice(CITIES)}."
    return f"I kind of like sport {key}." if chance < 0.4 else f"Parcel {key} is in the hall."


def armed(left: int, after: bool) -> None:
    """Die just before, or just after, the write number ``left`` from now, whoever makes it."""
    count = [left]

    def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
        def write(*given: Any, **named: Any) -> Any:
            count[0] -= 1
            if count[0] <= 0 and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*given, **named)
            if count[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return write

    for name in WRITES:
        setattr(SqliteStore, name, deadly(getattr(SqliteStore, name)))


def write(home: str, acks: int, number: int, url: str) -> None:
    """The child: never returns by itself."""
    dice = random.Random(number)
    if number % 3:
        armed(dice.randint(1, 50), after=dice.random() < 0.5)
    memory = engrams.open(home=home, jobs__workers=2, **settings(url if number % 4 == 0 else ""))
    if dice.random() < 0.5:
        orphans = [
            one
            for one in memory.sessions.list(scope=OWNER, limit=20)
            if int(one.id[1:].partition("s")[0]) < number - number % LIVES
        ]
        for orphan in orphans[:2]:
            end(memory, orphan.id, acks)
    step = 0
    while True:
        name = f"r{number}s{step}"
        for _ in range(TURNS):
            step += 1
            said(memory, f"r{number}x{step}", name, acks, dice)
        if dice.random() < 0.7:
            end(memory, name, acks)
        if dice.random() < 0.3:
            memory.drain(0.05)


def end(memory: MemoryEngine, session: str, acks: int) -> None:
    memory.sessions.end(session, scope=OWNER)
    tell(acks, {"does": "ended", "key": session})


def said(memory: MemoryEngine, name: str, session: str, acks: int, dice: random.Random) -> None:
    """One write, of one turn or of several;
    sometimes what was said is taken back, or looked for.
    """
    keys = [f"{name}y{part}" for part in range(3 if dice.random() < 0.2 else 1)]
    turns = [Turn(text(key, dice), external_id=key, session=session) for key in keys]
    several = len(turns) > 1
    receipts = (
        memory.observe(turns, scope=OWNER)
        if several
        else (memory.add(turns[0], scope=OWNER, settle=dice.random() < 0.5),)
    )
    tell(
        acks,
        *(
            {"key": key, "id": receipt.id, "does": "stored"}
            for key, receipt in zip(keys, receipts, strict=True)
        ),
    )
    if dice.random() < 0.1:
        memory.forget(receipts[0].id, scope=OWNER)
        tell(acks, {"key": keys[0], "id": receipts[0].id, "does": "forgotten"})
    if dice.random() < 0.1:
        memory.search("Where is the parcel?", scope=OWNER)


def tell(acks: int, *rows: dict[str, str]) -> None:
    os.write(acks, "".join(json.dumps(row) + "\n" for row in rows).encode())


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


def served() -> tuple[int, str]:
    """The process of the model, and where it answers."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        with ScriptedModel(answer=answer) as model:
            os.write(into, model.url.encode())
            while os.getppid() != 1:
                time.sleep(0.2)
        os._exit(0)
    os.close(into)
    return child, os.read(out, 100).decode()


def born(home: str, acks: int, number: int, url: str) -> int:
    child = os.fork()
    if not child:
        try:
            write(home, acks, number, url)
        except BaseException:  # a child that fails by itself is what must not happen: say so
            import traceback

            tell(acks, {"does": "failed", "error": traceback.format_exc()})
        os._exit(1)
    return child


def main(home: str, path: str, kills: int, seed: int, url: str) -> None:
    dice = random.Random(seed)
    acks = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    longest = 3 * min(opening(home), opening(home)) + 0.1
    for first in range(seed * 100_000, seed * 100_000 + kills, LIVES):
        lives = {number: born(home, acks, number, url) for number in range(first, first + LIVES)}
        time.sleep(dice.uniform(0, longest))
        for number, child in sorted(lives.items(), key=lambda life: bool(life[0] % 3)):
            limit = time.monotonic() + (
                10 if number % 3 else 0
            )  # those that are armed die by themselves
            while time.monotonic() < limit and os.waitpid(child, os.WNOHANG) == (0, 0):
                time.sleep(0.002)
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def warm(url: str) -> None:
    """Load every module that the children will use, without starting a thread that stays."""
    for where in ("", url):
        with engrams.open(store__url=":memory:", jobs__workers=0, **settings(where)) as memory:
            memory.observe(
                [
                    Turn(f"I kind of like sport {n}. I moved to Oslo.", session="w")
                    for n in range(6)
                ],
                scope=OWNER,
            )
            memory.sessions.end("w", scope=OWNER)
            memory.search("Where?", scope=OWNER)
            memory.topics.refresh(OWNER)
            memory.drain()


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    server, at = served()
    try:
        warm(at)
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), at)
    finally:
        os.kill(server, signal.SIGKILL)
