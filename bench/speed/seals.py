"""Cost of seals: ``python -m bench.speed.seals [--records N] [--postgres]``; two homes, one of which is
written and read without seals, census and sums. Each call is made in both, one right after the other.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import engrams
from bench.fleet.databases import make_database, measure_bytes, prepare_memory, serve_databases
from bench.speed import corpus
from bench.speed.timing import OWNER, quantiles, to_turn
from engrams.store.sql import owner_writes
from engrams.store.sql.census import CensusWatch
from engrams.store.sql.row_seals import RowSeals
from engrams.store.sql.seal_sweep import SealSweep
from engrams.store.sqlite import table_sums

REPEATS = 1_000
OPENINGS = 15
BATCH = 500
NAMES = ("without", "sealed")
CLOCKS = {"processor": time.process_time, "clock": time.perf_counter}
_OFF = (
    (RowSeals, "seal", lambda *_: b""),
    (RowSeals, "is_sound", lambda *_: True),
    (owner_writes, "change_census", lambda *_: None),
    (CensusWatch, "is_due", lambda *_: False),
    (SealSweep, "is_due", lambda *_: False),
    (table_sums, "watch_rows", lambda *_: None),
    (table_sums, "save_changes", lambda *_: None),
    (table_sums, "take_sums", lambda *_: None),
)
"""What a home without seals does not do."""
Seconds = Mapping[str, list[float]]
"""Seconds of each call, by home."""
Call = Callable[[engrams.MemoryEngine, int], object]


@contextmanager
def acting(name: str) -> Iterator[None]:
    """Do without seals within the block, if that is the home."""
    with ExitStack() as stack:
        for owner, function, replacement in _OFF if name == "without" else ():
            stack.enter_context(mock.patch.object(owner, function, replacement))
        yield


def make_settings(folder: Path, name: str, server: str) -> dict[str, Any]:
    """Settings of a home; with the address of a Postgres ``server``, of a database on it."""
    home = folder / name
    settings: dict[str, Any] = {"home": home, "jobs__workers": 0, "write__extract": "off"}
    if not server:
        return settings
    key = folder / "seal.key"
    key.write_bytes(bytes(range(32)))
    url = make_database(server, f"seals_{name}")
    prepare_memory(url)
    return {**settings, "store__url": url, "store__seal_key": str(key)}


def time_pairs(
    memories: Mapping[str, engrams.MemoryEngine], call: Call, clock: Callable[[], float]
) -> Seconds:
    """Time a call for each number in both homes, which take turns to be first."""
    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
    for number in range(REPEATS):
        for name in NAMES if number % 2 else NAMES[::-1]:
            with acting(name):
                start = clock()
                call(memories[name], number)
                seconds[name].append(clock() - start)
    return seconds


def time_openings(homes: Mapping[str, dict[str, Any]]) -> Seconds:
    """Time the opening of each home with its first search."""
    seconds: dict[str, list[float]] = {name: [] for name in NAMES}
    for number in range(OPENINGS):
        for name in NAMES if number % 2 else NAMES[::-1]:
            with acting(name):
                start = time.process_time()
                with engrams.open(**homes[name]) as memory:
                    memory.search("warm", scope=OWNER)
                    seconds[name].append(time.process_time() - start)
    return seconds


def fill(settings: dict[str, Any], name: str, lines: list[corpus.Line]) -> float:
    """Fill a home; return its bytes for each message."""
    with acting(name), engrams.open(**settings) as memory:
        for start in range(0, len(lines), BATCH):
            turns = [to_turn(line) for line in lines[start : start + BATCH]]
            memory.observe(turns, scope=OWNER)
    if "store__url" in settings:
        return measure_bytes(settings["store__url"]) / len(lines)
    paths = settings["home"].rglob("*")
    return sum(path.stat().st_size for path in paths if path.is_file()) / len(lines)


def print_row(what: str, seconds: Seconds) -> None:
    """Print the quantiles of both homes, and the median of what a seal adds."""
    added = [
        1000 * (sealed - plain)
        for plain, sealed in zip(seconds["without"], seconds["sealed"], strict=True)
    ]
    plain, sealed = (quantiles(seconds[name]) for name in NAMES)
    print(
        f"{what:<34}{plain['p50']:>9.3f}{sealed['p50']:>9.3f}{plain['p95']:>9.3f}"
        f"{sealed['p95']:>9.3f}{statistics.median(added):>9.3f}"
    )


def measure(folder: Path, server: str, records: int) -> None:
    """Print the times and bytes of both homes."""
    lines = [*corpus.Corpus().lines(records + 2 * REPEATS)]
    texts = [line.text for line in lines]
    homes = {name: make_settings(folder, name, server) for name in NAMES}
    sizes = [fill(homes[name], name, lines[:records]) for name in NAMES]
    print(f"{records:,} messages, {REPEATS:,} pairs; milliseconds; load {os.getloadavg()[0]:.1f}")
    print(f"{'':34}{'p50':>9}{'sealed':>9}{'p95':>9}{'sealed':>9}{'adds':>9}")
    print_row("open and first search, processor", time_openings(homes))

    def search(memory: engrams.MemoryEngine, number: int) -> None:
        memory.search(texts[number * 37 % records][:60], scope=OWNER)

    with ExitStack() as stack:
        memories = {name: stack.enter_context(engrams.open(**homes[name])) for name in NAMES}
        for offset, (kind, clock) in enumerate(CLOCKS.items()):
            first = records + offset * REPEATS
            print_row(f"search, {kind}", time_pairs(memories, search, clock))

            def add(memory: engrams.MemoryEngine, number: int, first: int = first) -> None:
                memory.add(texts[first + number], scope=OWNER)

            print_row(f"add, {kind}", time_pairs(memories, add, clock))
    print(f"bytes a message: {sizes[1] - sizes[0]:+.1f}, of {sizes[1]:,.0f}")


def main() -> None:
    """Measure in a temporary folder, and on a server of this run where it is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.speed.seals", description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--postgres", action="store_true", help="on a Postgres server of this run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as place, ExitStack() as stack:
        folder = Path(place)
        server = ""
        if options.postgres:
            server = stack.enter_context(serve_databases("", folder / "server"))
        measure(folder, server, options.records)


if __name__ == "__main__":
    main()
