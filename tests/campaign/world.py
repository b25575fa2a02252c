"""One home under attack, with the ledger of what was acknowledged."""

from __future__ import annotations

import json
import random
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.campaign.ledger import KEY, OWNERS, Expected, Ledger, owner_of, query_for

import engrams
from engrams.core import Kind, Status
from engrams.errors import EngramsError

QUIET: dict[str, Any] = {
    "jobs__workers": 0,
    "jobs__lease_seconds": 0.3,
    "jobs__backoff_seconds": 0.1,
    "jobs__max_attempts": 20,
}
VAULT: dict[str, Any] = {
    "vault__enabled": True,
    "vault__git_seconds": 0,
    "vault__max_missing_share": 1.0,
}
_SEARCHES = 1
"""Parcels that each look asks for, as each owner; every look also reads everything."""
_DEPTH = 1000
"""Hits of a search that looks for a parcel: all of them are alike."""


@dataclass
class World:
    """A home, how it is opened, and the numbers that make its keys."""

    home: Path
    ledger: Ledger
    settings: dict[str, Any]
    dice: random.Random
    number: int = 0
    made: int = 0
    pace: float = 1.0
    """How many times slower than alone this machine is."""

    @property
    def vault(self) -> bool:
        return bool(self.settings.get("vault__enabled"))

    @property
    def set(self) -> list[str]:
        """The settings as options of the command."""
        pairs = {
            name.replace("__", "."): json.dumps(value).strip('"')
            for name, value in self.settings.items()
        }
        return [word for name, value in pairs.items() for word in ("--set", f"{name}={value}")]

    def key(self, owner: str = "") -> str:
        """A key that nobody used, of a random owner.

        It ends with a letter: none begins another, nor with the bytes of a row's number, which
        follow it in an index of the database.
        """
        self.made += 1
        return f"{owner or self.dice.choice(OWNERS)}q{self.number}x{self.made}z"

    def life(self, number: int, seed: str) -> World:
        """The same home for the next child."""
        return replace(self, number=number, made=0, dice=random.Random(seed))

    def open(self, **more: Any) -> engrams.MemoryEngine:
        return engrams.open(home=self.home, **{**self.settings, **more})

    def copy(self, to: Path) -> World:
        """A copy of the home with its ledger, to be damaged."""
        shutil.copytree(self.home, to, symlinks=True, ignore=_list_odd)
        ledger = to.with_name(to.name + ".acks")
        shutil.copy(self.ledger.path, ledger)
        return replace(self, home=to, ledger=Ledger(ledger))


def _list_odd(folder: str, names: list[str]) -> list[str]:
    """Names of sockets and pipes, which cannot be copied."""
    return [
        name
        for name in names
        if name.endswith(".sock") or stat.S_ISFIFO(Path(folder, name).lstat().st_mode)
    ]


def scope(owner: str) -> tuple[str, str]:
    return ("user", owner)


def look(world: World) -> dict[str, Any]:
    """Read everything as each owner, in a process that may die of it.

    Rows: ``[key, status, kind, id]``.
    """
    try:
        with world.open() as memory:
            if world.vault:
                memory.vault.sync()
            seen = {owner: list(_rows(memory, owner)) for owner in OWNERS}
            found = {"seen": seen, "searches": list(_searches(memory, world, seen))}
            checked = memory.check()
            # Damage to the files of an index is done on purpose, and told rightly: the next search
            # builds it anew.
            problems = [
                problem
                for problem in checked["problems"]
                if not problem.startswith("The search index in ")
            ]
            return {
                **found,
                "check": problems,
                "alarms": checked["altered"],
                "notes": checked["repaired"],
            }
    except EngramsError as problem:
        return {"refused": problem.message, "hint": problem.hint}


def _rows(memory: engrams.MemoryEngine, owner: str) -> Iterator[tuple[str, str, str, str]]:
    after = ""
    while True:
        page = memory.list(
            scope=scope(owner), statuses=tuple(Status), order="oldest", after=after, limit=500
        )
        for record in page.records:
            keys = KEY.findall(record.text)
            own = record.text.startswith("Parcel ") and record.kind in (Kind.NOTE, Kind.TURN)
            for key in keys[:1] if own else keys:
                yield (
                    key,
                    str(record.status),
                    str(record.kind) if own else f"derived {record.kind}",
                    record.id,
                )
        if not (after := page.next):
            return


def _searches(
    memory: engrams.MemoryEngine, world: World, seen: dict[str, list[Any]]
) -> Iterator[tuple[str, str, bool, list[str]]]:
    """Owner who asks, key asked for, found, and foreign keys in the answer."""
    active = [row[0] for rows in seen.values() for row in rows if row[1] == Status.ACTIVE]
    for key in world.dice.sample(active, min(_SEARCHES, len(active))):
        for owner in OWNERS:
            texts = [
                hit.record.text
                for hit in memory.search(query_for(key), scope=scope(owner), limit=_DEPTH).hits
            ]
            texts.append(memory.context(f"Where is parcel {key}?", scope=scope(owner)).text)
            held = {one for text in texts for one in KEY.findall(text)}
            yield owner, key, key in held, [one for one in held if owner_of(one) != owner]


@dataclass
class Findings:
    """Keys by what is wrong with them; all empty: nothing is."""

    lost: list[str]
    doubled: list[str]
    risen: list[str]
    leaked: list[str]
    empty: bool = False
    errors: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(
            self.lost or self.doubled or self.risen or self.leaked or self.empty or self.errors
        )


def judge(
    expected: Expected,
    told: dict[str, Any],
    must: set[str] | None = None,
    newest: set[str] | None = None,
) -> Findings:
    """Compare what was read with what was acknowledged.

    ``must``: keys that have to be there, ``newest``: keys that have to be as they were left; all
    kept ones by default.
    """
    must = expected.kept if must is None else must
    newest = must if newest is None else newest
    errors = [told[name] for name in ("raised", "hung") if name in told]
    if "seen" not in told:
        return Findings(
            [],
            [],
            [],
            [],
            False,
            (*errors, *([f"refused: {told['refused']}"] if "refused" in told else [])),
        )
    own: dict[str, list[str]] = {}
    for rows in told["seen"].values():
        for key, status, kind, _ in rows:
            if not kind.startswith("derived"):
                own.setdefault(key, []).append(status)
    leaked = [
        f"{owner} saw {row[0]}"
        for owner, rows in told["seen"].items()
        for row in rows
        if owner_of(row[0]) != owner
    ]
    leaked += [
        f"{owner} found {key}" for owner, _, _, foreign in told["searches"] for key in foreign
    ]
    lost = sorted(must - own.keys())
    active = [key for key in newest & expected.active & own.keys() if "active" not in own[key]]
    unfound = [key for owner, key, hit, _ in told["searches"] if owner == owner_of(key) and not hit]
    risen = sorted((expected.purged - expected.returning) & own.keys())
    lost += [f"{key} is {own[key][0]}" for key in active]
    risen += [
        key for key in newest & expected.forgotten - expected.unsure if "active" in own.get(key, ())
    ]
    lost += [f"{key} is not found by a search" for key in unfound]
    doubled = sorted(key for key, statuses in own.items() if len(statuses) > 1)
    return Findings(lost, doubled, risen, leaked, bool(must) and not own, tuple(errors))
