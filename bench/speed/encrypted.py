"""Cost of encryption: ``python -m bench.speed.encrypted [RECORDS]``; two homes, plain and encrypted, measured in turns."""

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
from engrams.types import Turn

ROUNDS, REPEATS = 5, 40
OWNER = ("user", "bench")


def measure(work: Callable[[int], object], first: int) -> list[float]:
    """Milliseconds of each repeat."""
    found = []
    for number in range(first, first + REPEATS):
        start = time.perf_counter()
        work(number)
        found.append((time.perf_counter() - start) * 1000)
    return found


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    os.environ["ENGRAMS_PASSPHRASE"] = "bench"
    told: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as folder:
        homes = {
            name: engrams.open(
                home=Path(folder) / name,
                jobs__workers=0,
                write__extract="off",
                encryption__enabled=name == "encrypted" or None,
                encryption__key="passphrase",
            )
            for name in ("plain", "encrypted")
        }
        texts = [line.text for line in corpus.Corpus().lines(records + ROUNDS * REPEATS)]
        for memory in homes.values():
            for text in texts[:records]:
                memory.observe([Turn(text)], scope=OWNER)
            memory.search("warm", scope=OWNER)
        for turn in range(ROUNDS):
            for name, memory in homes.items():
                rows = told.setdefault(name, {"search": [], "add": []})
                rows["search"] += measure(lambda n, one=memory: one.search(texts[n * 37 % records][:60], scope=OWNER), turn * REPEATS)
                rows["add"] += measure(lambda n, one=memory: one.add(texts[records + n], scope=OWNER), turn * REPEATS)
        for memory in homes.values():
            memory.close()
        sizes = {name: (Path(folder) / name / "memory.db").stat().st_size / 1e6 for name in homes}
    print(f"| {records:,} records | search p50 (ms) | add p50 (ms) | file (MB) |\n|---|---|---|---|")
    for name, rows in told.items():
        print(f"| {name} | {statistics.median(rows['search']):.1f} | {statistics.median(rows['add']):.1f} | {sizes[name]:.1f} |")


if __name__ == "__main__":
    main()
