"""Curves beside other memories: figures for each size, slopes, a table and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.speed.__main__ import main
from bench.speed.curvepicture import draw_picture
from bench.speed.curvetable import METRICS, OURS, fit_slope, format_table

MACHINE = {
    "cpu": "a <processor>",
    "cores": 2,
    "memory_gb": 8.0,
    "load": 0.1,
    "python": "3.11",
    "sqlite": "3.50",
    "when": "2026-11-23T05:00:00",
}


def row(first: float, search: float) -> dict[str, float]:
    return {
        **dict.fromkeys(METRICS, 1.0),
        "first_ms": first,
        "search_ms": search,
        "after_write_ms": search + 0.2,
    }


def report() -> dict[str, object]:
    ours = {"10000": row(50, 2), "100000": row(500, 3)}
    peer = {
        "10000": {**row(5, 4), "about": "another memory"},
        "100000": {"failure": "took more than 9 s"},
    }
    head = {"machine": MACHINE, "rounds": 3, "count": 100, "each": 100, "clock": "wall"}
    return {
        **head,
        "records": {OURS: ours, "Peer": peer},
        "owners": {OURS: {"1": row(5, 2), "100": row(5, 2)}},
    }


def test_a_slope_is_that_of_logarithms() -> None:
    """What grows as memory does has 1, what stays has 0, and one size has none."""
    assert fit_slope({10: 5.0, 100: 50.0, 1000: 500.0}) == 1
    assert fit_slope({10: 5.0, 100: 5.0}) == 0
    assert fit_slope({10: 5.0}) is None


def test_a_table_tells_slopes_budgets_and_who_stopped() -> None:
    """Each system has its line with its slope;
    budgets that were missed and peers that failed are said.
    """
    told = format_table(report())
    assert [line.split()[-3:] for line in told.splitlines() if line.startswith("  engrams")][1] == [
        "50.0",
        "500",
        "1.00",
    ]
    assert "first search of a process (ms)" in told
    assert "500, budget 100: missed" in told and "50.0, budget 60\n" in told
    assert "Peer stops where it does: took more than 9 s" in told and "Peer: another memory" in told
    assert "open, imports included (ms), should be flat" in told


def test_a_picture_has_a_line_for_each_system_and_figure() -> None:
    """The picture is sound XML; each axis has every figure, and a name is no markup."""
    drawn = ElementTree.fromstring(draw_picture(report()))
    lines = [one for one in drawn.iter() if one.tag.endswith("polyline")]
    assert len(lines) == 3 * len(METRICS)
    assert any("<processor>" in (one.text or "") for one in drawn.iter())


@pytest.mark.slow
def test_one_command_measures_both_curves_beside_a_peer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every figure of every size is there, peers stop at their most records, and a second run
    measures nothing again.
    """
    sizes = ["--sizes", "120,40", "--owners", "3", "--each", "20"]
    few = ["--rounds", "1", "--count", "5"]
    places = [
        "--home",
        str(tmp_path / "homes"),
        "--json",
        str(tmp_path / "out.json"),
        "--picture",
        str(tmp_path / "out.svg"),
    ]
    main(["--curve", *sizes, *few, *places, "--peers", "fts5", "--peer-records", "60"])
    found = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert sorted(found["records"][OURS]) == ["120", "40"] and sorted(
        found["records"]["SQLite FTS5"]
    ) == ["40"]
    for rows in (*found["records"].values(), *found["owners"].values()):
        assert all(one[name] > 0 for one in rows.values() for name in METRICS)
    assert "slope" in capsys.readouterr().out and (tmp_path / "out.svg").read_text(
        "utf-8"
    ).startswith("<svg")
    before = (tmp_path / "out.json").stat().st_mtime_ns
    main(["--curve", *sizes, *few, *places, "--peers", "", "--resume"])
    assert (tmp_path / "out.json").stat().st_mtime_ns == before
