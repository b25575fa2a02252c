"""How times and sizes grow with memory: ``python -m bench.speed.curve [--sizes 1000,10000,100000] [--rounds 3] [--json FILE]``.

One owner's turns, each measurement in a process of its own: the first search with the index built from the store and mapped from its file,
in pairs; then searches, searches right after a write, writes, memory. The slope is that of the times over the sizes, both as logarithms:
0 is flat, 1 grows as memory does.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import engrams
from bench.speed.corpus import Corpus
from bench.speed.timing import OWNER, quantiles, time_call, to_turn

ROOT = Path(__file__).resolve().parents[2]
ROWS = {
    "built_ms": "first search, index built (ms)",
    "mapped_ms": "first search, index mapped (ms)",
    "search_ms": "search (ms)",
    "after_write_ms": "search right after a write (ms)",
    "add_ms": "add, acknowledged (ms)",
    "resident_mb": "resident (MB)",
    "shared_mb": "of it shared with other processes (MB)",
    "database_mb": "database (MB)",
    "index_mb": "index file (MB)",
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.curve", description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000", help="records of the owner")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of first searches")
    parser.add_argument("--json", type=Path, default=ROOT / "bench" / "out" / "curve.json", help="where the JSON goes")
    given = parser.parse_args(arguments)
    report = measure([int(size) for size in given.sizes.split(",")], given.rounds)
    print(format_table(report))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(sizes: Sequence[int], rounds: int) -> dict[str, Any]:
    """Measure every size; with the slope of each row."""
    folder = Path(tempfile.mkdtemp(prefix="engrams-curve-"))
    report: dict[str, Any] = {"load": os.getloadavg()[0], "cores": os.cpu_count(), "rounds": rounds, "sizes": {}}
    try:
        for size in sizes:
            print(f"… {size:,}", file=sys.stderr, flush=True)
            report["sizes"][str(size)] = _measure_size(str(folder / str(size)), size, rounds)
            shutil.rmtree(folder / str(size))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report["slopes"] = {name: _fit_slope({size: row[name] for size, row in report["sizes"].items()}) for name in ROWS}
    return report


def _measure_size(home: str, size: int, rounds: int) -> dict[str, float]:
    _run("fill", home, size)
    files = Path(home) / "memory.db.index"
    built, mapped = [], []
    for number in range(rounds):
        shutil.rmtree(files, ignore_errors=True)
        built.append(_run("first", home, number)["ms"])
        mapped.append(_run("first", home, number)["ms"])
    warm = _run("warm", home, 100)
    # Blocks, not lengths: the holes for later rows take no place.
    held = sum(path.stat().st_blocks * 512 for path in files.glob("*")) if files.is_dir() else 0
    return {
        "built_ms": statistics.median(built),
        "mapped_ms": statistics.median(mapped),
        **warm,
        "database_mb": round((Path(home) / "memory.db").stat().st_size / 1e6, 1),
        "index_mb": round(held / 1e6, 1),
    }


def _run(stage: str, home: str, number: int) -> dict[str, Any]:
    call = [sys.executable, "-m", "bench.speed.curve", "--stage", stage, home, str(number)]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{stage} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _fill(home: str, size: int) -> dict[str, Any]:
    lines = Corpus().lines(size)
    with engrams.open(home=home, jobs__workers=0, write__extract="off") as memory:
        while some := [to_turn(line) for line in itertools.islice(lines, 500)]:
            memory.observe(some, scope=OWNER)
        memory.drain(timeout=36_000)
    return {}


def _first(home: str, number: int) -> dict[str, Any]:
    question = Corpus(seed=3 + number).questions(1)[0]
    with engrams.open(home=home, jobs__workers=0) as memory:
        return {"ms": round(1000 * time_call(lambda: memory.search(question, scope=OWNER)), 1)}


def _warm(home: str, count: int) -> dict[str, Any]:
    questions = Corpus(seed=5).questions(2 * count)
    lines = Corpus(seed=6).lines(count)
    with engrams.open(home=home, jobs__workers=0, write__extract="off") as memory:
        for question in questions[:20]:
            memory.search(question, scope=OWNER)
        searches = [time_call(lambda question=question: memory.search(question, scope=OWNER)) for question in questions[:count]]
        memory_mb = _read_memory()
        adds, reads = [], []
        for line, question in zip(lines, questions[count:], strict=True):
            adds.append(time_call(lambda line=line: memory.add(to_turn(line), scope=OWNER, settle=False)))
            reads.append(time_call(lambda question=question: memory.search(question, scope=OWNER)))
    times = {"search_ms": searches, "after_write_ms": reads, "add_ms": adds}
    return {name: quantiles(some)["p50"] for name, some in times.items()} | memory_mb


def _read_memory() -> dict[str, float]:
    """Resident memory of this process, and the part that belongs to files; 0 where that is not told."""
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    told = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith(("VmRSS", "RssFile"))}
    return {"resident_mb": round(told.get("VmRSS", 0)), "shared_mb": round(told.get("RssFile", 0))}


def _fit_slope(values: dict[str, float]) -> float | None:
    points = [(math.log(int(size)), math.log(value)) for size, value in values.items() if value > 0]
    if len(points) < 2:
        return None
    return round(statistics.linear_regression(*zip(*points, strict=True)).slope, 2)


def format_table(report: dict[str, Any]) -> str:
    """Report as aligned text."""
    sizes = report["sizes"]
    lines = [f"{report['cores']} cores, load {report['load']:.1f} at the start, {report['rounds']} pairs", ""]
    lines.append(f"{'records of one owner':40}" + "".join(f"{int(size):>12,}" for size in sizes) + f"{'slope':>8}")
    for name, label in ROWS.items():
        slope = report["slopes"][name]
        lines.append(f"{label:40}" + "".join(f"{row[name]:>12,.1f}" for row in sizes.values()) + f"{'-' if slope is None else slope:>8}")
    return "\n".join(lines)


STAGES: dict[str, Callable[[str, int], dict[str, Any]]] = {"fill": _fill, "first": _first, "warm": _warm}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--stage"]:
        print(json.dumps(STAGES[sys.argv[2]](sys.argv[3], int(sys.argv[4]))))
    else:
        main()
