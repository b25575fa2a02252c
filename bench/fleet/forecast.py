"""Cost curves over owners and records, and what a larger fleet would need by them:
pure functions over a report's cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bench.speed.curvetable import fit_slope

Figures: TypeAlias = Mapping[str, float]
CURVES = {
    "search_ms": "search, warm, p50 (ms)",
    "cold_ms": "an owner's first search, p50 (ms)",
    "add_ms": "add, acknowledged, p50 (ms)",
    "elsewhere_ms": "search in another process right after, p50 (ms)",
    "search_api_ms": "search over HTTP: processor time of the API (ms)",
    "search_server_ms": "search over HTTP: of Postgres (ms)",
    "cold_api_ms": "first search over HTTP: of the API (ms)",
    "cold_server_ms": "first search over HTTP: of Postgres (ms)",
    "add_api_ms": "add over HTTP: of the API (ms)",
    "add_server_ms": "add over HTTP: of Postgres (ms)",
    "add_log_bytes": "add over HTTP: Postgres' log (bytes)",
    "database_bytes": "database, an owner (bytes)",
    "index_bytes": "index in memory, an owner (bytes)",
}
RECORDS = 1_000
"""Records of an owner, where nothing else is said."""
_GROWING = ("search_server_ms", "cold_server_ms", "add_server_ms")
"""Costs of the shared database: those of a process depend on the owners that it serves, not on all.
"""


@dataclass(frozen=True, slots=True)
class FleetAssumptions:
    """Use of a fleet that nobody measured; the forecast is as good as these."""

    records: int = RECORDS
    """Of an owner."""
    daily_share: float = 0.1
    """Share of the owners who come on a day."""
    daily_searches: int = 20
    daily_adds: int = 20
    """Of each who comes."""
    peak: float = 4.0
    """Busiest hour as a multiple of the day's mean."""
    first_share: float = 0.1
    """Share of searches that meet a process which has not loaded the owner."""
    busy: float = 0.5
    """Share of a processor that is used in the busiest hour."""
    cache_bytes: float = 1e9
    """Memory of a process for indexes (`store.cache_bytes`)."""
    apis_per_worker: int = 4


@dataclass(frozen=True, slots=True)
class CostCurve:
    """Values of a figure by cell, with its slopes on logarithms; None: too few cells."""

    name: str
    values: Mapping[str, float]
    by_owners: float | None
    by_records: float | None


def collect_figures(cell: Mapping[str, Any]) -> dict[str, float]:
    """Figures of a cell under the names of the curves, those that were measured."""
    calls = cell.get("calls", {}).get("postgres", {})
    found = {
        f"{what}_ms": calls[what]["p50"]
        for what in ("search", "cold", "add", "elsewhere")
        if what in calls
    }
    found |= {
        name: cell["sizes"][name]
        for name in ("database_bytes", "index_bytes")
        if name in cell.get("sizes", {})
    }
    return found | dict(cell.get("costs", {}))


def draw_curves(cells: Mapping[str, Mapping[str, Any]], records: int = RECORDS) -> list[CostCurve]:
    """Curves over the cells: by owners of ``records`` each, and by records of one owner."""
    figures = {name: collect_figures(cell) for name, cell in cells.items()}
    curves = []
    for what in CURVES:
        values = {name: mine[what] for name, mine in figures.items() if what in mine}
        many = {
            int(cells[name]["owners"]): value
            for name, value in values.items()
            if cells[name]["each"] == records
        }
        single = {
            int(cells[name]["each"]): value
            for name, value in values.items()
            if cells[name]["owners"] == 1
        }
        if values:
            curves.append(CostCurve(what, values, fit_slope(many), fit_slope(single)))
    return curves


def choose_base(cells: Mapping[str, Mapping[str, Any]], records: int) -> Mapping[str, Any]:
    """Cell with the most owners of as many records that was measured whole.

    ValueError: there is none.
    """
    whole = [
        cell
        for cell in cells.values()
        if cell["each"] == records and {*CURVES} <= collect_figures(cell).keys()
    ]
    if not whole:
        raise ValueError(f"no cell of owners with {records:,} records was measured whole")
    return max(whole, key=lambda cell: int(cell["owners"]))


def forecast(
    owners: int,
    base: Mapping[str, Any],
    curves: Sequence[CostCurve],
    idle: Figures,
    given: FleetAssumptions,
) -> dict[str, float]:
    """What a fleet of so many owners would need, by the costs of a base cell.

    ``idle``: connections and transactions a second of a worker at rest. Costs of the database grow
    by their slope over owners.
    """
    cost = collect_figures(base)
    slopes = {curve.name: curve.by_owners or 0.0 for curve in curves}
    growth = {
        name: max(1.0, owners / base["owners"]) ** max(0.0, slopes.get(name, 0.0))
        for name in _GROWING
    }
    each = given.daily_share * owners * given.peak / 86_400
    searches = each * given.daily_searches
    adds = each * given.daily_adds
    first = searches * given.first_share
    rates = {"search": searches - first, "cold": first, "add": adds}
    api = sum(rate * cost[f"{what}_api_ms"] for what, rate in rates.items()) / 1000 / given.busy
    server = (
        sum(
            rate * cost[name] * growth[name]
            for what, rate in rates.items()
            for name in [f"{what}_server_ms"]
        )
        / 1000
        / given.busy
    )
    loaded = min(owners, owners * given.daily_share * given.peak / 24) * cost["index_bytes"]
    apis = max(2, math.ceil(api), math.ceil(loaded / given.cache_bytes))
    workers = max(2, math.ceil(apis / given.apis_per_worker))
    resting = apis * cost["api_idle_per_second"] + workers * idle["worker_idle_per_second"]
    return {
        "database_bytes": owners * cost["database_bytes"],
        "searches": searches,
        "adds": adds,
        "loaded_bytes": loaded,
        "api_processors": api,
        "server_processors": server,
        "apis": apis,
        "workers": workers,
        "connections": apis * cost["api_connections"] + workers * idle["worker_connections"],
        "probes": searches,
        "idle": resting,
        "log_bytes": adds * cost["add_log_bytes"],
    }
