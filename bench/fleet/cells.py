"""Cells of the grid: owners, their texts, and a memory opened on a file or on Postgres."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import engrams
from bench.speed.corpus import Corpus, Line
from engrams import MemoryEngine

Owner: TypeAlias = tuple[str, str]
ROOT = Path(__file__).resolve().parents[2]
HOME = "FLEET_HOME"
"""Variable of the environment that tells parts where everything is kept."""
OURS = "engrams_postgres"
RIVALS = {
    OURS: "engrams on Postgres",
    "langgraphpostgres": "LangGraph PostgresStore",
    "mem0pgvector": "mem0 on pgvector",
}
WARMING = -1
"""Number of an owner whose searches warm a process up before another owner is met for the first
time.
"""
_MOST_VISITED = 40
_MOST_WARMING = 1_000


@dataclass(frozen=True, slots=True)
class GridCell:
    """Number of owners, and of records of each."""

    owners: int
    each: int

    @classmethod
    def parse(cls, text: str) -> GridCell:
        """Cell of a text such as 20x1000. ValueError: it is none."""
        owners, each = map(int, text.split("x"))
        return cls(owners, each)

    @property
    def name(self) -> str:
        return f"{self.owners}x{self.each}"

    @property
    def records(self) -> int:
        """All records of the cell; the owner that warms up is not counted."""
        return self.owners * self.each

    @property
    def weight(self) -> float:
        """All that is filled, in owners of the cell: with the part that warms up."""
        return self.owners + self.count(WARMING) / self.each

    def count(self, number: int) -> int:
        """Records of an owner."""
        return self.each if number != WARMING else min(self.each, _MOST_WARMING)

    @property
    def numbers(self) -> range:
        """Owners that are filled, the one that warms up first."""
        return range(WARMING, self.owners)

    def visited(self) -> list[int]:
        """Owners that calls go to, at most 40, the same in each run."""
        return random.Random(5).sample(range(self.owners), min(self.owners, _MOST_VISITED))

    def lines(self, number: int, held: int = 0) -> Iterator[Line]:
        """Texts of an owner, without the first ones that are there."""
        return itertools.islice(Corpus(seed=100 + number).lines(self.count(number)), held, None)


def find_home() -> Path:
    """Folder of everything that is kept."""
    return Path(os.environ.get(HOME) or ROOT / "bench" / "out" / "fleet")


def make_lines(count: int) -> Iterator[Line]:
    """Texts that no earlier run has written: what is known already costs less to add."""
    return Corpus(seed=time.time_ns()).lines(count)


def name_user(number: int) -> str:
    """Name of an owner's person."""
    return f"u{number}" if number >= 0 else "warm-up"


def name_owner(number: int) -> Owner:
    return ("user", name_user(number))


def open_engine(place: str, **options: Any) -> MemoryEngine:
    """Open the memory in a folder or at an address; no job runs beside."""
    if "://" in place:
        return engrams.open(
            home=str(find_home() / "home"), store={"url": place}, jobs__workers=0, **options
        )
    return engrams.open(home=place, jobs__workers=0, **options)
