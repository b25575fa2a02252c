"""Measure the exchange of one memory between two devices on this machine.

`python -m bench.sync 10000`: seconds and bytes of a first exchange of so many memories, milliseconds until a change
is on the other device, and what an `add` takes with and without devices.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import engrams
from engrams.core import Kind, Scope, Turn

OWNER = Scope(("user", "bench"))
_BATCH = 500
_ADDS = 300
_CHANGES = 20
_RARE = 0.95
_WORDS = 14
_LETTERS = "abcdefghijklmnoprstuvw"
_DICTIONARY = 3000


def main(count: int) -> None:
    """Run the measurements and print a line each."""
    with tempfile.TemporaryDirectory(prefix="engrams-bench-") as folder:
        root = Path(folder)
        place = root / "place"
        with _open(root / "first") as first, _open(root / "second") as second:
            for start in range(0, count, _BATCH):
                turns = [Turn(_say(number)) for number in range(start, min(count, start + _BATCH))]
                first.write_turns(turns, OWNER, Kind.NOTE)
            first.drain()
            _say_line("add, devices off", _measure_adds(first))
            first.sync.init(str(place), OWNER, "first")
            sent = _time(first.sync.now)
            size = sum(path.stat().st_size for path in place.glob("devices/*/*.seg"))
            beside = _measure_rows(first)
            second.sync.join(str(place), first.sync.pair(), OWNER, "second")
            taken = _time(second.sync.now)
            print(f"memories                    {count:>10,}")
            print(f"told by the first           {sent:>10.1f} s")
            print(f"taken over by the second    {taken:>10.1f} s")
            print(f"in the place                {size / count:>10.0f} bytes a memory")
            print(f"stamps beside a memory      {beside:>10.0f} bytes")
            _say_line("add, devices on", _measure_adds(first))
            first.sync.now()
            second.sync.now()
            _say_line("a change to the other side", _measure_changes(first, second))


def _open(home: Path) -> engrams.MemoryEngine:
    return engrams.open(
        home=str(home), user="bench", write__reconcile="off", sessions__trigger="manual"
    )


def _say(number: int) -> str:
    """Make a text of words as many and as long as those of a message; the same for a number."""
    chance = random.Random(number)
    words = (_spell(chance.randrange(_DICTIONARY)) for _ in range(_WORDS))
    return f"{' '.join(words)} {number}.".capitalize()


def _spell(number: int) -> str:
    chance = random.Random(-number - 1)
    return "".join(chance.choices(_LETTERS, k=chance.randint(2, 8)))


def _measure_adds(engine: engrams.MemoryEngine) -> list[float]:
    """Add notes; return milliseconds."""
    return [
        1000 * _time(lambda: engine.add(f"A note of {time.monotonic_ns()}.", scope=OWNER))
        for _ in range(_ADDS)
    ]


def _measure_changes(first: engrams.MemoryEngine, second: engrams.MemoryEngine) -> list[float]:
    """Add a note, exchange on both sides; return milliseconds."""
    times = []
    for number in range(_CHANGES):
        record_id = first.add(f"Change {number}.", scope=OWNER).id
        times.append(1000 * _time(lambda: (first.sync.now(), second.sync.now())))
        second.get(record_id, scope=OWNER)
    return times


def _measure_rows(engine: engrams.MemoryEngine) -> float:
    """Measure what lies beside a memory: the mean of some, with the name of the row."""
    records = engine.store.changes(OWNER, 0, _BATCH).records
    rows = [engine.store.load_state(OWNER, f"sync/{record.id}") for record in records]
    return statistics.mean(len(row.name) + len(json.dumps(dict(row.data))) for row in rows)


def _time(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def _say_line(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    rare = ordered[int(_RARE * len(ordered))]
    print(f"{name:<28}{statistics.median(times):>10.1f} ms, p95 {rare:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
