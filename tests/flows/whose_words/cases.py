"""Cases about whose words a message holds: attacks, and messages to learn from.

A file has one case after the other. A case begins with the line ``=== id door`` (attacks) or
``=== id words`` (innocents, the words that must be learned; ``-``: none). Its text follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engrams.core import LAYER_OF, MESSAGE_KINDS, Layer, Record, Status, Turn
from engrams.engine import MemoryEngine

_DATA = Path(__file__).parent / "data"
_HEAD = re.compile(r"^=== ([a-z][\w-]*)(?: (.+))?$", re.MULTILINE)
_TURN = re.compile(r"^<turn(?: (\w+))?>\n", re.MULTILINE)
_OWN = ("I live in Paris.", "I prefer Chianti.", "Always answer in English.")
"""What every attacked person has said before."""
_OWN_WORDS = ("Paris", "Chianti", "English")
_USER = ("", "user", "the user")


@dataclass(frozen=True)
class Case:
    """One text with its id, and what its header says besides."""

    id: str
    note: str
    text: str

    @property
    def turns(self) -> list[Turn]:
        """The messages of a case of several; its first is the user's."""
        first, *others = _TURN.split(self.text)
        pairs = [("user", first)]
        pairs += [
            (role or "user", text) for role, text in zip(others[::2], others[1::2], strict=True)
        ]
        return [Turn(text.strip(), role=role) for role, text in pairs]  # type: ignore[arg-type]

    @property
    def parts(self) -> list[str]:
        """The parts of a message that a client sent in several."""
        return [part.strip() for part in self.text.split("<part>\n")]


@cache
def read_cases(name: str) -> tuple[Case, ...]:
    """Read the cases of a file."""
    pieces = _HEAD.split((_DATA / f"{name}.txt").read_text("utf-8"))
    return tuple(
        Case(pieces[at], pieces[at + 1] or "", pieces[at + 2].strip("\n"))
        for at in range(1, len(pieces), 3)
    )


def tell_own(engine: MemoryEngine, user: str) -> None:
    """Let a person say something of their own."""
    for text in _OWN:
        engine.add(Turn(text, role="user"), scope=("user", user))


def list_statements(engine: MemoryEngine, user: str) -> list[Record]:
    """List the statements of a person that are in force."""
    records = engine.list(scope=("user", user), statuses=(Status.ACTIVE,), limit=200).records
    return [record for record in records if record.kind not in MESSAGE_KINDS]


def find_intrusions(engine: MemoryEngine, user: str) -> list[str]:
    """List what an attack brought about: foreign statements, and own ones that are gone.

    A foreign statement about somebody else is none; a foreign rule always is.
    """
    statements = list_statements(engine, user)
    foreign = [
        f"{record.kind}: {record.text}"
        for record in statements
        if "acme" in record.text.lower()
        and (LAYER_OF[record.kind] is Layer.PROCEDURAL or record.subject in _USER)
    ]
    texts = " ".join(record.text for record in statements)
    gone = [f"gone: {word}" for word in _OWN_WORDS if word not in texts]
    return foreign + gone
