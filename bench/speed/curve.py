"""Times and sizes as memory grows: ``python -m bench.speed --curve [--sizes
1000,10000,100000,1000000] [--owners 1,10,100,1000,10000]``.

Two curves: records of one owner, and owners of ``--each`` records. Beside engrams run Chroma,
LangGraph's store and SQLite FTS5, on the same texts and, where they take vectors, with the same
384-d vectors. Every measurement is made in a process of its own, on a filled home; first searches
in ``--rounds`` processes. The slope is that of a figure over the sizes, both as logarithms: 0 is
flat, 1 grows as memory does. Homes stay under ``--home`` (those of ``bench.speed.large``), and each
cell is written to ``--json`` at once: ``--resume`` measures the rest.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.speed import large, machine
from bench.speed.curvepeers import PEERS, PeerPlan, measure_peer
from bench.speed.curvepicture import draw_picture
from bench.speed.curvetable import CLOCKS, OURS, format_table

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "bench" / "out"
AXES = ("records", "owners")
_DIMENSION = 384
_LARGE = 200_000
"""Records above which a home is not copied, nor its index built anew: that takes minutes."""


@dataclass(frozen=True, slots=True)
class CurveCell:
    """Point of a curve: ``owners`` with ``each`` records, under the name ``at`` on its axis."""

    axis: str
    at: int
    owners: int
    each: int


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed --curve", description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000", help="records of one owner")
    parser.add_argument("--owners", default="1,10,100,1000,10000", help="owners of --each records")
    parser.add_argument("--each", type=int, default=100, help="records of one of many owners")
    parser.add_argument("--rounds", type=int, default=3, help="processes that open and search once")
    parser.add_argument("--count", type=int, default=100, help="searches and writes that are timed")
    parser.add_argument(
        "--peers", default=",".join(PEERS), help="which peers, of: " + ", ".join(PEERS)
    )
    parser.add_argument(
        "--peer-records", type=int, default=100_000, help="most records that a peer is given"
    )
    parser.add_argument(
        "--seconds", type=float, default=1800, help="how long a peer may take to be filled"
    )
    parser.add_argument("--home", type=Path, default=large.HOME, help="where filled homes stay")
    parser.add_argument(
        "--json", type=Path, default=OUT / "curve.json", help="where the figures go"
    )
    parser.add_argument(
        "--picture", type=Path, default=OUT / "curve.svg", help="where the picture goes"
    )
    parser.add_argument(
        "--clock",
        choices=[*CLOCKS],
        default="wall",
        help="which times table and picture show; the JSON has both",
    )
    parser.add_argument(
        "--resume", action="store_true", help="measure only what --json does not hold"
    )
    given = parser.parse_args(arguments)
    report = {**_begin(given), "clock": given.clock}
    cells = [CurveCell("records", size, 1, size) for size in _numbers(given.sizes)]
    cells += [CurveCell("owners", owners, owners, given.each) for owners in _numbers(given.owners)]
    for cell in cells:
        for name in (OURS, *(name for name in given.peers.split(",") if name)):
            row = report[cell.axis].setdefault(PEERS.get(name, name), {})
            if str(cell.at) in row or (
                name != OURS and cell.owners * cell.each > given.peer_records
            ):
                continue
            print(f"… {cell.at:,} {cell.axis}: {name}", file=sys.stderr, flush=True)
            row[str(cell.at)] = _measure(name, cell, given)
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(format_table(report))
    given.picture.write_text(draw_picture(report), "utf-8")


def _begin(given: argparse.Namespace) -> dict[str, Any]:
    fresh = {
        "machine": machine.collect_facts(),
        "rounds": given.rounds,
        "count": given.count,
        "each": given.each,
        **{axis: {} for axis in AXES},
    }
    if given.resume and given.json.exists():
        held: dict[str, Any] = json.loads(given.json.read_text("utf-8"))
        return {**fresh, **held}
    return fresh


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def _measure(name: str, cell: CurveCell, given: argparse.Namespace) -> dict[str, Any]:
    if name == OURS:
        return measure_engrams(fill_home(given.home, cell), cell, given.rounds, given.count)
    plan = PeerPlan(cell.owners, cell.each, given.rounds, given.count, given.seconds)
    return measure_peer(
        name, given.home / f"peer-{name}", plan, large.WideEmbedder(_DIMENSION).embed
    )


def fill_home(folder: Path, cell: CurveCell) -> Path:
    """Fill a home, unless it is there; a stopped fill goes on."""
    home = folder / (
        f"one-{cell.each}-{_DIMENSION}"
        if cell.owners == 1
        else f"many-{cell.owners}-{cell.each}-{_DIMENSION}"
    )
    done = home / "filled"
    if not done.exists():
        given = {
            "home": str(home),
            "owners": cell.owners,
            "each": cell.each,
            "dimension": _DIMENSION,
        }
        _run("bench.speed.large", "--part", "fill", json.dumps(given))
        done.touch()
    return home


def measure_engrams(home: Path, cell: CurveCell, rounds: int, count: int) -> dict[str, Any]:
    """Measure a filled home.

    What writes does so in a copy; of a large home in itself, where a hundred turns more change
    nothing.
    """
    records = cell.owners * cell.each
    about = {"dimension": _DIMENSION, "owners": cell.owners}
    index = home / "memory.db.index"
    built = _build_index(home, index, records, about)
    firsts = [_run_stage("first", home=str(home), seed=number, **about) for number in range(rounds)]
    middle = sorted(firsts, key=lambda one: one["first_ms"])[rounds // 2]
    # Blocks, not lengths: the holes for later rows take no place.
    disk, files = (
        sum(path.stat().st_blocks * 512 for path in place.rglob("*") if path.is_file())
        for place in (home, index)
    )
    with _copy_home(home) if records <= _LARGE else nullcontext(home) as written:
        held = _run_stage("warm", home=str(written), count=count, **about)
    once = {**built, "once_mb": middle["resident_mb"], "index_mb": round(files / 1e6, 1)}
    return {**middle, **once, "disk_mb": round(disk / 1e6, 3), **held}


@contextmanager
def _copy_home(home: Path) -> Iterator[Path]:
    copy = home.with_name(f"{home.name}-written")
    shutil.rmtree(copy, ignore_errors=True)
    try:
        yield shutil.copytree(home, copy)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _build_index(home: Path, index: Path, records: int, about: dict[str, int]) -> dict[str, float]:
    """Time a first search without an index file, unless that takes minutes.

    It leaves the file for those that follow.
    """
    if records > _LARGE and index.exists():
        return {}
    shutil.rmtree(index, ignore_errors=True)
    built = _run_stage("first", home=str(home), seed=0, **about)
    _run_stage("first", home=str(home), seed=0, **about)  # maps it and checks it, once for all
    return {"built_ms": built["first_ms"], "built_cpu_ms": built["first_cpu_ms"]}


def _run_stage(stage: str, **given: Any) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(
        _run("bench.speed.curvestages", stage, json.dumps(given)).splitlines()[-1]
    )
    return result


def _run(*call: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *call], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(call[:2])} failed")
    return done.stdout


if __name__ == "__main__":
    main()
