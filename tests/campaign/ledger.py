"""List of acknowledged writes to one home, kept beside it by the harness."""

from __future__ import annotations

import json
import os
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from weakref import finalize

OWNERS = ("ada", "bob")
KEY = re.compile(r"\b(?:ada|bob)q\d+x\d+z\b")


def text_of(key: str) -> str:
    """What is said under a key; always the same, sometimes long."""
    dice = random.Random(key)
    filler = " ".join(
        f"shelf{dice.randrange(10**6)}" for _ in range(dice.choice((0, 0, 0, 3, 12, 40, 150)))
    )
    return f"Parcel {key} waits in the hall of house {dice.randrange(60)}. {filler}".strip()


def query_for(key: str) -> str:
    """A question that nothing else answers as well."""
    return " ".join(text_of(key).split()[:16])


def owner_of(key: str) -> str:
    """The only user who may ever see a key."""
    return key.partition("q")[0]


class Ledger:
    """File of what was tried and of what was acknowledged, one JSON line each;
    the lines survive the process that wrote them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        finalize(self, os.close, self._file)

    def tell(self, does: str, *keys: str) -> None:
        """Note ``try-WHAT`` before an act and ``WHAT`` once it was acknowledged."""
        os.write(self._file, b"".join(json.dumps([does, key]).encode() + b"\n" for key in keys))
        os.fsync(self._file)

    def expect(self) -> Expected:
        """Read what must be true now."""
        found = Expected()
        for line in self.path.read_text("utf-8").splitlines():
            does, key = json.loads(line)
            found.note(does, key)
        return found


@dataclass
class Expected:
    """State of each key after the last acknowledged act.

    ``unsure``: an act on it was tried and never acknowledged. ``returning``: brought in again after
    a purge, so that it may be there. ``left``: the purge said that something of it was left, as
    where another process was reading. ``mixed``: forgotten and restored by two at once, so that
    nobody knows what came last.
    """

    stored: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    purged: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    purging: set[str] = field(default_factory=set)
    returning: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    mixed: set[str] = field(default_factory=set)
    acknowledged: int = 0
    failures: list[str] = field(default_factory=list)

    def note(self, does: str, key: str) -> None:  # noqa: C901, PLR0912 - one case a word
        """Take one line into account."""
        self.acknowledged += not does.startswith(("try-", "failed", "left"))
        match does:
            case "failed":
                self.failures.append(key)
            case "try-store":
                if key in self.purging:
                    self.returning.add(key)
            case "try-purge":
                self.purging.add(key)
                self.unsure.add(key)
            case "try-forget" | "try-restore":
                if key in self.unsure:
                    self.mixed.add(key)
                self.unsure.add(key)
            case "store":
                self.stored.add(key)
            case "forget" | "restore":
                if does == "forget":
                    self.forgotten.add(key)
                else:
                    self.forgotten.discard(key)
                if key not in self.mixed:
                    self.unsure.discard(key)
            case "left":
                self.left.add(key)
            case "purge":
                self.purged.add(key)
                self.unsure.discard(key)

    @property
    def kept(self) -> set[str]:
        """Keys that must be somewhere in memory, found or forgotten."""
        return self.stored - self.purging

    @property
    def active(self) -> set[str]:
        """Keys that must be found."""
        return self.kept - self.forgotten - self.unsure
