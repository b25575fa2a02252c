"""``python -m bench.quality DATA.json… [--embedder builtin|null|FOLDER] [--only
table,ablation,heldout] [--limit N] [--json FILE]``
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench.quality.ablation import run_ablation
from bench.quality.data import Dataset, load_dataset
from bench.quality.heldout import run_heldout
from bench.quality.metrics import (
    KEYS,
    KS,
    ResultRow,
    bootstrap_interval,
    mean,
    paired_difference,
    score_ranking,
)
from bench.quality.systems import (
    Bm25System,
    DenseSystem,
    EngramsSystem,
    RrfSystem,
    System,
    make_embedder,
)
from engrams.ports import Embedder

_APART = frozenset({"5"})
"""LoCoMo's adversarial questions ask for things never said: reported apart, as by its authors."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("data", type=Path, nargs="+", help="data sets")
    parser.add_argument(
        "--embedder", default="builtin", help="builtin, null, or the folder of an ONNX model"
    )
    parser.add_argument(
        "--json", type=Path, default=Path("bench/out/quality.json"), help="where the figures go"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an engrams setting"
    )
    parser.add_argument(
        "--only", default="table,ablation,heldout", help="which of: table, ablation, heldout"
    )
    parser.add_argument("--limit", type=int, help="the first conversations of each set, so many")
    options = parser.parse_args()
    embedder = make_embedder(options.embedder)
    settings = dict(item.split("=", 1) for item in options.set)
    report = {
        "machine": platform.platform(),
        "python": platform.python_version(),
        "embedder": embedder.card.id,
        "settings": settings,
        "limit": options.limit,
    }
    wanted = options.only.split(",")
    whole_sets = [load_dataset(path) for path in options.data]
    sets = [replace(data, talks=data.talks[: options.limit]) for data in whole_sets]
    named = {name.replace(".", "__"): value for name, value in settings.items()}
    if "table" in wanted:
        report["sets"] = [_run_dataset(data, embedder, settings) for data in sets]  # type: ignore[assignment]
    if "ablation" in wanted:
        report["ablation"] = {
            data.name: run_ablation(data, embedder, named, _APART) for data in sets
        }  # type: ignore[assignment]
    if "heldout" in wanted:
        report["heldout"] = run_heldout(sets, embedder, named, _APART)  # type: ignore[assignment]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1), "utf-8")
    print(f"\nwritten to {options.json}")


def _run_dataset(data: Dataset, embedder: Embedder, settings: dict[str, str]) -> dict[str, object]:
    changed = {name.replace(".", "__"): value for name, value in settings.items()}
    makers: dict[str, Callable[[], System]] = {
        "engrams": lambda: EngramsSystem(embedder, **changed),
        "plain BM25": Bm25System,
    }
    if embedder.card.dimension:
        makers |= {
            "plain dense": lambda: DenseSystem(embedder),
            "RRF of both": lambda: RrfSystem(embedder),
        }
    results = {name: _evaluate(data, make, name) for name, make in makers.items()}
    print(
        f"\n{data.name}: {sum(len(talk.items) for talk in data.talks)} items, embedder"
        f" {embedder.card.id}\n"
    )
    print(_format_table(results))
    return {
        "name": data.name,
        "systems": {name: _summarize(rows, results["engrams"]) for name, rows in results.items()},
    }


def _evaluate(data: Dataset, make: Callable[[], System], name: str) -> list[ResultRow]:
    rows = []
    for number, talk in enumerate(data.talks, 1):
        print(f"\r{name}: {number}/{len(data.talks)}", end="", file=sys.stderr)
        system = make()
        system.fill(talk.items)
        for question in talk.questions:
            start = time.perf_counter()
            found = system.search(question.text, max(KS))
            seconds = time.perf_counter() - start
            rows.append(
                ResultRow(
                    talk.id,
                    question.id,
                    question.category,
                    seconds,
                    score_ranking(found, question.evidence),
                )
            )
        system.close()
    print(file=sys.stderr)
    return rows


def _main_rows(rows: Sequence[ResultRow]) -> list[ResultRow]:
    return [row for row in rows if row.category not in _APART]


def _format_table(results: dict[str, list[ResultRow]]) -> str:
    categories = sorted({row.category for rows in results.values() for row in rows})
    width = max(10, *(len(name) + 2 for name in categories))
    lines = [
        f"{'':14}"
        + "".join(f"{key:>9}" for key in KEYS)
        + f"{'R@10 95 %':>15}{'p50 ms':>9}{'p95 ms':>9}"
    ]
    for name, rows in results.items():
        main = _main_rows(rows)
        low, high = bootstrap_interval([row.scores["R@10"] for row in main])
        times = sorted(row.seconds for row in rows)
        lines.append(
            f"{name:14}"
            + "".join(f"{100 * mean(main, key):9.1f}" for key in KEYS)
            + f"{100 * low:9.1f}–{100 * high:.1f}"
            f"{1000 * times[len(times) // 2]:9.2f}{1000 * times[int(len(times) * 0.95)]:9.2f}"
        )
    lines.append(
        "\nR@10 by category\n" + f"{'':14}" + "".join(f"{name:>{width}}" for name in categories)
    )
    for name, rows in results.items():
        per = [
            mean([row for row in rows if row.category == category], "R@10")
            for category in categories
        ]
        lines.append(f"{name:14}" + "".join(f"{100 * value:{width}.1f}" for value in per))
    for name, rows in results.items():
        if name != "engrams":
            middle, low, high = paired_difference(
                _main_rows(results["engrams"]), _main_rows(rows), "R@10"
            )
            lines.append(
                f"engrams - {name}: R@10 {100 * middle:+.1f} ({100 * low:+.1f} … {100 * high:+.1f})"
            )
    return "\n".join(lines)


def _summarize(rows: Sequence[ResultRow], ours: Sequence[ResultRow]) -> dict[str, object]:
    main = _main_rows(rows)
    times = sorted(row.seconds for row in rows)
    return {
        "questions": len(main),
        "mean": {key: round(mean(main, key), 4) for key in KEYS},
        "interval": {
            key: [round(edge, 4) for edge in bootstrap_interval([row.scores[key] for row in main])]
            for key in ("R@10", "NDCG@10")
        },
        "categories": {
            name: {"n": len(some), "R@10": round(mean(some, "R@10"), 4)}
            for name in sorted({row.category for row in rows})
            for some in [[row for row in rows if row.category == name]]
        },
        "engrams_minus": [
            round(part, 4) for part in paired_difference(_main_rows(ours), main, "R@10")
        ],
        "ms": {
            "p50": round(1000 * times[len(times) // 2], 3),
            "p95": round(1000 * times[int(len(times) * 0.95)], 3),
        },
    }


if __name__ == "__main__":
    main()
