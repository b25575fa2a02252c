"""Damage to the files of a home, and which memories its bytes still hold."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.campaign.ledger import KEY, Expected, text_of
from tests.campaign.process import ask, command
from tests.campaign.world import Findings, World, judge, look

from engrams.store.sqlite.rescue.btree_page_decoder import RawDatabasePages, list_cells

PAGE = 4096
STORE = ("memory.db", "memory.db-wal")
_GOES_ON = 0.4
"""Share of the damaged homes that are written to and repaired after the look."""
_SAID = re.compile(rb"user/(ada|bob)user/\1(?:note|turn)")
"""Owner, scope and kind of what was said, one after the other as in a row: an account of a session
says it too.
"""
_REFUSAL = "engrams doctor --repair"


@dataclass(frozen=True)
class Damage:
    """One change of one file: bytes ``place`` to ``end`` are other ones, or ``cut``: gone."""

    kind: str
    file: str
    place: int
    end: int
    content: bytes = b""
    cut: bool = False

    def apply(self, home: Path) -> None:
        path = home / self.file
        data = path.read_bytes()
        path.write_bytes(
            data[: self.place] + (b"" if self.cut else self.content + data[self.end :])
        )

    def __str__(self) -> str:
        return f"{self.kind} of {self.file} at {self.place}" + (
            f" to {self.end}" if self.end - self.place != 1 else ""
        )


def _byte(dice: random.Random, file: str, data: bytes) -> Damage:
    place = dice.randrange(len(data))
    return Damage("byte", file, place, place + 1, bytes((data[place] ^ dice.randrange(1, 256),)))


def _early_byte(dice: random.Random, file: str, data: bytes) -> Damage:
    """In the header, the schema or the first pages, where one byte does most harm."""
    place = dice.randrange(min(len(data), 4 * PAGE))
    return Damage(
        "early byte", file, place, place + 1, bytes((data[place] ^ dice.randrange(1, 256),))
    )


def _run(dice: random.Random, file: str, data: bytes) -> Damage:
    place = dice.randrange(len(data))
    end = min(len(data), place + dice.randrange(2, 3000))
    return Damage("run", file, place, end, dice.randbytes(end - place))


def _pages(dice: random.Random, file: str, data: bytes) -> Damage:
    place = dice.randrange(len(data)) // PAGE * PAGE
    end = min(len(data), place + PAGE * dice.randrange(1, 4))
    return Damage("zeroed pages", file, place, end, bytes(end - place))


def _cut(dice: random.Random, file: str, data: bytes) -> Damage:
    return Damage("cut", file, dice.randrange(1, len(data)), len(data), cut=True)


def _header(dice: random.Random, file: str, data: bytes) -> Damage:
    end = min(len(data), 32 if file.endswith("-wal") else 100)
    return Damage(
        "header", file, 0, end, bytes(end) if dice.random() < 0.5 else dice.randbytes(end)
    )


def _tail(dice: random.Random, file: str, data: bytes) -> Damage:
    return Damage("tail", file, len(data), len(data), dice.randbytes(dice.randrange(1, 9000)))


KINDS: dict[str, tuple[Callable[[random.Random, str, bytes], Damage], int]] = {
    "byte": (_byte, 10),
    "early byte": (_early_byte, 4),
    "run": (_run, 4),
    "zeroed pages": (_pages, 3),
    "cut": (_cut, 2),
    "header": (_header, 2),
    "tail": (_tail, 1),
}


def choose(world: World, other: Path | None) -> list[Damage]:
    """Choose what to damage:
    the store most of the time, else another file of the home; sometimes swap files of two moments.
    """
    dice = world.dice
    home = world.home
    if other is not None and dice.random() < 0.08:
        return _swap(dice, home, other)
    files = [name for name in STORE if _size(home / name)]
    beside = sorted(
        path.name
        for path in home.iterdir()
        if path.is_file() and path.name not in STORE and path.stat().st_size
    )
    file = dice.choice(beside) if beside and dice.random() < 0.2 else dice.choice(files)
    make = KINDS[dice.choices(list(KINDS), [weight for _, weight in KINDS.values()])[0]][0]
    return [make(dice, file, (home / file).read_bytes())]


def _swap(dice: random.Random, home: Path, other: Path) -> list[Damage]:
    """Put the store or its log of an earlier moment in the place of today's."""
    file = dice.choice([name for name in STORE if (other / name).exists()])
    size = _size(home / file)
    (home / file).touch()
    return [Damage("swap", file, 0, size, (other / file).read_bytes())]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def surviving(world: World, whole: Path, damages: list[Damage]) -> tuple[set[str], set[str]]:
    """Find the keys whose bytes are still in the damaged home, and those of which the newest state
    is.

    A row counts where all of its bytes are there, or, after a single byte, where its text is. So
    does a file of the vault, which may be older than the row.
    """
    held = b"".join(
        (world.home / name).read_bytes() for name in STORE if (world.home / name).exists()
    )
    single = all(damage.end - damage.place == 1 and not damage.cut for damage in damages)
    newest = {
        key
        for key, row in _list_rows(whole)
        if row in held or (single and text_of(key).encode() in held)
    }
    found = set(newest)
    for path in (world.home / "vault").rglob("*.md"):
        text = path.read_text("utf-8", errors="replace")
        found |= {key for key in KEY.findall(text) if text_of(key) in text}
    return found, newest


