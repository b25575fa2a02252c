"""Cost of seals: ``python -m bench.speed.seals [RECORDS]``; two homes, one of which is written and read
without seals, census and sums, measured in pairs.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import engrams
from bench.speed import corpus
from bench.speed.timing import OWNER, quantiles, to_turn
from engrams.store.sql import owner_writes
from engrams.store.sql.census import CensusWatch
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sqlite import table_sums

ROUNDS = 10
REPEATS = 60
BATCH = 500
NAMES = ("without", "sealed")
_OFF = (
    (RowSeals, "seal", lambda *_: b""),
    (RowSeals, "is_sound", lambda *_: True),
    (owner_writes, "change_census", lambda *_: None),
    (CensusWatch, "is_due", lambda *_: False),
    (table_sums, "watch_rows", lambda *_: None),
    (table_sums, "save_changes", lambda *_: None),
    (table_sums, "take_sums", lambda *_: None),
)
"""What a home without seals does not do."""
Figures = dict[str, list[float]]
"""Seconds of each call, by what was done."""


@contextmanager
def open_home(folder: Path, name: str) -> Iterator[engrams.MemoryEngine]:
    """Open a home; the one without seals reads and writes none."""
    with ExitStack() as stack:
        for owner, function, replacement in _OFF if name == "without" else ():
            stack.enter_context(mock.patch.object(owner, function, replacement))
        yield stack.enter_context(
            engrams.open(home=folder / name, jobs__workers=0, write__extract="off")
        )


def time_calls(call: Callable[[int], object], numbers: range) -> list[float]:
    """Time a call for each number."""
    seconds = []
    for number in numbers:
        start = time.perf_counter()
        call(number)
        seconds.append(time.perf_counter() - start)
    return seconds


def measure_round(folder: Path, name: str, texts: list[str], turn: int) -> Figures:
    """Time the opening with the first search, searches, and writes of one home."""
    count = len(texts) - ROUNDS * REPEATS
    numbers = range(turn * REPEATS, (turn + 1) * REPEATS)
    start = time.perf_counter()
    with open_home(folder, name) as memory:
        memory.search("warm", scope=OWNER)
        return {
            "open and first search": [time.perf_counter() - start],
            "search": time_calls(
                lambda number: memory.search(texts[number * 37 % count][:60], scope=OWNER), numbers
            ),
            "add": time_calls(
                lambda number: memory.add(texts[count + number], scope=OWNER), numbers
            ),
        }


def measure_bytes(folder: Path, name: str) -> int:
    """Sum the sizes of the files of a closed home."""
    return sum(path.stat().st_size for path in (folder / name).rglob("*") if path.is_file())


def main() -> None:
    """Print the times of both homes and what the seals add to them."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as place:
        folder = Path(place)
        lines = [*corpus.Corpus().lines(records + ROUNDS * REPEATS)]
        for name in NAMES:
            with open_home(folder, name) as memory:
                for start in range(0, records, BATCH):
                    turns = [to_turn(line) for line in lines[start : min(start + BATCH, records)]]
                    memory.observe(turns, scope=OWNER)
        sizes = [measure_bytes(folder, name) for name in NAMES]
        texts = [line.text for line in lines]
        figures: dict[str, Figures] = {name: {} for name in NAMES}
        for turn in range(ROUNDS):
            # Which home comes first alternates, so that a load of the machine hits both.
            for name in NAMES if turn % 2 else NAMES[::-1]:
                for what, seconds in measure_round(folder, name, texts, turn).items():
                    figures[name].setdefault(what, []).extend(seconds)
    print(f"{records:,} records, {ROUNDS} pairs of rounds, load {os.getloadavg()[0]:.1f}\n")
    print(f"{'milliseconds':<26}{'without':>10}{'sealed':>10}{'more':>10}")
    for what in figures["sealed"]:
        for share in ("p50", "p95") if what != "open and first search" else ("p50",):
            plain, sealed = (quantiles(figures[name][what])[share] for name in NAMES)
            print(f"{what + ' ' + share:<26}{plain:>10.3f}{sealed:>10.3f}{sealed - plain:>10.3f}")
    for what in ("search", "add"):
        pairs = [
            statistics.median(figures["sealed"][what][at : at + REPEATS])
            / statistics.median(figures["without"][what][at : at + REPEATS])
            for at in range(0, ROUNDS * REPEATS, REPEATS)
        ]
        print(f"{what}: median of the pairs' ratios of p50 {statistics.median(pairs):.3f}")
    print(f"bytes a memory: {(sizes[1] - sizes[0]) / records:+.1f} of {sizes[1] / records:,.0f}")


if __name__ == "__main__":
    main()
