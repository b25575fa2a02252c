"""Cost of encryption:
``python -m bench.speed.encrypted [RECORDS]``; a plain and an encrypted home, measured in pairs.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import engrams
from bench.speed import corpus
from engrams.core import Turn

ROUNDS = 6
REPEATS = 40
BATCH = 500
OWNER = ("user", "bench")
NAMES = ("plain", "encrypted")


def measure(work: Callable[[int], object], numbers: range) -> float:
    """Median of the milliseconds of each repeat."""
    found = []
    for number in numbers:
        start = time.perf_counter()
        work(number)
        found.append((time.perf_counter() - start) * 1000)
    return statistics.median(found)


def open_home(folder: Path, name: str) -> engrams.MemoryEngine:
    encrypted = name == "encrypted" or None
    return engrams.open(
        home=folder / name,
        jobs__workers=0,
        write__extract="off",
        encryption__enabled=encrypted,
        encryption__key="passphrase",
    )


def measure_round(
    folder: Path, name: str, texts: list[str], records: int, turn: int
) -> dict[str, float]:
    """One home: opening with the first search, searches, writes."""
    start = time.perf_counter()
    with open_home(folder, name) as memory:
        memory.search("warm", scope=OWNER)
        first = (time.perf_counter() - start) * 1000
        numbers = range(turn * REPEATS, (turn + 1) * REPEATS)
        return {
            "open and first search": first,
            "search": measure(
                lambda n: memory.search(texts[n * 37 % records][:60], scope=OWNER), numbers
            ),
            "add": measure(lambda n: memory.add(texts[records + n], scope=OWNER), numbers),
        }


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    os.environ["ENGRAMS_PASSPHRASE"] = "bench"
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as place:
        folder = Path(place)
        texts = [line.text for line in corpus.Corpus().lines(records + ROUNDS * REPEATS)]
        for name in NAMES:
            with open_home(folder, name) as memory:
                for at in range(0, records, BATCH):
                    memory.observe(
                        [Turn(text) for text in texts[at : min(at + BATCH, records)]], scope=OWNER
                    )
        # Which home comes first alternates, so that a load of the machine hits both.
        rounds = [
            {
                name: measure_round(folder, name, texts, records, turn)
                for name in NAMES[:: 1 - turn % 2 * 2]
            }
            for turn in range(ROUNDS)
        ]
        sizes = {name: (folder / name / "memory.db").stat().st_size / 1e6 for name in NAMES}
    print(
        f"{records:,} records, {ROUNDS} pairs, load {os.getloadavg()[0]:.1f} on {os.cpu_count()}"
        " cores\n"
    )
    print("| median, ms | plain | encrypted | ratio of a pair: median (range) |\n|---|---|---|---|")
    for what in rounds[0][NAMES[0]]:
        plain, sealed = ([one[name][what] for one in rounds] for name in NAMES)
        ratios = [b / a for a, b in zip(plain, sealed, strict=True)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(
            f"| {what} | {statistics.median(plain):.1f} | {statistics.median(sealed):.1f} |"
            f" {spread} |"
        )
    print(
        f"| file, MB | {sizes['plain']:.1f} | {sizes['encrypted']:.1f} |"
        f" {sizes['encrypted'] / sizes['plain']:.2f} |"
    )


if __name__ == "__main__":
    main()
