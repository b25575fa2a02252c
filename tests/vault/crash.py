"""Works on one home and dies, over and over: ``python crash.py HOME ACKS ROUNDS SEED [git]``; or
once before each single step, each time in a copy of the home: ``python crash.py each HOME ACKS
EVERY [git]``.

Each round forks a child that remembers, edits by hand and lets the vault follow, until it is killed
with SIGKILL just before one of the steps between a commit and the end of its work: a change of the
outbox, of the vault's own notes, of a file, a folder or the repository. What was done is appended
to ACKS first, so that the parent knows what must not be lost.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engrams
from engrams.core import Scope, Status
from engrams.store.sqlite import SqliteStore
from engrams.vault.files.sync_state import VaultStateDatabase

OWNER = ("user", "alice")
STEPS = ("replace", "link", "unlink", "fsync", "sync", "open", "rmdir", "mkdir", "rename")


def armed(steps_left: int, acks: int) -> list[int]:
    """Die just before the step number ``steps_left`` from now (0:
    never); its name goes to ``acks``. The result's number may be set anew.
    """
    count = [steps_left]

    def before(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **keywords: Any) -> Any:
            count[0] -= 1
            if count[0] == 0:
                os.write(acks, (json.dumps({"died": name}) + "\n").encode())
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **keywords)

        return step

    for name in STEPS:
        setattr(os, name, before(name, getattr(os, name)))
    for owner, names in (
        (SqliteStore, ("commit", "clear", "finish", "purge")),
        (VaultStateDatabase, ("put", "touch", "untouch", "drop", "add_erasures")),
    ):
        for name in names:
            setattr(owner, name, before(f"{owner.__name__}.{name}", getattr(owner, name)))
    return count


def quiet(git: bool) -> dict[str, Any]:
    """Settings under which nothing happens but what is asked for."""
    return {
        "vault__enabled": True,
        "vault__git": git,
        "vault__git_seconds": 0,
        "jobs__workers": 0,
        "jobs__lease_seconds": 0.3,
        "write__extract": "off",
    }


class Child:
    """One life."""

    def __init__(self, home: Path, acks: int, number: int, git: bool) -> None:
        self.dice = random.Random(number)
        self.home = home
        self.acks = acks
        self.number = number
        self.git = git
        self.tokens = 0

    def token(self) -> str:
        self.tokens += 1
        return f"w{self.number}x{self.tokens}"

    def ack(self, token: str) -> None:
        os.write(self.acks, (json.dumps(token) + "\n").encode())

    def run(self) -> None:
        armed(self.dice.randint(1, 60 if self.number % 3 else 260), self.acks)
        with engrams.open(home=self.home, **quiet(self.git)) as memory:
            while True:
                self.act(memory)

    def act(self, memory: Any) -> None:
        does = self.dice.choice(
            (
                "add",
                "add",
                "edit",
                "hand",
                "hand",
                "forget",
                "restore",
                "remove",
                "rename",
                "sync",
                "work",
                "work",
            )
        )
        records = [*memory.list(scope=OWNER, limit=30).records]
        forgotten = [*memory.list(scope=OWNER, statuses=(Status.FORGOTTEN,), limit=10).records]
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
        elif does == "restore" and forgotten:
            memory.restore(self.dice.choice(forgotten).id, scope=OWNER)
        elif does == "remove" and len(files) > 10:
            file = self.dice.choice(files)
            # Words that nobody but the hand that removes them may have seen.
            os.write(
                self.acks,
                (
                    json.dumps(
                        [word for word in file.read_text("utf-8").split() if word.startswith("w")]
                    )
                    + "\n"
                ).encode(),
            )
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


def life(acks: int, run: Callable[[], None]) -> bool:
    """Whether a child came to its end."""
    child = os.fork()
    if not child:
        try:
            run()
        except (
            BaseException
        ) as problem:  # a child that fails by itself is what must not happen: say so
            import traceback

            os.write(
                acks,
                (
                    json.dumps({"failed": repr(problem), "where": traceback.format_exc()}) + "\n"
                ).encode(),
            )
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def main(home: str, path: str, rounds: int, seed: int, git: bool) -> None:
    acks = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(rounds):
        life(acks, Child(Path(home), acks, seed * 100_000 + number, git).run)


def each(home: Path, path: str, every: int, git: bool) -> None:
    """One day's work, killed before its first step, its second and so on (each ``every``th) until
    it is done.
    """
    acks = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with engrams.open(home=home, **quiet(git)) as memory:
        names = [memory.add(f"Line of w{number}", scope=OWNER).id for number in range(1, 6)]
        memory.vault.sync()
        memory.vault.commit()
    step = 1
    while True:
        copy = home.with_name(f"home-{step}")
        shutil.copytree(home, copy)
        if life(acks, lambda copy=copy, step=step: day(copy, names, step, acks, git)):  # type: ignore[misc]
            return
        step += every


def day(home: Path, names: list[str], step: int, acks: int, git: bool) -> None:
    """A bit of everything:
    each kind of write of memory and of a hand, and what brings the two together.
    """
    facts = home / "vault/entries/user/alice/facts"
    steps_left = armed(0, acks)
    with engrams.open(home=home, **quiet(git)) as memory:
        files = [home / "vault" / memory.vault.file(Scope(OWNER), name) for name in names]
        steps_left[0] = step
        memory.add("Line of w6", scope=OWNER)
        memory.edit(names[0], scope=OWNER, text="Line of w1\nw7")
        for number, text in ((0, "w8\nLine of w1\n"), (1, "Line of w2\nw9\n")):
            before = files[number].read_text("utf-8")
            files[number].write_text(before.replace(f"Line of w{number + 1}\n", text), "utf-8")
        memory.forget(names[2], scope=OWNER)
        files[3].rename(facts / "renamed.md")
        (facts / "new.md").write_text("Line of w10\n", "utf-8")
        memory.vault.sync()
        memory.restore(names[2], scope=OWNER)
        files[4].unlink()
        memory.drain(5)
        memory.vault.sync()
        memory.vault.commit()


def warm(git: bool) -> None:
    """Load every module that the children will use, without starting a thread."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "vault__enabled": True,
            "vault__git": git,
            "vault__git_seconds": 0,
            "jobs__workers": 0,
        }
        with engrams.open(home=folder, **settings) as memory:
            memory.add("I moved to Oslo.", scope=OWNER)
            memory.drain(20)
            memory.vault.sync()


if __name__ == "__main__":
    warm("git" in sys.argv)
    if sys.argv[1] == "each":
        each(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), "git" in sys.argv)
    else:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), "git" in sys.argv)
