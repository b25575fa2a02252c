"""Picture of a fleet's bench:
times over owners and over records beside other memories, both scales logarithmic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from bench.fleet.cells import OURS, RIVALS
from bench.fleet.forecast import RECORDS
from bench.speed.curvepicture import draw_legend, draw_panel, wrap_svg

Cells: TypeAlias = Mapping[str, Mapping[str, Any]]
_FILE = "engrams, file"
_COLOURS = dict(
    zip((*RIVALS.values(), _FILE), ("#0b6e4f", "#c8553d", "#3d5a98", "#8a6d3b"), strict=True)
)
_WIDE = 250
_HIGH = 184
_HEAD = 34
_TIMES = {"search": "search, p50 (ms)", "add": "add, p50 (ms)"}


def draw_report(cells: Cells, records: int = RECORDS) -> str:
    """Draw searches and adds as SVG text:
    over owners with ``records`` each, and over records of one owner.
    """
    axes = {
        f"Owners of {records:,} records": (
            "owners",
            [cell for cell in cells.values() if cell["each"] == records],
        ),
        "One owner, by records": ("each", [cell for cell in cells.values() if cell["owners"] == 1]),
    }
    parts = []
    for row, (head, (axis, some)) in enumerate(axes.items()):
        down = row * (_HEAD + _HIGH)
        parts.append(f'<text x="8" y="{down + 24}" class="head">{head}</text>')
        for column, (what, label) in enumerate(_TIMES.items()):
            drawn = draw_panel(label, _collect_lines(some, axis, what), _COLOURS)
            parts.append(f'<g transform="translate({column * _WIDE} {down + _HEAD})">{drawn}</g>')
    parts.append(
        f'<g transform="translate({len(_TIMES) * _WIDE + 8}'
        f' {_HEAD + 40})">{draw_legend(_COLOURS)}</g>'
    )
    return wrap_svg(parts, (len(_TIMES) + 1) * _WIDE - 40, len(axes) * (_HEAD + _HIGH) + 8)


def _collect_lines(
    cells: Sequence[Mapping[str, Any]], axis: str, what: str
) -> dict[str, list[tuple[int, float]]]:
    """Points of each memory;
    those of engrams from its calls beside the file, where other memories were not run.
    """
    lines: dict[str, list[tuple[int, float]]] = {name: [] for name in _COLOURS}
    for cell in sorted(cells, key=lambda cell: int(cell[axis])):
        calls = {label: cell.get("rivals", {}).get(name, {}) for name, label in RIVALS.items()}
        own = cell.get("calls", {})
        for label, times in {
            **calls,
            RIVALS[OURS]: own.get("postgres", {}),
            _FILE: own.get("files", {}),
        }.items():
            if what in times:
                lines[label].append((cell[axis], times[what]["p50"]))
    return {name: points for name, points in lines.items() if points}
