"""Table and JSON of all systems, with those that did not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.quality.metrics import KS, ResultRow, bootstrap_interval, mean, paired_difference

KEYS = (*(f"R@{k}" for k in KS), "NDCG@10", "MRR")
_APART = frozenset({"5"})
"""LoCoMo's adversarial questions ask for things never said: counted in their own column only."""


@dataclass(frozen=True, slots=True)
class PeerResult:
    """System on one data set; ``failure``: reason for missing rows."""

    name: str
    about: str = ""
    rows: list[ResultRow] = field(default_factory=list)
    ingest: float = 0.0
    """Seconds for one item, embedding included."""
    failure: str = ""


def format_table(results: Sequence[PeerResult]) -> str:
    """Format quality in percent, times in ms, recall by category, gaps."""
    ran = [result for result in results if not result.failure]
    width = max(len(result.name) for result in results) + 2
    head = (
        "".join(f"{key:>9}" for key in KEYS)
        + f"{'R@10 95 %':>14}{'add ms':>10}{'p50 ms':>9}{'p95 ms':>9}"
    )
    lines = [" " * width + head]
    lines += [
        f"{result.name:{width}}"
        + (f"  not run: {result.failure}" if result.failure else _format_line(result))
        for result in results
    ]
    categories = sorted({row.category for result in ran for row in result.rows})
    wide = max(10, *(len(name) + 2 for name in categories)) if categories else 10
    lines.append(
        f"\n{'R@10 by category':{width}}" + "".join(f"{name:>{wide}}" for name in categories)
    )
    for result in ran:
        per = [
            mean([row for row in result.rows if row.category == name], "R@10")
            for name in categories
        ]
        lines.append(
            f"{result.name:{width}}" + "".join(f"{100 * value:{wide}.1f}" for value in per)
        )
    lines.append("")
    for result in ran[1:]:
        middle, low, high = paired_difference(
            _main_rows(ran[0].rows), _main_rows(result.rows), "R@10"
        )
        lines.append(
            f"{ran[0].name} - {result.name}: R@10 {100 * middle:+.1f} ({100 * low:+.1f} …"
            f" {100 * high:+.1f})"
        )
    lines += ["", *(f"{result.name}: {result.about}" for result in ran)]
    return "\n".join(lines)


def summarize(result: PeerResult, first: PeerResult) -> dict[str, object]:
    """Summarize for JSON; ``first``: the system that gaps count from."""
    if result.failure:
        return {"failure": result.failure}
    main = _main_rows(result.rows)
    found: dict[str, object] = {
        "about": result.about,
        "questions": len(main),
        "mean": {key: round(mean(main, key), 4) for key in KEYS},
        "interval": {
            key: [round(edge, 4) for edge in bootstrap_interval([row.scores[key] for row in main])]
            for key in ("R@10", "NDCG@10")
        },
        "categories": {
            name: {"n": len(some), "R@10": round(mean(some, "R@10"), 4)}
            for name in sorted({row.category for row in result.rows})
            for some in [[row for row in result.rows if row.category == name]]
        },
        "ms": {
            "add": round(1000 * result.ingest, 3),
            "p50": round(_percentile_ms(result.rows, 0.5), 3),
            "p95": round(_percentile_ms(result.rows, 0.95), 3),
        },
    }
    if not first.failure and first is not result:
        found["first_minus_this"] = [
            round(part, 4) for part in paired_difference(_main_rows(first.rows), main, "R@10")
        ]
    return found


def _format_line(result: PeerResult) -> str:
    main = _main_rows(result.rows)
    low, high = bootstrap_interval([row.scores["R@10"] for row in main])
    times = f"{1000 * result.ingest:10.2f}{_percentile_ms(result.rows, 0.5):9.2f}{_percentile_ms(result.rows, 0.95):9.2f}"
    return (
        "".join(f"{100 * mean(main, key):9.1f}" for key in KEYS)
        + f"{100 * low:9.1f}–{100 * high:.1f}"
        + times
    )


def _main_rows(rows: Sequence[ResultRow]) -> list[ResultRow]:
    return [row for row in rows if row.category not in _APART]


def _percentile_ms(rows: Sequence[ResultRow], share: float) -> float:
    times = sorted(row.seconds for row in rows)
    return 1000 * times[min(len(times) - 1, int(len(times) * share))]
