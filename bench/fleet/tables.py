"""Report of a fleet's bench as aligned text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.fleet.cells import RIVALS
from bench.fleet.forecast import CURVES, FleetAssumptions, choose_base, draw_curves, forecast

CALLS = {
    "search": "search, warm",
    "cold": "an owner's first search",
    "add": "add, acknowledged",
    "settled": "add, settled by rules",
    "elsewhere": "search in another process right after",
}
SERVED = {
    "search": "search, warm",
    "cold": "an owner's first search",
    "add": "add, acknowledged",
    "elsewhere": "search at the next process right after",
}
SIZES = (10_000, 100_000, 1_000_000)
_LABEL = 52
_FORECAST = {
    "database_bytes": ("database (GB)", 1e9),
    "searches": ("searches a second", 1),
    "adds": ("adds a second", 1),
    "loaded_bytes": ("indexes in memory (GB)", 1e9),
    "api_processors": ("processors of APIs", 1),
    "server_processors": ("processors of Postgres", 1),
    "apis": ("API processes", 1),
    "workers": ("workers", 1),
    "connections": ("connections", 1),
    "probes": ('"anything new?" of searches, a second', 1),
    "idle": ("transactions of processes at rest, a second", 1),
    "log_bytes": ("Postgres' log (MB a second)", 1e6),
}


def format_report(report: Mapping[str, Any]) -> str:
    """Every cell with what was measured in it."""
    facts = report["machine"]
    place = f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']} at the start"
    lines = [
        f"engrams {facts['engrams']} on {place}; SQLite {facts['sqlite']}, PostgreSQL"
        f" {report['server']} as it comes"
    ]
    for cell in report["cells"].values():
        lines += ["", *_format_cell(cell)]
    return "\n".join(lines)


def _format_cell(cell: Mapping[str, Any]) -> Iterator[str]:
    size = f"{cell['owners']:,} x {cell['each']:,} records (ms)"
    yield f"{size:{_LABEL}}{'files p50':>9} {'p95':>8} {'postgres p50':>14} {'p95':>8} {'ratio':>8}"
    if "calls" in cell:
        yield from _format_calls("  ", CALLS, cell["calls"])
    for number in ("1", "2"):
        if served := cell.get("serving", {}).get(number):
            yield f"  over HTTP, {number} API process{'es' if number != '1' else ''} on each"
            yield from _format_calls("    ", SERVED, served)
            rates = {name: {"p50": served[name]["per_second"]} for name in served}
            yield _format_pair("    searches a second of 4 clients", rates)
    if sizes := cell.get("sizes"):
        stored = {
            name: {"p50": sizes[key]}
            for name, key in (("files", "files_bytes"), ("postgres", "database_bytes"))
            if key in sizes
        }
        yield _format_pair("  bytes of an owner, on disk", stored)
        held = {
            name: {"p50": sizes[key]}
            for name, key in (("files", "files_index_bytes"), ("postgres", "index_bytes"))
            if key in sizes
        }
        yield _format_pair("  bytes of an owner, index in memory", held)
    if costs := cell.get("costs"):
        one = cell.get("file_costs", {})
        for what, label in (
            ("search", SERVED["search"]),
            ("cold", SERVED["cold"]),
            ("add", SERVED["add"]),
        ):
            spent = {"postgres": {"p50": costs[f"{what}_api_ms"] + costs[f"{what}_server_ms"]}}
            spent |= {"files": {"p50": one[f"{what}_api_ms"]}} if one else {}
            yield _format_pair(
                f"  processor time over HTTP, {label.replace('search, warm', 'search')}", spent
            )
        yield (
            f"  an API at rest: {costs['api_connections']:.0f} connections,"
            f" {costs['api_idle_per_second']:.2f} transactions a second"
        )
    yield from _format_rivals(cell.get("rivals", {}))


def _format_calls(
    indent: str, labels: Mapping[str, str], times: Mapping[str, Any]
) -> Iterator[str]:
    for what, label in labels.items():
        yield _format_pair(indent + label, {name: mine[what] for name, mine in times.items()})


def _format_pair(label: str, figures: Mapping[str, Mapping[str, float]]) -> str:
    """Row of a file's figures, where there is one, and of Postgres'."""
    one = figures.get("files", {})
    other = figures["postgres"]
    columns = ((one, "p50", 9), (one, "p95", 8), (other, "p50", 14), (other, "p95", 8))
    row = f"{label:{_LABEL}}" + "".join(
        f"{_format_figure(some.get(key)):>{width}} " for some, key, width in columns
    )
    return row + (f"{other['p50'] / max(one['p50'], 0.001):>8.2f}" if one else f"{'-':>8}")


def _format_figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _format_rivals(rivals: Mapping[str, Any]) -> Iterator[str]:
    if not rivals:
        return
    head = "".join(
        f"{what + ' p50':>11} {'p95':>8} {'processor':>10}" for what in ("search", "add")
    )
    yield (
        f"{'  on the same server (ms)':28}{head} {'new process':>12} {'its first':>10} {'of 10':>6}"
        f" {'again':>6} {'bytes':>11}"
    )
    for name, label in RIVALS.items():
        mine = rivals.get(name)
        if mine is None:
            continue
        if "failure" in mine:
            yield f"    {label:24}not run: {mine['failure']}"
            continue
        times = "".join(
            f"{mine[what]['p50']:>11.2f} {mine[what]['p95']:>8.2f}"
            f" {mine[f'{what}_processor_ms']:>10.2f}"
            for what in ("search", "add")
        )
        first = f"{mine['open']['p50']:>12.0f} {mine['first']['p50']:>10.1f}"
        yield (
            f"    {label:24}{times} {first} {mine['found']:>6.1f} {100 * mine['again']:>5.0f}%"
            f" {mine['database_bytes']:>11,}"
        )


def format_model(
    report: Mapping[str, Any], given: FleetAssumptions | None = None, sizes: Sequence[int] = SIZES
) -> str:
    """Curves, what a larger fleet would need by them, and what is assumed."""
    given = given or FleetAssumptions()
    cells = report["cells"]
    curves = draw_curves(cells, given.records)
    names = list(cells)
    lines = [
        f"{'cost on Postgres, by cell':54}"
        + "".join(f"{name:>12}" for name in names)
        + f"{'by owners':>11}{'by records':>11}"
    ]
    for curve in curves:
        values = "".join(_format_value(curve.values.get(name)) for name in names)
        lines.append(
            f"{CURVES[curve.name]:54}{values}{_format_slope(curve.by_owners)}{_format_slope(curve.by_records)}"
        )
    try:
        base = choose_base(cells, given.records)
    except ValueError as problem:
        return "\n".join([*lines, "", f"No forecast: {problem}."])
    columns = [forecast(owners, base, curves, report["idle"], given) for owners in sizes]
    lines += ["", f"{'owners':54}" + "".join(f"{owners:>12,}" for owners in sizes)]
    for name, (label, unit) in _FORECAST.items():
        lines.append(
            f"{label:54}" + "".join(_format_value(column[name] / unit) for column in columns)
        )
    return "\n".join([*lines, "", _list_assumptions(base, given)])


def _list_assumptions(base: Mapping[str, Any], given: FleetAssumptions) -> str:
    share, first, busy = (
        f"{part:.0%}" for part in (given.daily_share, given.first_share, given.busy)
    )
    text = (
        "Slopes are those of logarithms: 0 is flat, 1 grows with the number. Costs are those of"
        f" the cell {base['owners']:,} x {base['each']:,}. Postgres' own grow with owners by their"
        f" slope, where it rises; those of an API do not. Assumed: {given.records:,} records an"
        f" owner; {share} of the owners come on a day, each for {given.daily_searches} searches and"
        f" {given.daily_adds} adds; the busiest hour has {given.peak:.0f} times the mean; in"
        f" {first} of the searches the owner's index must be loaded; who comes within an hour stays"
        f" loaded, in one API, which holds {given.cache_bytes / 1e9:.0f} GB of them; processors are"
        f" used to {busy}; one worker for {given.apis_per_worker} APIs; all settings of Postgres as"
        " they come. Not in it: jobs and the models that they ask, what tables cost that outgrow"
        " the server's memory, replicas, vacuum, the network."
    )
    return textwrap.fill(text, 138)


def _format_value(value: float | None) -> str:
    if value is None:
        return f"{'-':>12}"
    return f"{value:>12,.0f}" if abs(value) >= 100 else f"{value:>12.2f}"


def _format_slope(slope: float | None) -> str:
    return f"{'-' if slope is None else format(slope, '.2f'):>11}"
