"""Speed measurements as a table and JSON.

``python -m bench.speed [--quick] [--sizes 1000,10000,100000] [--million] [--owners N] [--ann]
[--vault] [--json FILE]``. ``--million`` and ``--owners`` are those of ``bench.speed.large``, which
keeps its stores and resumes where it was stopped. ``python -m bench.speed --curve`` draws curves
instead, beside other memories: ``bench.speed.curve`` has its options.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.speed import ann, curve, large, machine
from bench.vault import __main__ as vault

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    if "--curve" in arguments:
        curve.main([each for each in arguments if each != "--curve"])
        return
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="sizes 1000 and 10000, fewer repeats")
    parser.add_argument(
        "--sizes",
        default="",
        help="records in the scope that is searched (default 1000,10000,100000)",
    )
    parser.add_argument(
        "--million", action="store_true", help="also a scope of a million 384-d records"
    )
    parser.add_argument(
        "--owners", type=int, default=0, help="also measure this many owners of 1000 turns each"
    )
    parser.add_argument(
        "--ann",
        action="store_true",
        help="also the recall of the search by codes (bench.speed.ann)",
    )
    parser.add_argument(
        "--vault", action="store_true", help="also what files and git cost (bench.vault)"
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=ROOT / "bench" / "out" / "speed.json",
        help="where the JSON goes",
    )
    given = parser.parse_args(arguments)
    sizes = [
        int(size)
        for size in (given.sizes or ("1000,10000" if given.quick else "1000,10000,100000")).split(
            ","
        )
    ]
    repeats = 100 if given.quick else 400
    folder = Path(tempfile.mkdtemp(prefix="engrams-bench-"))
    try:
        report = measure(folder, sizes, repeats)
        if given.million or given.owners:
            report["large"] = large.measure(
                large.HOME, 1_000_000 * given.million, (given.owners, 1000)
            )
        if given.ann:
            report["ann"] = run_stage("ann", size=100_000)
        if given.vault:
            report["vault"] = vault.measure(quick=given.quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(format_table(report))
    if given.vault:
        print(vault.format_table(report["vault"]))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(folder: Path, sizes: Sequence[int], repeats: int) -> dict[str, Any]:
    """Run every stage in a fresh process."""
    report: dict[str, Any] = {
        "machine": machine.collect_facts(),
        "core_install_mb": machine.measure_install(),
        "sizes": {},
    }
    for size in sizes:
        home = str(folder / f"home-{size}")
        report["sizes"][str(size)] = {
            "ingest": run_stage("ingest", home=home, size=size),
            "search": run_stage("search", home=home, count=repeats),
        }
    middle = min(sizes, key=lambda size: abs(size - 10_000))
    home = str(folder / f"home-{middle}")
    report["start"] = {
        "records": middle,
        **run_stage("start", home=home, rounds=5 if repeats <= 100 else 11),
    }
    report["ack"] = {"records": middle, **run_stage("ack", home=home, count=repeats)}
    report["load"] = run_stage("load", home=str(folder / "load"), size=middle)
    report["proxy"] = {
        "records": middle,
        **run_stage("proxy", home=home, seconds=10.0 if repeats <= 100 else 30.0),
    }
    return report


def run_stage(name: str, **given: Any) -> dict[str, Any]:
    print(f"… {name} {given.get('size') or given.get('count') or ''}", file=sys.stderr, flush=True)
    place = ["bench.speed.proxy"] if name == "proxy" else ["bench.speed.stages", name]
    command = [sys.executable, "-m", *place, json.dumps(given)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def format_table(report: dict[str, Any]) -> str:
    """Report as aligned text."""
    facts = report["machine"]
    rows = [
        (
            f"engrams {facts['engrams']} on {facts['cpu']}, {facts['cores']} cores,"
            f" {facts['memory_gb']} GB, Python {facts['python']}, SQLite {facts['sqlite']}, load"
            f" {facts['load']} at the start"
        ),
        "",
        (
            f"{'records':>9} {'search p50':>11} {'p95':>8} {'first':>8} {'context p50':>12}"
            f" {'embed p50':>10} {'peak MB':>8} {'journal/s':>10} {'settled/s':>10}"
            f" {'bytes/turn':>11}"
        ),
    ]
    for size, row in report["sizes"].items():
        read = row["search"]
        write = row["ingest"]
        rows.append(
            f"{int(size):>9,} {read['search']['p50']:>8.2f} ms {read['search']['p95']:>5.2f} ms"
            f" {read['first_ms']:>5.0f} ms {read['context']['p50']:>9.2f} ms"
            f" {read['embed']['p50']:>7.2f} ms {read['peak_mb']:>8.0f}"
            f" {write['journal_per_second']:>10,} {write['settle_per_second'] or '-':>10}"
            f" {write['db_bytes_per_turn']:>11,}"
        )
    rows += ["", f"{'one write (ms)':41} {'p50':>8} {'p95':>8} {'p99':>8}"]
    names = {
        "unsettled": "add, acknowledged",
        "slow_model": "add, acknowledged, a model that takes 30 s",
    }
    names |= {"settled": "add, settled by rules", "floor_fsync": "the disk's own fsync of 4 kB"}
    rows += [
        f"{label:41} {report['ack'][name]['p50']:>8.2f} {report['ack'][name]['p95']:>8.2f}"
        f" {report['ack'][name]['p99']:>8.2f}"
        for name, label in names.items()
    ]
    start = report["start"]
    health = report["proxy"]["health_ms"]
    rows += [
        "",
        (
            f"import of a file: {report['load']['per_second']:,} turns/s, peak"
            f" {report['load']['peak_mb']:.0f} MB"
        ),
        (
            f"cold start, median: engrams --help {start['help']['median_ms']:.0f} ms, first search"
            f" on {start['records']:,} records {start['search']['median_ms']:.0f} ms (python -c"
            f" pass: {start['python_pass']['median_ms']:.0f} ms)"
        ),
        (
            f"proxy, {report['proxy']['streams']} streams on {report['proxy']['records']:,}"
            " records: first byte over the upstream's p50"
            f" {report['proxy']['overhead_ms']['p50']:.1f} ms, p95"
            f" {report['proxy']['overhead_ms']['p95']:.1f} ms, {len(report['proxy']['faults'])}"
            " faults"
        ),
        (
            f"health while 20 clients search, add and read: p50 {health['p50']:.1f} ms, p95"
            f" {health['p95']:.1f} ms"
        ),
        f"core install: {report['core_install_mb']['total']:.0f} MB unpacked",
    ]
    if "ann" in report:
        rows += ["", ann.format_table(report["ann"])]
    if "large" in report:
        rows += ["", large.format_table(report["large"])]
    return "\n".join(rows)


if __name__ == "__main__":
    main()
