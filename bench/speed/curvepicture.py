"""Curves as a picture: one small panel for each figure and axis, both scales logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from bench.speed.curvetable import CLOCKS, FLAT, METRICS, format_value, pick_value

_WIDE = 250
_HIGH = 184
_LEFT = 44
_TOP = 44
_RIGHT = 12
_BOTTOM = 24
_COLUMNS = 4
_COLOURS = ("#0b6e4f", "#c8553d", "#3d5a98", "#8a6d3b", "#6b4c9a")
_TITLES = {"records": "One owner, by records", "owners": "Many owners, by owners"}
_HEAD = 34
_FOOT = 30


def draw_picture(report: Mapping[str, Any]) -> str:
    """Draw both axes as SVG text."""
    names = list(dict.fromkeys(name for axis in _TITLES for name in report[axis]))
    colours = dict(zip(names, _COLOURS, strict=False))
    rows = math.ceil(len(METRICS) / _COLUMNS)
    wide = _COLUMNS * _WIDE
    block = _HEAD + rows * _HIGH
    drawn = [axis for axis in _TITLES if report[axis]]
    parts = []
    for number, axis in enumerate(drawn):
        down = number * block
        parts.append(
            f'<text x="8" y="{down + 24}"'
            f' class="head">{_TITLES[axis]}{_tell_each(report, axis)}</text>'
        )
        for place, metric in enumerate(METRICS):
            at = f"translate({place % _COLUMNS * _WIDE} {down + _HEAD + place // _COLUMNS * _HIGH})"
            parts.append(
                f'<g transform="{at}">{_draw_panel(report[axis], axis, (metric, report["clock"]), colours)}</g>'
            )
        legend = (
            f"translate({(_COLUMNS - 1) * _WIDE + _LEFT}"
            f" {down + _HEAD + (rows - 1) * _HIGH + _TOP})"
        )
        parts.append(f'<g transform="{legend}">{draw_legend(colours)}</g>')
    facts = report["machine"]
    high = len(drawn) * block + _FOOT
    told = (
        f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']} at the start,"
        f" {facts['when'][:10]}; times {CLOCKS[report['clock']]}"
    )
    parts.append(
        f'<text x="8" y="{high - 10}">{escape(told)}; python -m bench.speed --curve</text>'
    )
    return wrap_svg(parts, wide, high)


def wrap_svg(parts: Sequence[str], wide: int, high: int) -> str:
    """Put drawn parts on a white ground of this size, with the styles that they name."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}"'
        ' font-family="system-ui, sans-serif"'
        ' font-size="11">\n<style>text{fill:#333}.head{font-size:16px;font-weight:600}.name{font-weight:600}'
        ".grid{stroke:#ddd}.flat{fill:#0b6e4f}.mark{text-anchor:middle}</style>\n<rect"
        f' width="{wide}" height="{high}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _tell_each(report: Mapping[str, Any], axis: str) -> str:
    return f", {report['each']} records each" if axis == "owners" else ""


def _draw_panel(
    systems: Mapping[str, Any], axis: str, figure: tuple[str, str], colours: Mapping[str, str]
) -> str:
    metric, clock = figure
    lines = {
        name: [
            (int(size), value)
            for size, row in sorted(rows.items(), key=_to_size)
            if (value := pick_value(row, metric, clock))
        ]
        for name, rows in systems.items()
    }
    return draw_panel(METRICS[metric], lines, colours, is_flat=metric in FLAT[axis])


def draw_panel(
    label: str,
    lines: Mapping[str, Sequence[tuple[int, float]]],
    colours: Mapping[str, str],
    *,
    is_flat: bool = False,
) -> str:
    """Draw a line for each system through its points, of 250 by 184;
    ``is_flat``: it should not rise.
    """
    every = [point for points in lines.values() for point in points]
    title = f'<text x="{_LEFT}" y="18" class="name">{escape(label)}</text>'
    if not every:
        return title
    across = _Scale([x for x, _ in every], _LEFT, _WIDE - _RIGHT)
    up = _Scale([y for _, y in every], _HIGH - _BOTTOM, _TOP)
    parts = [title]
    if is_flat:
        parts.append(f'<text x="{_LEFT}" y="33" class="flat">should be flat</text>')
    for value in up.marks:
        y = up.place(value)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        )
        parts.append(
            f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{_name_mark(value)}</text>'
        )
    parts += [
        f'<text x="{across.place(value):.1f}" y="{_HIGH - 8}"'
        f' class="mark">{_name_mark(value)}</text>'
        for value in across.marks
    ]
    for name, points in lines.items():
        path = " ".join(f"{across.place(x):.1f},{up.place(y):.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="2"/>'
        )
        parts += [
            f'<circle cx="{across.place(x):.1f}" cy="{up.place(y):.1f}" r="3"'
            f' fill="{colours[name]}"><title>{escape(name)}, {x:,}:'
            f" {format_value(y)}</title></circle>"
            for x, y in points
        ]
    return "".join(parts)


def draw_legend(colours: Mapping[str, str]) -> str:
    """Draw the names of systems beside their colours, one below the other."""
    return "".join(
        f'<line x1="0" x2="24" y1="{20 * number}" y2="{20 * number}" stroke="{colour}"'
        f' stroke-width="2"/><text x="32" y="{20 * number + 4}">{escape(name)}</text>'
        for number, (name, colour) in enumerate(colours.items())
    )


class _Scale:
    """Logarithmic scale over whole powers of ten."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low = math.floor(math.log10(min(values)) + 1e-9)
        high = math.ceil(math.log10(max(values)) - 1e-9)
        self._low = low
        self._high = max(high, low + 1)
        self._start = start
        self._end = end
        self.marks = [10.0**power for power in range(self._low, self._high + 1)]

    def place(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)


def _to_size(pair: tuple[str, Any]) -> int:
    return int(pair[0])


def _name_mark(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
