"""Cost of vault files, as a table and as bench/out/vault.json.

``python -m bench.vault [--quick]`` measures: ``add`` without a vault, with one, and with git, in
blocks by turns, until it is acknowledged (durable and found by words) and until rules have learned
from it; all files from an existing memory (export), the database from the files (reindex), a look
at unchanged files (sync); how long after a save an edit is found by search; and the work of a
watcher with nothing to do.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import engrams
from bench.speed import machine
from engrams import Turn

ROOT = Path(__file__).resolve().parents[2]
OWNER = ("user", "bench")


VAULTS: dict[str, dict[str, Any]] = {
    "off": {},
    "on": {"vault__enabled": True, "vault__git": False},
    "on, git": {"vault__enabled": True, "vault__git": True},
}
BLOCK = 25


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.vault", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 files and fewer repeats")
    parser.add_argument(
        "--json",
        type=Path,
        default=ROOT / "bench" / "out" / "vault.json",
        help="where the JSON goes",
    )
    given = parser.parse_args(arguments)
    report = measure(quick=given.quick)
    print(format_table(report))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(*, quick: bool) -> dict[str, Any]:
    """Measure everything, each part in a home of its own."""
    report: dict[str, Any] = {"machine": machine.collect_facts(), "add": {}, "sync": {}}
    rounds = 4 if quick else 20
    for what, settle in (("acknowledged", False), ("learned from", True)):
        report["add"][what] = run_in_home(partial(measure_add, rounds=rounds, settle=settle))
    report["fsync"] = run_in_home(measure_fsync)
    for size in (1000,) if quick else (1000, 10_000):
        report["sync"][str(size)] = run_in_home(partial(measure_sync, size=size))
    report["edit"] = run_in_home(lambda home: measure_edit(home, 15 if quick else 60))
    report["idle"] = run_in_home(measure_idle)
    return report


def run_in_home(measure: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Run a measurement in a home of its own."""
    folder = Path(tempfile.mkdtemp(prefix="engrams-bench-"))
    try:
        return measure(folder / "home")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_add(home: Path, rounds: int, settle: bool) -> dict[str, Any]:
    """Milliseconds until ``add`` answers while files follow in the background.

    Blocks of adds take turns between the settings, so that other load hits all alike. ``over_off``:
    median over the blocks of the difference to the median without a vault.
    """
    taken: dict[str, list[list[float]]] = {name: [] for name in VAULTS}
    with ExitStack() as stack:
        memories = {
            name: stack.enter_context(engrams.open(home=home / str(number), **settings))
            for number, (name, settings) in enumerate(VAULTS.items())
        }
        for turn in range(rounds + 1):
            for name, memory in memories.items():
                block = []
                for number in range(turn * BLOCK, (turn + 1) * BLOCK):
                    text = (
                        f"My colleague number {number} works on project {number % 17} in room"
                        f" {number % 40}."
                    )
                    begin = time.perf_counter()
                    memory.add(text, scope=OWNER, settle=settle)
                    block.append((time.perf_counter() - begin) * 1000)
                    time.sleep(0.02)
                memory.drain(60)
                # The first is for warming up.
                taken[name] += [block] if turn else []
    medians = {
        name: [statistics.median(block) for block in blocks] for name, blocks in taken.items()
    }
    return {
        name: {
            **summarize([one for block in blocks for one in block]),
            "over_off_ms": round(
                statistics.median(
                    mine - off for mine, off in zip(medians[name], medians["off"], strict=True)
                ),
                2,
            ),
        }
        for name, blocks in taken.items()
    }


def measure_fsync(home: Path) -> dict[str, Any]:
    """Milliseconds of a 4 kB flush, the floor of durable writes."""
    home.mkdir(parents=True)
    taken = []
    with (home / "floor").open("wb") as file:
        for _ in range(200):
            begin = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            taken.append((time.perf_counter() - begin) * 1000)
            time.sleep(0.005)
    return summarize(taken)


def measure_sync(home: Path, size: int) -> dict[str, Any]:
    """Seconds to write, check and read back ``size`` files."""
    with engrams.open(home=home, write__extract="off") as memory:
        for start in range(0, size, 500):
            turns = [
                Turn(f"Sentence {number} tells of topic {number % 97} and thing {number % 331}.")
                for number in range(start, start + 500)
            ]
            memory.observe(turns, scope=OWNER)
    settings: dict[str, Any] = {
        "vault__enabled": True,
        "vault__git": False,
        "write__extract": "off",
    }
    begin = time.perf_counter()
    with engrams.open(home=home, jobs__workers=0, **settings) as memory:
        memory.drain(600)
        written = time.perf_counter() - begin
        times = []
        time.sleep(2.5)
        for _ in range(3):
            begin = time.perf_counter()
            memory.vault.sync()
            times.append(time.perf_counter() - begin)
    for path in home.glob("memory.db*"):
        path.unlink()
    begin = time.perf_counter()
    with engrams.open(home=home, jobs__workers=0, **settings) as memory:
        read = time.perf_counter() - begin
        assert sum(memory.stats()["status"].values()) == size
    return {
        "write_seconds": round(written, 2),
        "look_seconds": round(times[-1], 3),
        "reindex_seconds": round(read, 2),
    }


