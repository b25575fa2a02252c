"""The bench of fleets: cells, curves, the forecast by them, tables and the picture."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from bench.fleet.__main__ import main
from bench.fleet.cells import HOME, WARMING, GridCell
from bench.fleet.forecast import CURVES, FleetAssumptions, choose_base, draw_curves, forecast
from bench.fleet.picture import draw_report
from bench.fleet.tables import format_model, format_report
from tests.store.postgres import INSTALLED, MISSING

IDLE = {"worker_idle_per_second": 2.0, "worker_connections": 3.0}


def times(p50: float) -> dict[str, float]:
    return {"p50": p50, "p95": 2 * p50, "p99": 3 * p50, "mean": p50, "n": 10}


def cell(owners: int, each: int, **changed: float) -> dict[str, Any]:
    """A cell that was measured whole:
    its searches cost the root of its owners, an owner's bytes grow with its records.
    """
    calls = dict.fromkeys(("search", "cold", "add", "settled", "elsewhere"), times(2.0))
    served = {
        "search": times(5.0),
        "cold": times(9.0),
        "add": times(7.0),
        "elsewhere": times(6.0),
        "per_second": 80.0,
    }
    costs = {name: 1.0 for name in CURVES if name.endswith(("_api_ms", "_log_bytes"))}
    costs |= {name: math.sqrt(owners) for name in CURVES if name.endswith("_server_ms")}
    return {
        "owners": owners,
        "each": each,
        "calls": {"files": calls, "postgres": calls},
        "serving": {number: {"files": served, "postgres": served} for number in ("1", "2")},
        "sizes": {
            "database_bytes": 3000 * each,
            "files_bytes": 2000 * each,
            "files_index_bytes": 900 * each,
            "index_bytes": 1000 * each,
        },
        "costs": {**costs, "api_connections": 4.0, "api_idle_per_second": 0.5, **changed},
        "rivals": {
            "engrams_postgres": {
                "about": "ours",
                "search": times(3.0),
                "add": times(4.0),
                "open": times(300.0),
                "first": times(20.0),
                "found": 10.0,
                "again": 1.0,
                "database_bytes": 3000,
                "search_processor_ms": 1.5,
                "add_processor_ms": 2.5,
            },
            "mem0pgvector": {"failure": "cannot be installed: no network"},
        },
    }


def report(*cells: dict[str, Any]) -> dict[str, Any]:
    machine = {"cpu": "a processor", "cores": 2, "load": 0.1, "engrams": "0.1.0", "sqlite": "3.54"}
    return {
        "machine": machine,
        "server": "18.4",
        "cells": {f"{one['owners']}x{one['each']}": one for one in cells},
        "idle": IDLE,
    }


def test_a_cell_knows_its_owners_and_their_texts() -> None:
    """Every owner has texts of their own, the same each time, and those that are there are left
    out.
    """
    grid = GridCell.parse("20x30")
    assert (grid.name, grid.records, grid.numbers[0], len(grid.numbers)) == (
        "20x30",
        600,
        WARMING,
        21,
    )
    first = [line.text for line in grid.lines(0)]
    second = [line.text for line in grid.lines(1)]
    assert len(first) == 30
    assert first != second
    assert [line.text for line in grid.lines(0, 28)] == first[28:]
    assert (grid.weight, GridCell(1, 10_000).weight) == (21, 1.1)
    assert len(set(GridCell(500, 10).visited())) == 40
    with pytest.raises(ValueError, match="invalid literal"):
        GridCell.parse("20x")


def test_curves_go_by_owners_and_by_records() -> None:
    """Owners are compared at the same number of records, records at one owner."""
    cells = report(cell(1, 100), cell(1, 1000), cell(20, 1000), cell(2000, 1000), cell(50, 10))[
        "cells"
    ]
    curves = {curve.name: curve for curve in draw_curves(cells)}
    assert curves["search_server_ms"].by_owners == pytest.approx(0.5)
    assert curves["index_bytes"].by_records == pytest.approx(1)
    assert curves["index_bytes"].by_owners == pytest.approx(0)
    assert curves["index_bytes"].values["50x10"] == 10_000


def test_a_forecast_multiplies_what_was_measured() -> None:
    """Bytes grow with owners, processors with calls in the busiest hour, and Postgres' cost of a
    call by its slope.
    """
    cells = report(cell(1, 1000), cell(100, 1000))["cells"]
    base = choose_base(cells, 1000)
    curves = draw_curves(cells)
    given = FleetAssumptions(
        daily_share=0.5,
        daily_searches=10,
        daily_adds=0,
        peak=2,
        first_share=0,
        busy=1,
        cache_bytes=1e6,
    )
    found = forecast(864_000, base, curves, IDLE, given)
    assert found["database_bytes"] == 864_000 * 3_000_000
    assert found["searches"] == pytest.approx(100)
    assert found["api_processors"] == pytest.approx(100 * 1.0 / 1000)
    assert found["server_processors"] == pytest.approx(100 * math.sqrt(864_000) / 1000)
    assert found["loaded_bytes"] == pytest.approx(864_000 * 0.5 * 2 / 24 * 1_000_000)
    assert found["apis"] == math.ceil(found["loaded_bytes"] / 1e6)
    assert found["connections"] == 4 * found["apis"] + 3 * found["workers"]
    assert (
        forecast(8_640, base, curves, IDLE, given)["database_bytes"] * 100
        == found["database_bytes"]
    )


def test_a_forecast_needs_a_cell_that_was_measured_whole() -> None:
    """A cell that a stopped run left without its costs is no base."""
    part = cell(500, 1000)
    del part["costs"]
    cells = report(cell(20, 1000), part)["cells"]
    assert choose_base(cells, 1000)["owners"] == 20
    with pytest.raises(ValueError, match="no cell of owners with 7 records"):
        choose_base(cells, 7)


def test_the_tables_name_what_was_measured_and_what_was_not() -> None:
    """A cell shows its calls, its processes, its sizes and the other memories, with the reason of
    the one that did not run.
    """
    told = format_report(report(cell(20, 1000)))
    assert "20 x 1,000 records" in told
    assert "over HTTP, 2 API processes on each" in told
    assert "not run: cannot be installed: no network" in told
    assert "100%" in told
    model = format_model(report(cell(1, 1000), cell(20, 1000)))
    assert "1,000,000" in model
    assert "of the cell 20 x 1,000" in model
    assert "Assumed: 1,000 records an owner; 10% of the owners" in model


def test_a_cell_that_was_stopped_shows_what_it_has() -> None:
    """A report of a run that was stopped can be shown."""
    assert "1 x 10 records" in format_report(report({"owners": 1, "each": 10, "fill": {}}))


def test_the_picture_is_svg_with_a_line_for_each_memory() -> None:
    """The picture parses, and each memory with figures has a line in each panel that has them."""
    drawn = ET.fromstring(draw_report(report(cell(1, 1000), cell(20, 1000))["cells"]))
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}polyline"))) == 8
    assert "engrams on Postgres" in {
        text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")
    }


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.skipif(not INSTALLED, reason=MISSING)
def test_a_cell_is_filled_and_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A small cell goes through every stage with real API processes, and a second run measures
    nothing again.
    """
    from tests.store.postgres import start_server

    monkeypatch.setenv(HOME, "")  # main sets it; the test puts it back
    given = [
        "--grid",
        "2x30",
        "--count",
        "8",
        "--url",
        start_server(),
        "--rivals",
        "",
        "--rest",
        "1",
    ]
    given += ["--home", str(tmp_path), "--json", str(tmp_path / "out.json")]
    main(given)
    first = capsys.readouterr()
    assert "2 x 30 records" in first.out
    assert "2x30: costs" in first.err
    main(given)
    second = capsys.readouterr()
    assert second.out.splitlines()[1:] == first.out.splitlines()[1:]
    assert "2x30:" not in second.err
