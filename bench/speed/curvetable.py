"""Curves as text: a block for each figure, a line for each system, with its slope."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any

OURS = "engrams"
METRICS = {
    "open_ms": "open, imports included (ms)",
    "first_ms": "first search of a process (ms)",
    "search_ms": "search (ms)",
    "after_write_ms": "search right after a write (ms)",
    "add_ms": "add, acknowledged (ms)",
    "disk_mb": "on disk (MB)",
    "resident_mb": "resident, after the searches (MB)",
}
"""Figures that every system has, as they are called in tables."""
OWN = {
    "search_cpu_ms": "search, processor time (ms)",
    "built_ms": "first search, index built (ms)",
    "once_mb": "resident, after the first search (MB)",
    "shared_mb": "of the resident, shared with other processes (MB)",
    "index_mb": "of the disk, index files (MB)",
}
FLAT = {"records": frozenset({"open_ms", "add_ms"}), "owners": frozenset(METRICS) - {"disk_mb"}}
"""Figures that should not grow, by axis."""
BUDGETS = {
    "first_ms": {10_000: 60, 100_000: 100, 1_000_000: 400},
    "search_ms": {10_000: 2.5, 100_000: 6, 1_000_000: 15},
    "resident_mb": {1_000_000: 500},
}
"""Most that a figure may be, by records of one owner."""
_AFTER_WRITE = 0.5
"""Milliseconds that a search right after a write may take more than another."""
CLOCKS = {
    "wall": "by the clock",
    "processor": "of processors, as on a machine that is busy with other work",
}
"""Times that a table can tell."""
_HEADS = {"records": "records of one owner", "owners": "owners"}


def format_table(report: Mapping[str, Any]) -> str:
    """Report as aligned text."""
    facts = report["machine"]
    clock = report["clock"]
    lines = [
        (
            f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB, Python"
            f" {facts['python']}, SQLite {facts['sqlite']}, load {facts['load']} at the start"
        ),
        (
            f"times are {CLOCKS[clock]}; medians of {report['rounds']} processes (open, first"
            f" search) and of {report['count']} calls"
        ),
    ]
    for axis, head in _HEADS.items():
        if report[axis]:
            about = f", {report['each']} records each" if axis == "owners" else ""
            lines += ["", *_format_axis(axis, report[axis], head + about, clock)]
    lines += ["", *_format_budgets(report["records"].get(OURS, {}), clock)]
    about = {
        name: next((row["about"] for row in rows.values() if "about" in row), "")
        for name, rows in report["records"].items()
    }
    return "\n".join([*lines, "", *(f"{name}: {text}" for name, text in about.items() if text)])


def _format_axis(axis: str, systems: Mapping[str, Any], head: str, clock: str) -> list[str]:
    sizes = sorted({int(size) for rows in systems.values() for size in rows})
    lines = [f"{head:50}" + "".join(f"{size:>11,}" for size in sizes) + f"{'slope':>8}"]
    for metric, label in METRICS.items():
        lines.append(label + (", should be flat" if metric in FLAT[axis] else ""))
        lines += [
            _format_line(f"  {name}", rows, metric, sizes, clock) for name, rows in systems.items()
        ]
    ours = systems.get(OURS, {})
    lines.append(f"{OURS} alone")
    lines += [
        _format_line(f"  {label}", ours, metric, sizes, clock) for metric, label in OWN.items()
    ]
    missing = {
        name: row["failure"]
        for name, rows in systems.items()
        for row in rows.values()
        if "failure" in row
    }
    return [*lines, *(f"{name} stops where it does: {reason}" for name, reason in missing.items())]


def pick_value(row: Mapping[str, Any], metric: str, clock: str) -> float | None:
    """Figure of a row; of times, that of the clock."""
    value: float | None = row.get(
        metric.replace("_ms", "_cpu_ms")
        if clock == "processor" and "_cpu_" not in metric
        else metric
    )
    return value


def _format_line(
    label: str, rows: Mapping[str, Any], metric: str, sizes: list[int], clock: str
) -> str:
    values = [pick_value(rows.get(str(size), {}), metric, clock) for size in sizes]
    slope = fit_slope(
        {size: value for size, value in zip(sizes, values, strict=True) if value is not None}
    )
    told = "".join(f"{'-' if value is None else format_value(value):>11}" for value in values)
    return f"{label:50}{told}{'-' if slope is None else f'{slope:.2f}':>8}"


def format_value(value: float) -> str:
    """Three figures that count."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def fit_slope(values: Mapping[int, float]) -> float | None:
    """Slope of values over sizes, both as logarithms; None for fewer than two."""
    points = [(math.log(size), math.log(value)) for size, value in values.items() if value > 0]
    if len(points) < 2:
        return None
    return round(statistics.linear_regression(*zip(*points, strict=True)).slope, 2)


def _format_budgets(rows: Mapping[str, Any], clock: str) -> list[str]:
    """Budgets at the sizes that have one, and what was measured."""
    named = METRICS | OWN
    found = [
        (named[metric], int(size), value, most)
        for metric, budgets in BUDGETS.items()
        for size, row in rows.items()
        if (most := budgets.get(int(size))) is not None
        and (value := pick_value(row, metric, clock)) is not None
    ]
    for size, row in rows.items():
        after, plain = (
            pick_value(row, metric, clock) for metric in ("after_write_ms", "search_ms")
        )
        if after is not None and plain is not None:
            found.append(
                ("after a write, beyond a search (ms)", int(size), after - plain, _AFTER_WRITE)
            )
    return [
        f"{label:50}{f'{size:,}':>11}{format_value(value):>11}, budget"
        f" {most:g}{'' if value <= most else ': missed'}"
        for label, size, value, most in found
    ]