def measure_edit(home: Path, count: int) -> dict[str, Any]:
    """Milliseconds from saving a file to finding its text, with 1,000 files."""
    settings: dict[str, Any] = {
        "vault__enabled": True,
        "vault__git": False,
        "vault__watch": "auto",
        "write__extract": "off",
    }
    with engrams.open(home=home, **settings) as memory:
        memory.observe(
            [Turn(f"Sentence {number} tells of topic {number % 97}.") for number in range(1000)],
            scope=OWNER,
        )
        vault = memory.vault
        vault.sync()
        files = sorted((home / "vault" / "entries").rglob("*.md"))
        time.sleep(3)
        taken = []
        for number in range(count):
            word = f"marker{number}zz"
            path = files[(number * 37) % len(files)]
            text = path.read_text("utf-8")
            begin = time.perf_counter()
            path.write_text(f"{text.rstrip()} {word}\n", "utf-8")
            while not any(
                word in hit.record.text for hit in memory.search(word, scope=OWNER, limit=1).hits
            ):
                if time.perf_counter() - begin > 30:
                    sys.exit("the edit was not found within 30 seconds")
                time.sleep(0.005)
            taken.append((time.perf_counter() - begin) * 1000)
            time.sleep(0.3)
    return summarize(taken)


def measure_idle(home: Path) -> dict[str, Any]:
    """Processor time of an idle watcher over 1,000 files, for ten seconds."""
    with engrams.open(
        home=home, vault__enabled=True, vault__git=False, vault__watch="auto", write__extract="off"
    ) as memory:
        memory.observe(
            [Turn(f"Sentence {number} tells of topic {number % 97}.") for number in range(1000)],
            scope=OWNER,
        )
        memory.drain()
        time.sleep(4)
        begin = time.process_time()
        time.sleep(10)
        return {"cpu_ms_in_10_s": round((time.process_time() - begin) * 1000, 2)}


def summarize(taken: Sequence[float]) -> dict[str, Any]:
    ordered = sorted(taken)
    return {
        "p50_ms": round(statistics.median(ordered), 2),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)], 2),
        "count": len(ordered),
    }


def format_table(report: dict[str, Any]) -> str:
    facts = report["machine"]
    rows = [("what", "p50", "p95", "over off")]
    for what, told in report["add"].items():
        for name, row in told.items():
            over = "" if name == "off" else f"{row['over_off_ms']:+.2f} ms"
            rows.append(
                (
                    f"add, {what}, vault {name}",
                    f"{row['p50_ms']:.2f} ms",
                    f"{row['p95_ms']:.2f} ms",
                    over,
                )
            )
    rows.append(
        (
            "the disk's own fsync of 4 kB",
            f"{report['fsync']['p50_ms']:.2f} ms",
            f"{report['fsync']['p95_ms']:.2f} ms",
            "",
        )
    )
    rows.append(
        (
            "hand edit until found",
            f"{report['edit']['p50_ms']:.0f} ms",
            f"{report['edit']['p95_ms']:.0f} ms",
            "",
        )
    )
    rows.append(
        ("watcher idle, processor in 10 s", f"{report['idle']['cpu_ms_in_10_s']:.1f} ms", "", "")
    )
    for size, told in report["sync"].items():
        rows.append((f"{int(size):,} files: write all", f"{told['write_seconds']:.2f} s", "", ""))
        rows.append((f"{int(size):,} files: look at all", f"{told['look_seconds']:.3f} s", "", ""))
        rows.append(
            (f"{int(size):,} files: database anew", f"{told['reindex_seconds']:.2f} s", "", "")
        )
    head = (
        f"engrams {facts['engrams']} on {facts['cpu']}, {facts['cores']} cores, Python"
        f" {facts['python']}, SQLite {facts['sqlite']}, load {facts['load']} at the start"
    )
    lines = (
        f"{row[0].ljust(34)}{row[1].rjust(12)}{row[2].rjust(12)}{row[3].rjust(12)}".rstrip()
        for row in rows
    )
    return "\n".join([head, "", *lines])


if __name__ == "__main__":
    main()
