"""Recall of the search by codes: codes propose, 8-bit vectors rescore, as in a large scope.

``python -m bench.speed.ann [--size 100000] [--width 400] [--queries 200]`` prints a table and one
line of JSON. Two kinds of vectors: those of chat-like texts by the builtin embedder, and random
ones of 384 dimensions, the hardest there are.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.speed.corpus import Corpus
from bench.speed.timing import quantiles
from engrams.index.ann import AnnIndex
from engrams.index.columns import IndexColumns
from engrams.models.embed.factory import choose_embedder
from engrams.settings import EmbedSettings, ReadSettings

KS = (10, 50, 100)
_TIE = 1e-4
"""Difference up to which scores count as equal."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.ann", description=__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="vectors in the index")
    parser.add_argument(
        "--width",
        type=int,
        default=ReadSettings().candidates,
        help="candidates that a source contributes (read.candidates)",
    )
    parser.add_argument("--queries", type=int, default=200, help="queries of each kind")
    given = parser.parse_args(arguments)
    report = compare_searches(given.size, given.width, given.queries)
    print(format_table(report))
    print(json.dumps(report))


def compare_searches(size: int = 100_000, width: int = 400, queries: int = 200) -> dict[str, Any]:
    """Recall at each k, and times of both searches, by kind of vectors."""
    report: dict[str, Any] = {"size": size, "width": width, "queries": queries}
    report["texts"] = measure_recall(*_text_vectors(size, queries), width)
    report["random"] = measure_recall(*_random_vectors(size, queries), width)
    return report


def measure_recall(vectors: np.ndarray, asked: np.ndarray, width: int) -> dict[str, Any]:
    """Share of the k nearest that are found; ties count as found."""
    start = time.perf_counter()
    near = AnnIndex.build(vectors)
    if near is None:
        return {"missing": "the extra `ann` is not installed"}
    built = time.perf_counter() - start
    proposed = near.count_proposals(width)
    everything = np.ones(len(vectors), np.bool_)
    columns = IndexColumns(vectors.shape[1])
    columns.extend(len(vectors))
    columns.set_vectors(slice(0, len(vectors)), vectors)
    columns.quantize()
    recall: dict[int, list[float]] = {k: [] for k in KS}
    coded = []
    exact = []
    for query in asked:
        start = time.perf_counter()
        offered = near.search(query, proposed, everything)
        scores = columns.dots(offered, query)
        found = offered[np.argsort(-scores)[:width]]
        coded.append(time.perf_counter() - start)
        start = time.perf_counter()
        truth = vectors @ query
        best = np.partition(truth, len(truth) - max(KS))[-max(KS) :]
        exact.append(time.perf_counter() - start)
        best = np.sort(best)[::-1]
        for k in KS:
            recall[k].append(min(1.0, np.count_nonzero(truth[found[:k]] >= best[k - 1] - _TIE) / k))
    return {
        "dimension": vectors.shape[1],
        "bits": near.bits,
        "proposed": proposed,
        "build_s": round(built, 2),
        "recall": {f"@{k}": round(float(np.mean(shares)), 4) for k, shares in recall.items()},
        "coded_ms": quantiles(coded),
        "exact_ms": quantiles(exact),
    }


def _text_vectors(size: int, queries: int) -> tuple[np.ndarray, np.ndarray]:
    embedder = choose_embedder(EmbedSettings())
    lines = [line.text for line in Corpus().lines(size)]
    rows = [embedder.embed(lines[start : start + 2000]) for start in range(0, size, 2000)]
    return np.concatenate(rows), embedder.embed(Corpus(seed=3).questions(queries), "query")


def _random_vectors(size: int, queries: int) -> tuple[np.ndarray, np.ndarray]:
    pick = np.random.default_rng(7)
    rows = [pick.standard_normal((count, 384), dtype=np.float32) for count in (size, queries)]
    units = [row / np.linalg.norm(row, axis=1, keepdims=True) for row in rows]
    return units[0], units[1]


def format_table(report: dict[str, Any]) -> str:
    """Report as aligned text."""
    lines = [
        f"{report['size']:,} vectors, the best by codes scored again; {report['queries']} queries",
        "",
    ]
    lines.append(
        f"{'':10}{'bits':>5}{'best':>6}"
        + "".join(f"{f'recall @{k}':>13}" for k in KS)
        + f"{'coded p50':>12}{'exact p50':>12}{'built in':>10}"
    )
    for name in ("texts", "random"):
        row = report[name]
        if "missing" in row:
            lines.append(f"{name:10} {row['missing']}")
            continue
        shares = "".join(f"{row['recall'][f'@{k}']:13.4f}" for k in KS)
        times = (
            f"{row['coded_ms']['p50']:9.2f} ms{row['exact_ms']['p50']:9.2f}"
            f" ms{row['build_s']:8.1f} s"
        )
        lines.append(f"{name:10}{row['bits']:5}{row['proposed']:6}{shares}{times}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