def _list_rows(home: Path) -> list[tuple[str, bytes]]:
    """Key and bytes of each memory's row in a whole store;
    rows with pages of their own count by their text's first part.
    """
    pages = RawDatabasePages(home / "memory.db")
    rows = []
    for number in range(1, pages.count + 1):
        page = pages.page(number)
        for cell in list_cells(page, number == 1):
            row = page[cell.start - 1 : cell.start - 1 + cell.bytes]
            keys = (
                KEY.findall(row.decode("utf-8", errors="replace"))
                if cell.number is not None and _SAID.search(row)
                else []
            )
            if keys and cell.size < PAGE - 40:
                rows.append((keys[0], row[: 1 + cell.size]))
    return rows


def damage_once(world: World, whole: Path, other: Path | None) -> tuple[str, Findings]:
    """Damage the copy of a home, open it, and compare.

    Open by the engine or, now and then, by the command; refused, `doctor --repair` has to bring
    back what is there.
    """
    expected = world.ledger.expect()
    damages = choose(world, other)
    for damage in damages:
        damage.apply(world.home)
    swapped = any(damage.kind == "swap" for damage in damages)
    there, newest = (keys & expected.kept for keys in surviving(world, whole, damages))
    if not any(damage.file in STORE for damage in damages):
        there = newest = expected.kept
    if swapped:
        newest = set()
    told = ask(lambda: look(world))
    name = "; ".join(map(str, damages))
    if "refused" in told:
        if _REFUSAL not in told["hint"]:
            return name, Findings(
                [],
                [],
                [],
                [],
                errors=(f"refused without a way out: {told['refused']} {told['hint']}",),
            )
        mended = command(world.home, "doctor", "--offline", "--repair", *world.set)
        if "Traceback" in mended.err:
            return name, Findings([], [], [], [], errors=(mended.err,))
        told = ask(lambda: look(world))
        if "refused" in told and not there:
            return name, Findings([], [], [], [])
    findings = _judge(expected, told, there, newest, swapped)
    if not findings and world.dice.random() < _GOES_ON:
        findings = _after(world, expected, there, newest, swapped)
    return name, findings


def _judge(
    expected: Expected, told: dict[str, Any], there: set[str], newest: set[str], swapped: bool
) -> Findings:
    """Compare; a file of an earlier moment may hold what was purged since."""
    findings = judge(expected, told, there, newest)
    return replace(findings, risen=[]) if swapped else findings


def _after(
    world: World, expected: Expected, there: set[str], newest: set[str], swapped: bool
) -> Findings:
    """Write once more, repair, and compare again:
    nothing that was found may go, and the doctor ends content.
    """
    key = world.key()

    def write() -> dict[str, Any]:
        with world.open() as memory:
            memory.add(text_of(key), scope=("user", key.partition("q")[0]))
            return {}

    written = ask(write)
    mended = command(
        world.home, "doctor", "--offline", "--repair", *world.set, real=world.dice.random() < 0.03
    )
    again = command(world.home, "doctor", "--offline", "--json", *world.set)
    findings = _judge(expected, ask(lambda: look(world)), there | {key}, newest, swapped)
    errors = [*findings.errors, *([written["raised"]] if "raised" in written else [])]
    errors += [done.err for done in (mended, again) if "Traceback" in done.err or done.code == -9]
    if again.code:
        failing = [
            one for one in json.loads(again.out or "{}").get("checks", ()) if one["state"] == "fail"
        ]
        # It goes on to name what was lost until somebody accepts that.
        if not failing or any(one["name"] != "lost" for one in failing):
            errors.append(f"the doctor is not content after its repair: {failing}")
    return replace(findings, errors=tuple(errors))
