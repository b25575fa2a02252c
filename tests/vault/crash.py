"""Works on one home and dies, over and over: ``python crash.py HOME ACKS ROUNDS SEED [git]``.

Each round forks a child that remembers, edits by hand and lets the vault follow, until it is killed with SIGKILL just
before one of the steps between a commit and the end of its work: a change of the outbox, of the vault's own notes, of a
file, a folder or the repository. What was done is appended to ACKS first, so that the parent knows what must not be lost.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engrams
from engrams.store.sqlite import SqliteStore
from engrams.types import Status
from engrams.vault.state import State

OWNER = ("user", "alice")
STEPS = ("replace", "link", "unlink", "fsync", "sync", "open", "rmdir", "mkdir", "rename")


def armed(left: int) -> None:
    """Die just before the step number ``left`` from now."""
    count = [left]

    def before(function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            count[0] -= 1
            if count[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*given, **named)

        return step

    for name in STEPS:
        setattr(os, name, before(getattr(os, name)))
    for owner, names in ((SqliteStore, ("commit", "clear", "finish", "purge")), (State, ("put", "touch", "untouch", "drop", "condemn"))):
        for name in names:
            setattr(owner, name, before(getattr(owner, name)))


class Child:
    """One life."""

    def __init__(self, home: Path, acks: int, number: int, git: bool) -> None:
        self.dice = random.Random(number)
        self.home, self.acks, self.number, self.git = home, acks, number, git
        self.tokens = 0

    def token(self) -> str:
        self.tokens += 1
        return f"w{self.number}x{self.tokens}"

    def ack(self, token: str) -> None:
        os.write(self.acks, (json.dumps(token) + "\n").encode())

    def run(self) -> None:
        armed(self.dice.randint(1, 60 if self.number % 3 else 260))
        settings = {
            "vault__on": True,
            "vault__git": self.git,
            "vault__git_seconds": 0,
            "jobs__workers": 0,
            "jobs__lease": 0.3,
            "write__extract": "off",
        }
        with engrams.open(home=self.home, **settings) as memory:
            while True:
                self.act(memory)

    def act(self, memory: Any) -> None:
        does = self.dice.choice(("add", "add", "edit", "hand", "hand", "forget", "restore", "remove", "rename", "sync", "work", "work"))
        records = [*memory.list(scope=OWNER, limit=30).records]
        gone = [*memory.list(scope=OWNER, statuses=(Status.FORGOTTEN,), limit=10).records]
        files = sorted((self.home / "vault" / "entries").rglob("*.md"))
        token = self.token()
        if does == "add" and len(records) < 25:
            memory.add(f"Line of {token}", scope=OWNER)
            self.ack(token)
        elif does == "edit" and records:
            record = self.dice.choice(records)
            memory.edit(record.id, scope=OWNER, text=f"{record.text}\n{token}")
            self.ack(token)
        elif does == "hand" and files:
            self.hand(self.dice.choice(files), token)
        elif does == "forget" and records:
            memory.forget(self.dice.choice(records).id, scope=OWNER)
        elif does == "restore" and gone:
            memory.restore(self.dice.choice(gone).id, scope=OWNER)
        elif does == "remove" and len(files) > 10:
            file = self.dice.choice(files)
            # Words that nobody but the hand that removes them may have seen.
            os.write(self.acks, (json.dumps([word for word in file.read_text("utf-8").split() if word.startswith("w")]) + "\n").encode())
            file.unlink()
        elif does == "rename" and files:
            file = self.dice.choice(files)
            file.rename(file.with_name(f"{token}.md"))
        elif does == "sync":
            memory.vault.sync()
        elif does == "work":
            memory.drain(5)

    def hand(self, file: Path, token: str) -> None:
        """An editor: reads, adds a line, and puts the new file in the old one's place."""
        text = file.read_text("utf-8")
        new = file.with_name(f".{token}.tmp")
        new.write_text(f"{text.rstrip()}\n{token}\n", "utf-8")
        if file.read_text("utf-8") == text:
            new.rename(file)
            self.ack(token)


def main(home: str, path: str, rounds: int, seed: int, git: bool) -> None:
    acks = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(rounds):
        child = os.fork()
        if not child:
            try:
                Child(Path(home), acks, seed * 100_000 + number, git).run()
            except BaseException as problem:  # a child that fails by itself is what must not happen: say so
                import traceback

                os.write(acks, (json.dumps({"failed": repr(problem), "where": traceback.format_exc()}) + "\n").encode())
            os._exit(1)
        os.waitpid(child, 0)


def warm(git: bool) -> None:
    """Load every module that the children will use, without starting a thread."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        settings = {"vault__on": True, "vault__git": git, "vault__git_seconds": 0, "jobs__workers": 0}
        with engrams.open(home=folder, **settings) as memory:
            memory.add("I moved to Oslo.", scope=OWNER)
            memory.drain(20)
            memory.vault.sync()


if __name__ == "__main__":
    warm("git" in sys.argv)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), "git" in sys.argv)
